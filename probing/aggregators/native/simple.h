// Simple routing of one token, forwards and backwards. The names are those of simple.py; t counts iterations from 0.
#pragma once

#include "token.h"

namespace routing {

struct Simple {
    Shape shape;
    int squash;
    int over_heads;
};

constexpr float EPSILON = 1e-9f;

// SIZE is K where the compiler may know it, else 0.
template <int SIZE>
class SimpleToken {
  public:
    explicit SimpleToken(const Simple& simple)
        : simple_(simple),
          H_(simple.shape.heads),
          K_(SIZE ? SIZE : simple.shape.size),
          T_(simple.shape.iterations),
          row_(simple.shape.padded()),
          scratch_(simple.shape, 2 * H_ * K_ + H_ * T_ + 2 * H_ + K_ + 1 + T_ + T_ * K_) {
        votes_ = scratch_.take(H_ * K_);
        gradient_ = scratch_.take(H_ * K_);
        weights_ = scratch_.take(H_ * T_);
        logits_ = scratch_.take(H_);
        g_weights_ = scratch_.take(H_);
        output_ = scratch_.take(K_);
        padding_ = scratch_.take(1);
        mass_ = scratch_.take(T_);
        mean_ = scratch_.take(T_ * K_);
        block_.resize(H_);
        second_.resize(H_);
        peaks_.resize(H_);
        row_sums_.resize(H_);
        mark_padding(simple.shape, padding_);
    }

    // `kept` takes the softmaxes of T - 1 iterations; `agreement` (H, N) may be null.
    void forward(const float* votes, float* capsules, float* agreement, float* kept) {
        const Rows<const float> V = read_votes(simple_.shape, votes, votes_);
        float* const exponentials = weights_;
        Lanes *const block = block_.data(), *const second = second_.data(), *const peaks = peaks_.data();
        float* const logits = logits_;
        const int64_t H = H_, row = row_;
        for (int64_t t = 0; t < T_; ++t) {
            const bool last = t == T_ - 1;
            const Softmax before = softmax_at(kept, H, t - 1), after = softmax_at(kept, H, t);
            for (int64_t h = 0; h < H; ++h) peaks[h] = lanes(-3e38f);
            for (int64_t n = 0; n < row; n += WIDTH) {
                if (t > 0 && !simple_.over_heads)
                    for (int64_t h = 0; h < H; ++h)
                        block[h] = load(exponentials + h * row + n) * before.inverse_total[h];
                const Mass mass = weigh_heads(t, n, logits + n, row, before, last ? agreement : nullptr);
                const Lanes scale = gather(V, t, 0, n, mass);
                if (last) {
                    for (int64_t k = 0; k < sizes(); ++k)
                        store(output_ + k * row + n, scale * load(mean_ + k * row + n));
                    continue;
                }
                if (t > 0)
                    for (int64_t h = 0; h < H; ++h) second[h] = load(logits + h * row + n);
                agree(V, t, 0, n, scale);
                for (int64_t h = 0; h < H; ++h) {
                    store(logits + h * row + n, second[h]);
                    peaks[h] = larger(second[h], peaks[h]);
                }
            }
            if (!last && !simple_.over_heads) exponentiate(logits, exponentials, peaks, after, simple_.shape);
        }
        write_capsules(simple_.shape, output_, capsules);
    }

    void backward(const float* votes, const float* kept, const float* upstream, float* gradient, int64_t head_stride) {
        const Rows<const float> V = read_votes(simple_.shape, votes, votes_);
        const Rows<float> G = {gradient_, row_, H_ * row_};
        read_capsules(simple_.shape, upstream, output_);
        for (int64_t n = 0; n < row_; n += WIDTH) recompute(V, const_cast<float*>(kept), n);
        for (int64_t t = T_ - 1; t >= 0; --t) {
            for (int64_t h = 0; h < H_; ++h) peaks_[h] = lanes(0.0f);
            for (int64_t n = 0; n < row_; n += WIDTH) reverse(V, G, t, n);
            for (int64_t h = 0; h < H_; ++h) row_sums_[h] = sum(peaks_[h]);
        }
        write_gradient(simple_.shape, gradient_, gradient, head_stride);
    }

  private:
    // Vector stores may alias the members of this object: what inner loops use is copied into locals.
    ALWAYS_INLINE int64_t sizes() const { return SIZE ? SIZE : K_; }

    // Makes of C_hn in block_ the weights of a block's votes; the logits of head h are at logits + h * stride.
    ALWAYS_INLINE Mass weigh_heads(int64_t t, int64_t n, const float* logits, int64_t stride, Softmax before,
                                   float* agreement) {
        const int64_t H = H_, N = simple_.shape.capsules;
        Lanes* const block = block_.data();
        if (t == 0) {
            const float share = simple_.over_heads ? 1.0f / H : 1.0f / N;
            if (agreement)
                for (int64_t h = 0; h < H; ++h) write_agreement(agreement + h * N, n, lanes(share));
            return {lanes(share * H), lanes(1.0f / H)};
        }
        if (simple_.over_heads) {
            Lanes peak = lanes(-3e38f), total = lanes(0.0f);
            for (int64_t h = 0; h < H; ++h) peak = larger(load(logits + h * stride), peak);
            for (int64_t h = 0; h < H; ++h) {
                block[h] = exp(load(logits + h * stride) - peak);
                total = total + block[h];
            }
            const Lanes scale = 1.0f / total;
            for (int64_t h = 0; h < H; ++h) block[h] = block[h] * scale;
        }
        if (agreement)
            for (int64_t h = 0; h < H; ++h) write_agreement(agreement + h * N, n, block[h]);
        if (simple_.over_heads) return {lanes(1.0f), lanes(1.0f)};
        return weigh(block, logits, stride, before, H, load(padding_ + n));
    }

    void write_agreement(float* agreement, int64_t n, Lanes C) {
        const int64_t left = simple_.shape.capsules - n;
        std::memcpy(agreement + n, &C, (left < WIDTH ? left : WIDTH) * sizeof(float));
    }

    // The means of iteration t for a block's capsules, put in place `at`. Returns what squashing multiplies them by.
    ALWAYS_INLINE Lanes gather(Rows<const float> V, int64_t t, int64_t at, int64_t n, Mass mass) {
        const int64_t H = H_, K = sizes(), row = row_;
        const Lanes* const w = block_.data();
        Lanes square = lanes(0.0f);
        for (int64_t k = 0; k < K; ++k) {
            Lanes mean = lanes(0.0f);
            if (t == 0)
                for (int64_t h = 0; h < H; ++h) mean = mean + load(V.at(h, k, n));
            else
                for (int64_t h = 0; h < H; ++h) mean = mean + w[h] * load(V.at(h, k, n));
            mean = mean * mass.scale;
            store(mean_ + (at * K + k) * row + n, mean);
            square = square + mean * mean;
        }
        return simple_.squash ? square / ((square + 1.0f) * root(square + EPSILON)) : lanes(1.0f);
    }

    // Adds the capsules' scalar product with the votes to the logits in second_.
    ALWAYS_INLINE void agree(Rows<const float> V, int64_t t, int64_t at, int64_t n, Lanes scale) {
        const int64_t H = H_, K = sizes(), row = row_;
        Lanes* const logits = second_.data();
        for (int64_t k = 0; k < K; ++k) {
            const Lanes capsule = scale * load(mean_ + (at * K + k) * row + n), padding = load(padding_ + n);
            for (int64_t h = 0; h < H; ++h)
                logits[h] = (t == 0 && k == 0 ? padding : logits[h]) + capsule * load(V.at(h, k, n));
        }
    }

    // All iterations again for one block: the kept softmaxes make the blocks independent of each other.
    void recompute(Rows<const float> V, float* kept, int64_t n) {
        const int64_t H = H_, row = row_, T = T_;
        Lanes *const block = block_.data(), *const logits = second_.data();
        float* const weights = weights_ + n;
        for (int64_t t = 0; t < T; ++t) {
            const Softmax before = softmax_at(kept, H, t - 1);
            if (t > 0 && !simple_.over_heads)
                for (int64_t h = 0; h < H; ++h)
                    block[h] = exp(logits[h] - before.largest[h]) * before.inverse_total[h];
            const Mass mass = weigh_heads(t, n, (const float*)logits, WIDTH, before, nullptr);
            store(mass_ + t * row + n, mass.total);
            for (int64_t h = 0; h < H; ++h)
                store(weights + (t * H + h) * row, t == 0 ? mass.scale : block[h] * mass.scale);
            const Lanes scale = gather(V, t, t, n, mass);
            if (t < T - 1) agree(V, t, t, n, scale);
        }
    }

    // One iteration backwards for one block. g_weights_ holds the gradient of the next iteration's weights, row_sums_
    // the sums over capsules of the gradient of log C, logits_ the gradient of the logits; all are left for the
    // iteration before.
    void reverse(Rows<const float> V, Rows<float> G, int64_t t, int64_t n) {
        const int64_t H = H_, K = sizes(), row = row_;
        const bool last = t == T_ - 1;
        Lanes *const g_logits = block_.data(), *const second = second_.data(), *const totals = peaks_.data();
        float *const g_weights = g_weights_ + n, *const kept_logits = logits_ + n, *const g_output = output_ + n;
        const float *const w = weights_ + t * H * row + n, *const means = mean_ + t * K * row + n;
        if (!last) {
            const float *const next_w = w + H * row, *const row_sums = row_sums_.data();
            const Lanes next_mass = load(mass_ + (t + 1) * row + n);
            const bool first = t == T_ - 2, over_heads = simple_.over_heads;
            for (int64_t h = 0; h < H; ++h) {
                Lanes g = load(g_weights + h * row);
                if (!over_heads) g = g - next_mass * row_sums[h];
                g = load(next_w + h * row) * g;
                if (!first) g = g + load(kept_logits + h * row);
                if (t > 0) store(kept_logits + h * row, g);
                g_logits[h] = g;
            }
        }
        Lanes square = lanes(0.0f), along = lanes(0.0f);
        for (int64_t k = 0; k < K; ++k) {
            const Lanes mean = load(means + k * row);
            if (!last) {
                Lanes g = lanes(0.0f);
                for (int64_t h = 0; h < H; ++h) g = g + g_logits[h] * load(V.at(h, k, n));
                // The upstream gradient was read in the last iteration, so that its row is free.
                store(g_output + k * row, g);
            }
            square = square + mean * mean;
            along = along + mean * load(g_output + k * row);
        }
        Lanes scale = lanes(1.0f), slope = lanes(0.0f);
        if (simple_.squash) {
            const Lanes shifted = square + EPSILON, norm = 1.0f / root(shifted), once = 1.0f / (square + 1.0f);
            scale = square * once * norm;
            slope = 2.0f * along * norm * once * (once - 0.5f * square / shifted);
        }
        for (int64_t k = 0; k < K; ++k) {
            const Lanes mean = load(means + k * row), capsule = scale * mean;
            const Lanes g_mean = scale * load(g_output + k * row) + slope * mean;
            for (int64_t h = 0; h < H; ++h) {
                Lanes g = load(w + h * row) * g_mean;
                if (!last) g = g + g_logits[h] * capsule + load(G.at(h, k, n));
                store(G.at(h, k, n), g);
                if (t == 0) continue;
                const Lanes own = g_mean * (load(V.at(h, k, n)) - mean);
                second[h] = k == 0 ? own : second[h] + own;
            }
        }
        if (t == 0) return;
        for (int64_t h = 0; h < H; ++h) {
            store(g_weights + h * row, second[h]);
            totals[h] = totals[h] + load(w + h * row) * second[h];
        }
    }

    const Simple& simple_;
    const int64_t H_, K_, T_, row_;
    Scratch scratch_;
    float *votes_, *gradient_, *weights_, *logits_, *g_weights_, *output_, *padding_, *mass_, *mean_;
    std::vector<Lanes> block_, second_, peaks_;
    std::vector<float> row_sums_;
};

}  // namespace routing

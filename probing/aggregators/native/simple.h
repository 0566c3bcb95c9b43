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
        for (int64_t t = 0; t < T_; ++t) {
            const bool last = t == T_ - 1;
            const Softmax before = softmax_at(kept, H_, t - 1), after = softmax_at(kept, H_, t);
            for (int64_t h = 0; h < H_; ++h) peaks_[h] = lanes(-3e38f);
            for (int64_t n = 0; n < row_; n += WIDTH) {
                if (t > 0) {
                    for (int64_t h = 0; h < H_; ++h) second_[h] = load(logits_ + h * row_ + n);
                    if (!simple_.over_heads)
                        for (int64_t h = 0; h < H_; ++h)
                            block_[h] = load(exponentials + h * row_ + n) * before.inverse_total[h];
                }
                float* const wanted = last ? agreement : nullptr;
                weigh(t, n, before, wanted);
                const Lanes scale = gather(V, 0, n);
                if (last) {
                    for (int64_t k = 0; k < K_; ++k) store(output_ + k * row_ + n, scale * load(mean_ + k * row_ + n));
                    continue;
                }
                agree(V, 0, t, n, scale);
                for (int64_t h = 0; h < H_; ++h) {
                    store(logits_ + h * row_ + n, second_[h]);
                    peaks_[h] = larger(second_[h], peaks_[h]);
                }
            }
            if (!last && !simple_.over_heads) exponentiate(logits_, exponentials, peaks_.data(), after, simple_.shape);
        }
        write_capsules(simple_.shape, output_, capsules);
    }

    void backward(const float* votes, const float* kept, const float* upstream, float* gradient, int64_t head_stride) {
        const Rows<const float> V = read_votes(simple_.shape, votes, votes_);
        const Rows<float> G = begin_gradient(simple_.shape, gradient, head_stride, gradient_);
        read_capsules(simple_.shape, upstream, output_);
        for (int64_t n = 0; n < row_; n += WIDTH) recompute(V, const_cast<float*>(kept), n);
        for (int64_t t = T_ - 1; t >= 0; --t) {
            for (int64_t h = 0; h < H_; ++h) peaks_[h] = lanes(0.0f);
            for (int64_t n = 0; n < row_; n += WIDTH) reverse(V, G, t, n);
            for (int64_t h = 0; h < H_; ++h) row_sums_[h] = sum(peaks_[h]);
        }
        end_gradient(simple_.shape, gradient, head_stride, gradient_);
    }

  private:
    // Leaves C_hn / sum_h C_hn in block_, from C_hn there and the logits in second_.
    void weigh(int64_t t, int64_t n, Softmax before, float* agreement) {
        const int64_t N = simple_.shape.capsules;
        Lanes mass = lanes(1.0f);
        if (t == 0) {
            mass = lanes(simple_.over_heads ? 1.0f : static_cast<float>(H_) / N);
            for (int64_t h = 0; h < H_; ++h) block_[h] = mass * (1.0f / H_);
        } else if (simple_.over_heads) {
            Lanes peak = lanes(-3e38f), total = lanes(0.0f);
            for (int64_t h = 0; h < H_; ++h) peak = larger(second_[h], peak);
            for (int64_t h = 0; h < H_; ++h) {
                block_[h] = exp(second_[h] - peak);
                total = total + block_[h];
            }
            const Lanes scale = 1.0f / total;
            for (int64_t h = 0; h < H_; ++h) block_[h] = block_[h] * scale;
        }
        if (agreement) {
            const int64_t lanes_left = N - n < WIDTH ? N - n : WIDTH;
            for (int64_t h = 0; h < H_; ++h) std::memcpy(agreement + h * N + n, &block_[h], lanes_left * sizeof(float));
        }
        if (t == 0)
            for (int64_t h = 0; h < H_; ++h) block_[h] = lanes(1.0f / H_);
        else if (!simple_.over_heads)
            mass = normalise(block_.data(), second_.data(), before, H_, load(padding_ + n));
        store(mass_ + t * row_ + n, mass);
    }

    // The means of a block's capsules at mean_[at]. Returns what squashing multiplies them by.
    Lanes gather(const Rows<const float>& V, int64_t at, int64_t n) {
        Lanes square = lanes(0.0f);
        for (int64_t k = 0; k < K_; ++k) {
            Lanes mean = lanes(0.0f);
            for (int64_t h = 0; h < H_; ++h) mean = mean + block_[h] * load(V.at(h, k, n));
            store(mean_ + (at * K_ + k) * row_ + n, mean);
            square = square + mean * mean;
        }
        return simple_.squash ? square / (square + 1.0f) * inverse_root(square + EPSILON) : lanes(1.0f);
    }

    // Adds the capsules' scalar product with the votes to the logits in second_.
    void agree(const Rows<const float>& V, int64_t at, int64_t t, int64_t n, Lanes scale) {
        for (int64_t k = 0; k < K_; ++k) {
            const Lanes capsule = scale * load(mean_ + (at * K_ + k) * row_ + n);
            const bool first = t == 0 && k == 0;
            for (int64_t h = 0; h < H_; ++h) {
                const Lanes product = capsule * load(V.at(h, k, n));
                second_[h] = first ? product + load(padding_ + n) : second_[h] + product;
            }
        }
    }

    // All iterations again for one block: the kept softmaxes make the blocks independent of each other.
    void recompute(const Rows<const float>& V, float* kept, int64_t n) {
        for (int64_t t = 0; t < T_; ++t) {
            const Softmax before = softmax_at(kept, H_, t - 1);
            if (t > 0 && !simple_.over_heads)
                for (int64_t h = 0; h < H_; ++h)
                    block_[h] = exp(second_[h] - before.largest[h]) * before.inverse_total[h];
            weigh(t, n, before, nullptr);
            for (int64_t h = 0; h < H_; ++h) store(weights_ + (t * H_ + h) * row_ + n, block_[h]);
            const Lanes scale = gather(V, t, n);
            if (t < T_ - 1) agree(V, t, t, n, scale);
        }
    }

    // One iteration backwards for one block. g_weights_ holds the gradient of the next iteration's weights, row_sums_ the
    // sums over capsules of the gradient of log C, logits_ the gradient of the logits; all are left for the iteration before.
    void reverse(const Rows<const float>& V, const Rows<float>& G, int64_t t, int64_t n) {
        const bool last = t == T_ - 1;
        if (!last) {
            const float* const next_w = weights_ + (t + 1) * H_ * row_ + n;
            const Lanes next_mass = load(mass_ + (t + 1) * row_ + n);
            for (int64_t h = 0; h < H_; ++h) {
                Lanes g = load(g_weights_ + h * row_ + n);
                if (!simple_.over_heads) g = g - next_mass * row_sums_[h];
                g = load(next_w + h * row_) * g;
                if (t < T_ - 2) g = g + load(logits_ + h * row_ + n);
                store(logits_ + h * row_ + n, g);
                block_[h] = g;
            }
        }
        Lanes square = lanes(0.0f), along = lanes(0.0f);
        for (int64_t k = 0; k < K_; ++k) {
            const Lanes mean = load(mean_ + (t * K_ + k) * row_ + n);
            if (!last) {
                Lanes g = lanes(0.0f);
                for (int64_t h = 0; h < H_; ++h) g = g + block_[h] * load(V.at(h, k, n));
                // The upstream gradient was read in the last iteration, so that its row is free.
                store(output_ + k * row_ + n, g);
            }
            square = square + mean * mean;
            along = along + mean * load(output_ + k * row_ + n);
        }
        Lanes scale = lanes(1.0f), slope = lanes(0.0f);
        if (simple_.squash) {
            const Lanes root = inverse_root(square + EPSILON), once = 1.0f / (square + 1.0f);
            scale = square * once * root;
            slope = 2.0f * along * root * once * (once - 0.5f * square / (square + EPSILON));
        }
        for (int64_t k = 0; k < K_; ++k) reverse_size(V, G, t, n, k, scale, slope);
        if (t == 0) return;
        const float* const w = weights_ + t * H_ * row_ + n;
        for (int64_t h = 0; h < H_; ++h) {
            store(g_weights_ + h * row_ + n, second_[h]);
            peaks_[h] = peaks_[h] + load(w + h * row_) * second_[h];
        }
    }

    void reverse_size(const Rows<const float>& V, const Rows<float>& G, int64_t t, int64_t n, int64_t k, Lanes scale,
                      Lanes slope) {
        const bool last = t == T_ - 1;
        const float* const w = weights_ + t * H_ * row_ + n;
        const Lanes mean = load(mean_ + (t * K_ + k) * row_ + n);
        const Lanes g_mean = scale * load(output_ + k * row_ + n) + slope * mean, capsule = scale * mean;
        for (int64_t h = 0; h < H_; ++h) {
            const Lanes own = g_mean * (load(V.at(h, k, n)) - mean);
            second_[h] = k == 0 ? own : second_[h] + own;
            Lanes g = load(w + h * row_) * g_mean;
            if (!last) g = g + block_[h] * capsule + load(G.at(h, k, n));
            store(G.at(h, k, n), g);
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

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

template <int SIZE>
class SimpleToken : public Token<SimpleToken<SIZE>, SIZE> {
    using Base = Token<SimpleToken<SIZE>, SIZE>;
    friend Base;
    using Base::H_, Base::K_, Base::T_, Base::row_, Base::take, Base::sizes, Base::block_, Base::peaks_;
    using Base::votes_, Base::gradient_, Base::logits_, Base::g_weights_, Base::output_, Base::padding_;

  public:
    explicit SimpleToken(const Simple& simple)
        : Base(simple.shape, simple.shape.iterations * (1 + simple.shape.size) + simple.shape.heads), simple_(simple) {
        scale_ = take(T_);
        mean_ = take(T_ * K_);
        g_logits_ = take(H_);
    }

  private:
    float share() const { return 1.0f / (simple_.over_heads ? H_ : simple_.shape.capsules); }

    void read_votes(const float* votes) { this->read_tiles(votes, simple_.shape.head_stride, votes_, H_); }

    template <bool AGAIN>
    ALWAYS_INLINE Mass weigh(int64_t n, Softmax before) {
        return simple_.over_heads ? weigh_over_heads(n) : Base::template weigh<AGAIN>(n, before);
    }

    Mass weigh_over_heads(int64_t n) {
        const int64_t H = H_;
        const float* const logits = logits_ + n * H;
        Lanes* const block = block_.data();
        Lanes peak = lanes(NOTHING), total = lanes(0.0f);
        for (int64_t h = 0; h < H; ++h) peak = larger(load(logits + h * WIDTH), peak);
        for (int64_t h = 0; h < H; ++h) {
            block[h] = exp(load(logits + h * WIDTH) - peak);
            total = total + block[h];
        }
        return {lanes(1.0f), 1.0f / total};
    }

    // The means, and what squashing multiplies them by.
    template <bool AGAIN>
    ALWAYS_INLINE void fit(int64_t t, int64_t at, int64_t n, Mass mass) {
        const int64_t H = H_, K = sizes(), row = row_;
        const Lanes* const w = block_.data();
        Lanes square = lanes(0.0f);
        for (int64_t k = 0; k < K; ++k) {
            const float* const V = votes_ + k * H * row + n * H;
            Lanes mean = lanes(0.0f);
            for (int64_t h = 0; h < H; ++h) mean = mean + (t == 0 ? load(V + h * WIDTH) : w[h] * load(V + h * WIDTH));
            mean = mean * mass.scale;
            store(mean_ + (at * K + k) * row + n, mean);
            square = square + mean * mean;
        }
        const Lanes scale = simple_.squash ? square / (square + 1.0f) / root(square + EPSILON) : lanes(1.0f);
        store(scale_ + at * row + n, scale);
        for (int64_t k = 0; !AGAIN && t == T_ - 1 && k < K; ++k)
            store(output_ + k * row + n, scale * load(mean_ + k * row + n));
    }

    // Adds the capsules' scalar product with the votes to the logits.
    template <bool AGAIN>
    ALWAYS_INLINE void expect(int64_t t, int64_t at, int64_t n) {
        const int64_t H = H_, K = sizes(), row = row_;
        float* const logits = logits_ + n * H;
        Lanes* const peaks = peaks_.data();
        const Lanes scale = load(scale_ + at * row + n), padding = load(padding_ + n);
        for (int64_t k = 0; k < K; ++k) {
            const float* const V = votes_ + k * H * row + n * H;
            const Lanes capsule = scale * load(mean_ + (at * K + k) * row + n);
            for (int64_t h = 0; h < H; ++h) {
                const Lanes before = t == 0 && k == 0 ? padding : load(logits + h * WIDTH);
                const Lanes logit = before + capsule * load(V + h * WIDTH);
                store(logits + h * WIDTH, logit);
                if (!AGAIN && k == K - 1) peaks[h] = larger(logit, peaks[h]);
            }
        }
    }

    // One iteration backwards. g_weights_ holds the gradient of the next iteration's log C, row_sums_ its sums over
    // capsules, g_logits_ the gradient of the logits; peaks_ takes the sums of this one's.
    template <bool FIRST, bool LAST>
    ALWAYS_INLINE void reverse(int64_t t, int64_t n) {
        const int64_t H = H_, K = sizes(), row = row_;
        Lanes* const g_block = block_.data();
        float *const g_logits = g_logits_ + n * H, *const g_output = output_ + n;
        for (int64_t h = 0; !LAST && h < H; ++h) {
            Lanes g = this->reverse_softmax(t + 1, h, n);
            if (t < T_ - 2) g = g + load(g_logits + h * WIDTH);
            if (!FIRST) store(g_logits + h * WIDTH, g);
            g_block[h] = g;
        }
        Lanes square = lanes(0.0f), along = lanes(0.0f);
        for (int64_t k = 0; k < K; ++k) {
            const float* const V = votes_ + k * H * row + n * H;
            const Lanes mean = load(mean_ + (t * K + k) * row + n);
            Lanes g = LAST ? load(g_output + k * row) : lanes(0.0f);
            for (int64_t h = 0; !LAST && h < H; ++h) g = g + g_block[h] * load(V + h * WIDTH);
            store(g_output + k * row, g);
            square = square + mean * mean;
            along = along + mean * g;
        }
        Lanes slope = lanes(0.0f);
        if (simple_.squash) {
            const Lanes shifted = square + EPSILON, norm = 1.0f / root(shifted), once = 1.0f / (square + 1.0f);
            slope = 2.0f * along * norm * once * (once - 0.5f * square / shifted);
        }
        for (int64_t k = 0; k < K; ++k) reverse_votes<FIRST, LAST>(t, k, n, slope);
    }

    template <bool FIRST, bool LAST>
    ALWAYS_INLINE void reverse_votes(int64_t t, int64_t k, int64_t n, Lanes slope) {
        const int64_t H = H_, K = sizes(), row = row_;
        const float* const V = votes_ + k * H * row + n * H;
        float *const G = gradient_ + k * H * row + n * H, *const g_log_C = g_weights_ + n * H;
        const Lanes *const g_block = block_.data(), mean = load(mean_ + (t * K + k) * row + n);
        Lanes* const totals = peaks_.data();
        const bool over_heads = simple_.over_heads;  // then the sums over capsules, which stay 0, have no part in it
        const Lanes scale = load(scale_ + t * row + n), capsule = scale * mean;
        const Lanes g_mean = scale * load(output_ + k * row + n) + slope * mean;
        for (int64_t h = 0; h < H; ++h) {
            const Lanes w = this->template weight<FIRST>(t, h, n);
            Lanes g = w * g_mean;
            if (!LAST) g = g + load(G + h * WIDTH) + g_block[h] * capsule;
            store(G + h * WIDTH, g);
            if (FIRST) continue;
            g = g_mean * (load(V + h * WIDTH) - mean);
            if (k > 0) g = g + load(g_log_C + h * WIDTH);
            store(g_log_C + h * WIDTH, g);
            if (k == K - 1 && !over_heads) totals[h] = totals[h] + w * g;
        }
    }

    const Simple& simple_;
    float *scale_, *mean_, *g_logits_;
};

}  // namespace routing

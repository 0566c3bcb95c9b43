// EM routing of one token, forwards and backwards. The names are those of em.py; t counts iterations from 0.
// Votes and means are taken relative to the first head's vote, the pivot, as in em.py.
#pragma once

#include "token.h"

namespace routing {

struct Em {
    Shape shape;
    const float* beta_a;
    const float* beta_mu;
    const float* inverse_temperature;
    int activate;
};

constexpr float MIN_VARIANCE = 1e-9f;
constexpr float HALF_LOG_2_PI_E = 1.4189385332046727f;

template <int SIZE>
class EmToken : public Token<EmToken<SIZE>, SIZE> {
    using Base = Token<EmToken<SIZE>, SIZE>;
    friend Base;
    using Base::H_, Base::K_, Base::T_, Base::row_, Base::take, Base::sizes, Base::block_, Base::peaks_;
    using Base::votes_, Base::gradient_, Base::logits_, Base::g_weights_, Base::output_, Base::padding_, Base::mass_;

  public:
    explicit EmToken(const Em& em)
        : Base(em.shape, 5 + 3 * em.shape.iterations + (3 + 4 * em.shape.iterations) * em.shape.size), em_(em) {
        beta_a_ = take(1);
        beta_mu_ = take(1);
        sum_a_ = take(1);
        sum_mu_ = take(1);
        constant_ = take(T_);
        slope_ = take(T_);
        activation_ = take(1);
        log_deviation_ = take(T_);
        pivot_ = take(K_);
        mean_ = take(T_ * K_);
        variance_ = take(T_ * K_);
        half_precision_ = take(T_ * K_);
        rest_ = take(T_ * K_);
        g_mean_ = take(K_);
        g_variance_ = take(K_);
        std::memcpy(beta_a_, em.beta_a, em.shape.capsules * sizeof(float));
        std::memcpy(beta_mu_, em.beta_mu, em.shape.capsules * sizeof(float));
    }

    // Of the gradients of the betas, over the tokens that went backwards.
    float* sum_a() { return sum_a_; }
    float* sum_mu() { return sum_mu_; }

  private:
    float share() const { return 1.0f / em_.shape.capsules; }

    void read_votes(const float* votes) {
        this->read_tiles(votes, em_.shape.head_stride, votes_, H_);
        const int64_t H = H_, K = sizes(), row = row_;
        for (int64_t k = 0; k < K; ++k)
            for (int64_t n = 0; n < row; n += WIDTH) {
                float* const V = votes_ + k * H * row + n * H;
                const Lanes pivot = load(V);
                store(pivot_ + k * row + n, pivot);
                for (int64_t h = 0; h < H; ++h) store(V + h * WIDTH, load(V + h * WIDTH) - pivot);
            }
    }

    // M-step: the Gaussians and the activations.
    template <bool AGAIN>
    ALWAYS_INLINE void fit(int64_t t, int64_t at, int64_t n, Mass mass) {
        const int64_t H = H_, K = sizes(), row = row_;
        const Lanes* const w = block_.data();
        Lanes log_variance = lanes(0.0f);
        for (int64_t k = 0; k < K; ++k) {
            const float* const V = votes_ + k * H * row + n * H;
            Lanes mean = lanes(0.0f), variance = lanes(0.0f), rest = lanes(0.0f);
            for (int64_t h = 0; h < H; ++h) mean = mean + (t == 0 ? load(V + h * WIDTH) : w[h] * load(V + h * WIDTH));
            mean = mean * mass.scale;
            for (int64_t h = 0; h < H; ++h) {
                const Lanes delta = load(V + h * WIDTH) - mean, weighted = t == 0 ? delta : w[h] * delta;
                variance = variance + weighted * delta;
                if (AGAIN) rest = rest + weighted;
            }
            variance = variance * mass.scale;
            const Lanes floored = larger(lanes(MIN_VARIANCE), variance);
            log_variance = log_variance + log(floored);
            const int64_t place = (at * K + k) * row + n;
            store(mean_ + place, mean);
            store(half_precision_ + place, 0.5f / floored);
            if (!AGAIN) continue;
            store(variance_ + place, variance);
            store(rest_ + place, rest * mass.scale);
        }
        const Lanes log_deviation = 0.5f * log_variance;
        const Lanes cost = (log_deviation + HALF_LOG_2_PI_E * K) * mass.total;
        const Lanes logit = em_.inverse_temperature[t] * (load(beta_a_ + n) - load(beta_mu_ + n) * mass.total - cost);
        if (AGAIN) store(log_deviation_ + at * row + n, log_deviation);
        if (t < T_ - 1) {
            Lanes slope;
            const Lanes log_activation = log_logistic(logit, slope);
            store(constant_ + at * row + n, log_activation - log_deviation + load(padding_ + n));
            if (AGAIN) store(slope_ + at * row + n, slope);
            return;
        }
        const Lanes activation = em_.activate ? logistic(logit) : lanes(1.0f);
        if (AGAIN) store(activation_ + n, activation);
        for (int64_t k = 0; !AGAIN && k < K; ++k)
            store(output_ + k * row + n, activation * (load(mean_ + k * row + n) + load(pivot_ + k * row + n)));
    }

    // E-step: the logits of the heads' agreement, but for a constant of the head.
    template <bool AGAIN>
    ALWAYS_INLINE void expect(int64_t /* t */, int64_t at, int64_t n) {
        const int64_t H = H_, K = sizes(), row = row_;
        float* const logits = logits_ + n * H;
        Lanes* const peaks = peaks_.data();
        const Lanes constant = load(constant_ + at * row + n);
        for (int64_t k = 0; k < K; ++k) {
            const float* const V = votes_ + k * H * row + n * H;
            const Lanes mean = load(mean_ + (at * K + k) * row + n);
            const Lanes half_precision = load(half_precision_ + (at * K + k) * row + n);
            for (int64_t h = 0; h < H; ++h) {
                const Lanes delta = load(V + h * WIDTH) - mean;
                const Lanes logit = (k == 0 ? constant : load(logits + h * WIDTH)) - delta * delta * half_precision;
                store(logits + h * WIDTH, logit);
                if (!AGAIN && k == K - 1) peaks[h] = larger(logit, peaks[h]);
            }
        }
    }

    // One iteration backwards. g_weights_ holds the gradient of the next iteration's log C, row_sums_ its sums over
    // capsules; peaks_ takes the sums of this one's.
    template <bool FIRST, bool LAST>
    ALWAYS_INLINE void reverse(int64_t t, int64_t n) {
        const int64_t H = H_, K = sizes(), row = row_;
        const Lanes mass = load(mass_ + t * row + n), activation = load(activation_ + n);
        Lanes* const g_logits = block_.data();
        Lanes g_logit = lanes(0.0f), g_log_deviation = lanes(0.0f);
        if (LAST) {
            for (int64_t k = 0; em_.activate && k < K; ++k) {
                const Lanes mean = load(mean_ + (t * K + k) * row + n) + load(pivot_ + k * row + n);
                g_logit = g_logit + load(output_ + k * row + n) * mean;
            }
            g_logit = g_logit * activation * (1.0f - activation);
        } else {
            for (int64_t h = 0; h < H; ++h) {
                g_logits[h] = this->reverse_softmax(t + 1, h, n);
                g_log_deviation = g_log_deviation - g_logits[h];
            }
            g_logit = -g_log_deviation * load(slope_ + t * row + n);
        }
        const Lanes g_cost = -em_.inverse_temperature[t] * g_logit;
        store(sum_a_ + n, load(sum_a_ + n) - g_cost);
        store(sum_mu_ + n, load(sum_mu_ + n) + g_cost * mass);
        const Lanes deviation = load(log_deviation_ + t * row + n) + HALF_LOG_2_PI_E * K;
        g_log_deviation = g_log_deviation + g_cost * mass;
        // The part of the gradient of log C that is the same for all heads.
        Lanes g_weights = g_cost * (load(beta_mu_ + n) + deviation) * mass;
        for (int64_t k = 0; k < K; ++k)
            g_weights = g_weights - reverse_gaussian<LAST>(t, k, n, activation, g_log_deviation);
        for (int64_t k = 0; k < K; ++k) reverse_votes<FIRST, LAST>(t, k, n, g_weights);
    }

    // The gradients of mean and variance. Returns what they give to log C, summed over the heads by their weights.
    template <bool LAST>
    ALWAYS_INLINE Lanes reverse_gaussian(int64_t t, int64_t k, int64_t n, Lanes activation, Lanes g_log_deviation) {
        const int64_t H = H_, row = row_, place = (t * sizes() + k) * row + n;
        const float* const V = votes_ + k * H * row + n * H;
        const Lanes* const g_logits = block_.data();
        const Lanes variance = load(variance_ + place), rest = load(rest_ + place);
        const Lanes half_precision = load(half_precision_ + place), mean = load(mean_ + place);
        Lanes g_mean = load(output_ + k * row + n) * activation, g_variance = g_log_deviation * half_precision;
        if (!LAST) {
            Lanes first_moment = lanes(0.0f), second_moment = lanes(0.0f);
            for (int64_t h = 0; h < H; ++h) {
                const Lanes delta = load(V + h * WIDTH) - mean, moment = g_logits[h] * (half_precision * delta);
                first_moment = first_moment + moment;
                second_moment = second_moment + moment * delta;
            }
            const Lanes precision = half_precision + half_precision;
            g_mean = first_moment + first_moment;
            g_variance = g_variance + precision * second_moment;
        }
        g_variance = where_less(variance, lanes(MIN_VARIANCE), lanes(0.0f), g_variance);
        g_mean = g_mean - (g_variance + g_variance) * rest;
        store(g_mean_ + k * row + n, g_mean);
        store(g_variance_ + k * row + n, g_variance);
        return g_variance * variance + g_mean * rest;
    }

    template <bool FIRST, bool LAST>
    ALWAYS_INLINE void reverse_votes(int64_t t, int64_t k, int64_t n, Lanes g_weights) {
        const int64_t H = H_, K = sizes(), row = row_, place = (t * K + k) * row + n;
        const float* const V = votes_ + k * H * row + n * H;
        float *const G = gradient_ + k * H * row + n * H, *const g_log_C = g_weights_ + n * H;
        const Lanes *const g_logits = block_.data(), mean = load(mean_ + place);
        Lanes* const totals = peaks_.data();
        const Lanes g_mean = load(g_mean_ + k * row + n), g_variance = load(g_variance_ + k * row + n);
        const Lanes half_precision = load(half_precision_ + place);
        const Lanes stretch = g_variance + g_variance, pull = half_precision + half_precision;
        for (int64_t h = 0; h < H; ++h) {
            const Lanes delta = load(V + h * WIDTH) - mean, w = this->template weight<FIRST>(t, h, n);
            Lanes g = w * (stretch * delta + g_mean);
            if (!LAST) g = g + load(G + h * WIDTH) - pull * g_logits[h] * delta;
            store(G + h * WIDTH, g);
            if (FIRST) continue;
            g = (g_variance * delta + g_mean) * delta + (k == 0 ? g_weights : load(g_log_C + h * WIDTH));
            store(g_log_C + h * WIDTH, g);
            if (k == K - 1) totals[h] = totals[h] + w * g;
        }
    }

    const Em& em_;
    float *beta_a_, *beta_mu_, *sum_a_, *sum_mu_, *constant_, *slope_, *activation_, *log_deviation_, *pivot_;
    float *mean_, *variance_, *half_precision_, *rest_, *g_mean_, *g_variance_;
};

}  // namespace routing

// EM routing of one token, forwards and backwards. The names are those of em.py; t counts iterations from 0.
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

// SIZE is K where the compiler may know it, else 0.
template <int SIZE>
class EmToken {
  public:
    explicit EmToken(const Em& em)
        : em_(em),
          H_(em.shape.heads),
          K_(SIZE ? SIZE : em.shape.size),
          T_(em.shape.iterations),
          row_(em.shape.padded()),
          scratch_(em.shape, count_rows(em)) {
        votes_ = scratch_.take(H_ * K_);
        gradient_ = scratch_.take(H_ * K_);
        weights_ = scratch_.take(H_ * T_);
        logits_ = scratch_.take(H_);
        output_ = scratch_.take(K_);
        padding_ = scratch_.take(1);
        beta_a_ = scratch_.take(1);
        beta_mu_ = scratch_.take(1);
        sum_a_ = scratch_.take(1);
        sum_mu_ = scratch_.take(1);
        mass_ = scratch_.take(T_);
        logit_ = scratch_.take(T_);
        log_deviation_ = scratch_.take(T_);
        mean_ = scratch_.take(T_ * K_);
        raw_variance_ = scratch_.take(T_ * K_);
        half_precision_ = scratch_.take(T_ * K_);
        block_.resize(H_);
        second_.resize(H_);
        peaks_.resize(H_);
        row_sums_.resize(H_);
        mark_padding(em.shape, padding_);
        std::memcpy(beta_a_, em.beta_a, em.shape.capsules * sizeof(float));
        std::memcpy(beta_mu_, em.beta_mu, em.shape.capsules * sizeof(float));
    }

    // `kept` takes the softmaxes of T - 1 iterations; `agreement` (H, N) may be null.
    void forward(const float* votes, float* capsules, float* agreement, float* kept) {
        const Rows<const float> V = read_votes(em_.shape, votes, votes_);
        float* const exponentials = weights_;
        for (int64_t t = 0; t < T_; ++t) {
            const bool last = t == T_ - 1;
            const Softmax before = softmax_at(kept, H_, t - 1), after = softmax_at(kept, H_, t);
            for (int64_t h = 0; h < H_; ++h) peaks_[h] = lanes(-3e38f);
            for (int64_t n = 0; n < row_; n += WIDTH) {
                Lanes* const w = block_.data();
                Lanes mass = start();
                if (t > 0) {
                    for (int64_t h = 0; h < H_; ++h) {
                        w[h] = load(exponentials + h * row_ + n) * before.inverse_total[h];
                        second_[h] = load(logits_ + h * row_ + n);
                    }
                }
                if (last && agreement) write_agreement(agreement, n, t);
                if (t > 0) mass = normalise(w, second_.data(), before, H_, load(padding_ + n));
                const Lanes log_activation = fit(V, 0, n, mass, em_.inverse_temperature[t], last);
                if (last) {
                    for (int64_t k = 0; k < K_; ++k) store(output_ + k * row_ + n, output(0, k, n));
                } else {
                    expect(V, 0, n, log_activation, second_.data());
                    for (int64_t h = 0; h < H_; ++h) {
                        store(logits_ + h * row_ + n, second_[h]);
                        peaks_[h] = larger(second_[h], peaks_[h]);
                    }
                }
            }
            if (!last) exponentiate(logits_, exponentials, peaks_.data(), after, em_.shape);
        }
        write_capsules(em_.shape, output_, capsules);
    }

    // Adds to the gradients of the betas (N), and sets that of the votes.
    void backward(const float* votes, const float* kept, const float* upstream, float* gradient, int64_t head_stride) {
        const Rows<const float> V = read_votes(em_.shape, votes, votes_);
        const Rows<float> G = begin_gradient(em_.shape, gradient, head_stride, gradient_);
        read_capsules(em_.shape, upstream, output_);
        for (int64_t n = 0; n < row_; n += WIDTH) recompute(V, const_cast<float*>(kept), n);
        for (int64_t t = T_ - 1; t >= 0; --t) {
            for (int64_t h = 0; h < H_; ++h) peaks_[h] = lanes(0.0f);
            for (int64_t n = 0; n < row_; n += WIDTH) reverse(V, G, t, n);
            for (int64_t h = 0; h < H_; ++h) row_sums_[h] = sum(peaks_[h]);
        }
        end_gradient(em_.shape, gradient, head_stride, gradient_);
    }

    float* sum_a() { return sum_a_; }
    float* sum_mu() { return sum_mu_; }

  private:
    static int64_t count_rows(const Em& em) {
        const int64_t H = em.shape.heads, K = em.shape.size, T = em.shape.iterations;
        return 2 * H * K + H * T + H + K + 5 + 3 * T + 3 * T * K;
    }

    // The first iteration's weights, and its mass.
    Lanes start() {
        for (int64_t h = 0; h < H_; ++h) block_[h] = lanes(1.0f / H_);
        return lanes(static_cast<float>(H_) / em_.shape.capsules);
    }

    void write_agreement(float* agreement, int64_t n, int64_t t) {
        const int64_t N = em_.shape.capsules, lanes_left = N - n < WIDTH ? N - n : WIDTH;
        for (int64_t h = 0; h < H_; ++h) {
            const Lanes C = t > 0 ? block_[h] : lanes(1.0f / N);
            std::memcpy(agreement + h * N + n, &C, lanes_left * sizeof(float));
        }
    }

    // M-step for a block's capsules, with the weights in block_. Returns log(A).
    Lanes fit(const Rows<const float>& V, int64_t t, int64_t n, Lanes mass, float temperature, bool last) {
        Lanes product = lanes(0.0f);
        for (int64_t k = 0; k < K_; ++k) {
            Lanes mean = lanes(0.0f), variance = lanes(0.0f);
            for (int64_t h = 0; h < H_; ++h) mean = mean + block_[h] * load(V.at(h, k, n));
            for (int64_t h = 0; h < H_; ++h) {
                const Lanes delta = load(V.at(h, k, n)) - mean;
                variance = variance + block_[h] * (delta * delta);
            }
            const Lanes floored = larger(lanes(MIN_VARIANCE), variance);
            product = product + log(floored);
            store(mean_ + (t * K_ + k) * row_ + n, mean);
            store(raw_variance_ + (t * K_ + k) * row_ + n, variance);
            store(half_precision_ + (t * K_ + k) * row_ + n, 0.5f / floored);
        }
        const Lanes log_deviation = 0.5f * product;
        const Lanes cost = (log_deviation + HALF_LOG_2_PI_E * K_) * mass;
        const Lanes logit = temperature * (load(beta_a_ + n) - load(beta_mu_ + n) * mass - cost);
        store(mass_ + t * row_ + n, mass);
        store(log_deviation_ + t * row_ + n, log_deviation);
        store(logit_ + t * row_ + n, logit);
        Lanes log_activation = lanes(0.0f);
        if (!last) logistic(logit, &log_activation);
        return log_activation;
    }

    // E-step: the logits of the heads' agreement with a block's capsules, but for a constant of the head.
    void expect(const Rows<const float>& V, int64_t t, int64_t n, Lanes log_activation, Lanes* logits) {
        const Lanes constant = log_activation - load(log_deviation_ + t * row_ + n) + load(padding_ + n);
        for (int64_t h = 0; h < H_; ++h) logits[h] = constant;
        for (int64_t k = 0; k < K_; ++k) {
            const Lanes mean = load(mean_ + (t * K_ + k) * row_ + n);
            const Lanes half_precision = load(half_precision_ + (t * K_ + k) * row_ + n);
            for (int64_t h = 0; h < H_; ++h) {
                const Lanes delta = load(V.at(h, k, n)) - mean;
                logits[h] = logits[h] - delta * delta * half_precision;
            }
        }
    }

    Lanes output(int64_t t, int64_t k, int64_t n) {
        const Lanes mean = load(mean_ + (t * K_ + k) * row_ + n);
        return em_.activate ? logistic(load(logit_ + t * row_ + n)) * mean : mean;
    }

    // All iterations again for one block: the kept softmaxes make the blocks independent of each other.
    void recompute(const Rows<const float>& V, float* kept, int64_t n) {
        Lanes mass = start();
        for (int64_t t = 0; t < T_; ++t) {
            if (t > 0) {
                const Softmax before = softmax_at(kept, H_, t - 1);
                for (int64_t h = 0; h < H_; ++h)
                    block_[h] = exp(second_[h] - before.largest[h]) * before.inverse_total[h];
                mass = normalise(block_.data(), second_.data(), before, H_, load(padding_ + n));
                for (int64_t h = 0; h < H_; ++h) store(weights_ + (t * H_ + h) * row_ + n, block_[h]);
            } else {
                for (int64_t h = 0; h < H_; ++h) store(weights_ + h * row_ + n, block_[h]);
            }
            const bool last = t == T_ - 1;
            const Lanes log_activation = fit(V, t, n, mass, em_.inverse_temperature[t], last);
            if (!last) expect(V, t, n, log_activation, second_.data());
        }
    }

    // One iteration backwards for one block. logits_ holds the gradient of the next iteration's weights, row_sums_ the
    // sums over capsules of the gradient of log C; both are left for the iteration before.
    void reverse(const Rows<const float>& V, const Rows<float>& G, int64_t t, int64_t n) {
        const bool last = t == T_ - 1;
        const Lanes mass = load(mass_ + t * row_ + n);
        const Lanes activation = logistic(load(logit_ + t * row_ + n));
        const float* const w = weights_ + t * H_ * row_ + n;
        Lanes* const g_logits = block_.data();
        Lanes g_logit = lanes(0.0f), g_log_deviation = lanes(0.0f);
        if (last) {
            if (em_.activate) {
                for (int64_t k = 0; k < K_; ++k)
                    g_logit = g_logit + load(output_ + k * row_ + n) * load(mean_ + (t * K_ + k) * row_ + n);
                g_logit = g_logit * activation * (1.0f - activation);
            }
        } else {
            const float* const next_w = w + H_ * row_;
            const Lanes next_mass = load(mass_ + (t + 1) * row_ + n);
            Lanes total = lanes(0.0f);
            for (int64_t h = 0; h < H_; ++h) {
                g_logits[h] = load(next_w + h * row_) * (load(logits_ + h * row_ + n) - next_mass * row_sums_[h]);
                total = total + g_logits[h];
            }
            g_logit = total * logistic(-load(logit_ + t * row_ + n));
            g_log_deviation = -total;
        }
        const float temperature = em_.inverse_temperature[t];
        const Lanes g_cost = -temperature * g_logit;
        store(sum_a_ + n, load(sum_a_ + n) - g_cost);
        store(sum_mu_ + n, load(sum_mu_ + n) + g_cost * mass);
        g_log_deviation = g_log_deviation + g_cost * mass;
        const Lanes g_mass = g_cost * (load(beta_mu_ + n) + load(log_deviation_ + t * row_ + n) + HALF_LOG_2_PI_E * K_);
        Lanes g_weights = g_mass * mass;  // of log C, that of all heads; the heads' own part is added below
        for (int64_t k = 0; k < K_; ++k)
            reverse_size(V, G, t, n, k, activation, g_log_deviation, g_weights);
        if (t == 0) return;
        for (int64_t h = 0; h < H_; ++h) {
            const Lanes g = second_[h] + g_weights;
            store(logits_ + h * row_ + n, g);
            peaks_[h] = peaks_[h] + load(w + h * row_) * g;
        }
    }

    void reverse_size(const Rows<const float>& V, const Rows<float>& G, int64_t t, int64_t n, int64_t k,
                      Lanes activation, Lanes g_log_deviation, Lanes& g_weights) {
        const bool last = t == T_ - 1;
        const float* const w = weights_ + t * H_ * row_ + n;
        const Lanes mean = load(mean_ + (t * K_ + k) * row_ + n);
        const Lanes half_precision = load(half_precision_ + (t * K_ + k) * row_ + n);
        const Lanes raw = load(raw_variance_ + (t * K_ + k) * row_ + n);
        Lanes g_mean = load(output_ + k * row_ + n), g_variance = g_log_deviation * half_precision;
        Lanes pull = lanes(0.0f), rest = lanes(0.0f);  // rest: sum_h w delta, zero but for the rounding of the mean
        if (last) {
            if (em_.activate) g_mean = g_mean * activation;
            for (int64_t h = 0; h < H_; ++h) rest = rest + load(w + h * row_) * (load(V.at(h, k, n)) - mean);
        } else {
            Lanes first = lanes(0.0f), second = lanes(0.0f);
            for (int64_t h = 0; h < H_; ++h) {
                const Lanes delta = load(V.at(h, k, n)) - mean;
                const Lanes moment = block_[h] * delta;
                rest = rest + load(w + h * row_) * delta;
                first = first + moment;
                second = second + moment * delta;
            }
            pull = 2.0f * half_precision;
            g_mean = pull * first;
            g_variance = g_variance + pull * half_precision * second;
        }
        g_variance = where_less(raw, lanes(MIN_VARIANCE), lanes(0.0f), g_variance);
        g_mean = g_mean - 2.0f * g_variance * rest;
        for (int64_t h = 0; h < H_; ++h) {
            const Lanes delta = load(V.at(h, k, n)) - mean;
            const Lanes stretch = g_variance * delta;
            const Lanes own = (stretch + g_mean) * delta, weight = load(w + h * row_);
            second_[h] = k == 0 ? own : second_[h] + own;
            g_weights = g_weights - weight * own;
            Lanes g = weight * (stretch + stretch + g_mean);
            if (!last) g = g - pull * delta * block_[h] + load(G.at(h, k, n));
            store(G.at(h, k, n), g);
        }
    }

    const Em& em_;
    const int64_t H_, K_, T_, row_;
    Scratch scratch_;
    float *votes_, *gradient_, *weights_, *logits_, *output_, *padding_, *beta_a_, *beta_mu_, *sum_a_, *sum_mu_;
    float *mass_, *logit_, *log_deviation_, *mean_, *raw_variance_, *half_precision_;
    std::vector<Lanes> block_, second_, peaks_;
    std::vector<float> row_sums_;
};

}  // namespace routing

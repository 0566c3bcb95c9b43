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
        Lanes *const block = block_.data(), *const second = second_.data(), *const peaks = peaks_.data();
        float* const logits = logits_;
        const int64_t H = H_, row = row_;
        for (int64_t t = 0; t < T_; ++t) {
            const bool last = t == T_ - 1;
            const Softmax before = softmax_at(kept, H, t - 1), after = softmax_at(kept, H, t);
            for (int64_t h = 0; h < H; ++h) peaks[h] = lanes(-3e38f);
            for (int64_t n = 0; n < row; n += WIDTH) {
                Mass mass = even_mass();
                if (t > 0) {
                    for (int64_t h = 0; h < H; ++h)
                        block[h] = load(exponentials + h * row + n) * before.inverse_total[h];
                    if (last && agreement) write_agreement(agreement, n, t);
                    mass = weigh(block, logits + n, row, before, H, load(padding_ + n));
                } else if (last && agreement) {
                    write_agreement(agreement, n, t);
                }
                const Lanes log_activation = fit(V, t, 0, n, mass);
                if (last) {
                    for (int64_t k = 0; k < sizes(); ++k) store(output_ + k * row + n, output(V, 0, k, n));
                    continue;
                }
                expect(V, 0, n, log_activation, second);
                for (int64_t h = 0; h < H; ++h) {
                    store(logits + h * row + n, second[h]);
                    peaks[h] = larger(second[h], peaks[h]);
                }
            }
            if (!last) exponentiate(logits, exponentials, peaks, after, em_.shape);
        }
        write_capsules(em_.shape, output_, capsules);
    }

    // Adds to the sums of the betas' gradients, and sets that of the votes.
    void backward(const float* votes, const float* kept, const float* upstream, float* gradient, int64_t head_stride) {
        const Rows<const float> V = read_votes(em_.shape, votes, votes_);
        const Rows<float> G = {gradient_, row_, H_ * row_};
        read_capsules(em_.shape, upstream, output_);
        for (int64_t n = 0; n < row_; n += WIDTH) recompute(V, const_cast<float*>(kept), n);
        for (int64_t t = T_ - 1; t >= 0; --t) {
            for (int64_t h = 0; h < H_; ++h) peaks_[h] = lanes(0.0f);
            for (int64_t n = 0; n < row_; n += WIDTH) reverse(V, G, t, n);
            for (int64_t h = 0; h < H_; ++h) row_sums_[h] = sum(peaks_[h]);
        }
        write_gradient(em_.shape, gradient_, gradient, head_stride);
    }

    float* sum_a() { return sum_a_; }
    float* sum_mu() { return sum_mu_; }

  private:
    // Vector stores may alias the members of this object: what inner loops use is copied into locals.
    ALWAYS_INLINE int64_t sizes() const { return SIZE ? SIZE : K_; }

    static int64_t count_rows(const Em& em) {
        const int64_t H = em.shape.heads, K = em.shape.size, T = em.shape.iterations;
        return 2 * H * K + H * T + H + K + 5 + 3 * T + 3 * T * K;
    }

    // The first iteration's: every head gives 1/N to every capsule.
    ALWAYS_INLINE Mass even_mass() { return {lanes(static_cast<float>(H_) / em_.shape.capsules), lanes(1.0f / H_)}; }

    void write_agreement(float* agreement, int64_t n, int64_t t) {
        const int64_t N = em_.shape.capsules, lanes_left = N - n < WIDTH ? N - n : WIDTH;
        for (int64_t h = 0; h < H_; ++h) {
            const Lanes C = t > 0 ? block_[h] : lanes(1.0f / N);
            std::memcpy(agreement + h * N + n, &C, lanes_left * sizeof(float));
        }
    }

    // M-step of iteration t for a block's capsules, with the weights in block_ (but in the first iteration, where they
    // are equal). The Gaussians are put in place `at`. Returns log(A).
    ALWAYS_INLINE Lanes fit(Rows<const float> V, int64_t t, int64_t at, int64_t n, Mass mass) {
        const int64_t H = H_, K = sizes(), row = row_;
        const Lanes* const w = block_.data();
        Lanes product = lanes(0.0f);
        for (int64_t k = 0; k < K; ++k) {
            const Lanes pivot = load(V.at(0, k, n));
            Lanes mean = lanes(0.0f), variance = lanes(0.0f);
            if (t == 0) {
                for (int64_t h = 0; h < H; ++h) mean = mean + (load(V.at(h, k, n)) - pivot);
                mean = mean * mass.scale;
                for (int64_t h = 0; h < H; ++h) {
                    const Lanes delta = load(V.at(h, k, n)) - pivot - mean;
                    variance = variance + delta * delta;
                }
            } else {
                for (int64_t h = 0; h < H; ++h) mean = mean + w[h] * (load(V.at(h, k, n)) - pivot);
                mean = mean * mass.scale;
                for (int64_t h = 0; h < H; ++h) {
                    const Lanes delta = load(V.at(h, k, n)) - pivot - mean;
                    variance = variance + w[h] * (delta * delta);
                }
            }
            variance = variance * mass.scale;
            const Lanes floored = larger(lanes(MIN_VARIANCE), variance);
            product = product + log(floored);
            store(mean_ + (at * K + k) * row + n, mean);
            store(raw_variance_ + (at * K + k) * row + n, variance);
            store(half_precision_ + (at * K + k) * row + n, 0.5f / floored);
        }
        const Lanes log_deviation = 0.5f * product;
        const Lanes cost = (log_deviation + HALF_LOG_2_PI_E * K) * mass.total;
        const Lanes logit = em_.inverse_temperature[t] * (load(beta_a_ + n) - load(beta_mu_ + n) * mass.total - cost);
        store(mass_ + at * row + n, mass.total);
        store(log_deviation_ + at * row + n, log_deviation);
        store(logit_ + at * row + n, logit);
        Lanes log_activation = lanes(0.0f);
        if (t < T_ - 1) logistic(logit, &log_activation);
        return log_activation;
    }

    // E-step: the logits of the heads' agreement with a block's capsules, but for a constant of the head.
    ALWAYS_INLINE void expect(Rows<const float> V, int64_t t, int64_t n, Lanes log_activation, Lanes* logits) {
        const int64_t H = H_, K = sizes(), row = row_;
        const Lanes constant = log_activation - load(log_deviation_ + t * row + n) + load(padding_ + n);
        for (int64_t k = 0; k < K; ++k) {
            const Lanes mean = load(mean_ + (t * K + k) * row + n), pivot = load(V.at(0, k, n));
            const Lanes half_precision = load(half_precision_ + (t * K + k) * row + n);
            for (int64_t h = 0; h < H; ++h) {
                const Lanes delta = load(V.at(h, k, n)) - pivot - mean;
                logits[h] = (k == 0 ? constant : logits[h]) - delta * delta * half_precision;
            }
        }
    }

    Lanes output(Rows<const float> V, int64_t t, int64_t k, int64_t n) {
        const Lanes mean = load(mean_ + (t * K_ + k) * row_ + n) + load(V.at(0, k, n));
        return em_.activate ? logistic(load(logit_ + t * row_ + n)) * mean : mean;
    }

    // All iterations again for one block: the kept softmaxes make the blocks independent of each other.
    void recompute(Rows<const float> V, float* kept, int64_t n) {
        const int64_t H = H_, row = row_, T = T_;
        Lanes *const block = block_.data(), *const logits = second_.data();
        float* const weights = weights_ + n;
        for (int64_t t = 0; t < T; ++t) {
            Mass mass = even_mass();
            if (t > 0) {
                const Softmax before = softmax_at(kept, H, t - 1);
                for (int64_t h = 0; h < H; ++h)
                    block[h] = exp(logits[h] - before.largest[h]) * before.inverse_total[h];
                mass = weigh(block, (const float*)logits, WIDTH, before, H, load(padding_ + n));
                for (int64_t h = 0; h < H; ++h) store(weights + (t * H + h) * row, block[h] * mass.scale);
            } else {
                for (int64_t h = 0; h < H; ++h) store(weights + h * row, mass.scale);
            }
            const Lanes log_activation = fit(V, t, t, n, mass);
            if (t < T - 1) expect(V, t, n, log_activation, logits);
        }
    }

    // One iteration backwards for one block. logits_ holds the gradient of the next iteration's weights, row_sums_ the
    // sums over capsules of the gradient of log C; both are left for the iteration before.
    void reverse(Rows<const float> V, Rows<float> G, int64_t t, int64_t n) {
        const int64_t H = H_, K = sizes(), row = row_;
        const bool last = t == T_ - 1;
        const Lanes mass = load(mass_ + t * row + n);
        // The activation after the last iteration; before it, its complement is the slope of the log.
        const Lanes activation = logistic(last ? load(logit_ + t * row + n) : -load(logit_ + t * row + n));
        const float* const w = weights_ + t * H * row + n;
        float* const g_weights_next = logits_ + n;
        Lanes *const g_logits = block_.data(), *const second = second_.data(), *const totals = peaks_.data();
        Lanes g_logit = lanes(0.0f), g_log_deviation = lanes(0.0f);
        if (last) {
            if (em_.activate) {
                for (int64_t k = 0; k < K; ++k)
                    g_logit = g_logit + load(output_ + k * row + n) *
                                            (load(mean_ + (t * K + k) * row + n) + load(V.at(0, k, n)));
                g_logit = g_logit * activation * (1.0f - activation);
            }
        } else {
            const float *const next_w = w + H * row, *const row_sums = row_sums_.data();
            const Lanes next_mass = load(mass_ + (t + 1) * row + n);
            Lanes total = lanes(0.0f);
            for (int64_t h = 0; h < H; ++h) {
                const Lanes g = load(next_w + h * row) * (load(g_weights_next + h * row) - next_mass * row_sums[h]);
                g_logits[h] = g;
                total = total + g;
            }
            g_logit = total * activation;
            g_log_deviation = -total;
        }
        const Lanes g_cost = -em_.inverse_temperature[t] * g_logit;
        store(sum_a_ + n, load(sum_a_ + n) - g_cost);
        store(sum_mu_ + n, load(sum_mu_ + n) + g_cost * mass);
        g_log_deviation = g_log_deviation + g_cost * mass;
        const Lanes g_mass = g_cost * (load(beta_mu_ + n) + load(log_deviation_ + t * row + n) + HALF_LOG_2_PI_E * K);
        Lanes g_weights = g_mass * mass;  // of log C, that of all heads; the heads' own part is added below
        for (int64_t k = 0; k < K; ++k) reverse_size(V, G, t, n, k, activation, g_log_deviation, g_weights);
        if (t == 0) return;
        for (int64_t h = 0; h < H; ++h) {
            const Lanes g = second[h] + g_weights;
            store(g_weights_next + h * row, g);
            totals[h] = totals[h] + load(w + h * row) * g;
        }
    }

    ALWAYS_INLINE void reverse_size(Rows<const float> V, Rows<float> G, int64_t t, int64_t n, int64_t k,
                                    Lanes activation, Lanes g_log_deviation, Lanes& g_weights) {
        const int64_t H = H_, K = sizes(), row = row_;
        const bool last = t == T_ - 1;
        const float* const w = weights_ + t * H * row + n;
        const Lanes* const g_logits = block_.data();
        Lanes* const second = second_.data();
        const Lanes mean = load(mean_ + (t * K + k) * row + n), pivot = load(V.at(0, k, n));
        const Lanes half_precision = load(half_precision_ + (t * K + k) * row + n);
        const Lanes raw = load(raw_variance_ + (t * K + k) * row + n);
        Lanes g_mean = load(output_ + k * row + n), g_variance = g_log_deviation * half_precision;
        Lanes pull = lanes(0.0f), rest = lanes(0.0f);  // rest: sum_h w delta, zero but for the rounding of the mean
        if (last) {
            if (em_.activate) g_mean = g_mean * activation;
            for (int64_t h = 0; h < H; ++h) rest = rest + load(w + h * row) * (load(V.at(h, k, n)) - pivot - mean);
        } else {
            Lanes first_moment = lanes(0.0f), second_moment = lanes(0.0f);
            for (int64_t h = 0; h < H; ++h) {
                const Lanes delta = load(V.at(h, k, n)) - pivot - mean;
                const Lanes moment = g_logits[h] * delta;
                rest = rest + load(w + h * row) * delta;
                first_moment = first_moment + moment;
                second_moment = second_moment + moment * delta;
            }
            pull = 2.0f * half_precision;
            g_mean = pull * first_moment;
            g_variance = g_variance + pull * half_precision * second_moment;
        }
        g_variance = where_less(raw, lanes(MIN_VARIANCE), lanes(0.0f), g_variance);
        g_mean = g_mean - 2.0f * g_variance * rest;
        for (int64_t h = 0; h < H; ++h) {
            const Lanes delta = load(V.at(h, k, n)) - pivot - mean, weight = load(w + h * row);
            const Lanes stretch = g_variance * delta;
            Lanes g = weight * (stretch + stretch + g_mean);
            if (!last) g = g - pull * delta * g_logits[h] + load(G.at(h, k, n));
            store(G.at(h, k, n), g);
            if (t == 0) continue;
            const Lanes own = (stretch + g_mean) * delta;
            second[h] = k == 0 ? own : second[h] + own;
            g_weights = g_weights - weight * own;
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

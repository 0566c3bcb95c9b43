// What both routings share: the votes of one token, laid out for vectors, and the weights that heads give to capsules.
#pragma once

#include <cstdlib>
#include <memory>

#include "chunks.h"
#include "lanes.h"

namespace routing {

// A thread's working memory: rows of padded capsules, all zero at first.
class Scratch {
  public:
    Scratch(int64_t rows, int64_t row) : row_(row) {
        const size_t bytes = static_cast<size_t>(rows * row_) * sizeof(float) + 64;
        memory_.reset(static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
        std::memset(memory_.get(), 0, bytes);
        next_ = memory_.get();
    }
    float* take(int64_t rows) {
        float* taken = next_;
        next_ += rows * row_;
        return taken;
    }

  private:
    struct Free {
        void operator()(float* pointer) const { std::free(pointer); }
    };
    int64_t row_;
    std::unique_ptr<float, Free> memory_;
    float* next_;
};

// What is kept of a softmax over capsules, per head: the largest logit and 1 / sum of exp(logit - largest).
struct Softmax {
    float* largest;
    float* inverse_total;
};

inline Softmax softmax_at(float* kept, int64_t heads, int64_t iteration) {
    return {kept + iteration * 2 * heads, kept + iteration * 2 * heads + heads};
}

// Logits of the lanes past the last capsule: no weight goes to them. No logit of a capsule is below it.
constexpr float NOTHING = -3e38f;

// Below this a capsule's mass has lost digits of the weights that it is the sum of.
constexpr float LEAST_MASS = 1e-25f;

// With more iterations, weights are divided by their sum, not multiplied by its reciprocal: equal weights of two heads
// are then exactly 1/2. Each iteration can make a difference between them ten times as large.
constexpr int64_t QUICK_ITERATIONS = 3;

// What heads give to a block of capsules: sum_h C_hn, and 1 / the sum of the weights that stand for C_hn.
struct Mass {
    Lanes total, scale;
};

// Makes weights of a sum of 1, if they are wanted exactly, and returns 1 / the sum that they have now.
ALWAYS_INLINE Lanes normalise(Lanes* weights, Lanes sum, int64_t heads, bool exact) {
    if (!exact) return 1.0f / sum;
    for (int64_t h = 0; h < heads; ++h) weights[h] = weights[h] / sum;
    return lanes(1.0f);
}

// Sums C_hn over the heads. Where every head leaves a capsule, C_hn / sum_h C_hn is taken from the logits (those of
// head h at logits + h * WIDTH), and so it is for one head: rounding must not make its votes differ from their mean.
ALWAYS_INLINE Mass sum_weights(Lanes* agreement, const float* logits, Softmax softmax, int64_t heads, Lanes padding,
                               bool exact) {
    Lanes total = agreement[0];
    for (int64_t h = 1; h < heads; ++h) total = total + agreement[h];
    const Lanes counted = where_less(padding, lanes(0.0f), lanes(1.0f), total);
    if (__builtin_expect(heads > 1 && !any_less(counted, LEAST_MASS), 1))
        return {total, normalise(agreement, counted, heads, exact)};
    Lanes peak = lanes(NOTHING), sum = lanes(0.0f);
    for (int64_t h = 0; h < heads; ++h) {
        // The head's own largest is taken off first: of two large numbers the difference is exact.
        agreement[h] = (load(logits + h * WIDTH) - softmax.largest[h]) + log(lanes(softmax.inverse_total[h]));
        agreement[h] = where_less(padding, lanes(0.0f), lanes(0.0f), agreement[h]);  // -inf past the last capsule
        peak = larger(agreement[h], peak);
    }
    for (int64_t h = 0; h < heads; ++h) {
        agreement[h] = exp(agreement[h] - peak);
        sum = sum + agreement[h];
    }
    return {total, normalise(agreement, sum, heads, exact)};
}

// One token's routing: what all routings share.
// A row holds a number for each capsule. What each head has its own of is in tiles: block by block of capsules, and in
// a block head by head, so that head h of the block at n is at n * H + h * WIDTH. Memory is then walked through from
// end to end; a row for each head would put the heads on the same lines of the cache.
// `Routing` is the class that derives from this one. It has
//   share()                           C_hn of the first iteration
//   read_votes(votes)                 puts them into votes_
//   weigh<AGAIN>(n, before)           makes of the logits the weights of a block's votes, in block_
//   fit<AGAIN>(t, at, n, mass)        the capsules of iteration t; what is needed of them later is put in place `at`
//   expect<AGAIN>(t, at, n)           the logits of the next iteration; forwards, their peaks too
//   reverse<FIRST, LAST>(t, n)        iteration t backwards
// each for the block of capsules at n. AGAIN is true in the backward pass, which goes through all iterations again; it
// takes the softmaxes from the forward pass. SIZE is K where the compiler may know it, else 0.
template <typename Routing, int SIZE>
class Token {
  public:
    Token(const Shape& shape, int64_t rows)
        : shape_(shape),
          H_(shape.heads),
          K_(SIZE ? SIZE : shape.size),
          T_(shape.iterations),
          row_((shape.capsules + WIDTH - 1) / WIDTH * WIDTH),
          scratch_(rows + 2 * H_ * K_ + H_ * (T_ - 1) + 3 * H_ + K_ + 1 + T_, row_),
          block_(H_),
          peaks_(H_),
          row_sums_(H_) {
        votes_ = take(H_ * K_);
        gradient_ = take(H_ * K_);
        weights_ = take(H_ * (T_ - 1));
        logits_ = take(H_);
        exponentials_ = take(H_);
        g_weights_ = take(H_);
        output_ = take(K_);
        padding_ = take(1);
        mass_ = take(T_);
        for (int64_t n = shape.capsules; n < row_; ++n) padding_[n] = NOTHING;
    }

    // `kept` takes the softmaxes of T - 1 iterations; `agreement` (H, N) may be null.
    void forward(const float* votes, float* capsules, float* agreement, float* kept) {
        routing().read_votes(votes);
        for (int64_t t = 0; t < T_; ++t) {
            const bool last = t == T_ - 1;
            for (int64_t h = 0; h < H_; ++h) peaks_[h] = lanes(NOTHING);
            iterate<false>(t, kept, last ? agreement : nullptr);
            if (!last) exponentiate(softmax_at(kept, H_, t));
        }
        write_tiles(output_, 1, capsules, 0);
    }

    // Sets the gradient of the votes. It may be in the place of the votes.
    void backward(const float* votes, const float* kept, const float* upstream, float* gradient, int64_t head_stride) {
        routing().read_votes(votes);
        read_tiles(upstream, 0, output_, 1);
        for (int64_t t = 0; t < T_; ++t) iterate<true>(t, const_cast<float*>(kept), nullptr);
        for (int64_t t = T_ - 1; t >= 0; --t) {
            for (int64_t h = 0; h < H_; ++h) peaks_[h] = lanes(0.0f);
            if (t == T_ - 1)
                t == 0 ? reverse_all<true, true>(t) : reverse_all<false, true>(t);
            else
                t == 0 ? reverse_all<true, false>(t) : reverse_all<false, false>(t);
            for (int64_t h = 0; h < H_; ++h) row_sums_[h] = sum(peaks_[h]);
        }
        write_tiles(gradient_, H_, gradient, head_stride);
    }

  protected:
    // Vector stores may alias the members of this object: what inner loops use is copied into locals.
    ALWAYS_INLINE int64_t sizes() const { return SIZE ? SIZE : K_; }
    float* take(int64_t rows) { return scratch_.take(rows); }

    // From (heads, N, K) to tiles and back; with one head these are rows.
    void read_tiles(const float* from, int64_t head_stride, float* tiles, int64_t heads) {
        const int64_t N = shape_.capsules, K = sizes(), row = row_;
        for (int64_t k = 0; k < K; ++k)
            for (int64_t n = 0; n < row; n += WIDTH, tiles += heads * WIDTH)
                for (int64_t h = 0; h < heads; ++h) {
                    const float* const block = from + h * head_stride + n * K + k;
                    if (K == 1 && n + WIDTH <= N)
                        store(tiles + h * WIDTH, load(block));
                    else
                        for (int64_t i = 0; i < WIDTH; ++i) tiles[h * WIDTH + i] = n + i < N ? block[i * K] : 0.0f;
                }
    }

    void write_tiles(const float* tiles, int64_t heads, float* to, int64_t head_stride) {
        const int64_t N = shape_.capsules, K = sizes(), row = row_;
        for (int64_t k = 0; k < K; ++k)
            for (int64_t n = 0; n < row; n += WIDTH, tiles += heads * WIDTH)
                for (int64_t h = 0; h < heads; ++h) {
                    float* const block = to + h * head_stride + n * K + k;
                    if (K == 1 && n + WIDTH <= N)
                        store(block, load(tiles + h * WIDTH));
                    else
                        for (int64_t i = 0; i < WIDTH && n + i < N; ++i) block[i * K] = tiles[h * WIDTH + i];
                }
    }

    // C_hn, then C_hn / sum_h C_hn but for the scale.
    template <bool AGAIN>
    ALWAYS_INLINE Mass weigh(int64_t n, Softmax before) {
        const int64_t H = H_;
        Lanes* const block = block_.data();
        const float *const logits = logits_ + n * H, *const exponentials = exponentials_ + n * H;
        for (int64_t h = 0; h < H; ++h) {
            const Lanes e = AGAIN ? exp(load(logits + h * WIDTH) - before.largest[h]) : load(exponentials + h * WIDTH);
            block[h] = e * before.inverse_total[h];
        }
        return sum_weights(block, logits, before, H, load(padding_ + n), T_ > QUICK_ITERATIONS);
    }

    // The weights of iteration t, whose sum over heads is 1: in the first they are all equal.
    template <bool FIRST>
    ALWAYS_INLINE Lanes weight(int64_t t, int64_t h, int64_t n) const {
        return FIRST ? lanes(1.0f / H_) : load(weights_ + ((t - 1) * row_ + n) * H_ + h * WIDTH);
    }

    // The gradient of a head's logits, through the softmax over capsules that made C of iteration t.
    ALWAYS_INLINE Lanes reverse_softmax(int64_t t, int64_t h, int64_t n) const {
        const Lanes g = load(g_weights_ + n * H_ + h * WIDTH) - load(mass_ + t * row_ + n) * row_sums_[h];
        return weight<false>(t, h, n) * g;
    }

    const Shape& shape_;
    const int64_t H_, K_, T_, row_;
    Scratch scratch_;
    std::vector<Lanes> block_, peaks_;
    std::vector<float> row_sums_;
    // In tiles, for each k: votes_ and their gradient_; for each t > 0: weights_; else logits_, exponentials_ and
    // g_weights_, the gradient of log C. In rows: output_ for each k, the capsules or their gradient; mass_ for each t;
    // padding_, which is 0, and NOTHING past the last capsule.
    float *votes_, *gradient_, *weights_, *logits_, *exponentials_, *g_weights_, *output_, *padding_, *mass_;

  private:
    Routing& routing() { return static_cast<Routing&>(*this); }

    // Makes of the logits exp(logit - largest), and keeps the softmax's constants.
    void exponentiate(Softmax softmax) {
        const int64_t H = H_, tiles = row_ * H_;
        const float* const logits = logits_;
        float* const exponentials = exponentials_;
        Lanes* const totals = block_.data();
        for (int64_t h = 0; h < H; ++h) {
            softmax.largest[h] = largest(peaks_[h]);
            totals[h] = lanes(0.0f);
        }
        for (int64_t tile = 0; tile < tiles; tile += H * WIDTH)
            for (int64_t h = 0; h < H; ++h) {
                const Lanes e = exp(load(logits + tile + h * WIDTH) - softmax.largest[h]);
                store(exponentials + tile + h * WIDTH, e);
                totals[h] = totals[h] + e;
            }
        for (int64_t h = 0; h < H; ++h) softmax.inverse_total[h] = 1.0f / sum(totals[h]);
    }

    template <bool AGAIN>
    void iterate(int64_t t, float* kept, float* agreement) {
        const int64_t H = H_, N = shape_.capsules, row = row_, at = AGAIN ? t : 0;
        const Softmax before = softmax_at(kept, H, t - 1);
        const float share = routing().share();
        Lanes* const block = block_.data();
        for (int64_t n = 0; n < row + WIDTH; n += WIDTH) {
            if (n < row) {
                Mass mass = {lanes(share * H), lanes(1.0f / H)};
                if (t > 0) mass = routing().template weigh<AGAIN>(n, before);
                if (AGAIN) {
                    store(mass_ + t * row + n, mass.total);
                    for (int64_t h = 0; t > 0 && h < H; ++h)
                        store(weights_ + ((t - 1) * row + n) * H + h * WIDTH, block[h] * mass.scale);
                }
                for (int64_t h = 0; agreement && h < H; ++h) {
                    const Lanes C = (t > 0 ? block[h] * mass.scale : mass.scale) * mass.total;
                    std::memcpy(agreement + h * N + n, &C, (N - n < WIDTH ? N - n : WIDTH) * sizeof(float));
                }
                routing().template fit<AGAIN>(t, at, n, mass);
            }
            // One block later, the long chains of operations of exp and log in `fit` are hidden behind other work.
            if (n > 0 && t < T_ - 1) routing().template expect<AGAIN>(t, at, n - WIDTH);
        }
    }

    template <bool FIRST, bool LAST>
    void reverse_all(int64_t t) {
        for (int64_t n = 0; n < row_; n += WIDTH) routing().template reverse<FIRST, LAST>(t, n);
    }
};

}  // namespace routing

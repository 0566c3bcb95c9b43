// What both routings share: the votes of one token, laid out for vectors, and the weights that heads give to capsules.
#pragma once

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "lanes.h"

namespace routing {

struct Shape {
    int64_t tokens;
    int64_t heads, capsules, size;  // H, N, K
    int64_t iterations;
    int64_t token_stride, head_stride;  // of the votes, in floats; N and K are contiguous

    int64_t padded() const { return (capsules + WIDTH - 1) / WIDTH * WIDTH; }
    bool in_place() const { return size == 1 && capsules % WIDTH == 0; }
};

// The tokens of one unit of work. Sums over tokens are made per chunk, then over chunks in order: the number of threads
// changes no bit of any result.
constexpr int64_t CHUNK = 16;

inline int64_t count_chunks(const Shape& shape) { return (shape.tokens + CHUNK - 1) / CHUNK; }

// Calls work(chunk) for every chunk, on so many threads; `make_work` is called once on each thread.
template <typename MakeWork>
void for_each_chunk(const Shape& shape, int threads, MakeWork make_work) {
    const int64_t chunks = count_chunks(shape);
    if (threads > chunks) threads = static_cast<int>(chunks);
    if (threads <= 1) {
        auto work = make_work();
        for (int64_t chunk = 0; chunk < chunks; ++chunk) work(chunk);
        return;
    }
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
    {
        auto work = make_work();
#pragma omp for schedule(static)
        for (int64_t chunk = 0; chunk < chunks; ++chunk) work(chunk);
    }
#else
    std::vector<std::thread> workers;
    for (int thread = 0; thread < threads; ++thread)
        workers.emplace_back([&, thread] {
            auto work = make_work();
            const int64_t end = chunks * (thread + 1) / threads;
            for (int64_t chunk = chunks * thread / threads; chunk < end; ++chunk) work(chunk);
        });
    for (auto& worker : workers) worker.join();
#endif
}

// A thread's working memory: rows of padded capsules, all zero at first.
class Scratch {
  public:
    Scratch(const Shape& shape, int64_t rows) : row_(shape.padded()) {
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

// The votes of one token, or their gradient: row (h, k) holds the capsules. With K = 1 that is how votes come.
template <typename Number>
struct Rows {
    Number* data;
    int64_t head_stride, size_stride;
    Number* at(int64_t h, int64_t k, int64_t n) const { return data + h * head_stride + k * size_stride + n; }
};

inline Rows<const float> read_votes(const Shape& shape, const float* votes, float* buffer) {
    if (shape.in_place()) return {votes, shape.head_stride, 0};
    const int64_t row = shape.padded(), K = shape.size;
    for (int64_t h = 0; h < shape.heads; ++h)
        for (int64_t n = 0; n < shape.capsules; ++n)
            for (int64_t k = 0; k < K; ++k)
                buffer[(k * shape.heads + h) * row + n] = votes[h * shape.head_stride + n * K + k];
    return {buffer, row, shape.heads * row};
}

// Writes a token's gradient from rows of padded capsules.
inline void write_gradient(const Shape& shape, const float* rows, float* gradient, int64_t head_stride) {
    const int64_t row = shape.padded(), K = shape.size;
    for (int64_t h = 0; h < shape.heads; ++h) {
        float* const to = gradient + h * head_stride;
        if (K == 1)
            std::memcpy(to, rows + h * row, shape.capsules * sizeof(float));
        else
            for (int64_t n = 0; n < shape.capsules; ++n)
                for (int64_t k = 0; k < K; ++k) to[n * K + k] = rows[(k * shape.heads + h) * row + n];
    }
}

// From (N, K) to rows of padded capsules and back.
inline void read_capsules(const Shape& shape, const float* capsules, float* rows) {
    const int64_t row = shape.padded(), N = shape.capsules, K = shape.size;
    for (int64_t k = 0; k < K; ++k) {
        for (int64_t n = 0; n < N; ++n) rows[k * row + n] = capsules[n * K + k];
        for (int64_t n = N; n < row; ++n) rows[k * row + n] = 0.0f;
    }
}

inline void write_capsules(const Shape& shape, const float* rows, float* capsules) {
    for (int64_t n = 0; n < shape.capsules; ++n)
        for (int64_t k = 0; k < shape.size; ++k) capsules[n * shape.size + k] = rows[k * shape.padded() + n];
}

// What is kept of a softmax over capsules, per head: the largest logit and 1 / sum of exp(logit - largest).
struct Softmax {
    float* largest;
    float* inverse_total;
};

inline Softmax softmax_at(float* kept, int64_t heads, int64_t iteration) {
    return {kept + iteration * 2 * heads, kept + iteration * 2 * heads + heads};
}

// Logits of the lanes past the last capsule: no weight goes to them.
constexpr float NOTHING = -1e30f;

// A row of 0 for capsules, NOTHING past the last.
inline void mark_padding(const Shape& shape, float* padding) {
    for (int64_t n = 0; n < shape.padded(); ++n) padding[n] = n < shape.capsules ? 0.0f : NOTHING;
}

// Below this a capsule's mass has lost digits of the weights that it is the sum of.
constexpr float LEAST_MASS = 1e-25f;

// What heads give to a block of capsules: sum_h C_hn, and 1 / the sum of the weights that stand for C_hn.
struct Mass {
    Lanes total, scale;
};

// Sums C_hn over the heads. Where every head leaves a capsule, C_hn / sum_h C_hn is taken from the logits (those of
// head h at logits + h * stride), and so it is for one head: rounding must not make its votes differ from their mean.
ALWAYS_INLINE Mass weigh(Lanes* agreement, const float* logits, int64_t stride, Softmax softmax, int64_t heads,
                         Lanes padding) {
    Lanes total = agreement[0];
    for (int64_t h = 1; h < heads; ++h) total = total + agreement[h];
    const Lanes counted = where_less(padding, lanes(0.0f), lanes(1.0f), total);
    if (__builtin_expect(heads > 1 && !any_less(counted, LEAST_MASS), 1)) return {total, 1.0f / counted};
    Lanes peak = lanes(-3e38f), sum = lanes(0.0f);
    for (int64_t h = 0; h < heads; ++h) {
        // The head's own largest is taken off first: of two large numbers the difference is exact.
        agreement[h] = (load(logits + h * stride) - softmax.largest[h]) + log(lanes(softmax.inverse_total[h]));
        peak = larger(agreement[h], peak);
    }
    for (int64_t h = 0; h < heads; ++h) {
        agreement[h] = exp(agreement[h] - peak);
        sum = sum + agreement[h];
    }
    return {total, 1.0f / sum};
}

// Turns rows of logits into rows of exp(logit - largest), and keeps the softmax's constants.
inline void exponentiate(const float* logits, float* exponentials, const Lanes* peaks, Softmax softmax,
                         const Shape& shape) {
    const int64_t row = shape.padded();
    for (int64_t h = 0; h < shape.heads; ++h) {
        const float top = largest(peaks[h]);
        Lanes total = lanes(0.0f);
        for (int64_t n = 0; n < row; n += WIDTH) {
            Lanes e = exp(load(logits + h * row + n) - top);
            store(exponentials + h * row + n, e);
            total = total + e;
        }
        softmax.largest[h] = top;
        softmax.inverse_total[h] = 1.0f / sum(total);
    }
}

}  // namespace routing

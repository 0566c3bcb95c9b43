// What the kernels are told of the votes, and how threads share the tokens.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

namespace routing {

struct Shape {
    int64_t tokens;
    int64_t heads, capsules, size;  // H, N, K
    int64_t iterations;
    int64_t token_stride, head_stride;  // of the votes, in floats; N and K are contiguous
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

}  // namespace routing

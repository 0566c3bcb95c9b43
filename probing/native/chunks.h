// What the kernels are told of the votes.
#pragma once

#include "threads.h"

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
    share_out(count_chunks(shape), threads, 0, make_work);
}

}  // namespace routing

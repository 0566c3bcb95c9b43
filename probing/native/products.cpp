// Products of two float32 matrices by vectors of sixteen numbers (AVX-512).
//
// output[m, n] = bias[n] + sum over k of left[m, k] right[n, k]. A number is the sum of its products in the order of k:
// neither the number of threads nor the other rows change a bit of it.
#ifdef __GNUC__
#pragma GCC optimize("O3")
#endif

#include "threads.h"

#if defined(__AVX512F__)

#include <immintrin.h>

namespace {

constexpr int64_t LANES = 16;
constexpr int64_t VECTORS = 4;
constexpr int64_t PANEL = VECTORS * LANES;  // rows of the right matrix that are multiplied at a time
constexpr int64_t ROWS = 6;                 // rows of the left one: with these, all sums fit in registers
constexpr int64_t CHUNK = 8 * ROWS;         // rows of the left matrix in one piece of work
constexpr int64_t DEPTH = 256;              // of the pieces of sums, so that what they read stays near

struct Matrix {
    const float* data;
    int64_t rows, row_stride, depth_stride;
};

struct Output {
    float* data;
    int64_t stride;
    const float* bias;  // or nothing
};

inline __mmask16 first(int64_t count) {
    return count >= LANES ? 0xffff : count <= 0 ? 0 : static_cast<__mmask16>((1u << count) - 1);
}

inline void transpose(__m512i (&x)[LANES]) {
    __m512i y[LANES];
    for (int i = 0; i < 16; i += 2) {
        y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int j = 0; j < 2; ++j) {
            x[i + 2 * j] = _mm512_unpacklo_epi64(y[i + j], y[i + j + 2]);
            x[i + 2 * j + 1] = _mm512_unpackhi_epi64(y[i + j], y[i + j + 2]);
        }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 16; j += 8) {
            y[i + j] = _mm512_shuffle_i32x4(x[i + j], x[i + j + 4], 0x88);
            y[i + j + 4] = _mm512_shuffle_i32x4(x[i + j], x[i + j + 4], 0xdd);
        }
    for (int i = 0; i < 8; ++i) {
        x[i] = _mm512_shuffle_i32x4(y[i], y[i + 8], 0x88);
        x[i + 8] = _mm512_shuffle_i32x4(y[i], y[i + 8], 0xdd);
    }
}

// Packs 16 rows of the right matrix, whose rows or columns are contiguous: to[k * PANEL + row]. Rows beyond it are 0.
void pack(const Matrix& right, int64_t row, int64_t depth, float* to) {
    const float* const from = right.data + row * right.row_stride;
    const int64_t rows = right.rows - row;
    if (right.row_stride == 1) {
        for (int64_t k = 0; k < depth; ++k)
            _mm512_store_ps(to + k * PANEL, _mm512_maskz_loadu_ps(first(rows), from + k * right.depth_stride));
        return;
    }
    for (int64_t k = 0; k < depth; k += LANES) {
        __m512i numbers[LANES];
        for (int64_t i = 0; i < LANES; ++i)
            numbers[i] = _mm512_maskz_loadu_epi32(i < rows ? first(depth - k) : 0, from + i * right.row_stride + k);
        transpose(numbers);
        for (int64_t i = 0; i < LANES && k + i < depth; ++i) _mm512_store_si512(to + (k + i) * PANEL, numbers[i]);
    }
}

// Adds products to R rows and 64 columns of sums, whose registers are read before and written after all of them.
template <int R>
inline void add_products(const float* left, int64_t row_stride, int64_t depth_stride, const float* panel, int64_t depth,
                         __m512 (&sums)[R][VECTORS]) {
    for (int64_t k = 0; k < depth; ++k, left += depth_stride, panel += PANEL) {
        __m512 numbers[VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) numbers[j] = _mm512_load_ps(panel + j * LANES);
#pragma GCC unroll 6
        for (int i = 0; i < R; ++i) {
            const __m512 factor = _mm512_set1_ps(left[i * row_stride]);
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) sums[i][j] = _mm512_fmadd_ps(factor, numbers[j], sums[i][j]);
        }
    }
}

// Goes on with R rows of the output from place `start` of the depth.
template <int R>
void fill(const Matrix& left, int64_t m, int64_t start, int64_t depth, const float* panel, int64_t n, int64_t columns,
          const Output& output) {
    __m512 sums[R][VECTORS];
    float* const to = output.data + m * output.stride + n;
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < VECTORS; ++j) {
            const float* const before = start ? to + i * output.stride : output.bias ? output.bias + n : nullptr;
            sums[i][j] = before ? _mm512_maskz_loadu_ps(first(columns - j * LANES), before + j * LANES)
                                : _mm512_setzero_ps();
        }
    add_products<R>(left.data + m * left.row_stride + start * left.depth_stride, left.row_stride, left.depth_stride,
                    panel + start * PANEL, depth, sums);
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < VECTORS; ++j)
            _mm512_mask_storeu_ps(to + i * output.stride + j * LANES, first(columns - j * LANES), sums[i][j]);
}

typedef void (*Fill)(const Matrix&, int64_t, int64_t, int64_t, const float*, int64_t, int64_t, const Output&);
constexpr Fill FILL[ROWS] = {fill<1>, fill<2>, fill<3>, fill<4>, fill<5>, fill<6>};

// Memory at a multiple of 64 bytes, kept by each thread.
struct Scratch {
    std::vector<float> memory;
    float* take(int64_t count) {
        if (static_cast<int64_t>(memory.size()) < count + LANES) memory.resize(count + LANES);
        return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
    }
};

}  // namespace

extern "C" {

int is_here() { return 1; }

// The rows or the columns of the right matrix are contiguous.
void multiply(const Matrix* left, const Matrix* right, int64_t depth, int threads, const Output* output) {
    static thread_local Scratch scratch;
    const int64_t size = depth * PANEL, panels = (right->rows + PANEL - 1) / PANEL;
    const int64_t chunks = (left->rows + CHUNK - 1) / CHUNK;
    float* const packed = scratch.take(panels * size);
    share_out(panels * VECTORS, threads, 0, [=] {
        return [=](int64_t i) {
            pack(*right, i * LANES, depth, packed + i / VECTORS * size + i % VECTORS * LANES);
        };
    });
    share_out(panels * chunks, threads, 1, [=] {
        return [=](int64_t piece) {
            const int64_t panel = piece / chunks, m = piece % chunks * CHUNK, n = panel * PANEL;
            const int64_t end = std::min(left->rows, m + CHUNK), columns = std::min(PANEL, right->rows - n);
            for (int64_t start = 0; start < depth; start += DEPTH)
                for (int64_t i = m; i < end; i += ROWS)
                    FILL[std::min(ROWS, end - i) - 1](*left, i, start, std::min(depth - start, DEPTH),
                                                      packed + panel * size, n, columns, *output);
        };
    });
}

}  // extern "C"

#else

extern "C" int is_here() { return 0; }

#endif

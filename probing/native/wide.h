// What tiles.h does with a tile of a layer's rows, by vectors of sixteen where the processor has them. Every number comes
// from the same operations in the same order as by vectors of eight: no bit of a result differs.
//
// Shapes: B sentences of a batch (padded to PANEL), D inputs, R rows of a tile.
#pragma once

#include "tiles.h"

namespace descent {
namespace wide {

#ifdef __AVX512F__

typedef float Wide __attribute__((vector_size(64)));
typedef float UnalignedWide __attribute__((vector_size(64), aligned(4), may_alias));

constexpr int WIDE_VECTOR = sizeof(Wide) / sizeof(float);
static_assert(WIDE_VECTOR == PANEL, "a panel of sentences is a vector");

ALWAYS_INLINE Wide read(const float* from) { return *(const UnalignedWide*)from; }
ALWAYS_INLINE void write(float* to, Wide x) { *(UnalignedWide*)to = x; }

// sum[r][v] = sum over k of left[r, k] * right[v, k], whose vectors lie `apart` from each other.
template <int R, int V>
ALWAYS_INLINE void multiply(Factors left, const float* right, int64_t right_stride, int64_t apart,
                            Wide (&sum)[R][V]) {
    UNROLL for (int r = 0; r < R; ++r) UNROLL for (int v = 0; v < V; ++v) sum[r][v] = Wide{};
    for (int64_t k = 0; k < left.depth; ++k, left.numbers += left.column) {
        Wide inputs[V];
        UNROLL for (int v = 0; v < V; ++v) {
            inputs[v] = read(right + k * right_stride + v * apart);
            asm("" : "+v"(inputs[v]));  // one load for all rows
        }
        UNROLL for (int r = 0; r < R; ++r) {
            const Wide factor = _mm512_set1_ps(left.numbers[r * left.row]);
            UNROLL for (int v = 0; v < V; ++v) sum[r][v] += factor * inputs[v];
        }
    }
}

template <int R, int V>
ALWAYS_INLINE void project_panels(Factors rows, const Panels& panels, float* outputs, int64_t width) {
    Wide sum[R][V];
    multiply<R, V>(rows, panels.inputs, panels.stride, panels.panel, sum);
    UNROLL for (int r = 0; r < R; ++r) UNROLL for (int v = 0; v < V; ++v)
        write(outputs + r * width + PANEL * v, sum[r][v]);
}

template <int R>
void project(Factors rows, Panels panels, float* outputs, int64_t width) {
    int64_t b = 0;
    for (; b + 2 * PANEL <= width; b += 2 * PANEL, panels.inputs += 2 * panels.panel)
        project_panels<R, 2>(rows, panels, outputs + b, width);
    if (b < width) project_panels<R, 1>(rows, panels, outputs + b, width);
}

ALWAYS_INLINE void move(const Layer& layer, int64_t at, Wide gradient, float decay, const Step& step) {
    const Wide weight = read(layer.weights + at);
    gradient += weight * decay;
    const Wide mean = read(layer.means + at) * step.beta1 + gradient * step.keep1;
    const Wide square = read(layer.squares + at) * step.beta2 + gradient * gradient * step.keep2;
    write(layer.means + at, mean);
    write(layer.squares + at, square);
    const Wide root = _mm512_sqrt_ps(square);
    write(layer.weights + at, weight - mean * step.rate / (root * step.correction + step.epsilon));
}

template <int R, int V>
ALWAYS_INLINE void descend(const Layer& layer, int64_t row, int64_t column, const Lesson& lesson, const float* errors,
                           int64_t width) {
    const int64_t at = row * layer.columns + column;
    for (int r = R; r < 2 * R; ++r)  // of the next tile, into the second-level cache
        for (const float* state : {layer.weights, layer.means, layer.squares})
            UNROLL for (int v = 0; v < V; ++v)
                __builtin_prefetch(state + at + r * layer.columns + WIDE_VECTOR * v, 1, 2);
    Wide sum[R][V];
    multiply<R, V>(Factors::by_rows(errors, width, lesson.length), lesson.inputs + column, layer.columns, WIDE_VECTOR,
                   sum);
    const Step step = lesson.step;
    UNROLL for (int r = 0; r < R; ++r) {
        const float decay = lesson.weight_decay[(row + r) / layer.rows];
        UNROLL for (int v = 0; v < V; ++v)
            wide::move(layer, at + r * layer.columns + WIDE_VECTOR * v, sum[r][v], decay, step);
    }
}

template <int R>
void learn(const Layer& layer, int64_t row, const Lesson& lesson, const float* errors, int64_t width) {
    int64_t column = 0;
    for (; column + 2 * WIDE_VECTOR <= layer.columns; column += 2 * WIDE_VECTOR)
        wide::descend<R, 2>(layer, row, column, lesson, errors, width);
    for (; column + WIDE_VECTOR <= layer.columns; column += WIDE_VECTOR)
        wide::descend<R, 1>(layer, row, column, lesson, errors, width);
    if (column < layer.columns) descent::descend<R, 1>(layer, row, column, lesson, errors, width);
}

#else

using descent::learn;
using descent::project;

#endif

}  // namespace wide
}  // namespace descent

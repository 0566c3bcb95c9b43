// One tile of a layer's rows: its outputs for a batch, its gradient, its step of Adam.
//
// Shapes: B sentences of a batch (padded to PANEL), D inputs, R rows of a tile.
#pragma once

#include <cmath>
#include <type_traits>

#include "lanes.h"

namespace descent {

using namespace routing;

constexpr int VECTOR = sizeof(Part) / sizeof(float);
constexpr int TILE = 6;   // rows: 6 x 2 sums, 2 inputs and a factor fill the sixteen registers
constexpr int PANEL = 16;  // sentences whose inputs lie side by side: 2 vectors

#define UNROLL _Pragma("GCC unroll 8")

ALWAYS_INLINE Part read(const float* from) { return *(const Unaligned*)from; }
ALWAYS_INLINE void write(float* to, Part x) { *(Unaligned*)to = x; }

inline int64_t round_up(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

// The left side of a product, by rows or, turned, by columns.
struct Factors {
    const float* numbers;
    int64_t row, column;  // from one row to the next, from one column to the next
    int64_t depth;        // columns

    static Factors by_rows(const float* numbers, int64_t stride, int64_t depth) { return {numbers, stride, 1, depth}; }
};

struct Layer {
    int64_t rows, columns;  // of one configuration
    float *weights, *means, *squares;

    Factors factors(int64_t row) const { return Factors::by_rows(weights + row * columns, columns, columns); }
};

struct Adam {
    double rate, beta1, beta2, epsilon;
    double correction;  // of the root of the mean square, or below 0 for Adam's own: RMSprop has 1, SGD 0
    int64_t steps;      // taken before
};

// The constants of one step.
struct Step {
    float rate, correction, beta1, beta2, epsilon, keep1, keep2;

    Step(const Adam& adam, int64_t number)
        : rate(static_cast<float>(adam.rate / (1 - std::pow(adam.beta1, number)))),
          correction(static_cast<float>(
              adam.correction < 0 ? 1 / std::sqrt(1 - std::pow(adam.beta2, number)) : adam.correction)),
          beta1(static_cast<float>(adam.beta1)),
          beta2(static_cast<float>(adam.beta2)),
          epsilon(static_cast<float>(adam.epsilon)),
          keep1(static_cast<float>(1 - adam.beta1)),
          keep2(static_cast<float>(1 - adam.beta2)) {}
};

// sum[r][v] = sum over k of left[r, k] * right[k, vector v].
template <int R, int V>
ALWAYS_INLINE void multiply(Factors left, const float* right, int64_t right_stride, Part (&sum)[R][V]) {
    UNROLL for (int r = 0; r < R; ++r) UNROLL for (int v = 0; v < V; ++v) sum[r][v] = Part{};
    for (int64_t k = 0; k < left.depth; ++k, left.numbers += left.column) {
        Part inputs[V];
        UNROLL for (int v = 0; v < V; ++v) {
            inputs[v] = read(right + k * right_stride + VECTOR * v);
#ifdef __AVX__
            asm("" : "+x"(inputs[v]));  // one load for all rows: the compiler would load it again for each
#endif
        }
        UNROLL for (int r = 0; r < R; ++r) {
            const float x = left.numbers[r * left.row];
            const Part factor = {x, x, x, x, x, x, x, x};  // fill(x) would add to zero
            UNROLL for (int v = 0; v < V; ++v) sum[r][v] += factor * inputs[v];
        }
    }
}

// What a layer is applied to: inputs (D, B) by panels of sentences.
struct Panels {
    const float* inputs;
    int64_t stride, panel;  // from one input to the next, from one panel to the next
};

// Writes R rows of a product (R, B).
template <int R>
void project(Factors rows, Panels panels, float* outputs, int64_t width) {
    for (int64_t b = 0; b < width; b += PANEL, panels.inputs += panels.panel) {
        Part sum[R][2];
        multiply<R, 2>(rows, panels.inputs, panels.stride, sum);
        UNROLL for (int r = 0; r < R; ++r) UNROLL for (int v = 0; v < 2; ++v)
            write(outputs + r * width + b + VECTOR * v, sum[r][v]);
    }
}

// What a layer learns from: the inputs (B, D) of a batch.
struct Lesson {
    const float* inputs;
    int64_t length;
    const float* weight_decay;  // (G,)
    Step step;
};

// One step of Adam for eight weights; the L2 penalty comes to the gradient.
ALWAYS_INLINE void move(const Layer& layer, int64_t at, Part gradient, float decay, const Step& step) {
    const Part weight = read(layer.weights + at);
    gradient += weight * decay;
    const Part mean = read(layer.means + at) * step.beta1 + gradient * step.keep1;
    const Part square = read(layer.squares + at) * step.beta2 + gradient * gradient * step.keep2;
    write(layer.means + at, mean);
    write(layer.squares + at, square);
    write(layer.weights + at, weight - mean * step.rate / (root(square) * step.correction + step.epsilon));
}

// One step of R rows, V vectors of their columns: the gradient from errors (R, B) and inputs, then Adam.
template <int R, int V>
ALWAYS_INLINE void descend(const Layer& layer, int64_t row, int64_t column, const Lesson& lesson, const float* errors,
                           int64_t width) {
    const int64_t at = row * layer.columns + column;
    for (int r = R; r < 2 * R; ++r)  // of the next tile, into the second-level cache
        for (const float* state : {layer.weights, layer.means, layer.squares})
            __builtin_prefetch(state + at + r * layer.columns, 1, 2);
    Part sum[R][V];
    multiply<R, V>(Factors::by_rows(errors, width, lesson.length), lesson.inputs + column, layer.columns, sum);
    const Step step = lesson.step;
    UNROLL for (int r = 0; r < R; ++r) {
        const float decay = lesson.weight_decay[(row + r) / layer.rows];
        UNROLL for (int v = 0; v < V; ++v) move(layer, at + r * layer.columns + VECTOR * v, sum[r][v], decay, step);
    }
}

template <int R>
void learn(const Layer& layer, int64_t row, const Lesson& lesson, const float* errors, int64_t width) {
    int64_t column = 0;
    for (; column + 2 * VECTOR <= layer.columns; column += 2 * VECTOR)
        descend<R, 2>(layer, row, column, lesson, errors, width);
    if (column < layer.columns) descend<R, 1>(layer, row, column, lesson, errors, width);
}

// Calls work with std::integral_constant<int, R> for R = count.
template <typename Work>
ALWAYS_INLINE void with_rows(int64_t count, Work work) {
    switch (count) {
        case 1: return work(std::integral_constant<int, 1>());
        case 2: return work(std::integral_constant<int, 2>());
        case 3: return work(std::integral_constant<int, 3>());
        case 4: return work(std::integral_constant<int, 4>());
        case 5: return work(std::integral_constant<int, 5>());
        default: return work(std::integral_constant<int, TILE>());
    }
}

// Rows in tiles of nearly equal size.
struct Tiles {
    int64_t rows, count;
    explicit Tiles(int64_t rows) : rows(rows), count((rows + TILE - 1) / TILE) {}
    int64_t start(int64_t tile) const { return rows * tile / count; }
    // Calls work(first row, std::integral_constant<int, R>).
    template <typename Work>
    void visit(int64_t tile, Work work) const {
        const int64_t row = start(tile);
        with_rows(start(tile + 1) - row, [&](auto count) { work(row, count); });
    }
};

}  // namespace descent

// A tile of rows and a batch of which only the deviating columns are kept: what tiles.h does, with less to multiply.
#pragma once

#include "batch.h"

namespace descent {

// The base, and a tile's working memory.
struct Sparse {
    std::vector<float> base;    // (D,)
    std::vector<float> packed;  // (TILE, A): the weights of the deviating columns
    std::vector<float> spread;  // (TILE, D): the gradient by the deviations, zeros elsewhere

    Sparse(const Batches& batches, int64_t columns)
        : base(make_base(batches, columns)), packed(TILE * columns), spread(TILE * columns) {}

    template <int R>
    void project(const Layer& layer, int64_t row, const Batch& batch, float* outputs) {
        const float* const weights = layer.weights + row * layer.columns;
        Part constants[R] = {};
        for (int64_t d = 0; d < layer.columns; d += VECTOR) {
            const Part zero = read(base.data() + d);
            UNROLL for (int r = 0; r < R; ++r) constants[r] += read(weights + r * layer.columns + d) * zero;
        }
        for (int r = 0; r < R; ++r) {
            constants[r] = fill(total(constants[r]));
            float* const kept = packed.data() + r * batch.columns;
            for (size_t k = 0; k < batch.deviating.size(); ++k)
                kept[k] = weights[r * layer.columns + batch.deviating[k]];
            std::fill(kept + batch.deviating.size(), kept + batch.columns, 0.0f);
        }
        for (int64_t b = 0; b < batch.width; b += PANEL) {
            Part sum[R][2];
            multiply<R, 2>(Factors::by_rows(packed.data(), batch.columns, batch.columns),
                           batch.panels.data() + b * batch.columns, PANEL, sum);
            UNROLL for (int r = 0; r < R; ++r) UNROLL for (int v = 0; v < 2; ++v)
                write(outputs + r * batch.width + b + VECTOR * v, sum[r][v] + constants[r]);
        }
    }

    template <int R>
    void learn(const Layer& layer, int64_t row, const Lesson& lesson, const Batch& batch, const float* errors) {
        const int64_t D = layer.columns;
        for (int64_t k = 0; k < batch.columns; k += 2 * VECTOR) {
            Part sum[R][2];
            multiply<R, 2>(Factors::by_rows(errors, batch.width, batch.length), batch.rows.data() + k, batch.columns,
                           sum);
            scatter<R>(batch, k, D, sum);
        }
        for (int r = 0; r < R; ++r) {
            float error = 0;
            for (int64_t b = 0; b < batch.length; ++b) error += errors[r * batch.width + b];
            const float decay = lesson.weight_decay[(row + r) / layer.rows];
            for (int64_t d = 0; d < D; d += VECTOR)
                move(layer, (row + r) * D + d, read(spread.data() + r * D + d) + read(base.data() + d) * error, decay,
                     lesson.step);
            for (int64_t column : batch.deviating) spread[r * D + column] = 0.0f;
        }
    }

  private:
    template <int R>
    void scatter(const Batch& batch, int64_t first, int64_t D, const Part (&sum)[R][2]) {
        const int64_t count = std::min<int64_t>(2 * VECTOR, static_cast<int64_t>(batch.deviating.size()) - first);
        float row[2 * VECTOR];
        for (int r = 0; r < R; ++r) {
            write(row, sum[r][0]);
            write(row + VECTOR, sum[r][1]);
            for (int64_t k = 0; k < count; ++k) spread[r * D + batch.deviating[first + k]] = row[k];
        }
    }

    static float total(Part x) { return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7])); }
};

}  // namespace descent

// The inputs of a batch, made from the sentences' vectors, in the two layouts in which they are read.
//
// Where most numbers of the vectors are 0, as in a bag of words, an input is a base (its value for 0) plus a deviation,
// and only the columns that deviate in some sentence of the batch are kept.
// Shapes: B sentences of a batch (padded to PANEL), D inputs, A columns that are kept (padded to two vectors).
#pragma once

#include <algorithm>
#include <vector>

#include "tiles.h"

namespace descent {

struct Batches {
    const float* vectors;
    int64_t stride, dim;
    const float *mean, *scale;  // (dim,)
    const int64_t *labels, *order;
    int64_t count, size;

    int64_t steps() const { return (count + size - 1) / size; }
    int64_t length(int64_t step) const { return std::min(size, count - step * size); }
    const float* vector(int64_t sentence) const { return vectors + order[sentence] * stride; }
};

#ifdef __AVX__
// Eight rows of eight to eight columns.
ALWAYS_INLINE void turn(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
    __m256 a[8], b[8];
    UNROLL for (int i = 0; i < 8; ++i) a[i] = _mm256_loadu_ps(from + i * from_stride);
    UNROLL for (int i = 0; i < 8; i += 2) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
    UNROLL for (int i = 0; i < 8; i += 4) UNROLL for (int j = 0; j < 2; ++j) {
        a[i + 2 * j] = _mm256_shuffle_ps(b[i + j], b[i + j + 2], 0x44);
        a[i + 2 * j + 1] = _mm256_shuffle_ps(b[i + j], b[i + j + 2], 0xee);
    }
    UNROLL for (int i = 0; i < 4; ++i) {
        _mm256_storeu_ps(to + i * to_stride, _mm256_permute2f128_ps(a[i], a[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * to_stride, _mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
    }
}
#else
inline void turn(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) to[j * to_stride + i] = from[i * from_stride + j];
}
#endif

// Both dimensions are multiples of eight.
inline void transpose(const float* from, int64_t rows, int64_t columns, int64_t from_stride, float* to,
                      int64_t to_stride) {
    for (int64_t row = 0; row < rows; row += 8)
        for (int64_t column = 0; column < columns; column += 8)
            turn(from + row * from_stride + column, from_stride, to + column * to_stride + row, to_stride);
}

// What the inputs (D) are for a vector of zeros.
inline std::vector<float> make_base(const Batches& batches, int64_t columns) {
    std::vector<float> base(columns);
    for (int64_t d = 0; d < batches.dim; ++d) base[d] = (0.0f - batches.mean[d]) * batches.scale[d];
    base[batches.dim] = 1.0f;
    return base;
}

constexpr int64_t LEAST_SPARSE = 64;  // with fewer inputs there is nothing to win

class Batch {
  public:
    int64_t length = 0, width;       // width: B
    int64_t columns = 0;             // D, or A where it is sparse
    std::vector<float> rows;         // (B, columns)
    std::vector<float> panels;       // (columns, PANEL), panel after panel
    std::vector<int64_t> labels;     // (B,)
    std::vector<int64_t> deviating;  // the columns that are kept; none where all are

    Batch(const Batches& batches, int64_t columns)
        : width(round_up(batches.size, PANEL)),
          rows(width * columns),
          panels(width * columns),
          labels(width),
          batches_(batches),
          all_(columns) {}

    bool sparse() const { return !deviating.empty(); }

    void read_batch(int64_t number) {
        const int64_t start = number * batches_.size;
        length = batches_.length(number);
        for (int64_t b = 0; b < length; ++b) labels[b] = batches_.labels[batches_.order[start + b]];
        find_deviating(start);
        columns = sparse() ? round_up(static_cast<int64_t>(deviating.size()), 2 * VECTOR) : all_;
        for (int64_t b = 0; b < length; ++b)
            sparse() ? keep_deviations(start, b) : standardise(start, b);
        for (int64_t b = 0; b < width; b += PANEL)
            transpose(rows.data() + b * columns, PANEL, columns, columns, panels.data() + b * columns, PANEL);
    }

  private:
    // Of eight numbers, by their bits.
    static bool is_zero(const float* numbers) {
        uint64_t words[4];
        std::memcpy(words, numbers, sizeof words);
        return (words[0] | words[1] | words[2] | words[3]) == 0;
    }

    void find_deviating(int64_t start) {
        const int64_t dim = batches_.dim;
        deviating.clear();
        seen_.assign(dim, 0);
        for (int64_t b = 0; b < length; ++b) {
            const float* const vector = batches_.vector(start + b);
            int64_t nonzero = 0;
            for (int64_t d = 0; d < dim; ++d) {
                while (d + VECTOR <= dim && is_zero(vector + d)) d += VECTOR;
                if (d == dim) break;
                seen_[d] |= vector[d] != 0;
                nonzero += vector[d] != 0;
            }
            if (8 * nonzero > dim) return;  // dense, most likely
        }
        for (int64_t d = 0; d < dim; ++d)
            if (seen_[d]) deviating.push_back(d);
        if (2 * static_cast<int64_t>(deviating.size()) > dim || dim < LEAST_SPARSE) deviating.clear();
    }

    void keep_deviations(int64_t start, int64_t b) {
        const float* const vector = batches_.vector(start + b);
        float* const row = rows.data() + b * columns;
        std::fill_n(row, columns, 0.0f);
        for (size_t k = 0; k < deviating.size(); ++k) row[k] = vector[deviating[k]] * batches_.scale[deviating[k]];
    }

    void standardise(int64_t start, int64_t b) {
        const float* const vector = batches_.vector(start + b);
        float* const row = rows.data() + b * columns;
        const int64_t dim = batches_.dim;
        int64_t d = 0;
        for (; d + VECTOR <= dim; d += VECTOR)
            write(row + d, (read(vector + d) - read(batches_.mean + d)) * read(batches_.scale + d));
        for (; d < dim; ++d) row[d] = (vector[d] - batches_.mean[d]) * batches_.scale[d];
        row[dim] = 1.0f;
        std::fill(row + dim + 1, row + columns, 0.0f);
    }

    const Batches& batches_;
    int64_t all_;
    std::vector<uint8_t> seen_;
};

}  // namespace descent

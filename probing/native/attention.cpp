// Scaled dot-product attention on packed tokens, forwards and backwards, without padding and masks.
//
// Shapes: B sentences, H heads, C numbers of a head; of one sentence: Q tokens that look, K tokens that they look at.
// A sentence and head is a unit of work: no two write to the same place, so the number of threads changes no bit.
#include "threads.h"
#include "tiles.h"

namespace {

using namespace descent;

constexpr float NOTHING = -3e38f;

struct Shape {
    int64_t sentences, heads, size;
    const int64_t *query_starts, *key_starts;  // (B + 1)
    float scale;
    int causal;
};

// The rows of one kind of tokens: `stride` floats from one token to the next, heads side by side.
struct Rows {
    float* data;
    int64_t stride;
    float* at(int64_t token, int64_t head, int64_t size) const { return data + token * stride + head * size; }
};

constexpr int64_t ROWS = 4;  // of a product at a time

// A matrix in scratch memory; its rows are padded with zeros to whole vectors. There is room for whole blocks of rows,
// so that products need not treat the last ones differently: what stands behind the last row is never used.
struct Matrix {
    std::vector<float> numbers;
    int64_t rows = 0, stride = 0;

    void shape(int64_t new_rows, int64_t columns) {
        rows = new_rows;
        stride = round_up(columns, VECTOR);
        const int64_t size = round_up(rows, ROWS) * stride;
        if (static_cast<int64_t>(numbers.size()) < size) numbers.resize(size);
    }
    float* row(int64_t i) { return numbers.data() + i * stride; }
    const float* row(int64_t i) const { return numbers.data() + i * stride; }

    void read(const float* from, int64_t from_stride, int64_t new_rows, int64_t columns, float factor = 1.0f) {
        shape(new_rows, columns);
        const int64_t whole = columns / VECTOR * VECTOR;
        for (int64_t i = 0; i < rows; ++i) {
            const float* const source = from + i * from_stride;
            float* const target = row(i);
            for (int64_t c = 0; c < whole; c += VECTOR) descent::write(target + c, descent::read(source + c) * factor);
            for (int64_t c = whole; c < stride; ++c) target[c] = c < columns ? source[c] * factor : 0.0f;
        }
    }
    void read_transposed(const float* from, int64_t from_stride, int64_t count, int64_t columns) {
        shape(columns, count);
        for (int64_t j = 0; j < columns; ++j) {
            for (int64_t i = 0; i < count; ++i) row(j)[i] = from[i * from_stride + j];
            std::fill(row(j) + count, row(j) + stride, 0.0f);
        }
    }
    void write(float* to, int64_t to_stride, int64_t columns) const {
        for (int64_t i = 0; i < rows; ++i) std::memcpy(to + i * to_stride, row(i), columns * sizeof(float));
    }
};

// R rows of result = left times right; left[r, k] lies at left[r * row_step + k * step].
template <int R, int V>
ALWAYS_INLINE void multiply_block(const float* left, int64_t row_step, int64_t step, int64_t depth, const float* right,
                                  int64_t right_stride, float* result, int64_t result_stride) {
    Part sum[R][V];
    UNROLL for (int r = 0; r < R; ++r) UNROLL for (int v = 0; v < V; ++v) sum[r][v] = Part{};
    for (int64_t k = 0; k < depth; ++k) {
        Part inputs[V];
        UNROLL for (int v = 0; v < V; ++v) inputs[v] = read(right + k * right_stride + VECTOR * v);
        UNROLL for (int r = 0; r < R; ++r) {
            const float x = left[r * row_step + k * step];
            const Part factor = {x, x, x, x, x, x, x, x};
            UNROLL for (int v = 0; v < V; ++v) sum[r][v] += factor * inputs[v];
        }
    }
    UNROLL for (int r = 0; r < R; ++r)
        UNROLL for (int v = 0; v < V; ++v) write(result + r * result_stride + VECTOR * v, sum[r][v]);
}

template <int R>
void multiply_rows(const float* left, int64_t row_step, int64_t step, int64_t depth, const Matrix& right,
                   float* result, int64_t result_stride) {
    int64_t column = 0;
    for (; column + 2 * VECTOR <= right.stride; column += 2 * VECTOR)
        multiply_block<R, 2>(left, row_step, step, depth, right.row(0) + column, right.stride, result + column,
                             result_stride);
    for (; column < right.stride; column += VECTOR)
        multiply_block<R, 1>(left, row_step, step, depth, right.row(0) + column, right.stride, result + column,
                             result_stride);
}

// result (rows, as wide as right) = left times right, where left is (rows, depth), or its transpose (depth, rows).
void multiply_all(const Matrix& left, bool transposed, int64_t rows, int64_t depth, const Matrix& right,
                  Matrix& result) {
    const int64_t row_step = transposed ? 1 : left.stride, step = transposed ? left.stride : 1;
    result.shape(rows, right.stride);
    for (int64_t i = 0; i < rows; i += ROWS)
        multiply_rows<ROWS>(left.row(0) + i * row_step, row_step, step, depth, right, result.row(i), result.stride);
}

float sum_part(Part x) { return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7])); }

class Head {
  public:
    explicit Head(const Shape& shape) : shape_(shape) {}

    // `logs` takes the logarithm of each row's sum of exponentials, on which the backward pass relies.
    void forward(int64_t sentence, int64_t head, Rows query, Rows key, Rows value, Rows output, float* logs) {
        find(sentence);
        query_.read(query.at(q0_, head, C_), query.stride, Q_, C_, shape_.scale);
        key_turned_.read_transposed(key.at(k0_, head, C_), key.stride, K_, C_);
        value_.read(value.at(k0_, head, C_), value.stride, K_, C_);
        multiply_all(query_, false, Q_, C_, key_turned_, weights_);
        for (int64_t i = 0; i < Q_; ++i) {
            float* const row = weights_.row(i);
            const int64_t seen = shape_.causal ? std::min(i + 1, K_) : K_;
            const float largest = find_largest(row, seen);
            Part total = Part{};
            for (int64_t j = 0; j < weights_.stride; j += VECTOR) {
                const Part e = exp(read(row + j) - largest);
                write(row + j, e);
                total += e;
            }
            const float sum = sum_part(total), inverse = 1.0f / sum;
            for (int64_t j = 0; j < weights_.stride; j += VECTOR) write(row + j, read(row + j) * inverse);
            logs[(q0_ + i) * shape_.heads + head] = largest + __builtin_logf(sum);
        }
        multiply_all(weights_, false, Q_, K_, value_, result_);
        result_.write(output.at(q0_, head, C_), output.stride, C_);
    }

    void backward(int64_t sentence, int64_t head, Rows query, Rows key, Rows value, Rows upstream, const float* logs,
                  Rows g_query, Rows g_key, Rows g_value) {
        find(sentence);
        query_.read(query.at(q0_, head, C_), query.stride, Q_, C_, shape_.scale);
        key_.read(key.at(k0_, head, C_), key.stride, K_, C_, shape_.scale);
        key_turned_.read_transposed(key.at(k0_, head, C_), key.stride, K_, C_);
        value_turned_.read_transposed(value.at(k0_, head, C_), value.stride, K_, C_);
        upstream_.read(upstream.at(q0_, head, C_), upstream.stride, Q_, C_);
        multiply_all(query_, false, Q_, C_, key_turned_, weights_);
        multiply_all(upstream_, false, Q_, C_, value_turned_, g_weights_);
        for (int64_t i = 0; i < Q_; ++i) {
            float *const row = weights_.row(i), *const g_row = g_weights_.row(i);
            hide(row, shape_.causal ? std::min(i + 1, K_) : K_);
            const float log = logs[(q0_ + i) * shape_.heads + head];
            Part total = Part{};
            for (int64_t j = 0; j < weights_.stride; j += VECTOR) {
                const Part p = exp(read(row + j) - log);
                write(row + j, p);
                total += p * read(g_row + j);
            }
            const float mean = sum_part(total);
            for (int64_t j = 0; j < weights_.stride; j += VECTOR)
                write(g_row + j, read(row + j) * (read(g_row + j) - mean));
        }
        multiply_all(g_weights_, false, Q_, K_, key_, result_);
        result_.write(g_query.at(q0_, head, C_), g_query.stride, C_);
        multiply_all(g_weights_, true, K_, Q_, query_, result_);
        result_.write(g_key.at(k0_, head, C_), g_key.stride, C_);
        multiply_all(weights_, true, K_, Q_, upstream_, result_);
        result_.write(g_value.at(k0_, head, C_), g_value.stride, C_);
    }

  private:
    void find(int64_t sentence) {
        q0_ = shape_.query_starts[sentence], Q_ = shape_.query_starts[sentence + 1] - q0_;
        k0_ = shape_.key_starts[sentence], K_ = shape_.key_starts[sentence + 1] - k0_;
        C_ = shape_.size;
    }

    // Sets the energies that are not seen to nothing.
    void hide(float* row, int64_t seen) {
        for (int64_t j = seen; j < weights_.stride; ++j) row[j] = NOTHING;
    }

    // Hides what is not seen, and returns the largest energy; NaN does not count, since it makes all weights NaN anyway.
    float find_largest(float* row, int64_t seen) {
        hide(row, seen);
        Part all = read(row);
        for (int64_t j = VECTOR; j < weights_.stride; j += VECTOR) {
            const Part next = read(row + j);
            all = where_less(all, next, next, all);
        }
        float largest = NOTHING;
        for (int lane = 0; lane < VECTOR; ++lane) largest = all[lane] > largest ? all[lane] : largest;
        return largest;
    }

    const Shape& shape_;
    int64_t q0_, Q_, k0_, K_, C_;
    Matrix query_, key_, key_turned_, value_, value_turned_, upstream_, weights_, g_weights_, result_;
};

template <typename Work>
void for_each_head(const Shape& shape, int threads, Work work) {
    share_out(shape.sentences * shape.heads, threads, 16, [&] {
        return [&, head = Head(shape)](int64_t unit) mutable { work(head, unit / shape.heads, unit % shape.heads); };
    });
}

}  // namespace

extern "C" {

void attend_forward(const Shape* shape, int threads, const Rows* query, const Rows* key, const Rows* value,
                    const Rows* output, float* logs) {
    for_each_head(*shape, threads, [&](Head& work, int64_t sentence, int64_t head) {
        work.forward(sentence, head, *query, *key, *value, *output, logs);
    });
}

void attend_backward(const Shape* shape, int threads, const Rows* query, const Rows* key, const Rows* value,
                     const Rows* upstream, const float* logs, const Rows* g_query, const Rows* g_key,
                     const Rows* g_value) {
    for_each_head(*shape, threads, [&](Head& work, int64_t sentence, int64_t head) {
        work.backward(sentence, head, *query, *key, *value, *upstream, logs, *g_query, *g_key, *g_value);
    });
}

}  // extern "C"

// What a training step does besides products, attention and routing: dropout with the sum around it, and Adam.
//
// Every number depends on its own place alone, and sums are taken over blocks of a fixed size: the number of threads
// changes no bit.
#ifdef __GNUC__
#pragma GCC optimize("O3")  // loops over numbers become vector instructions
#endif

#include <cmath>

#include "threads.h"

namespace {

constexpr int64_t BLOCK = 8192;

template <typename Work>
void for_each_block(int64_t blocks, int threads, Work work) {
    share_out(blocks, threads, 0, [=] { return work; });
}

struct Noise {
    uint32_t low, high;  // halves of the seed
    uint32_t threshold;  // numbers whose bits are below it are dropped
    float scale;         // of the numbers that are kept
};

inline uint32_t mix(uint32_t bits) {  // murmur3's last steps
    bits ^= bits >> 16;
    bits *= 0x85ebca6bu;
    bits ^= bits >> 13;
    bits *= 0xc2b2ae35u;
    return bits ^ bits >> 16;
}

// A hash of the place and the seed.
inline uint32_t draw(uint32_t place, const Noise& noise) {
    return mix(mix(place * 0x9e3779b1u + noise.low) ^ noise.high);
}

// A parameter, its moments and its gradient, which may have some rows only, in rising order.
struct Parameter {
    float *weights, *means, *squares;
    const float* gradient;
    const int64_t* rows;
    int64_t num_rows;  // -1 if the gradient has all rows
    int64_t height, width;
    int decays;
};

struct Adam {
    float rate, beta1, beta2, epsilon;
    float correction1, correction2;  // 1 - beta^steps; the root of the latter
    float scale;                     // of the gradients, for clipping
    float keep;                      // share of the weights that decay leaves
};

inline void move(const Adam& adam, float keep, float* weight, float* mean, float* square, const float* gradient,
                 int64_t count) {
    const float rate = adam.rate / adam.correction1, root = 1.0f / adam.correction2;
    for (int64_t i = 0; i < count; ++i) {
        const float g = gradient ? gradient[i] * adam.scale : 0.0f;
        const float m = mean[i] + (1.0f - adam.beta1) * (g - mean[i]);
        const float v = adam.beta2 * square[i] + (1.0f - adam.beta2) * g * g;
        mean[i] = m;
        square[i] = v;
        weight[i] = keep * weight[i] - rate * m / (std::sqrt(v) * root + adam.epsilon);
    }
}

void move_block(const Adam& adam, const Parameter& p, int64_t first, int64_t last) {
    const float keep = p.decays ? adam.keep : 1.0f;
    auto run = [&](int64_t row, int64_t count, const float* gradient) {
        const int64_t place = row * p.width;
        move(adam, keep, p.weights + place, p.means + place, p.squares + place, gradient, count * p.width);
    };
    if (p.num_rows < 0) {
        run(first, last - first, p.gradient + first * p.width);
        return;
    }
    const int64_t* const end = p.rows + p.num_rows;
    for (const int64_t* next = std::lower_bound(p.rows, end, first); first < last; ++next) {
        const int64_t row = next < end ? std::min(*next, last) : last;
        run(first, row - first, nullptr);
        if (row == last) return;
        run(row, 1, p.gradient + (next - p.rows) * p.width);
        first = row + 1;
    }
}

}  // namespace

extern "C" {

// output = what is left of the inputs, plus `added` if there is such.
void drop(int64_t count, int threads, const float* inputs, const float* added, const Noise* noise, float* output) {
    const Noise n = *noise;
    for_each_block((count + BLOCK - 1) / BLOCK, threads, [=](int64_t block) {
        const int64_t end = std::min(count, (block + 1) * BLOCK);
        if (added)
            for (int64_t i = block * BLOCK; i < end; ++i) {
                const float kept = inputs[i] * n.scale;
                output[i] = added[i] + (draw(static_cast<uint32_t>(i), n) < n.threshold ? 0.0f : kept);
            }
        else
            for (int64_t i = block * BLOCK; i < end; ++i) {
                const float kept = inputs[i] * n.scale;
                output[i] = draw(static_cast<uint32_t>(i), n) < n.threshold ? 0.0f : kept;
            }
    });
}

// The sum of the squares of all gradients.
double sum_squares(int64_t count, int threads, const Parameter* parameters) {
    double total = 0.0;
    for (int64_t each = 0; each < count; ++each) {
        const Parameter& p = parameters[each];
        const int64_t size = (p.num_rows < 0 ? p.height : p.num_rows) * p.width, blocks = (size + BLOCK - 1) / BLOCK;
        std::vector<double> sums(blocks);
        double* const found = sums.data();
        for_each_block(blocks, threads, [=](int64_t block) {
            double lanes[8] = {};
            int64_t i = block * BLOCK;
            const int64_t end = std::min(size, i + BLOCK);
            for (; i + 8 <= end; i += 8)
                for (int lane = 0; lane < 8; ++lane) {
                    const double g = p.gradient[i + lane];
                    lanes[lane] += g * g;
                }
            for (; i < end; ++i) lanes[0] += static_cast<double>(p.gradient[i]) * p.gradient[i];
            for (double lane : lanes) found[block] += lane;
        });
        for (double sum : sums) total += sum;
    }
    return total;
}

void adam(int64_t count, int threads, const Parameter* parameters, const Adam* settings) {
    for (int64_t each = 0; each < count; ++each) {
        const Parameter& p = parameters[each];
        const int64_t rows = std::max<int64_t>(1, BLOCK / std::max<int64_t>(1, p.width));
        for_each_block((p.height + rows - 1) / rows, threads, [=](int64_t block) {
            move_block(*settings, p, block * rows, std::min(p.height, (block + 1) * rows));
        });
    }
}

}  // extern "C"

// The function that fused_descent.py calls: Adam on groups of classifiers, batch after batch.
//
// Once the errors of a batch are known, a tile of a layer's rows gets its gradient, its step and the next batch's outputs
// while it is in cache: no gradient is ever stored, and each weight is read and written once a step. Configurations are
// independent: each thread takes whole ones, and waits for no other before all batches are done. The number of threads
// changes no bit of any result.
//
// Shapes: B sentences of a batch (padded to PANEL), D inputs, G configurations, H hidden units, C classes, K inputs of
// the second layer (the hidden units, a constant 1, zeros up to a whole vector).
#include "sparse.h"
#include "wide.h"

using namespace descent;

struct Group {
    int64_t configurations, classes, hidden;  // hidden is 0 where there is one layer
    Layer layers[2];
    const float *dropout, *weight_decay;  // (G,)
    const float* noise;                   // (H, sentences): what is below the dropout's rate is dropped
    double* losses;                       // (G,)

    Group take(int64_t first, int64_t count) const {
        Group some = *this;
        some.configurations = count;
        for (Layer& layer : some.layers)
            for (float** state : {&layer.weights, &layer.means, &layer.squares})
                if (*state) *state += first * layer.rows * layer.columns;
        some.dropout += first, some.weight_decay += first, some.losses += first;
        return some;
    }

    // How many configurations a thread takes at a time: of small ones its full share, because it reads each batch for
    // all of them together; of large ones one, because more would crowd each other out of the cache.
    int64_t share(int threads) const {
        const bool small = layers[0].rows * layers[0].columns <= 1 << 15;
        return threads < 2 ? configurations : small ? (configurations + threads - 1) / threads : 1;
    }
};

namespace {

ALWAYS_INLINE Part logistic(Part x) {
    const Part e = exp(where_less(x, Part{}, x, -x)), scale = 1.0f / (1.0f + e);
    return where_less(x, Part{}, e * scale, scale);
}

// Turns the scores (C, B) of eight sentences into the errors of their mean cross-entropy; returns its sum.
double subtract_targets(float* scores, int64_t classes, int64_t stride, const int64_t* labels, int64_t sentences,
                        float scale) {
    Part largest = read(scores), total{};
    for (int64_t c = 1; c < classes; ++c) largest = larger(read(scores + c * stride), largest);
    float own[VECTOR] = {};
    for (int64_t b = 0; b < sentences; ++b) own[b] = scores[labels[b] * stride + b] - largest[b];
    for (int64_t c = 0; c < classes; ++c) {
        const Part e = exp(read(scores + c * stride) - largest);
        write(scores + c * stride, e);
        total += e;
    }
    const Part share = scale / total;
    for (int64_t c = 0; c < classes; ++c) write(scores + c * stride, read(scores + c * stride) * share);
    double loss = 0;
    for (int64_t b = 0; b < sentences; ++b) {
        scores[labels[b] * stride + b] -= scale;
        loss += std::log(total[b]) - own[b];
    }
    return loss;
}

class Training {
  public:
    Training(const Group& group, const Adam& adam, const Batches& batches)
        : group_(group),
          adam_(adam),
          batches_(batches),
          batch_{Batch(batches, group.layers[0].columns), Batch(batches, group.layers[0].columns)},
          sparse_(batches, group.layers[0].columns),
          width_(batch_[0].width),
          outputs_(group.configurations * group.layers[0].rows * width_),
          losses_(group.configurations * width_ / VECTOR) {
        if (group.hidden) {
            units_.resize(group.configurations * group.layers[1].columns * width_);
            turned_units_.resize(units_.size());
            scores_.resize(group.configurations * group.classes * width_);
        }
    }

    void run() {
        for (int64_t step = -1; step < batches_.steps(); ++step) run_step(step);
        for (int64_t g = 0; g < group_.configurations; ++g)
            for (int64_t part = 0; part < width_ / VECTOR; ++part)
                group_.losses[g] += losses_[g * width_ / VECTOR + part];
    }

  private:
    // Learns from a batch and computes the outputs for the next; before the first batch there is nothing to learn.
    void run_step(int64_t number) {
        const bool learns = number >= 0, goes_on = number + 1 < batches_.steps();
        const Batch& batch = batch_[number & 1];
        Batch& next = batch_[(number + 1) & 1];
        if (goes_on) next.read_batch(number + 1);
        if (learns)
            for (int64_t g = 0; g < group_.configurations; ++g)
                group_.hidden ? learn_scores(number, g) : find_errors(number, g, outputs_.data());
        const Layer& layer = group_.layers[0];
        const Lesson lesson = make_lesson(number, batch.rows.data());
        const Panels panels{next.panels.data(), PANEL, PANEL * layer.columns};
        const Tiles tiles(group_.configurations * layer.rows);
        for (int64_t tile = 0; tile < tiles.count; ++tile)
            tiles.visit(tile, [&](int64_t row, auto count) {
                constexpr int R = decltype(count)::value;
                float* const outputs = outputs_.data() + row * width_;
                if (learns && batch.sparse())
                    sparse_.learn<R>(layer, row, lesson, batch, outputs);
                else if (learns)
                    wide::learn<R>(layer, row, lesson, outputs, width_);
                if (goes_on && next.sparse())
                    sparse_.project<R>(layer, row, next, outputs);
                else if (goes_on)
                    wide::project<R>(layer.factors(row), panels, outputs, width_);
            });
    }

    Lesson make_lesson(int64_t number, const float* inputs) const {
        return {inputs, batches_.length(number), group_.weight_decay, Step(adam_, adam_.steps + number + 1)};
    }

    // Turns a configuration's scores into errors.
    void find_errors(int64_t number, int64_t g, float* scores) {
        const int64_t length = batches_.length(number), C = group_.classes;
        for (int64_t b = 0; b < length; b += VECTOR)
            losses_[(g * width_ + b) / VECTOR] += subtract_targets(
                scores + g * C * width_ + b, C, width_, batch_[number & 1].labels.data() + b,
                std::min<int64_t>(VECTOR, length - b), 1.0f / static_cast<float>(length));
    }

    // The dropout's factors for eight sentences.
    Part mask(int64_t number, int64_t g, int64_t h, int64_t first) const {
        const float rate = group_.dropout[g];
        const int64_t end = batches_.length(number);
        if (rate == 0 || first >= end) return fill(1.0f);
        const float* const noise = group_.noise + h * batches_.count + number * batches_.size + first;
        Part draws{};
        if (first + VECTOR <= end)
            draws = read(noise);
        else
            for (int64_t b = first; b < end; ++b) draws[b - first] = noise[b - first];
        return where_less(draws, fill(rate), Part{}, fill(1 / (1 - rate)));
    }

    // With a hidden layer: from its outputs to the scores and back to its errors; the second layer takes its step.
    void learn_scores(int64_t number, int64_t g) {
        const Layer& layer = group_.layers[1];
        const int64_t H = group_.hidden, K = layer.columns, C = group_.classes;
        float *const outputs = outputs_.data() + g * H * width_, *const scores = scores_.data() + g * C * width_;
        float *const units = units_.data() + g * K * width_, *const turned = turned_units_.data() + g * K * width_;
        for (int64_t h = 0; h < H; ++h)
            for (int64_t b = 0; b < width_; b += VECTOR)
                write(units + h * width_ + b, logistic(read(outputs + h * width_ + b) * mask(number, g, h, b)));
        std::fill_n(units + H * width_, width_, 1.0f);
        transpose(units, K, width_, width_, turned, K);
        project(C, Panels{units, width_, PANEL}, scores, [&](int64_t c) { return layer.factors(g * C + c); });
        find_errors(number, g, scores_.data());
        const float* const weights = layer.weights + g * C * K;
        project(H, Panels{scores, width_, PANEL}, outputs, [&](int64_t h) { return Factors{weights + h, 1, K, C}; });
        for (int64_t h = 0; h < H; ++h)
            for (int64_t b = 0; b < width_; b += VECTOR) {
                const Part unit = read(units + h * width_ + b), error = read(outputs + h * width_ + b);
                write(outputs + h * width_ + b, error * unit * (1.0f - unit) * mask(number, g, h, b));
            }
        const Lesson lesson = make_lesson(number, turned);
        const Tiles tiles(C);
        for (int64_t tile = 0; tile < tiles.count; ++tile)
            tiles.visit(tile, [&](int64_t c, auto count) {
                wide::learn<decltype(count)::value>(layer, g * C + c, lesson, scores + c * width_, width_);
            });
    }

    // The product of all rows, of which factors_of(row) gives those from one row on.
    template <typename FactorsOf>
    void project(int64_t rows, const Panels& panels, float* product, FactorsOf factors_of) const {
        const Tiles tiles(rows);
        for (int64_t tile = 0; tile < tiles.count; ++tile)
            tiles.visit(tile, [&](int64_t row, auto count) {
                wide::project<decltype(count)::value>(factors_of(row), panels, product + row * width_, width_);
            });
    }

    const Group group_;
    const Adam& adam_;
    const Batches& batches_;
    Batch batch_[2];  // of even and of odd numbers
    Sparse sparse_;
    int64_t width_;  // B, padded
    std::vector<float> outputs_, units_, turned_units_, scores_;
    std::vector<double> losses_;
};

}  // namespace

extern "C" {

// Adds each configuration's cross-entropy, summed over the sentences, to its group's losses.
void descend_groups(const Group* groups, int64_t count, const Adam* adam, const Batches* batches, int threads) {
    std::vector<Group> parts;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t all = groups[i].configurations, share = groups[i].share(threads);
        for (int64_t g = 0; g < all; g += share) parts.push_back(groups[i].take(g, std::min(share, all - g)));
    }
    // The longest first, so that the threads end at about the same time.
    std::stable_sort(parts.begin(), parts.end(), [](const Group& a, const Group& b) { return a.hidden > b.hidden; });
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
#endif
    for (size_t part = 0; part < parts.size(); ++part) Training(parts[part], *adam, *batches).run();
}

}  // extern "C"

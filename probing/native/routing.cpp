// The functions that fused.py calls. Tokens are independent: each thread takes whole chunks of them.
#include "em.h"
#include "simple.h"

using namespace routing;

namespace {

template <typename Token, typename Settings>
void run_forward(const Settings& settings, int threads, const float* votes, float* capsules, float* agreement,
                 float* kept) {
    const Shape& shape = settings.shape;
    const int64_t output = shape.capsules * shape.size, weights = shape.heads * shape.capsules;
    const int64_t softmaxes = 2 * shape.heads * (shape.iterations - 1);
    for_each_chunk(shape, threads, [&] {
        return [&, token = std::make_shared<Token>(settings)](int64_t chunk) {
            for (int64_t i = chunk * CHUNK; i < (chunk + 1) * CHUNK && i < shape.tokens; ++i)
                token->forward(votes + i * shape.token_stride, capsules + i * output,
                               agreement ? agreement + i * weights : nullptr, kept + i * softmaxes);
        };
    });
}

struct Gradient {
    float* votes;
    int64_t token_stride, head_stride;
};

// `finish(token, chunk)` is called after each chunk.
template <typename Token, typename Settings, typename Finish>
void run_backward(const Settings& settings, int threads, const float* votes, const float* kept, const float* upstream,
                  Gradient gradient, Finish finish) {
    const Shape& shape = settings.shape;
    const int64_t output = shape.capsules * shape.size, softmaxes = 2 * shape.heads * (shape.iterations - 1);
    for_each_chunk(shape, threads, [&] {
        return [&, token = std::make_shared<Token>(settings)](int64_t chunk) {
            for (int64_t i = chunk * CHUNK; i < (chunk + 1) * CHUNK && i < shape.tokens; ++i)
                token->backward(votes + i * shape.token_stride, kept + i * softmaxes, upstream + i * output,
                                gradient.votes + i * gradient.token_stride, gradient.head_stride);
            finish(*token, chunk);
        };
    });
}

template <typename Token>
void run_em_backward(const Em& em, int threads, const float* votes, const float* kept, const float* upstream,
                     Gradient gradient, float* g_beta_a, float* g_beta_mu) {
    const int64_t N = em.shape.capsules, chunks = count_chunks(em.shape);
    std::vector<float> sums(chunks * 2 * N);
    run_backward<Token>(em, threads, votes, kept, upstream, gradient, [&](Token& token, int64_t chunk) {
        for (float* part : {token.sum_a(), token.sum_mu()}) {
            std::memcpy(&sums[(2 * chunk + (part == token.sum_mu())) * N], part, N * sizeof(float));
            std::memset(part, 0, N * sizeof(float));
        }
    });
    for (int64_t n = 0; n < N; ++n) {
        double a = 0, mu = 0;
        for (int64_t chunk = 0; chunk < chunks; ++chunk) {
            a += sums[2 * chunk * N + n];
            mu += sums[(2 * chunk + 1) * N + n];
        }
        g_beta_a[n] = static_cast<float>(a);
        g_beta_mu[n] = static_cast<float>(mu);
    }
}

template <typename Token>
void run_simple_backward(const Simple& simple, int threads, const float* votes, const float* kept,
                         const float* upstream, Gradient gradient) {
    run_backward<Token>(simple, threads, votes, kept, upstream, gradient, [](Token&, int64_t) {});
}

}  // namespace

extern "C" {

void em_forward(const Em* em, int threads, const float* votes, float* capsules, float* agreement, float* kept) {
    auto run = em->shape.size == 1 ? run_forward<EmToken<1>, Em> : run_forward<EmToken<0>, Em>;
    run(*em, threads, votes, capsules, agreement, kept);
}

void em_backward(const Em* em, int threads, const float* votes, const float* kept, const float* upstream,
                 const Gradient* gradient, float* g_beta_a, float* g_beta_mu) {
    auto run = em->shape.size == 1 ? run_em_backward<EmToken<1>> : run_em_backward<EmToken<0>>;
    run(*em, threads, votes, kept, upstream, *gradient, g_beta_a, g_beta_mu);
}

void simple_forward(const Simple* simple, int threads, const float* votes, float* capsules, float* agreement,
                    float* kept) {
    auto run = simple->shape.size == 1 ? run_forward<SimpleToken<1>, Simple> : run_forward<SimpleToken<0>, Simple>;
    run(*simple, threads, votes, capsules, agreement, kept);
}

void simple_backward(const Simple* simple, int threads, const float* votes, const float* kept, const float* upstream,
                     const Gradient* gradient) {
    auto run = simple->shape.size == 1 ? run_simple_backward<SimpleToken<1>> : run_simple_backward<SimpleToken<0>>;
    run(*simple, threads, votes, kept, upstream, *gradient);
}

}  // extern "C"

// Thirty-two floats at a time, with exp and log to about 2 ulp. NaN goes through everything: do not compile this with
// -ffast-math.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __AVX__
#include <immintrin.h>
#endif

namespace routing {

typedef float Part __attribute__((vector_size(32)));
typedef int32_t PartBits __attribute__((vector_size(32)));

typedef float Unaligned __attribute__((vector_size(32), aligned(4), may_alias));

#ifndef ALWAYS_INLINE  // a build that need not be fast is compiled sooner without it
#define ALWAYS_INLINE inline __attribute__((always_inline))
#endif

// Four vectors of eight: four chains of operations hide each other's latency. Copied by the part: a compiler's own copy
// goes through smaller registers, and reading it back as a vector stalls.
struct Lanes {
    Part a, b, c, d;
    Lanes() = default;
    ALWAYS_INLINE Lanes(Part a, Part b, Part c, Part d) : a(a), b(b), c(c), d(d) {}
    ALWAYS_INLINE Lanes(const Lanes& x) : a(x.a), b(x.b), c(x.c), d(x.d) {}
    ALWAYS_INLINE Lanes& operator=(const Lanes& x) {
        a = x.a, b = x.b, c = x.c, d = x.d;
        return *this;
    }
};

constexpr int WIDTH = 32;

ALWAYS_INLINE Part fill(float value) { return Part{} + value; }
ALWAYS_INLINE Lanes lanes(float value) { return {fill(value), fill(value), fill(value), fill(value)}; }

ALWAYS_INLINE Lanes load(const float* from) {
    const Unaligned* parts = (const Unaligned*)from;
    return {parts[0], parts[1], parts[2], parts[3]};
}

ALWAYS_INLINE void store(float* to, Lanes x) {
    Unaligned* parts = (Unaligned*)to;
    parts[0] = x.a, parts[1] = x.b, parts[2] = x.c, parts[3] = x.d;
}

ALWAYS_INLINE Lanes operator+(Lanes x, Lanes y) { return {x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d}; }
ALWAYS_INLINE Lanes operator-(Lanes x, Lanes y) { return {x.a - y.a, x.b - y.b, x.c - y.c, x.d - y.d}; }
ALWAYS_INLINE Lanes operator*(Lanes x, Lanes y) { return {x.a * y.a, x.b * y.b, x.c * y.c, x.d * y.d}; }
ALWAYS_INLINE Lanes operator/(Lanes x, Lanes y) { return {x.a / y.a, x.b / y.b, x.c / y.c, x.d / y.d}; }
ALWAYS_INLINE Lanes operator-(Lanes x) { return {-x.a, -x.b, -x.c, -x.d}; }
ALWAYS_INLINE Lanes operator+(Lanes x, float y) { return x + lanes(y); }
ALWAYS_INLINE Lanes operator-(Lanes x, float y) { return x - lanes(y); }
ALWAYS_INLINE Lanes operator*(Lanes x, float y) { return x * lanes(y); }
ALWAYS_INLINE Lanes operator*(float x, Lanes y) { return lanes(x) * y; }
ALWAYS_INLINE Lanes operator-(float x, Lanes y) { return lanes(x) - y; }
ALWAYS_INLINE Lanes operator/(float x, Lanes y) { return lanes(x) / y; }

// Of two lanes, the second if either is NaN.
ALWAYS_INLINE Part larger(Part x, Part y) {
#ifdef __AVX__
    return _mm256_max_ps(x, y);
#else
    return x > y ? x : y;
#endif
}

ALWAYS_INLINE Lanes larger(Lanes x, Lanes y) {
    return {larger(x.a, y.a), larger(x.b, y.b), larger(x.c, y.c), larger(x.d, y.d)};
}

// `yes` where x < y, `no` elsewhere and where either is NaN.
ALWAYS_INLINE Part where_less(Part x, Part y, Part yes, Part no) { return x < y ? yes : no; }
ALWAYS_INLINE Lanes where_less(Lanes x, Lanes y, Lanes yes, Lanes no) {
    return {where_less(x.a, y.a, yes.a, no.a), where_less(x.b, y.b, yes.b, no.b), where_less(x.c, y.c, yes.c, no.c),
            where_less(x.d, y.d, yes.d, no.d)};
}

ALWAYS_INLINE bool any_less(Lanes x, float bound) {
    const Part limit = fill(bound);
    PartBits below = (x.a < limit) | (x.b < limit) | (x.c < limit) | (x.d < limit);
    int64_t words[4];
    std::memcpy(words, &below, sizeof words);
    return (words[0] | words[1] | words[2] | words[3]) != 0;
}

ALWAYS_INLINE float sum(Lanes x) {
    Part all = (x.a + x.b) + (x.c + x.d);
    return ((all[0] + all[4]) + (all[1] + all[5])) + ((all[2] + all[6]) + (all[3] + all[7]));
}

ALWAYS_INLINE float largest(Lanes x) {
    Part all = larger(larger(x.a, x.b), larger(x.c, x.d));
    float result = all[0];
    for (int lane = 1; lane < 8; ++lane) result = all[lane] > result ? all[lane] : result;
    return result;
}

// The polynomials of exp, log are those of the Cephes library (S. Moshier), for float.
// For numbers up to 88. What is below the least normal number is 0.
ALWAYS_INLINE Part exp(Part x) {
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits
    Part rounded = x * 1.44269504088896341f + magic;
    // One constant for log(2) is enough: of a large x, the last digit counts for more than this one's.
    Part r = x - (rounded - magic) * 0.693147180559945309f;
    Part p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    PartBits power = (PartBits)rounded << 23;  // the bits of magic fall off the upper end
    return where_less(x, fill(-87.3f), Part{}, (Part)((PartBits)p + power));
}

// For normal numbers above 0.
ALWAYS_INLINE Part log(Part x) {
    PartBits bits = (PartBits)x - 0x3f3504f3;  // sqrt(1/2)
    PartBits exponent = bits >> 23;
    Part m = (Part)((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    Part e = __builtin_convertvector(exponent, Part);
    Part z = m * m;
    Part p = m * 7.0376836292e-2f - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * z - e * 2.12194440e-4f - 0.5f * z;
    Part result = m + p + e * 0.693359375f;
    return x == x ? result : x;
}

ALWAYS_INLINE Lanes exp(Lanes x) { return {exp(x.a), exp(x.b), exp(x.c), exp(x.d)}; }
ALWAYS_INLINE Lanes log(Lanes x) { return {log(x.a), log(x.b), log(x.c), log(x.d)}; }

ALWAYS_INLINE Part root(Part x) {
#ifdef __AVX__
    return _mm256_sqrt_ps(x);
#else
    for (int lane = 0; lane < 8; ++lane) x[lane] = __builtin_sqrtf(x[lane]);
    return x;
#endif
}

ALWAYS_INLINE Lanes root(Lanes x) { return {root(x.a), root(x.b), root(x.c), root(x.d)}; }

ALWAYS_INLINE Lanes logistic(Lanes x) {
    const Lanes zero = lanes(0.0f), e = exp(where_less(x, zero, x, -x));
    return where_less(x, zero, e, lanes(1.0f)) / (e + 1.0f);
}

// log(logistic(x)), and in `slope` its derivative.
ALWAYS_INLINE Lanes log_logistic(Lanes x, Lanes& slope) {
    const Lanes zero = lanes(0.0f), e = exp(where_less(x, zero, x, -x));
    slope = where_less(x, zero, lanes(1.0f), e) / (e + 1.0f);
    return where_less(zero, x, zero, x) - log(e + 1.0f);
}

}  // namespace routing

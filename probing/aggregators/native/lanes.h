// Sixteen floats at a time, with exp and log to about 2 ulp. NaN goes through everything: nothing here may be compiled
// with -ffast-math.
#pragma once

#include <cstdint>
#include <cstring>

namespace routing {

typedef float Half __attribute__((vector_size(32)));
typedef int32_t HalfBits __attribute__((vector_size(32)));

typedef float Unaligned __attribute__((vector_size(32), aligned(4), may_alias));

#define ALWAYS_INLINE inline __attribute__((always_inline))

// Two vectors of eight, not one of sixteen: two chains of operations hide each other's latency. Copied by the half: a
// compiler's own copy goes through smaller registers, and reading it back as a vector stalls.
struct Lanes {
    Half low, high;
    Lanes() = default;
    ALWAYS_INLINE Lanes(Half low, Half high) : low(low), high(high) {}
    ALWAYS_INLINE Lanes(const Lanes& other) : low(other.low), high(other.high) {}
    ALWAYS_INLINE Lanes& operator=(const Lanes& other) {
        low = other.low;
        high = other.high;
        return *this;
    }
};

constexpr int WIDTH = 16;

ALWAYS_INLINE Half fill(float value) { return Half{} + value; }
ALWAYS_INLINE Lanes lanes(float value) { return {fill(value), fill(value)}; }

ALWAYS_INLINE Lanes load(const float* from) { return {*(const Unaligned*)from, *(const Unaligned*)(from + 8)}; }

ALWAYS_INLINE void store(float* to, Lanes x) {
    *(Unaligned*)to = x.low;
    *(Unaligned*)(to + 8) = x.high;
}

ALWAYS_INLINE Lanes operator+(Lanes x, Lanes y) { return {x.low + y.low, x.high + y.high}; }
ALWAYS_INLINE Lanes operator-(Lanes x, Lanes y) { return {x.low - y.low, x.high - y.high}; }
ALWAYS_INLINE Lanes operator*(Lanes x, Lanes y) { return {x.low * y.low, x.high * y.high}; }
ALWAYS_INLINE Lanes operator/(Lanes x, Lanes y) { return {x.low / y.low, x.high / y.high}; }
ALWAYS_INLINE Lanes operator-(Lanes x) { return {-x.low, -x.high}; }
ALWAYS_INLINE Lanes operator+(Lanes x, float y) { return x + lanes(y); }
ALWAYS_INLINE Lanes operator-(Lanes x, float y) { return x - lanes(y); }
ALWAYS_INLINE Lanes operator*(Lanes x, float y) { return x * lanes(y); }
ALWAYS_INLINE Lanes operator*(float x, Lanes y) { return lanes(x) * y; }
ALWAYS_INLINE Lanes operator-(float x, Lanes y) { return lanes(x) - y; }
ALWAYS_INLINE Lanes operator/(float x, Lanes y) { return lanes(x) / y; }

// Of two lanes, the second if either is NaN.
ALWAYS_INLINE Half larger(Half x, Half y) { return x > y ? x : y; }
ALWAYS_INLINE Half smaller(Half x, Half y) { return x < y ? x : y; }
ALWAYS_INLINE Lanes larger(Lanes x, Lanes y) { return {larger(x.low, y.low), larger(x.high, y.high)}; }

// `yes` where x < y, `no` elsewhere and where either is NaN.
ALWAYS_INLINE Half where_less(Half x, Half y, Half yes, Half no) { return x < y ? yes : no; }
ALWAYS_INLINE Lanes where_less(Lanes x, Lanes y, Lanes yes, Lanes no) {
    return {where_less(x.low, y.low, yes.low, no.low), where_less(x.high, y.high, yes.high, no.high)};
}

ALWAYS_INLINE bool any_less(Lanes x, float bound) {
    HalfBits below = (x.low < fill(bound)) | (x.high < fill(bound));
    int64_t words[4];
    std::memcpy(words, &below, sizeof words);
    return (words[0] | words[1] | words[2] | words[3]) != 0;
}

ALWAYS_INLINE float sum(Lanes x) {
    Half both = x.low + x.high;
    return ((both[0] + both[4]) + (both[1] + both[5])) + ((both[2] + both[6]) + (both[3] + both[7]));
}

ALWAYS_INLINE float largest(Lanes x) {
    Half both = larger(x.low, x.high);
    float result = both[0];
    for (int lane = 1; lane < 8; ++lane) result = both[lane] > result ? both[lane] : result;
    return result;
}

// The polynomials of exp, log are those of the Cephes library (S. Moshier), for float.
ALWAYS_INLINE Half exp(Half x) {
    const Half lowest = fill(-87.3f);
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits
    Half bounded = larger(lowest, smaller(fill(88.0f), x));
    Half rounded = bounded * 1.44269504088896341f + magic;
    Half whole = rounded - magic;
    Half r = bounded - whole * 0.693359375f;
    r = r + whole * 2.12194440e-4f;
    Half p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    HalfBits power = ((HalfBits)rounded + 127) << 23;  // the bits of magic fall off the upper end
    return where_less(x, lowest, Half{}, p * (Half)power);
}

// For normal numbers above 0.
ALWAYS_INLINE Half log(Half x) {
    HalfBits bits = (HalfBits)x - 0x3f3504f3;  // sqrt(1/2)
    HalfBits exponent = bits >> 23;
    Half m = (Half)((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    Half e = __builtin_convertvector(exponent, Half);
    Half z = m * m;
    Half p = m * 7.0376836292e-2f - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * z - e * 2.12194440e-4f - 0.5f * z;
    Half result = m + p + e * 0.693359375f;
    return x == x ? result : x;
}

ALWAYS_INLINE Lanes exp(Lanes x) { return {exp(x.low), exp(x.high)}; }
ALWAYS_INLINE Lanes log(Lanes x) { return {log(x.low), log(x.high)}; }

ALWAYS_INLINE Lanes inverse_root(Lanes x) {
    Lanes root;
    for (int lane = 0; lane < 8; ++lane) {
        root.low[lane] = __builtin_sqrtf(x.low[lane]);
        root.high[lane] = __builtin_sqrtf(x.high[lane]);
    }
    return 1.0f / root;
}

// logistic(x) and, in `log_value`, its logarithm.
ALWAYS_INLINE Lanes logistic(Lanes x, Lanes* log_value = nullptr) {
    Lanes zero = lanes(0.0f);
    Lanes e = exp(where_less(x, zero, x, -x));
    Lanes scale = 1.0f / (e + 1.0f);
    if (log_value) *log_value = where_less(zero, x, zero, x) - log(e + 1.0f);
    return where_less(x, zero, e * scale, scale);
}

}  // namespace routing

// Elementary functions that are the same to the bit on every processor.
//
// The C library takes other code for processors with fused multiply-add, and NumPy other code for wide vectors; the
// last digits differ. These are built from sums, products and quotients alone, each of which IEEE 754 rounds in one
// way.
//
//   exponential  2^k exp(r), k the nearest whole number to x / ln 2 and |r| <= ln(2) / 2, by the Taylor series of degree
//                13, whose rest is below r^14 / 14! < 5e-18
//   logarithm    e ln 2 + log(m) with m in [sqrt(1/2), sqrt(2)) and log(m) = 2 (s + s^3/3 + s^5/5 + ...),
//                s = (m - 1) / (m + 1), |s| < 0.172, up to s^23, with a rest below 1e-20
//   log_gamma    Stirling's series from 10 on (Abramowitz & Stegun 1964, 6.1.41), below by the recurrence
//
// The first two err by less than two units in the last place.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace shoal {

constexpr double kLn2 = 0.6931471805599453;
constexpr double kLn2High = 0.693147180369123816490;    // ln 2 to 32 bits: its product with an exponent is exact
constexpr double kLn2Low = 1.90821492927058770002e-10;  // and the rest
constexpr double kHalfLog2Pi = 0.91893853320467274178;

inline double of_bits(std::uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline std::uint64_t bits_of(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline double exponential(double x) {
  constexpr double kShift = 0x1.8p52;  // adding it leaves a whole number
  constexpr double kInverse[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                                 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1.0, 1.0};
  if (std::isnan(x)) return x;
  if (x >= 710.0) return HUGE_VAL;
  if (x <= -746.0) return 0.0;
  const double k = (x / kLn2 + kShift) - kShift;
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 1.0 / 6227020800.0;
  for (const double c : kInverse) sum = sum * r + c;
  const auto power = static_cast<int>(k);
  if (power < -1021 || power > 1023) return std::ldexp(sum, power);
  return sum * of_bits(static_cast<std::uint64_t>(power + 1023) << 52);
}

inline double logarithm(double x) {
  constexpr double kInverse[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3};
  constexpr double kHalfRoot = 0.7071067811865476;  // of 2
  if (!(x > 0.0)) return x == 0.0 ? -HUGE_VAL : NAN;
  if (std::isinf(x)) return x;
  int e = 0;
  if (x < 0x1p-1022) x *= 0x1p54, e = -54;
  const std::uint64_t bits = bits_of(x);
  e += static_cast<int>(bits >> 52) - 1022;
  double m = of_bits((bits & 0x000fffffffffffffu) | 0x3fe0000000000000u);  // in [1/2, 1)
  if (m < kHalfRoot) m *= 2, --e;
  const double f = m - 1, s = f / (m + 1), square = s * s;
  double sum = 1.0 / 23;
  for (const double c : kInverse) sum = sum * square + c;
  return e * kLn2High + (e * kLn2Low + (f - s * (f - 2 * square * sum)));  // 2 s = f - s f, and f is exact
}

// log(1 + x), exact to rounding for small x too (Kahan; Goldberg 1991, theorem 4).
inline double logarithm_above_one(double x) {
  const double u = 1 + x;
  if (u == 1) return x;
  return x < 1e16 ? logarithm(u) * (x / (u - 1)) : logarithm(u);
}

// exp(x) - 1, exact to rounding for small x too (Kahan; Higham 2002, section 1.14.1).
inline double exponential_less_one(double x) {
  const double u = exponential(x);
  if (u == 1) return x;
  return std::fabs(x) < 1 ? (u - 1) * (x / logarithm(u)) : u - 1;
}

// x^p for x >= 0.
inline double power(double x, double p) { return p == 0.0 ? 1.0 : exponential(p * logarithm(x)); }

// sin x, |x| <= pi / 4: Taylor to the 17th power; the rest is below 1e-19.
inline double small_sine(double x) {
  const double square = x * x;
  double term = 1.0;
  for (int n = 16; n >= 2; n -= 2) term = 1.0 - term * (square / static_cast<double>(n * (n + 1)));
  return x * term;
}

// log Gamma(x), x > 0.
inline double log_gamma(double x) {
  double below = 1.0;
  for (; x < 10.0; x += 1.0) below *= x;
  const double r = 1.0 / (x * x);
  const double series = 1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r * (1.0 / 1188 - r * (691.0 / 360360)))));
  return (x - 0.5) * logarithm(x) - x + kHalfLog2Pi + series / x - logarithm(below);
}

}  // namespace shoal

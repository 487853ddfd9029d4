// The loops of fuzzy_loops.hpp, for the instruction set of whichever source includes this file. Everything is
// in an unnamed namespace and no library template is used, so that no AVX2 code can leak into shared symbols.
//
// exp(x), x <= 0: x = n ln 2 + r with |r| <= ln 2 / 2, the Taylor series of exp(r) to the 13th power (its rest is
// below 2^-56), times 2^n. Below -708 the result is 0.
// log(x), x >= 1: x = 2^n m with m in [1/sqrt 2, sqrt 2), log m = 2 atanh(f), f = (m-1)/(m+1), to f^21.
#pragma once
#include "partition/fuzzy_loops.hpp"

namespace shoal {
namespace {

using Four = double __attribute__((vector_size(32)));
using Bits = long long __attribute__((vector_size(32)));

inline Four load4(const double* p) {
  Four v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store4(double* p, Four v) { __builtin_memcpy(p, &v, sizeof v); }
inline Four four(double x) { return Four{x, x, x, x}; }
inline Bits bits_of(Four v) {
  Bits b;
  __builtin_memcpy(&b, &v, sizeof b);
  return b;
}
inline Four double_of(Bits b) {
  Four v;
  __builtin_memcpy(&v, &b, sizeof v);
  return v;
}
inline Four choose(Bits mask, Four yes, Four no) { return double_of((mask & bits_of(yes)) | (~mask & bits_of(no))); }

constexpr double kLowest = -708.0;       // exp below this is subnormal
constexpr double kShift = 0x1.8p52;      // adding it leaves a whole number in the low bits
constexpr double kLn2High = 0x1.62e42fefa38p-1;      // ln 2, its first 43 bits
constexpr double kLn2Low = 0x1.ef35793c7673p-45;     // and the rest

inline Four exp4(Four x) {
  const Bits zero = x < four(kLowest);
  x = choose(zero, four(kLowest), x);
  const Four shifted = x * four(0x1.71547652b82fep0) + four(kShift);
  const Four n = shifted - four(kShift);
  const Four r = (x - n * four(kLn2High)) - n * four(kLn2Low);
  Four sum = four(1.0 / 6227020800.0);
  const double inverse[13] = {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,
                              1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0};
  for (double c : inverse) sum = sum * r + four(c);
  const Bits power = (bits_of(shifted) << 52) + bits_of(sum);
  return choose(zero, four(0.0), double_of(power));
}

inline Four log4(Four x) {
  const Bits b = bits_of(x);
  const Bits low = {0x000fffffffffffff, 0x000fffffffffffff, 0x000fffffffffffff, 0x000fffffffffffff};
  const Bits one = bits_of(four(1.0)), wide = bits_of(four(0x1p52));
  Four n = double_of(((b >> 52) & 0x7ff) | wide) - four(0x1p52) - four(1023.0);
  Four m = double_of((b & low) | one);
  const Bits large = m > four(1.4142135623730951);
  m = choose(large, m * four(0.5), m);
  n = choose(large, n + four(1.0), n);
  const Four f = (m - four(1.0)) / (m + four(1.0));
  const Four s = f * f;
  Four sum = four(1.0 / 21.0);
  const double inverse[10] = {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0};
  for (double c : inverse) sum = sum * s + four(c);
  return n * four(kLn2High) + (n * four(kLn2Low) + four(2.0) * f * sum);
}

void distances(const double* centres, const double* x, std::size_t d, std::size_t padded, double* d2) {
  for (std::size_t j = 0; j < padded; j += 4) {
    Four sum = four(0.0);
    for (std::size_t s = 0; s < d; ++s) {
      const Four t = load4(centres + s * padded + j) - four(x[s]);
      sum += t * t;
    }
    store4(d2 + j, sum);
  }
}

void powers(const double* d2, std::size_t padded, double least, double power, double* t) {
  if (power == 1.0) {
    for (std::size_t j = 0; j < padded; j += 4) store4(t + j, four(least) / load4(d2 + j));
    return;
  }
  const Four inverse = four(1.0 / least), factor = four(-power);
  for (std::size_t j = 0; j < padded; j += 4) store4(t + j, exp4(factor * log4(load4(d2 + j) * inverse)));
}

void exponentials(const double* d2, std::size_t padded, double least, double lambda, double* t) {
  for (std::size_t j = 0; j < padded; j += 4) store4(t + j, exp4(four(-lambda) * (load4(d2 + j) - four(least))));
}

void sharpen(const double* t, const double* d2, std::size_t padded, double least, double factor, double* w) {
  const Four scale = four(least * factor);
  for (std::size_t j = 0; j < padded; j += 4) store4(w + j, load4(t + j) * (scale / load4(d2 + j)));
}

double total(const double* values, std::size_t padded) {
  Four sum = four(0.0);
  for (std::size_t j = 0; j < padded; j += 4) sum += load4(values + j);
  return ((sum[0] + sum[1]) + sum[2]) + sum[3];
}

void accumulate(double* sums, const double* w, const double* x, std::size_t rows, std::size_t d, std::size_t padded) {
  for (std::size_t s = 0; s <= d; ++s) {
    double* to = sums + s * padded;
    for (std::size_t j = 0; j < padded; j += 4) {
      Four sum = load4(to + j);
      for (std::size_t r = 0; r < rows; ++r) {
        const Four weight = load4(w + r * padded + j);
        sum += s < d ? weight * four(x[r * d + s]) : weight;
      }
      store4(to + j, sum);
    }
  }
}

const FuzzyLoops kLoops = {distances, powers, exponentials, sharpen, total, accumulate};

}  // namespace
}  // namespace shoal

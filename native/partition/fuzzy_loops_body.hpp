// The loops of fuzzy_loops.hpp, for the instruction set of whichever source includes this file. Everything is
// in an unnamed namespace and no library template is used, so that no AVX2 code can leak into shared symbols.
//
// exp(x), x <= 0: x = n ln 2 + r with |r| <= ln 2 / 2, the Taylor series of exp(r) to the 13th power (its rest is
// below 2^-56), times 2^n. Below -708 the result is 0.
// log(x), x >= 1: x = 2^n m with m in [1/sqrt 2, sqrt 2), log m = 2 atanh(f), f = (m-1)/(m+1), to f^21.
#pragma once
#include "core/lanes.hpp"
#include "partition/fuzzy_loops.hpp"

namespace shoal {
namespace {

constexpr double kLowest = -708.0;       // exp below this is subnormal
constexpr double kShift = 0x1.8p52;      // adding it leaves a whole number in the low bits
constexpr double kLn2High = 0x1.62e42fefa38p-1;      // ln 2, its first 43 bits
constexpr double kLn2Low = 0x1.ef35793c7673p-45;     // and the rest

inline Doubles exp4(Doubles x) {
  const Masks zero = x < spread(kLowest);
  x = choose(zero, spread(kLowest), x);
  const Doubles shifted = x * spread(0x1.71547652b82fep0) + spread(kShift);
  const Doubles n = shifted - spread(kShift);
  const Doubles r = (x - n * spread(kLn2High)) - n * spread(kLn2Low);
  Doubles sum = spread(1.0 / 6227020800.0);
  const double inverse[13] = {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,
                              1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0};
  for (double c : inverse) sum = sum * r + spread(c);
  const Masks power = (bits_of(shifted) << 52) + bits_of(sum);
  return choose(zero, spread(0.0), double_of(power));
}

inline Doubles log4(Doubles x) {
  const Masks b = bits_of(x);
  const Masks low = {0x000fffffffffffff, 0x000fffffffffffff, 0x000fffffffffffff, 0x000fffffffffffff};
  const Masks one = bits_of(spread(1.0)), wide = bits_of(spread(0x1p52));
  Doubles n = double_of(((b >> 52) & 0x7ff) | wide) - spread(0x1p52) - spread(1023.0);
  Doubles m = double_of((b & low) | one);
  const Masks large = m > spread(1.4142135623730951);
  m = choose(large, m * spread(0.5), m);
  n = choose(large, n + spread(1.0), n);
  const Doubles f = (m - spread(1.0)) / (m + spread(1.0));
  const Doubles s = f * f;
  Doubles sum = spread(1.0 / 21.0);
  const double inverse[10] = {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0};
  for (double c : inverse) sum = sum * s + spread(c);
  return n * spread(kLn2High) + (n * spread(kLn2Low) + spread(2.0) * f * sum);
}

void distances(const double* centres, const double* x, std::size_t d, std::size_t padded, double* d2) {
  for (std::size_t j = 0; j < padded; j += 4) {
    Doubles sum = spread(0.0);
    for (std::size_t s = 0; s < d; ++s) {
      const Doubles t = load(centres + s * padded + j) - spread(x[s]);
      sum += t * t;
    }
    store(d2 + j, sum);
  }
}

inline Doubles most(Doubles a, Doubles b) { return choose(a > b, a, b); }

void gaps(const double* lows, const double* highs, std::size_t stride, const double* low, const double* high,
          std::size_t d, std::size_t padded, double* out) {
  for (std::size_t j = 0; j < padded; j += 4) {
    Doubles sum = spread(0.0);
    for (std::size_t s = 0; s < d; ++s) {
      const Doubles above = load(lows + s * stride + j) - spread(high[s]);
      const Doubles below = spread(low[s]) - load(highs + s * stride + j);
      const Doubles gap = most(most(above, below), spread(0.0));
      sum += gap * gap;
    }
    store(out + j, sum);
  }
}

void powers(const double* d2, std::size_t padded, double least, double power, double* t) {
  if (power == 1.0) {
    for (std::size_t j = 0; j < padded; j += 4) store(t + j, spread(least) / load(d2 + j));
    return;
  }
  const Doubles inverse = spread(1.0 / least), factor = spread(-power);
  for (std::size_t j = 0; j < padded; j += 4) store(t + j, exp4(factor * log4(load(d2 + j) * inverse)));
}

void exponentials(const double* d2, std::size_t padded, double least, double lambda, double* t) {
  for (std::size_t j = 0; j < padded; j += 4) store(t + j, exp4(spread(-lambda) * (load(d2 + j) - spread(least))));
}

void sharpen(const double* t, const double* d2, std::size_t padded, double least, double factor, double* w) {
  const Doubles scale = spread(least * factor);
  for (std::size_t j = 0; j < padded; j += 4) store(w + j, load(t + j) * (scale / load(d2 + j)));
}

double total(const double* values, std::size_t padded) {
  Doubles sum = spread(0.0);
  for (std::size_t j = 0; j < padded; j += 4) sum += load(values + j);
  return ((sum[0] + sum[1]) + sum[2]) + sum[3];
}

void accumulate(double* sums, const double* w, const double* x, std::size_t rows, std::size_t d, std::size_t padded) {
  for (std::size_t s = 0; s <= d; ++s) {
    double* to = sums + s * padded;
    for (std::size_t j = 0; j < padded; j += 4) {
      Doubles sum = load(to + j);
      for (std::size_t r = 0; r < rows; ++r) {
        const Doubles weight = load(w + r * padded + j);
        sum += s < d ? weight * spread(x[r * d + s]) : weight;
      }
      store(to + j, sum);
    }
  }
}

void scatter(double* sums, const std::uint32_t* centres, const double* w, std::size_t count, const double* row,
             std::size_t stride) {
  for (std::size_t s = 0; s < stride; s += 4) {
    const Doubles values = load(row + s);
    for (std::size_t k = 0; k < count; ++k) {
      double* const to = sums + centres[k] * stride + s;
      store(to, load(to) + spread(w[k]) * values);
    }
  }
}

const FuzzyLoops kLoops = {distances, gaps, powers, exponentials, sharpen, total, accumulate, scatter};

}  // namespace
}  // namespace shoal

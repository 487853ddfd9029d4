// The loops of mixture_loops.hpp, for the instruction set of whichever source includes this file. Everything is in an
// unnamed namespace and no library template is used, so that no AVX2 code can leak into shared symbols.
#pragma once
#include "core/lanes.hpp"
#include "mixture/mixture_loops.hpp"

namespace shoal::mixture {
namespace {

// As `exponential` of core/elementary.hpp, for x <= 0; 0 below -708, from where on results are subnormal.
inline Doubles exponential_of_four(Doubles x) {
  constexpr double kLn2 = 0.6931471805599453, kLn2High = 0.693147180369123816490, kLn2Low = 1.90821492927058770002e-10;
  const Masks zero = x < spread(-708.0);
  x = choose(zero, spread(-708.0), x);
  const Doubles shifted = x / spread(kLn2) + spread(0x1.8p52);  // leaves a whole number in the low bits
  const Doubles k = shifted - spread(0x1.8p52);
  const Doubles r = (x - k * spread(kLn2High)) - k * spread(kLn2Low);
  Doubles sum = spread(1.0 / 6227020800.0);
  const double inverse[13] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                              1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1.0, 1.0};
  for (double c : inverse) sum = sum * r + spread(c);
  return choose(zero, spread(0.0), double_of((bits_of(shifted) << 52) + bits_of(sum)));
}

void distances(const double* x, const double* mean, const double* inverse, std::size_t d, bool diagonal, double* y,
               double* square) {
  for (std::size_t j = 0; j < d; ++j)
    for (std::size_t i = 0; i < kBlock; i += 4) store(y + j * kBlock + i, load(x + j * kBlock + i) - spread(mean[j]));
  for (std::size_t i = 0; i < kBlock; i += 16) {
    Doubles sum[4] = {};
    for (std::size_t r = 0; r < d; ++r) {
      Doubles t[4] = {};
      for (std::size_t c = diagonal ? r : 0; c <= r; ++c) {
        const Doubles w = spread(inverse[r * d + c]);
        for (std::size_t l = 0; l < 4; ++l) t[l] += w * load(y + c * kBlock + i + 4 * l);
      }
      for (std::size_t l = 0; l < 4; ++l) sum[l] += t[l] * t[l];
    }
    for (std::size_t l = 0; l < 4; ++l) store(square + i + 4 * l, sum[l]);
  }
}

void posteriors(double* joint, std::size_t groups, double* top, double* sum) {
  for (std::size_t i = 0; i < kBlock; i += 4) {
    Doubles most = load(joint + i), total = spread(0.0);
    for (std::size_t g = 1; g < groups; ++g) {
      const Doubles other = load(joint + g * kBlock + i);
      most = choose(most < other, other, most);
    }
    for (std::size_t g = 0; g < groups; ++g) {
      const Doubles z = exponential_of_four(load(joint + g * kBlock + i) - most);
      store(joint + g * kBlock + i, z);
      total += z;
    }
    store(top + i, most);
    store(sum + i, total);
  }
}

void scale(double* joint, std::size_t groups, const double* factor) {
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t i = 0; i < kBlock; i += 4)
      store(joint + g * kBlock + i, load(joint + g * kBlock + i) * load(factor + i));
}

inline double of_lanes(Doubles low, Doubles high) {
  return ((low[0] + low[1]) + (low[2] + low[3])) + ((high[0] + high[1]) + (high[2] + high[3]));
}

double sum(const double* a) {
  Doubles low = spread(0.0), high = spread(0.0);
  for (std::size_t i = 0; i < kBlock; i += 8) {
    low += load(a + i);
    high += load(a + i + 4);
  }
  return of_lanes(low, high);
}

void accumulate(const double* z, const double* y, std::size_t d, double* first, double* second) {
  double zy[kBlock];
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t i = 0; i < kBlock; i += 4) store(zy + i, load(z + i) * load(y + j * kBlock + i));
    first[j] += sum(zy);
    for (std::size_t k = 0; k <= j; ++k) {
      const double* other = y + k * kBlock;
      Doubles low = spread(0.0), high = spread(0.0);
      for (std::size_t i = 0; i < kBlock; i += 8) {
        low += load(zy + i) * load(other + i);
        high += load(zy + i + 4) * load(other + i + 4);
      }
      second[j * d + k] += of_lanes(low, high);
    }
  }
}

const MixtureLoops kLoops = {distances, posteriors, scale, sum, accumulate};

}  // namespace
}  // namespace shoal::mixture

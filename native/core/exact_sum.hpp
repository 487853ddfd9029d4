// The mean of the live rows, exact and free of drift.
//
// MDAV recomputes the mean after every removal, and ties between records are broken by the last bit of a
// distance; a running floating-point sum would make the partition depend on the order of removals. So each
// value becomes a 128-bit integer, a multiple of 2^(e - 90), where 2^e bounds its column. Sums of up to 2^37
// such integers cannot overflow, integer addition is associative, and subtraction undoes addition exactly.
// The mean is that sum divided by the number of rows, rounded once to the nearest double (ties to even).
// Exponents below -900 count as -900, so that no mean is ever subnormal and rounded twice.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/bits.hpp"
#include "core/wide.hpp"

namespace shoal {

class ExactMean {
 public:
  // Starts with no row; `x` (n rows of d values) only sets the scale of every column.
  ExactMean(const double* x, std::size_t n, std::size_t d) : sum_(d, 0), scale_(d), unit_(d) {
    std::vector<double> largest(d, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < d; ++j) largest[j] = std::max(largest[j], std::fabs(x[i * d + j]));
    for (std::size_t j = 0; j < d; ++j) {
      int exponent = 0;
      std::frexp(largest[j], &exponent);
      unit_[j] = (exponent > -900 ? exponent : -900) - 90;
      scale_[j] = std::ldexp(1.0, -unit_[j]);
    }
  }

  void add(const double* row) {
    for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j] += fixed(row[j], j);
    ++count_;
  }

  void remove(const double* row) {
    for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j] -= fixed(row[j], j);
    --count_;
  }

  void clear() {
    sum_.assign(sum_.size(), 0);
    count_ = 0;
  }

  void mean(double* out) const {
    for (std::size_t j = 0; j < sum_.size(); ++j) out[j] = std::ldexp(quotient(sum_[j]), unit_[j]);
  }

 private:
  Wide fixed(double value, std::size_t j) const {
    const double t = value * scale_[j];  // below 2^90
    if (std::fabs(t) < 0x1p52) return static_cast<std::int64_t>(std::nearbyint(t));
    const auto high = static_cast<std::int64_t>(t * 0x1p-37);
    const auto low = static_cast<std::int64_t>(t - static_cast<double>(high) * 0x1p37);  // exact: an integer
    return static_cast<Wide>(high) * Wide{std::int64_t{1} << 37} + low;
  }

  // sum / count_ to 53 bits: divide with the dividend shifted fully left, which leaves at least 64 bits of
  // quotient, then round on the dropped bits and the remainder.
  double quotient(Wide sum) const {
    if (sum == 0) return 0.0;
    WideBits magnitude = sum < 0 ? -static_cast<WideBits>(sum) : static_cast<WideBits>(sum);
    const int shift = zeros_above(magnitude);
    magnitude <<= shift;
    const WideBits ratio = magnitude / count_;
    const bool inexact = magnitude % count_ != 0;
    const int dropped = 128 - zeros_above(ratio) - 53;
    WideBits kept = ratio >> dropped;
    const WideBits rest = ratio - (kept << dropped), half = WideBits{1} << (dropped - 1);
    if (rest > half || (rest == half && (inexact || (kept & 1)))) ++kept;
    const double value = std::ldexp(static_cast<double>(static_cast<std::uint64_t>(kept)), dropped - shift);
    return sum < 0 ? -value : value;
  }

  static int zeros_above(WideBits v) {
    const auto high = static_cast<std::uint64_t>(v >> 64);
    return high ? leading_zeros(high) : 64 + leading_zeros(static_cast<std::uint64_t>(v));
  }

  std::vector<Wide> sum_;
  std::vector<double> scale_;  // 2^-unit_
  std::vector<int> unit_;      // the sum counts multiples of 2^unit_
  std::size_t count_ = 0;
};

}  // namespace shoal

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

#include "core/ratio.hpp"

namespace shoal {

// One column's numbers as multiples of 2^(e - 90).
class FixedPoint {
 public:
  explicit FixedPoint(double largest) {
    int exponent = 0;
    std::frexp(largest, &exponent);
    unit_ = (exponent > -900 ? exponent : -900) - 90;
    scale_ = std::ldexp(1.0, -unit_);
  }

  Wide of(double value) const {
    const double t = value * scale_;  // below 2^90
    if (std::fabs(t) < 0x1p52) return static_cast<std::int64_t>(std::nearbyint(t));
    const auto high = static_cast<std::int64_t>(t * 0x1p-37);
    const auto low = static_cast<std::int64_t>(t - static_cast<double>(high) * 0x1p37);  // exact: an integer
    return static_cast<Wide>(high) * Wide{std::int64_t{1} << 37} + low;
  }

  // The mean of `count` numbers with a sum.
  double mean(Wide sum, std::size_t count) const {
    const double size = nearest_quotient(magnitude(sum), count);
    return std::ldexp(sum < 0 ? -size : size, unit_);
  }

 private:
  int unit_;
  double scale_;  // 2^-unit_
};

class ExactMean {
 public:
  // Starts with no row; `x` (n rows of d values) only sets the scale of every column.
  ExactMean(const double* x, std::size_t n, std::size_t d) : sum_(d, 0) {
    std::vector<double> largest(d, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < d; ++j) largest[j] = std::max(largest[j], std::fabs(x[i * d + j]));
    for (double most : largest) column_.emplace_back(most);
  }

  std::size_t size() const { return sum_.size(); }

  void add(const double* row) {
    for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j] += column_[j].of(row[j]);
    ++count_;
  }

  void remove(const double* row) {
    for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j] -= column_[j].of(row[j]);
    --count_;
  }

  void clear() {
    sum_.assign(sum_.size(), 0);
    count_ = 0;
  }

  void mean(double* out) const {
    for (std::size_t j = 0; j < sum_.size(); ++j) out[j] = column_[j].mean(sum_[j], count_);
  }

 private:
  std::vector<Wide> sum_;
  std::vector<FixedPoint> column_;
  std::size_t count_ = 0;
};

}  // namespace shoal

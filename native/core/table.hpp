// The records as every partition kernel sees them, and the one definition of distance.
//
// All values are multiplied by one power of two that brings the largest magnitude into [1/2, 1): squares of
// 1e200 do not overflow then, and since the multiplication is exact (values 2^-1022 times smaller than the
// largest excepted) it changes no comparison. Negative zeros become zeros, so that equal rows have equal bits.
//
// The squared distance is a float64 sum over the columns in order, never contracted and never expanded into
// |x|^2 - 2 x.q + |q|^2: partitions of tied data depend on the last bit, and every engine must agree on it.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal {

inline double squared_distance(const double* a, const double* b, std::size_t d) {
  double sum = 0.0;
  for (std::size_t j = 0; j < d; ++j) {
    const double t = a[j] - b[j];
    sum += t * t;
  }
  return sum;
}

struct Table {
  std::size_t n, d;
  std::vector<double> values;  // n rows of d
  int exponent = 0;            // the values are 2^-exponent times those that came

  // A table without columns counts as one with a column of zeros.
  Table(const double* x, std::size_t rows, std::size_t columns)
      : n(rows), d(std::max(columns, std::size_t{1})), values(rows * d, 0.0) {
    std::copy_n(x, rows * columns, values.begin());
    double largest = 0.0;
    for (double v : values) largest = std::max(largest, std::fabs(v));
    std::frexp(largest, &exponent);
    const bool plain = exponent > -1000 && exponent < 1000;
    const double factor = plain ? std::ldexp(1.0, -exponent) : 0.0;
    for (double& v : values) v = (plain ? v * factor : std::ldexp(v, -exponent)) + 0.0;
  }

  // Some rows of a table, as they are.
  Table(const Table& whole, const std::vector<std::int32_t>& rows) : n(rows.size()), d(whole.d), exponent(whole.exponent) {
    values.reserve(n * d);
    for (std::int32_t i : rows) values.insert(values.end(), whole.row(i), whole.row(i) + d);
  }

  const double* row(std::size_t i) const { return values.data() + i * d; }

  double squared_distance(const double* a, const double* b) const { return shoal::squared_distance(a, b, d); }
  double squared_distance_to_point(const double* a, const double* q) const { return squared_distance(a, q); }

  // A squared distance in the units that the values came in.
  double in_units(double square) const { return std::ldexp(square, 2 * exponent); }
};

// Candidates in the order that decides every search: nearer first, then the lower row.
struct Neighbour {
  double d2;
  std::int32_t row;
  bool operator<(const Neighbour& other) const { return d2 != other.d2 ? d2 < other.d2 : row < other.row; }
};

}  // namespace shoal

// Pairs of records by the columns in which they agree: how many pairs have each pattern, and which pairs weigh most.
//
// A pattern has a bit for each column. Those of one record with all others are made column by column: by the row of a
// table for codes, by the gap for numbers, which a missing cell is never within.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/kernels.hpp"
#include "core/progress.hpp"

namespace shoal {
namespace {

// The columns of two tables, (columns, records) each; the bits of the columns of codes come first in `bits`.
class Agreements {
 public:
  Agreements(const IntMatrix& x, const IntMatrix& y, const std::vector<BoolMatrix>& tables, const Matrix& x_numbers,
             const Matrix& y_numbers, const Vector& reach, const Ints& bits)
      : n(std::max(x.shape(1), x_numbers.shape(1))), m(std::max(y.shape(1), y_numbers.shape(1))), x_(x), y_(y),
        x_numbers_(x_numbers), y_numbers_(y_numbers), reach_(reach), bits_(bits), patterns_(n) {
    for (std::size_t j = 0; j < tables.size(); ++j) {
      const std::size_t size = tables[j].shape(0) * tables[j].shape(1);
      std::vector<std::uint16_t> marks(size);
      for (std::size_t e = 0; e < size; ++e) marks[e] = static_cast<std::uint16_t>(tables[j].data()[e] << bit(j));
      marks_.push_back(std::move(marks));
      width_.push_back(tables[j].shape(1));
    }
  }

  const std::size_t n, m;

  // The patterns of record i of the second table with all of the first.
  const std::vector<std::uint16_t>& of(std::size_t i) {
    std::fill(patterns_.begin(), patterns_.end(), std::uint16_t{0});
    for (std::size_t j = 0; j < marks_.size(); ++j) {
      const std::uint16_t* const row = marks_[j].data() + static_cast<std::size_t>(y_.data()[j * m + i]) * width_[j];
      const std::int32_t* const codes = x_.data() + j * n;
      for (std::size_t r = 0; r < n; ++r) patterns_[r] |= row[codes[r]];
    }
    for (std::size_t j = 0; j < reach_.shape(0); ++j) {
      const double own = y_numbers_.data()[j * m + i], reach = reach_.data()[j];
      const double* const values = x_numbers_.data() + j * n;
      const auto mark = static_cast<std::uint16_t>(1u << bit(marks_.size() + j));
      for (std::size_t r = 0; r < n; ++r) patterns_[r] |= std::fabs(own - values[r]) <= reach ? mark : std::uint16_t{0};
    }
    return patterns_;
  }

 private:
  std::int32_t bit(std::size_t j) const { return bits_.data()[j]; }

  IntMatrix x_, y_;
  Matrix x_numbers_, y_numbers_;
  Vector reach_;
  Ints bits_;
  std::vector<std::vector<std::uint16_t>> marks_;  // of each column of codes, row by row of its table
  std::vector<std::size_t> width_;
  std::vector<std::uint16_t> patterns_;
};

constexpr const char* kCounts = R"(Count the pairs of records with each pattern of agreement.

Parameters
----------
x, y
    Shapes (q, n) and (q, m); codes of both tables, from 0.
tables
    For each column of codes whether a code of `y` (rows) agrees with one of `x` (columns).
x_numbers, y_numbers
    Shapes (p, n) and (p, m); columns of numbers, NaN where missing.
reach
    Shape (p,); numbers that far apart agree still.
bits
    Shape (q + p,); the bit of each column of codes, then of numbers; at most 15.

Returns
-------
Shape (2^(q + p),).)";

auto agreement_counts(IntMatrix x, IntMatrix y, std::vector<BoolMatrix> tables, Matrix x_numbers, Matrix y_numbers,
                      Vector reach, Ints bits) {
  Progress progress;
  std::vector<std::int64_t> counts(std::size_t{1} << bits.shape(0), 0);
  {
    nb::gil_scoped_release unlock;
    Agreements agreements(x, y, tables, x_numbers, y_numbers, reach, bits);
    for (std::size_t i = 0; i < agreements.m; ++i) {
      progress.tick(0.0);
      for (const std::uint16_t pattern : agreements.of(i)) ++counts[pattern];
    }
  }
  return to_numpy(std::move(counts));
}

constexpr const char* kLinks = R"(Link each record to the one whose pattern of agreement ranks highest, among equals at random.

Parameters
----------
x, y, tables, x_numbers, y_numbers, reach, bits
    As for `agreement_counts`.
ranks
    Shape (a, 2^(q + p)); the rank of each pattern, from 0, for each of several attacks.
truth
    Shape (m,); the record of `x` that each of `y` belongs to.

Returns
-------
Shape (a, m); the probability of the right link.)";

auto agreement_links(IntMatrix x, IntMatrix y, std::vector<BoolMatrix> tables, Matrix x_numbers, Matrix y_numbers,
                     Vector reach, Ints bits, IntMatrix ranks, Longs truth) {
  Progress progress;
  const std::size_t attacks = ranks.shape(0), patterns = ranks.shape(1), m = truth.shape(0);
  std::vector<double> chances(attacks * m, 0.0);
  {
    nb::gil_scoped_release unlock;
    Agreements agreements(x, y, tables, x_numbers, y_numbers, reach, bits);
    std::vector<std::int64_t> met(patterns);
    for (std::size_t i = 0; i < m; ++i) {
      progress.tick(0.0);
      const auto& here = agreements.of(i);
      std::fill(met.begin(), met.end(), 0);
      for (const std::uint16_t pattern : here) ++met[pattern];
      const std::uint16_t own = here[static_cast<std::size_t>(truth.data()[i])];
      for (std::size_t a = 0; a < attacks; ++a) {
        const std::int32_t* const rank = ranks.data() + a * patterns;
        std::int32_t best = -1;
        std::int64_t ties = 0;
        for (std::size_t p = 0; p < patterns; ++p) {
          if (met[p] == 0 || rank[p] < best) continue;
          ties = rank[p] == best ? ties + met[p] : met[p];
          best = rank[p];
        }
        chances[a * m + i] = rank[own] == best ? 1.0 / static_cast<double>(ties) : 0.0;
      }
    }
  }
  return to_numpy(std::move(chances), {attacks, m});
}

const Kernel agreements_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("agreement_counts", &agreement_counts, "x"_a, "y"_a, "tables"_a, "x_numbers"_a, "y_numbers"_a, "reach"_a, "bits"_a,
        kCounts);
  m.def("agreement_links", &agreement_links, "x"_a, "y"_a, "tables"_a, "x_numbers"_a, "y_numbers"_a, "reach"_a, "bits"_a,
        "ranks"_a, "truth"_a, kLinks);
});

}  // namespace
}  // namespace shoal

// How many records satisfy each of many predicates.
//
// A predicate is a conjunction of terms, each about one column: the cell lies in an interval [low, high], or it has a
// value that does not. A missing cell is minus infinity, so 'is missing' is an interval of one point, and no other
// interval reaches it; a term may also let a missing cell pass, for it might hold anything.
//
// Records are looked at in blocks: the terms of a predicate mark the block one after another, and the marks are
// counted. Whoever asks only whether a predicate singles anybody out wants to know 0, 1 or more: the count stops at the
// block in which it reaches a limit, and for most predicates that is the first one.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernels.hpp"
#include "core/progress.hpp"

namespace shoal {
namespace {

constexpr std::size_t kBlock = 2048;
constexpr double kNoValue = -std::numeric_limits<double>::infinity();

struct Term {
  const double* column;
  double low, high;
  bool outside;  // the value must lie outside the interval
};

class Predicates {
 public:
  Predicates(const double* cells, std::size_t n, bool missing_matches)
      : cells_(cells), n_(n), missing_matches_(missing_matches), marks_(kBlock) {}

  std::int64_t count(const std::vector<Term>& terms, std::int64_t limit) {
    std::int64_t matches = 0;
    for (std::size_t begin = 0; begin < n_; begin += kBlock) {
      const std::size_t size = std::min(kBlock, n_ - begin);
      std::fill_n(marks_.begin(), size, std::uint8_t{1});
      for (const Term& term : terms) {
        if (missing_matches_) mark_or_missing(term, begin, size);
        else mark(term, begin, size);
      }
      for (std::size_t i = 0; i < size; ++i) matches += marks_[i];
      if (limit > 0 && matches >= limit) return limit;
    }
    return matches;
  }

  Term term(std::int32_t column, double low, double high, bool outside) const {
    return {cells_ + static_cast<std::size_t>(column) * n_, low, high, outside};
  }

 private:
  void mark(const Term& term, std::size_t begin, std::size_t size) {
    const double* x = term.column + begin;
    const double low = term.low, high = term.high;
    std::uint8_t* marks = marks_.data();
    if (term.outside) {
      for (std::size_t i = 0; i < size; ++i) marks[i] &= ((x[i] < low) | (x[i] > high)) & (x[i] != kNoValue);
    } else {
      for (std::size_t i = 0; i < size; ++i) marks[i] &= (x[i] >= low) & (x[i] <= high);
    }
  }

  void mark_or_missing(const Term& term, std::size_t begin, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      const double x = term.column[begin + i];
      marks_[i] &= x == kNoValue || (x >= term.low && x <= term.high) != term.outside;
    }
  }

  const double* cells_;
  std::size_t n_;
  bool missing_matches_;
  std::vector<std::uint8_t> marks_;
};

constexpr const char* kPredicateCounts = R"(Count the records that satisfy each of q predicates, shape (q,).

Parameters
----------
cells
    Shape (d, n); one column after the other, minus infinity for missing cells.
columns, low, high, outside
    Shape (q, t); the terms of each predicate, as `shoal.kernels.risk.predicates.Predicates` holds them.
missing_matches
    Whether a missing cell satisfies every term.
limit
    Count no further than this, which saves most of the work; 0 to count all.)";

Output<std::int64_t> predicate_counts(Matrix cells, IntMatrix columns, Matrix low, Matrix high, BoolMatrix outside,
                                      bool missing_matches, std::int64_t limit) {
  Progress progress;
  const std::size_t count = columns.shape(0), size = columns.shape(1);
  std::vector<std::int64_t> matches(count, 0);
  {
    nb::gil_scoped_release unlock;
    Predicates predicates(cells.data(), cells.shape(1), missing_matches);
    std::vector<Term> terms;
    for (std::size_t q = 0; q < count; ++q) {
      progress.look(static_cast<double>(q) / static_cast<double>(count));
      terms.clear();
      for (std::size_t t = q * size; t < (q + 1) * size; ++t)
        terms.push_back(predicates.term(columns.data()[t], low.data()[t], high.data()[t], outside.data()[t]));
      matches[q] = predicates.count(terms, limit);
    }
  }
  return to_numpy(std::move(matches));
}

}  // namespace

static const Kernel predicates_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("predicate_counts", &predicate_counts, "cells"_a, "columns"_a, "low"_a, "high"_a, "outside"_a, nb::kw_only(),
        "missing_matches"_a = false, "limit"_a = 0, kPredicateCounts);
});

}  // namespace shoal

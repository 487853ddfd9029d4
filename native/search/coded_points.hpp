// Records whose categories may stand as codes: what kernels are given, and which mean and search go with it.
//
// A kernel written for any `Points` (core/table.hpp, core/coded_table.hpp) finds the same groups of codes as of their
// points, bit for bit.
#pragma once
#include <nanobind/stl/optional.h>
#include <utility>

#include "core/coded_table.hpp"
#include "core/kernels.hpp"
#include "search/coded_tree.hpp"
#include "search/tree.hpp"

namespace shoal {

// The number of categories of each column, 0 for one of numbers, and the sides of their points; none: all are numbers.
using Coding = std::optional<std::pair<Longs, Vector>>;

inline CodedTable coded(const Matrix& x, const Coding& coding) {
  return {x.data(), x.shape(0), x.shape(1), coding->first.data(), coding->second.data()};
}

// The mean of a table's records, none of which it has yet.
inline ExactMean mean_of(const Table& table) { return {table.values.data(), table.n, table.d}; }
inline CodedMean mean_of(const CodedTable& table) { return CodedMean(table); }

template <class Points> struct SearchedBy;
template <> struct SearchedBy<Table> { using Engine = Tree; };
template <> struct SearchedBy<CodedTable> { using Engine = CodedTree; };

template <class Points>
using EngineOf = typename SearchedBy<std::decay_t<Points>>::Engine;

template <class Points>
using MeanOf = decltype(mean_of(std::declval<const Points&>()));

// The vector unit as asked for; codes are always looked at alike.
inline const Scans& scans_for(const Table&, bool simd) { return scans(simd); }
inline const Scans& scans_for(const CodedTable&, bool) { return baseline_scans(); }

// Calls use(table) with the records as they stand: numbers, or numbers and codes.
template <class Use>
void with_points(const Matrix& x, const Coding& coding, Use use) {
  if (coding && x.shape(0) > 0)
    use(shoal::coded(x, coding));
  else
    use(Table(x.data(), x.shape(0), x.shape(1)));
}

// Row numbers 0 to n - 1.
inline std::vector<std::int32_t> all_rows(std::size_t n) {
  std::vector<std::int32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

}  // namespace shoal

// Some rows of a table, searched by themselves.
//
// They have a small table of their own, so that memory stays in proportion to them.
#pragma once
#include <algorithm>
#include <vector>

#include "search/coded_points.hpp"

namespace shoal {

template <class Points, class Engine = EngineOf<Points>>
class Stratum {
 public:
  // `rows`: of the whole table, ascending, so that ties are broken alike in both.
  Stratum(const Points& whole, std::vector<std::int32_t> rows, const Scans& scans)
      : table_(whole, rows), rows_(std::move(rows)), engine_(table_, all_rows(table_.n), scans) {}

  std::size_t live() const { return engine_.live(); }

  // The `count` rows nearest to q, in order; `seed` (or -1), if it is one of them, comes first.
  void nearest(const double* q, std::int32_t seed, std::size_t count, std::vector<Neighbour>& out) {
    engine_.nearest(q, place(seed), count, out);
    for (Neighbour& near : out) near.row = rows_[static_cast<std::size_t>(near.row)];
  }

  // A row of this stratum.
  void remove(std::int32_t row) {
    removed_.assign(1, place(row));
    engine_.remove(removed_);
  }

  // Remove and return the nearest row.
  std::int32_t take_nearest(const double* q, std::int32_t seed) {
    nearest(q, seed, 1, neighbours_);
    const std::int32_t row = neighbours_.front().row;
    remove(row);
    return row;
  }

 private:
  std::int32_t place(std::int32_t row) const {
    const auto here = std::lower_bound(rows_.begin(), rows_.end(), row);
    return here != rows_.end() && *here == row ? static_cast<std::int32_t>(here - rows_.begin()) : -1;
  }

  Points table_;
  std::vector<std::int32_t> rows_, removed_;
  std::vector<Neighbour> neighbours_;
  Engine engine_;
};

}  // namespace shoal

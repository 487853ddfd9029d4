// Distinct points, each with the rows that share it.
//
// Equal records cannot be told apart by any bound, and a search among many of them would look at all. So a
// point is stored once and carries its rows in ascending order; removals consume them from the front, which is
// the order in which ties are broken anyway.
#pragma once
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>
#include "core/table.hpp"

namespace shoal {
inline namespace search {

class DistinctPoints {
 public:
  // The points among some rows of a table; `rows` ascending.
  DistinctPoints(const Table& table, const std::vector<std::int32_t>& rows) : d(table.d), point_of_(table.n, -1) {
    std::vector<std::int32_t> first;
    find_equal(table, rows, first);
    const std::size_t m = first.size();
    start_.assign(m + 1, 0);
    for (std::int32_t row : rows) ++start_[point_of_[row] + 1];
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    next_.assign(start_.begin(), start_.end() - 1);
    rows_.resize(rows.size());
    for (std::int32_t row : rows) rows_[next_[point_of_[row]]++] = row;
    next_.assign(start_.begin(), start_.end() - 1);
    values_.resize(m * d);
    for (std::size_t p = 0; p < m; ++p) std::copy_n(table.row(first[p]), d, values_.data() + p * d);
  }

  const std::size_t d;

  std::size_t size() const { return next_.size(); }
  const double* values(std::int32_t p) const { return values_.data() + static_cast<std::size_t>(p) * d; }
  bool empty(std::int32_t p) const { return next_[p] == start_[p + 1]; }
  std::int32_t of_row(std::int32_t row) const { return point_of_[row]; }

  // The live rows of a point, ascending.
  const std::int32_t* begin(std::int32_t p) const { return rows_.data() + next_[p]; }
  const std::int32_t* end(std::int32_t p) const { return rows_.data() + start_[p + 1]; }

  // Take one live row off its point.
  void remove(std::int32_t row) {
    const std::int32_t p = point_of_[row];
    std::int32_t* const front = rows_.data() + next_[p];
    std::int32_t* const here = std::find(front, rows_.data() + start_[p + 1], row);
    std::rotate(front, here, here + 1);
    ++next_[p];
    point_of_[row] = -1;
  }

  // Number the points anew: point i becomes what was order[i]. Neighbours then lie together in memory.
  void reorder(const std::vector<std::int32_t>& order) {
    std::vector<double> values(values_.size());
    std::vector<std::int32_t> start{0}, rows;
    start.reserve(order.size() + 1);
    rows.reserve(rows_.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int32_t p = order[i];
      std::copy_n(this->values(p), d, values.data() + i * d);
      for (auto row = begin(p); row != end(p); ++row) {
        rows.push_back(*row);
        point_of_[*row] = static_cast<std::int32_t>(i);
      }
      start.push_back(static_cast<std::int32_t>(rows.size()));
    }
    values_.swap(values);
    start_.swap(start);
    rows_.swap(rows);
    next_.assign(start_.begin(), start_.end() - 1);
  }

 private:
  // Number equal rows alike, in order of first appearance, by a hash table with open addresses.
  void find_equal(const Table& table, const std::vector<std::int32_t>& rows, std::vector<std::int32_t>& first) {
    std::size_t room = 16;
    while (room < 2 * rows.size()) room *= 2;
    std::vector<std::int32_t> seat(room, -1);
    for (std::int32_t row : rows) {
      std::size_t at = hash(table.row(row)) & (room - 1);
      while (seat[at] >= 0 && !std::equal(table.row(row), table.row(row) + d, table.row(first[seat[at]])))
        at = (at + 1) & (room - 1);
      if (seat[at] < 0) {
        seat[at] = static_cast<std::int32_t>(first.size());
        first.push_back(row);
      }
      point_of_[row] = seat[at];
    }
  }

  std::size_t hash(const double* values) const {
    std::uint64_t h = 0x9e3779b97f4a7c15ull;
    for (std::size_t j = 0; j < d; ++j) {
      std::uint64_t bits;
      std::memcpy(&bits, values + j, sizeof bits);
      h = (h ^ bits) * 0xbf58476d1ce4e5b9ull;  // splitmix64's finaliser, a round a column
      h ^= h >> 29;
    }
    return static_cast<std::size_t>(h);
  }

  std::vector<double> values_;
  std::vector<std::int32_t> start_, rows_, next_, point_of_;
};

}  // namespace search
}  // namespace shoal

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

#include "core/hash_table.hpp"
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
  struct HashOfRow {
    const Table* table;
    std::uint64_t operator()(std::int32_t row) const {
      std::uint64_t h = 0;
      for (std::size_t j = 0; j < table->d; ++j) {
        std::uint64_t bits;
        std::memcpy(&bits, table->row(row) + j, sizeof bits);
        h = mixed((h ^ bits) + kGolden);
      }
      return h;
    }
  };
  struct EqualRows {
    const Table* table;
    bool operator()(std::int32_t a, std::int32_t b) const {
      return std::equal(table->row(a), table->row(a) + table->d, table->row(b));
    }
  };

  // Number equal rows alike, in order of first appearance.
  void find_equal(const Table& table, const std::vector<std::int32_t>& rows, std::vector<std::int32_t>& first) {
    HashTable<std::int32_t, std::int32_t, HashOfRow, EqualRows> numbers(rows.size(), {&table}, {&table});
    for (std::int32_t row : rows) {
      const auto fresh = static_cast<std::int32_t>(first.size());
      point_of_[row] = numbers.at(row, fresh);
      if (point_of_[row] == fresh) first.push_back(row);
    }
  }

  std::vector<double> values_;
  std::vector<std::int32_t> start_, rows_, next_, point_of_;
};

}  // namespace search
}  // namespace shoal

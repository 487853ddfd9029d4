// Records of numbers and of categories that stand as codes.
//
// A category of a column with m of them stands for a point of m coordinates: `side` in its own and 0 in the others, so
// that two categories are at the squared distance side^2 + side^2. Where m is large, records as points would fill the
// memory with zeros, and a distance would add them up. Here a record keeps one code instead. Every distance, and the
// mean, has the bits that the points have: of a sum in the order of coordinates only terms that are 0 are left out.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/table.hpp"

namespace shoal {

struct CodedTable {
  std::size_t n, d, width = 0;          // columns, and coordinates of the points
  std::vector<std::size_t> categories;  // of each column; 0: of numbers
  std::vector<std::size_t> first;       // each column's first coordinate
  std::vector<double> side;
  Table packed;                         // numbers, and codes as they are

  // x: n > 0 rows of d, codes from 0 in the columns of categories.
  CodedTable(const double* x, std::size_t rows, std::size_t columns, const std::int64_t* sizes, const double* sides)
      : n(rows), d(columns), categories(sizes, sizes + columns), side(columns),
        packed(with_sides(x, rows, columns, sizes, sides).data(), rows, columns) {
    for (std::size_t j = 0; j < d; ++j) {
      first.push_back(width);
      width += coded(j) ? categories[j] : 1;
      if (!coded(j)) continue;
      side[j] = packed.values[j];  // in the table's scale
      for (std::size_t i = 0; i < n; ++i) packed.values[i * d + j] = x[i * d + j];
    }
  }

  // Some rows of a table, as they are.
  CodedTable(const CodedTable& whole, const std::vector<std::int32_t>& rows)
      : n(rows.size()), d(whole.d), width(whole.width), categories(whole.categories), first(whole.first),
        side(whole.side), packed(whole.packed, rows) {}

  bool coded(std::size_t j) const { return categories[j] > 0; }
  const double* row(std::size_t i) const { return packed.row(i); }
  double in_units(double square) const { return packed.in_units(square); }

  double squared_distance(const double* a, const double* b) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < d; ++j) {
      if (!coded(j)) {
        const double t = a[j] - b[j];
        sum += t * t;
      } else if (a[j] != b[j]) {
        sum += side[j] * side[j];
        sum += side[j] * side[j];
      }
    }
    return sum;
  }

  // To a point of `width` coordinates.
  double squared_distance_to_point(const double* a, const double* q) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < d; ++j) {
      if (!coded(j)) {
        const double t = a[j] - *q++;
        sum += t * t;
        continue;
      }
      const auto own = static_cast<std::size_t>(a[j]);
      for (std::size_t i = 0; i < categories[j]; ++i) {
        const double t = (i == own ? side[j] : 0.0) - *q++;
        sum += t * t;
      }
    }
    return sum;
  }

 private:
  static std::vector<double> with_sides(const double* x, std::size_t rows, std::size_t columns,
                                        const std::int64_t* sizes, const double* sides) {
    std::vector<double> out(x, x + rows * columns);
    for (std::size_t j = 0; j < columns; ++j)
      if (sizes[j] > 0)
        for (std::size_t i = 0; i < rows; ++i) out[i * columns + j] = sides[j];
    return out;
  }
};

// The mean of the live records, as ExactMean has it of their points.
class CodedMean {
 public:
  explicit CodedMean(const CodedTable& table) : table_(&table), sum_(table.d, 0), records_(table.width, 0) {
    for (std::size_t j = 0; j < table.d; ++j) {
      double largest = table.side[j];
      for (std::size_t i = 0; i < table.n && !table.coded(j); ++i)
        largest = std::max(largest, std::fabs(table.row(i)[j]));
      column_.emplace_back(largest);
      step_.push_back(column_[j].of(table.side[j]));
    }
  }

  std::size_t size() const { return records_.size(); }

  void add(const double* row) {
    for (std::size_t j = 0; j < table_->d; ++j)
      if (table_->coded(j))
        ++records_[category(row, j)];
      else
        sum_[j] += column_[j].of(row[j]);
    ++count_;
  }

  void remove(const double* row) {
    for (std::size_t j = 0; j < table_->d; ++j)
      if (table_->coded(j))
        --records_[category(row, j)];
      else
        sum_[j] -= column_[j].of(row[j]);
    --count_;
  }

  void clear() {
    sum_.assign(sum_.size(), 0);
    records_.assign(records_.size(), 0);
    count_ = 0;
  }

  void mean(double* out) const {
    for (std::size_t j = 0; j < table_->d; ++j) {
      const std::size_t first = table_->first[j];
      if (table_->coded(j))
        category_means(j, records_.data() + first, out + first);
      else
        out[first] = column_[j].mean(sum_[j], count_);
    }
  }

 private:
  static constexpr std::size_t kSeen = 512;

  std::size_t category(const double* row, std::size_t j) const {
    return table_->first[j] + static_cast<std::size_t>(row[j]);
  }

  // Many categories have as many records as another: one division for all of them.
  void category_means(std::size_t j, const std::uint32_t* records, double* out) const {
    std::uint32_t seen[kSeen];
    double means[kSeen];
    std::fill_n(seen, kSeen, std::numeric_limits<std::uint32_t>::max());
    for (std::size_t i = 0; i < table_->categories[j]; ++i) {
      const std::size_t place = records[i] % kSeen;
      if (seen[place] != records[i]) {
        seen[place] = records[i];
        means[place] = column_[j].mean(step_[j] * Wide{records[i]}, count_);
      }
      out[i] = means[place];
    }
  }

  const CodedTable* table_;
  std::vector<Wide> sum_;               // of each column of numbers
  std::vector<std::uint32_t> records_;  // of each category
  std::vector<FixedPoint> column_;
  std::vector<Wide> step_;  // what a record adds to its category
  std::size_t count_ = 0;
};

}  // namespace shoal

// A tree over records of numbers and categories, for searches of the nearest ones that look at few of them.
//
// The squared distance of a query to a record is a sum over columns: of numbers (x - y)^2, of categories an entry of a
// table, one row a code of the query and one column a code of the records, so that labels that stand for several
// values, missing cells and hierarchies cost no more than plain categories. A node parts its records by the column
// that varies most among them, numbers at about the median into two, categories into one child a code, down to leaves
// of 32 records. A walk knows for every column the least that the records under a node add: the gap to the range of a
// column of numbers where it was parted, the entry of the table for a category that was fixed, the least entry of the
// row for one that was not yet. Node and record distances add up the columns in the same order, and rounding never
// turns an order round, so that nothing is skipped wrongly. Children are walked through from the nearest on.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace shoal {

// Squared distances of the codes of queries (rows) to those of records (columns).
class SquareTable {
 public:
  SquareTable(const double* entries, std::size_t rows, std::size_t columns)
      : entries_(entries), columns_(columns), least_(rows) {
    for (std::size_t r = 0; r < rows; ++r) least_[r] = *std::min_element(row(r), row(r) + columns);
  }
  const double* row(std::size_t r) const { return entries_ + r * columns_; }
  double least(std::size_t r) const { return least_[r]; }
  std::size_t columns() const { return columns_; }

 private:
  const double* entries_;
  std::size_t columns_;
  std::vector<double> least_;
};

class MixedTree {
 public:
  // Record i has p numbers at numbers + i * p and q codes at codes + i * q; a column of codes varies `weights` times
  // half the share of pairs that differ.
  MixedTree(const double* numbers, std::size_t p, const std::int32_t* codes, std::size_t q, std::size_t n,
            const std::vector<SquareTable>& tables, const double* weights)
      : numbers_(numbers), codes_(codes), p_(p), q_(q), tables_(tables), weights_(weights), order_(n), row_(q),
        part_(p + q), query_(nullptr) {
    std::iota(order_.begin(), order_.end(), 0);
    nodes_.push_back({0, n});
    for (std::size_t node = 0; node < nodes_.size(); ++node) grow(node);
    pack();
  }

  // The number of the record at each place of the tree.
  const std::vector<std::int32_t>& order() const { return order_; }

  // Calls take(place, square) for records nearer than `limit` (a squared distance), which `take` may lower, until no
  // others can be.
  template <class Take>
  void search(const double* numbers, const std::int32_t* codes, const double& limit, Take take) {
    looked_at_ = 0;
    query_ = numbers;
    for (std::size_t j = 0; j < p_; ++j) part_[j] = 0.0;
    for (std::size_t j = 0; j < q_; ++j) {
      row_[j] = tables_[j].row(static_cast<std::size_t>(codes[j]));
      part_[p_ + j] = tables_[j].least(static_cast<std::size_t>(codes[j]));
    }
    visit(0, limit, take);
  }

  // Records whose distance the last search has found.
  std::size_t looked_at() const { return looked_at_; }

 private:
  static constexpr std::size_t kLeaf = 32;

  struct Node {
    std::size_t first, last;           // range of places
    double low = 0.0, high = 0.0;      // range of the parent's column, if of numbers
    std::int32_t code = 0;             // in the parent's column, if of codes
    std::size_t column = 0;            // that parts it
    std::size_t begin = 0, end = 0;    // children, none in a leaf
  };

  double number(std::size_t place, std::size_t j) const {
    return numbers_[static_cast<std::size_t>(order_[place]) * p_ + j];
  }
  std::int32_t code(std::size_t place, std::size_t j) const {
    return codes_[static_cast<std::size_t>(order_[place]) * q_ + j];
  }

  void grow(std::size_t node) {
    const std::size_t first = nodes_[node].first, last = nodes_[node].last;
    if (last - first <= kLeaf) return;
    std::size_t widest = 0;
    double most = 0.0;
    for (std::size_t j = 0; j < p_ + q_; ++j) {
      const double spread = j < p_ ? variance(first, last, j) : variety(first, last, j - p_);
      if (spread > most) {
        most = spread;
        widest = j;
      }
    }
    if (most == 0.0) return;
    nodes_[node].column = widest;
    nodes_[node].begin = nodes_.size();
    if (widest < p_)
      halve(first, last, widest);
    else
      part(first, last, widest - p_);
    nodes_[node].end = nodes_.size();
  }

  double variance(std::size_t first, std::size_t last, std::size_t j) const {
    const double origin = number(first, j), n = static_cast<double>(last - first);
    double sum = 0.0, squares = 0.0;
    for (std::size_t place = first; place < last; ++place) {
      const double off = number(place, j) - origin;
      sum += off;
      squares += off * off;
    }
    return std::max(squares / n - sum / n * (sum / n), 0.0);
  }

  double variety(std::size_t first, std::size_t last, std::size_t j) {
    count(first, last, j);
    const double n = static_cast<double>(last - first);
    double same = 0.0;
    for (std::int32_t c : present_) same += static_cast<double>(counts_[c]) * static_cast<double>(counts_[c]);
    clear();
    return weights_[j] * (1.0 - same / n / n) / 2.0;
  }

  // The codes that occur among some records, and how often.
  void count(std::size_t first, std::size_t last, std::size_t j) {
    if (counts_.size() < tables_[j].columns()) counts_.resize(tables_[j].columns(), 0);
    for (std::size_t place = first; place < last; ++place)
      if (counts_[code(place, j)]++ == 0) present_.push_back(code(place, j));
  }

  void clear() {
    for (std::int32_t c : present_) counts_[c] = 0;
    present_.clear();
  }

  void halve(std::size_t first, std::size_t last, std::size_t j) {
    const std::size_t middle = first + (last - first) / 2;
    const auto start = order_.begin();
    std::nth_element(start + static_cast<std::ptrdiff_t>(first), start + static_cast<std::ptrdiff_t>(middle),
                     start + static_cast<std::ptrdiff_t>(last), [&](std::int32_t a, std::int32_t b) {
                       const double x = numbers_[static_cast<std::size_t>(a) * p_ + j];
                       const double y = numbers_[static_cast<std::size_t>(b) * p_ + j];
                       return x < y || (x == y && a < b);
                     });
    for (const auto& [from, to] : {std::pair{first, middle}, std::pair{middle, last}}) {
      Node child{from, to};
      child.low = child.high = number(from, j);
      for (std::size_t place = from; place < to; ++place) {
        child.low = std::min(child.low, number(place, j));
        child.high = std::max(child.high, number(place, j));
      }
      nodes_.push_back(child);
    }
  }

  void part(std::size_t first, std::size_t last, std::size_t j) {
    count(first, last, j);
    std::sort(present_.begin(), present_.end());
    std::size_t next = first;
    for (std::int32_t c : present_) {
      Node child{next, next + counts_[c]};
      child.code = c;
      nodes_.push_back(child);
      next = child.last;
      counts_[c] = child.first;
    }
    sorted_.assign(last - first, 0);
    for (std::size_t place = first; place < last; ++place)
      sorted_[counts_[code(place, j)]++ - first] = order_[place];
    std::copy(sorted_.begin(), sorted_.end(), order_.begin() + static_cast<std::ptrdiff_t>(first));
    clear();
  }

  // The records of every leaf, column by column.
  void pack() {
    packed_numbers_.resize(order_.size() * p_);
    packed_codes_.resize(order_.size() * q_);
    for (const auto& node : nodes_) {
      if (node.begin != node.end) continue;
      const std::size_t m = node.last - node.first;
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < p_; ++j) packed_numbers_[node.first * p_ + j * m + i] = number(node.first + i, j);
        for (std::size_t j = 0; j < q_; ++j) packed_codes_[node.first * q_ + j * m + i] = code(node.first + i, j);
      }
      widest_leaf_ = std::max(widest_leaf_, m);
    }
    squares_.resize(widest_leaf_);
  }

  // The least squared distance of the records under a node.
  double bound() const {
    double sum = 0.0;
    for (double part : part_) sum += part;
    return sum;
  }

  double least(const Node& child, std::size_t column) const {
    if (column >= p_) return row_[column - p_][child.code];
    const double gap = std::max(std::max(child.low - query_[column], query_[column] - child.high), 0.0);
    return gap * gap;
  }

  template <class Take>
  void visit(std::size_t node, const double& limit, Take& take) {
    const Node here = nodes_[node];
    if (here.begin == here.end) return scan(here, limit, take);
    const double before = part_[here.column];
    std::size_t near = here.begin;
    double nearest = least(nodes_[near], here.column);
    for (std::size_t child = here.begin + 1; child < here.end; ++child) {
      const double square = least(nodes_[child], here.column);
      if (square < nearest) {
        nearest = square;
        near = child;
      }
    }
    if (!enter(near, here.column, nearest, limit, take)) {
      part_[here.column] = before;
      return;
    }
    double too_far = std::numeric_limits<double>::infinity();
    for (std::size_t child = here.begin; child < here.end; ++child) {
      const double square = least(nodes_[child], here.column);
      if (child == near || square >= too_far) continue;
      if (!enter(child, here.column, square, limit, take)) too_far = square;
    }
    part_[here.column] = before;
  }

  // Returns whether the child was near enough to be looked into.
  template <class Take>
  bool enter(std::size_t child, std::size_t column, double square, const double& limit, Take& take) {
    part_[column] = square;
    if (bound() >= limit) return false;
    visit(child, limit, take);
    return true;
  }

  template <class Take>
  void scan(const Node& leaf, const double& limit, Take& take) {
    const std::size_t m = leaf.last - leaf.first;
    std::fill_n(squares_.begin(), m, 0.0);
    for (std::size_t j = 0; j < p_; ++j) {
      const double* values = packed_numbers_.data() + leaf.first * p_ + j * m;
      for (std::size_t i = 0; i < m; ++i) squares_[i] += (values[i] - query_[j]) * (values[i] - query_[j]);
    }
    for (std::size_t j = 0; j < q_; ++j) {
      const std::int32_t* values = packed_codes_.data() + leaf.first * q_ + j * m;
      for (std::size_t i = 0; i < m; ++i) squares_[i] += row_[j][values[i]];
    }
    for (std::size_t i = 0; i < m; ++i)
      if (squares_[i] < limit) take(leaf.first + i, squares_[i]);
    looked_at_ += m;
  }

  const double* numbers_;
  const std::int32_t* codes_;
  std::size_t p_, q_;
  const std::vector<SquareTable>& tables_;
  const double* weights_;
  std::vector<std::int32_t> order_, present_, sorted_, packed_codes_;
  std::vector<std::size_t> counts_;
  std::vector<Node> nodes_;
  std::vector<double> packed_numbers_, squares_;
  std::vector<const double*> row_;
  std::vector<double> part_;
  const double* query_;
  std::size_t looked_at_ = 0, widest_leaf_ = 0;
};

}  // namespace shoal

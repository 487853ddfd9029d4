// A kd-tree of bounding boxes over points, for searches that look at few of them.
//
// A node splits at about the median of its widest column down to leaves of one block (scans.hpp): 32 points, column
// by column, whose distances to a query are found at one go. A search walks first to where the query lies and skips
// a box that is as far as the limit, which the caller lowers while it looks at leaves. Box and point distances add
// up the columns in the same order, and rounding never turns an order round: a box is no farther than its points, and
// nothing is skipped wrongly. In high dimension all boxes are near, and the walk is an exhaustive search with a small
// surcharge.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "search/scans.hpp"

namespace shoal {
inline namespace boxes {

class BoxTree {
 public:
  // Point i begins at points + i * stride, and has d values; with none, there is one block of points at most.
  BoxTree(const double* points, std::size_t n, std::size_t d, std::size_t stride)
      : points_(points), d_(d), stride_(stride), scans_(scans(true)), order_(n) {
    std::iota(order_.begin(), order_.end(), 0);
    build(0, n);
    blocks_.assign((n + kBlock - 1) / kBlock * kBlock * d, 0.0);
    for (std::size_t place = 0; place < n; ++place)
      for (std::size_t j = 0; j < d; ++j)
        blocks_[place / kBlock * kBlock * d + j * kBlock + place % kBlock] = value(order_[place], j);
  }

  // The number of the point at each place of the tree.
  const std::vector<std::int32_t>& order() const { return order_; }

  // Calls take(place, square) for the points of one leaf after another, near ones first, until no box is nearer to q
  // than `limit` (a squared distance), which `take` may lower; points as far as the limit are left out.
  template <class Take>
  void search(const double* q, const double& limit, Take take) {
    looked_at_ = 0;
    visit(0, q, limit, take);
  }

  // The first place of the leaf in which a search for q begins.
  std::size_t place(const double* q) const {
    std::size_t node = 0;
    while (nodes_[node].right != 0)
      node = q[nodes_[node].column] > nodes_[node].split ? nodes_[node].right : nodes_[node].left;
    return nodes_[node].first;
  }

  // Points whose distance the last search has found.
  std::size_t looked_at() const { return looked_at_; }

 private:
  struct Node {
    std::size_t first, last;          // range of places
    std::size_t left = 0, right = 0;  // children, 0 in a leaf
    std::size_t column = 0;           // that parts them, at the value `split`
    double split = 0.0;
  };

  double value(std::int32_t i, std::size_t j) const { return points_[static_cast<std::size_t>(i) * stride_ + j]; }

  std::size_t build(std::size_t first, std::size_t last) {
    const std::size_t self = nodes_.size();
    nodes_.push_back({first, last});
    const std::size_t widest = add_box(first, last);
    if (last - first <= kBlock) return self;
    const std::size_t middle = first + ((last - first - 1) / kBlock + 1) / 2 * kBlock;
    const auto start = order_.begin();
    std::nth_element(start + static_cast<std::ptrdiff_t>(first), start + static_cast<std::ptrdiff_t>(middle),
                     start + static_cast<std::ptrdiff_t>(last), [&](std::int32_t a, std::int32_t b) {
                       const double x = value(a, widest), y = value(b, widest);
                       return x < y || (x == y && a < b);
                     });
    nodes_[self].column = widest;
    nodes_[self].split = value(order_[middle], widest);
    const std::size_t left = build(first, middle), right = build(middle, last);
    nodes_[self].left = left;
    nodes_[self].right = right;
    return self;
  }

  // Returns the column in which the box is widest.
  std::size_t add_box(std::size_t first, std::size_t last) {
    constexpr double endless = std::numeric_limits<double>::infinity();
    std::vector<double> low(d_, endless), high(d_, -endless);
    for (std::size_t place = first; place < last; ++place)
      for (std::size_t j = 0; j < d_; ++j) {
        low[j] = std::min(low[j], value(order_[place], j));
        high[j] = std::max(high[j], value(order_[place], j));
      }
    std::size_t widest = 0;
    for (std::size_t j = 0; j < d_; ++j)
      if (high[j] - low[j] > high[widest] - low[widest]) widest = j;
    boxes_.insert(boxes_.end(), low.begin(), low.end());
    boxes_.insert(boxes_.end(), high.begin(), high.end());
    return widest;
  }

  bool near(std::size_t node, const double* q, double limit) const {
    const double* low = boxes_.data() + node * 2 * d_;
    const double* high = low + d_;
    double square = 0.0;
    for (std::size_t j = 0; j < d_; ++j) {
      const double out = std::max(std::max(low[j] - q[j], q[j] - high[j]), 0.0);
      square += out * out;
      if (square >= limit) return false;
    }
    return true;
  }

  template <class Take>
  void visit(std::size_t node, const double* q, const double& limit, Take& take) {
    const Node& here = nodes_[node];
    if (here.right == 0) return scan(here, q, limit, take);
    const bool right = q[here.column] >= here.split;  // the point that gave the split lies there
    const std::size_t first = right ? here.right : here.left, then = right ? here.left : here.right;
    if (near(first, q, limit)) visit(first, q, limit, take);
    if (near(then, q, limit)) visit(then, q, limit, take);
  }

  template <class Take>
  void scan(const Node& leaf, const double* q, const double& limit, Take& take) {
    double squares[kBlock];
    scans_.exact_distances(blocks_.data() + leaf.first * d_, q, d_, squares);
    for (std::size_t i = 0; i < leaf.last - leaf.first; ++i)
      if (squares[i] < limit) take(leaf.first + i, squares[i]);
    looked_at_ += leaf.last - leaf.first;
  }

  const double* points_;
  std::size_t d_, stride_;
  const Scans& scans_;
  std::vector<std::int32_t> order_;
  std::vector<Node> nodes_;
  std::vector<double> boxes_, blocks_;
  std::size_t looked_at_ = 0;
};

}  // namespace boxes
}  // namespace shoal

// A kd-tree of bounding boxes over rows of numbers, for searches that look at few of them.
//
// A node splits at the median of its widest column down to leaves of kLeaf rows, which are stored side by side in
// the order of the tree. A search walks into the nearer child first and skips a box that is as far as the limit,
// which the caller lowers while it looks at leaves. Distances to boxes and to rows are summed in the same order,
// every operation is correctly rounded and rounding is monotone, so the computed distance of a box never exceeds
// that of a row inside it: nothing is skipped wrongly. In high dimension all boxes are near, and the walk is an
// exhaustive search with a small surcharge.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace shoal {
inline namespace boxes {

// Squared distance of two rows whose width is a multiple of four. Four running sums in a fixed order: vector code
// without reordering by the compiler.
inline double squared_distance(const double* a, const double* b, std::size_t width) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (std::size_t j = 0; j < width; j += 4) {
    const double e0 = a[j] - b[j], e1 = a[j + 1] - b[j + 1];
    const double e2 = a[j + 2] - b[j + 2], e3 = a[j + 3] - b[j + 3];
    s0 += e0 * e0;
    s1 += e1 * e1;
    s2 += e2 * e2;
    s3 += e3 * e3;
  }
  return (s0 + s2) + (s1 + s3);
}

class BoxTree {
 public:
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  // `rows` (n x width, width a multiple of four) is copied.
  BoxTree(const double* rows, std::size_t n, std::size_t width) : width_(width), order_(n) {
    std::iota(order_.begin(), order_.end(), 0);
    build(rows, 0, n);
    rows_.reserve(n * width);
    for (const auto i : order_) {
      const double* from = rows + static_cast<std::size_t>(i) * width;
      rows_.insert(rows_.end(), from, from + width);
    }
  }

  std::size_t width() const { return width_; }
  // The number of the row at each place of the tree, and the row itself.
  const std::vector<std::int32_t>& order() const { return order_; }
  const double* row(std::size_t place) const { return rows_.data() + place * width_; }

  // Calls scan(first, last) for ranges of places, near ones first, until no box is nearer to q than `limit` (a
  // squared distance), which `scan` may lower. Of two boxes equally near the one with the place `home` comes first.
  template <class Scan>
  void search(const double* q, std::size_t home, const double& limit, Scan scan) const {
    visit(0, q, home, limit, scan);
  }

 private:
  static constexpr std::size_t kLeaf = 16;

  struct Node {
    std::size_t first, last;          // range of places
    std::size_t left = 0, right = 0;  // children, 0 in a leaf
  };

  std::size_t build(const double* rows, std::size_t first, std::size_t last) {
    const std::size_t self = nodes_.size(), w = width_;
    nodes_.push_back({first, last});
    std::vector<double> low(w, std::numeric_limits<double>::infinity()), high(w, -low[0]);
    const auto value = [&](std::int32_t i, std::size_t j) { return rows[static_cast<std::size_t>(i) * w + j]; };
    for (std::size_t place = first; place < last; ++place)
      for (std::size_t j = 0; j < w; ++j) {
        low[j] = std::min(low[j], value(order_[place], j));
        high[j] = std::max(high[j], value(order_[place], j));
      }
    std::size_t widest = 0;
    for (std::size_t j = 0; j < w; ++j)
      if (high[j] - low[j] > high[widest] - low[widest]) widest = j;
    boxes_.insert(boxes_.end(), low.begin(), low.end());
    boxes_.insert(boxes_.end(), high.begin(), high.end());
    if (last - first <= kLeaf) return self;
    const std::size_t middle = first + (last - first) / 2;
    const auto start = order_.begin();
    std::nth_element(start + static_cast<std::ptrdiff_t>(first), start + static_cast<std::ptrdiff_t>(middle),
                     start + static_cast<std::ptrdiff_t>(last), [&](std::int32_t a, std::int32_t b) {
                       const double x = value(a, widest), y = value(b, widest);
                       return x < y || (x == y && a < b);
                     });
    const std::size_t left = build(rows, first, middle), right = build(rows, middle, last);
    nodes_[self].left = left;
    nodes_[self].right = right;
    return self;
  }

  // Squared distance to a node's box, summed as squared_distance sums.
  double to_box(const double* q, std::size_t node) const {
    const double* low = boxes_.data() + node * 2 * width_;
    const double* high = low + width_;
    double s[4] = {0, 0, 0, 0};
    for (std::size_t j = 0; j < width_; j += 4)
      for (std::size_t l = 0; l < 4; ++l) {
        const double out = std::max(std::max(low[j + l] - q[j + l], q[j + l] - high[j + l]), 0.0);
        s[l] += out * out;
      }
    return (s[0] + s[2]) + (s[1] + s[3]);
  }

  template <class Scan>
  void visit(std::size_t node, const double* q, std::size_t home, const double& limit, Scan& scan) const {
    const Node& here = nodes_[node];
    if (here.right == 0) return scan(here.first, here.last);
    std::size_t near = here.left, far = here.right;
    double near_d = to_box(q, near), far_d = to_box(q, far);
    if (far_d < near_d || (far_d == near_d && home >= nodes_[far].first && home < nodes_[far].last)) {
      std::swap(near, far);
      std::swap(near_d, far_d);
    }
    if (near_d < limit) visit(near, q, home, limit, scan);
    if (far_d < limit) visit(far, q, home, limit, scan);
  }

  std::size_t width_;
  std::vector<std::int32_t> order_;
  std::vector<Node> nodes_;
  std::vector<double> boxes_, rows_;
};

}  // namespace boxes
}  // namespace shoal

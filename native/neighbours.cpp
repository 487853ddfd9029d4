// The m nearest others of every record, exactly.
//
// A kd-tree of bounding boxes: a node splits at the median of its widest column down to leaves of kLeaf
// records, which are stored column-padded and side by side. A query walks into the nearer child first and
// skips a box whose distance is not below the m-th smallest found. Box and record distances are summed in the
// same order, every operation is correctly rounded and rounding is monotone, so the computed distance of a
// box never exceeds that of a record inside it: nothing is skipped wrongly. (Among records at equal distance
// it is left open which are listed; their distances are exact either way, and heavy ties cost no time.)
// In high dimension all boxes are near, and the walk is an exhaustive search with a small surcharge.
#include <limits>
#include <numeric>

#include "groups.hpp"
#include "kernels.hpp"
#include "watch.hpp"

namespace shoal {
namespace {

constexpr std::size_t kLeaf = 16;

struct Node {
  std::size_t first, last;         // range of records in tree order
  std::size_t left = 0, right = 0;  // children, 0 in a leaf
};

class BoxTree {
 public:
  explicit BoxTree(const Cloud& cloud) : cloud_(cloud), order_(cloud.n()) {
    std::iota(order_.begin(), order_.end(), 0);
    build(0, cloud.n());
    rows_.reserve(cloud.n() * cloud.width());
    for (const Record i : order_) rows_.insert(rows_.end(), cloud.row(i), cloud.row(i) + cloud.width());
  }

  const std::vector<Record>& order() const { return order_; }

  // The nearest others of the record at place `at` in tree order, into `found` (room for m), nearest first.
  void search(std::size_t at, std::vector<std::pair<double, Record>>& found, std::size_t m) const {
    found.clear();
    visit(0, at, found, m);
  }

 private:
  std::size_t build(std::size_t first, std::size_t last) {
    const std::size_t self = nodes_.size(), w = cloud_.width();
    nodes_.push_back({first, last});
    std::vector<double> low(w, std::numeric_limits<double>::infinity()), high(w, -low[0]);
    for (std::size_t r = first; r < last; ++r)
      for (std::size_t j = 0; j < w; ++j) {
        low[j] = std::min(low[j], cloud_.row(order_[r])[j]);
        high[j] = std::max(high[j], cloud_.row(order_[r])[j]);
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
                     start + static_cast<std::ptrdiff_t>(last), [&](Record a, Record b) {
                       const double x = cloud_.row(a)[widest], y = cloud_.row(b)[widest];
                       return x < y || (x == y && a < b);
                     });
    const std::size_t left = build(first, middle), right = build(middle, last);
    nodes_[self].left = left;
    nodes_[self].right = right;
    return self;
  }

  const double* row(std::size_t at) const { return rows_.data() + at * cloud_.width(); }

  // Squared distance to a node's box, summed as Cloud::distance sums.
  double to_box(const double* q, std::size_t node) const {
    const double* low = boxes_.data() + node * 2 * cloud_.width();
    const double* high = low + cloud_.width();
    double s[4] = {0, 0, 0, 0};
    for (std::size_t j = 0; j < cloud_.width(); j += 4)
      for (std::size_t l = 0; l < 4; ++l) {
        const double out = std::max(std::max(low[j + l] - q[j + l], q[j + l] - high[j + l]), 0.0);
        s[l] += out * out;
      }
    return (s[0] + s[2]) + (s[1] + s[3]);
  }

  void visit(std::size_t node, std::size_t at, std::vector<std::pair<double, Record>>& found, std::size_t m) const {
    const Node& here = nodes_[node];
    if (here.right == 0) return scan(here, at, found, m);
    const double* q = row(at);
    std::size_t near = here.left, far = here.right;
    double near_d = to_box(q, near), far_d = to_box(q, far);
    if (far_d < near_d || (far_d == near_d && at >= nodes_[far].first && at < nodes_[far].last)) {
      std::swap(near, far);
      std::swap(near_d, far_d);
    }
    if (found.size() < m || near_d < found.back().first) visit(near, at, found, m);
    if (found.size() < m || far_d < found.back().first) visit(far, at, found, m);
  }

  void scan(const Node& leaf, std::size_t at, std::vector<std::pair<double, Record>>& found, std::size_t m) const {
    for (std::size_t r = leaf.first; r < leaf.last; ++r) {
      if (r == at) continue;
      const double d = cloud_.distance(row(at), row(r));
      if (found.size() == m) {
        if (d >= found.back().first) continue;
        found.pop_back();
      }
      const std::pair<double, Record> entry(d, order_[r]);
      found.insert(std::upper_bound(found.begin(), found.end(), entry), entry);
    }
  }

  const Cloud& cloud_;
  std::vector<Record> order_;
  std::vector<Node> nodes_;
  std::vector<double> boxes_, rows_;
};

auto neighbours(Matrix x, std::int64_t m, nb::object progress) {
  Watch watch(progress);
  const std::size_t n = x.shape(0), width = static_cast<std::size_t>(m);
  std::vector<std::int32_t> who(n * width);
  std::vector<double> square(n * width);
  {
    nb::gil_scoped_release free_lock;
    const Cloud cloud(x.data(), nullptr, n, x.shape(1));
    const BoxTree tree(cloud);
    std::vector<std::pair<double, Record>> found;
    found.reserve(width + 1);
    for (std::size_t at = 0; at < n; ++at) {
      if ((at & 15) == 0) watch.tick(static_cast<double>(at) / static_cast<double>(n));
      tree.search(at, found, width);
      const std::size_t base = static_cast<std::size_t>(tree.order()[at]) * width;
      for (std::size_t r = 0; r < width; ++r) {
        square[base + r] = cloud.in_units(found[r].first);
        who[base + r] = found[r].second;
      }
    }
  }
  return nb::make_tuple(to_numpy(std::move(who), {n, width}), to_numpy(std::move(square), {n, width}));
}

const Kernel kernel([](nb::module_& m) {
  m.def("neighbours", &neighbours, nb::arg("x"), nb::arg("m"), nb::arg("progress").none());
});

}  // namespace
}  // namespace shoal

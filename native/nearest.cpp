// The nearest of a set of points for each of many queries, exactly, ties counted, by a tree of boxes.
//
// A point ties with the nearest where its distance is at most near + tie (1 + near): such differences come from
// rounding. The walk keeps every point within the reach of the nearest one so far, and drops at its end what the
// last one left out of reach. Distances are sums of squared differences of the values as they came, never
// |x|^2 - 2 x.y + |y|^2, so that an offset or an outlier costs no digits.
//
// In many dimensions most points are told to be too far by their first columns, and the others are not looked at.
// The work is counted in values looked at, and the kernel stops where it exceeds what it was given: which queries
// are answered depends on the data only, not on the machine.
#include "box_tree.hpp"
#include "kernels.hpp"
#include "watch.hpp"

namespace shoal {
namespace {

class Search {
 public:
  Search(const BoxTree& tree, double tie) : tree_(tree), tie_(tie) {}

  // Fills `within()`: points within reach of the nearest one.
  void nearest(const double* q) {
    within_.clear();
    nearest_ = limit_ = std::numeric_limits<double>::infinity();
    tree_.search(q, BoxTree::kNowhere, limit_, [&](std::size_t first, std::size_t last) { scan(q, first, last); });
    std::size_t kept = 0;
    for (const auto& entry : within_)
      if (entry.square < limit_) within_[kept++] = entry;
    within_.resize(kept);
  }

  struct Entry {
    double square;
    std::int32_t point;
  };
  const std::vector<Entry>& within() const { return within_; }
  double distance() const { return std::sqrt(nearest_); }
  std::uint64_t looked_at() const { return looked_; }

 private:
  static constexpr std::size_t kStride = 8;  // columns between two looks at the limit

  void scan(const double* q, std::size_t first, std::size_t last) {
    const std::size_t width = tree_.width();
    for (std::size_t place = first; place < last; ++place) {
      const double* row = tree_.row(place);
      double square = 0.0;
      std::size_t j = 0;
      for (; j < width && square < limit_; j += kStride)
        square += squared_distance(row + j, q + j, std::min(kStride, width - j));
      looked_ += j;
      if (square >= limit_) continue;
      within_.push_back({square, tree_.order()[place]});
      if (square >= nearest_) continue;
      nearest_ = square;
      const double near = std::sqrt(square), reach = near + tie_ * (1.0 + near);
      limit_ = reach * reach;
    }
  }

  const BoxTree& tree_;
  double tie_, nearest_ = 0.0, limit_ = 0.0;
  std::uint64_t looked_ = 0;
  std::vector<Entry> within_;
};

// Rows padded with zeros to a multiple of four values.
std::vector<double> padded(const Matrix& x) {
  const std::size_t n = x.shape(0), d = x.shape(1), width = (d + 3) / 4 * 4;
  std::vector<double> rows(n * width, 0.0);
  for (std::size_t i = 0; i < n; ++i) std::copy_n(x.data() + i * d, d, rows.data() + i * width);
  return rows;
}

auto nearest(Matrix points, Longs sizes, Matrix queries, double tie, std::uint64_t most) {
  Watch watch;
  std::vector<double> distance;
  std::vector<std::int64_t> tied, lowest;
  {
    nb::gil_scoped_release unlocked;
    const auto rows = padded(points), asked = padded(queries);
    const std::size_t n = queries.shape(0), width = (points.shape(1) + 3) / 4 * 4;
    const BoxTree tree(rows.data(), points.shape(0), width);
    Search search(tree, tie);
    for (std::size_t i = 0; i < n && search.looked_at() <= most; ++i) {
      watch.tick(0.0);
      search.nearest(asked.data() + i * width);
      distance.push_back(search.distance());
      tied.push_back(0);
      lowest.push_back(std::numeric_limits<std::int64_t>::max());
      for (const auto& entry : search.within()) {
        tied.back() += sizes.data()[entry.point];
        lowest.back() = std::min<std::int64_t>(lowest.back(), entry.point);
      }
    }
  }
  return std::make_tuple(to_numpy(std::move(distance)), to_numpy(std::move(tied)), to_numpy(std::move(lowest)));
}

}  // namespace

static const Kernel kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("nearest", &nearest, "points"_a, "sizes"_a, "queries"_a, "tie"_a, "most"_a);
});

}  // namespace shoal

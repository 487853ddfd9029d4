// The nearest of a set of points for each of many queries, exactly, ties counted, by a tree of boxes.
//
// A point ties with the nearest where its distance is at most near + tie (1 + near): such differences come from
// rounding. The walk keeps every point within the reach of the nearest one so far, and drops at its end what the
// last one left out of reach. Distances are sums of squared differences of the values as they came, never
// |x|^2 - 2 x.y + |y|^2, so that an offset or an outlier costs no digits.
//
// Work is counted in points looked at. The kernel stops where it exceeds what it was given, or where a query costs
// more than another engine would: in many dimensions a tree may part nothing. Which queries are answered so depends
// on the data only, not on the machine.
#include <cmath>

#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "search/box_tree.hpp"

namespace shoal {
namespace {

constexpr std::size_t kTrial = 32;  // queries before an average is trusted

struct Entry {
  double square;
  std::int32_t point;
};

// The points within reach of the nearest one to q, into `within`; returns the squared distance of that one.
double search(BoxTree& tree, const double* q, double tie, std::vector<Entry>& within) {
  within.clear();
  double nearest = std::numeric_limits<double>::infinity(), limit = nearest;
  tree.search(q, limit, [&](std::size_t place, double square) {
    within.push_back({square, tree.order()[place]});
    if (square >= nearest) return;
    nearest = square;
    const double near = std::sqrt(square), reach = near + tie * (1.0 + near);
    limit = reach * reach;
  });
  within.erase(std::remove_if(within.begin(), within.end(), [&](const Entry& e) { return e.square >= limit; }),
               within.end());
  return nearest;
}

auto nearest(Matrix points, Longs sizes, Matrix queries, double tie, std::uint64_t most, std::uint64_t each) {
  Progress progress;
  std::vector<double> distance;
  std::vector<std::int64_t> tied, lowest;
  std::uint64_t looked = 0;
  {
    nb::gil_scoped_release unlocked;
    const std::size_t n = queries.shape(0), d = points.shape(1);
    BoxTree tree(points.data(), points.shape(0), d, d);
    std::vector<Entry> within;
    for (std::size_t i = 0; i < n && looked <= most && looked <= (i + kTrial) * each; ++i) {
      progress.tick(0.0);
      distance.push_back(std::sqrt(search(tree, queries.data() + i * d, tie, within)));
      looked += tree.looked_at();
      tied.push_back(0);
      lowest.push_back(std::numeric_limits<std::int64_t>::max());
      for (const auto& entry : within) {
        tied.back() += sizes.data()[entry.point];
        lowest.back() = std::min<std::int64_t>(lowest.back(), entry.point);
      }
    }
  }
  return std::make_tuple(to_numpy(std::move(distance)), to_numpy(std::move(tied)), to_numpy(std::move(lowest)), looked);
}

}  // namespace

static const Kernel kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("nearest", &nearest, "points"_a, "sizes"_a, "queries"_a, "tie"_a, "most"_a, "each"_a);
});

}  // namespace shoal

// The nearest of a set of points for each of many queries, exactly, ties counted: by a tree of boxes where all columns
// are numbers, and by a tree that also parts categories where some are not.
//
// Distances are sums of squared differences of the values as they came, never |x|^2 - 2 x.y + |y|^2, so that an
// offset or an outlier costs no digits.
//
// Work is counted in points looked at. The kernels stop where it exceeds what they were given, or where a query costs
// more than another engine would: in many dimensions a tree may part nothing. Which queries are answered so depends
// on the data only, not on the machine.
#include <tuple>

#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "search/box_tree.hpp"
#include "search/mixed_tree.hpp"
#include "search/nearest.hpp"

namespace shoal {
namespace {

constexpr std::size_t kTrial = 32;        // queries before an average is trusted
constexpr std::size_t kRound = 1u << 16;  // queries that are answered in the order of the tree, at most

// What is known of the queries, and what may be spent on them.
struct Task {
  std::size_t count;
  Longs sizes;
  Vector known;
  double tie;
  std::uint64_t most, each;
};

// Answers queries, or the first ones: walk(i, nearby) walks a tree for query i and returns the points it looked at.
// Round by round they are taken in the order of place(i), so that one finds in the cache what the one before it read.
template <class Place, class Walk>
auto answer(const Task& task, Progress& progress, Place place, Walk walk) {
  std::vector<double> distance;
  std::vector<std::int64_t> tied, lowest;
  distance.reserve(task.count);
  tied.reserve(task.count);
  lowest.reserve(task.count);
  std::vector<std::pair<std::size_t, std::size_t>> round;
  std::uint64_t looked = 0;
  Nearest nearby(task.tie);
  for (std::size_t done = 0; done < task.count && looked <= task.most && looked / (done + kTrial) <= task.each;) {
    const std::size_t end = std::min({task.count, done + kRound, done + std::max(kTrial, done / 4)});
    round.clear();
    for (std::size_t i = done; i < end; ++i) round.emplace_back(place(i), i);
    std::sort(round.begin(), round.end());
    distance.resize(end);
    tied.resize(end, 0);
    lowest.resize(end, std::numeric_limits<std::int64_t>::max());
    for (const auto& [_, i] : round) {
      progress.tick(0.0);
      nearby.begin(task.known.data()[i]);
      looked += walk(i, nearby);
      distance[i] = nearby.distance();
      nearby.ties([&, i = i](std::int32_t point) {
        tied[i] += task.sizes.data()[point];
        lowest[i] = std::min<std::int64_t>(lowest[i], point);
      });
    }
    done = end;
  }
  return std::make_tuple(std::move(distance), std::move(tied), std::move(lowest), looked);
}

template <class Answers>
auto as_arrays(Answers&& answers) {
  auto& [distance, tied, lowest, looked] = answers;
  return std::make_tuple(to_numpy(std::move(distance)), to_numpy(std::move(tied)), to_numpy(std::move(lowest)), looked);
}

constexpr const char* kNearest = R"(Look for the nearest points of queries, ties counted, in a tree of boxes.

Parameters
----------
points, queries
    Shapes (u, d) and (m, d), finite.
sizes
    Shape (u,); what a point counts for among ties.
known
    Shape (m,); a distance at which each query has a point, or infinity. Where it is beaten, any nearer point will do.
tie
    Distances within tie (1 + d) of the smallest distance d tie with it.
most, each
    Points to look at, in all and a query on average: beyond that the first queries only are answered.

Returns
-------
Of the queries answered the smallest distance, the number of ties and the lowest point among them; and the points looked
at.)";

auto nearest_points(Matrix points, Longs sizes, Matrix queries, Vector known, double tie, std::uint64_t most,
             std::uint64_t each) {
  Progress progress;
  return as_arrays([&] {
    nb::gil_scoped_release unlocked;
    const std::size_t d = points.shape(1);
    BoxTree tree(points.data(), points.shape(0), d, d);
    const auto place = [&](std::size_t i) { return tree.place(queries.data() + i * d); };
    const auto walk = [&](std::size_t i, Nearest& nearby) {
      tree.search(queries.data() + i * d, nearby.limit(),
                  [&](std::size_t at, double square) { nearby.take(tree.order()[at], square); });
      return tree.looked_at();
    };
    return answer({queries.shape(0), sizes, known, tie, most, each}, progress, place, walk);
  }());
}

constexpr const char* kNearestMixed = R"(As `nearest`, for rows of numbers and codes.

Parameters
----------
tables
    For each column of codes the squared distance of every code of a query (rows) to every one of a point.
weights
    Shape (q,); the squared distance of two different codes, as a rule: by it the tree chooses what to part.)";

auto nearest_mixed(Matrix numbers, IntMatrix codes, Longs sizes, Matrix asked_numbers, IntMatrix asked_codes,
                   std::vector<Matrix> tables, Vector weights, Vector known, double tie, std::uint64_t most) {
  Progress progress;
  return as_arrays([&] {
    nb::gil_scoped_release unlocked;
    const std::size_t p = numbers.shape(1), q = codes.shape(1);
    std::vector<SquareTable> squares;
    for (const auto& table : tables) squares.emplace_back(table.data(), table.shape(0), table.shape(1));
    MixedTree tree(numbers.data(), p, codes.data(), q, numbers.shape(0), squares, weights.data());
    const auto walk = [&](std::size_t i, Nearest& nearby) {
      tree.search(asked_numbers.data() + i * p, asked_codes.data() + i * q, nearby.limit(),
                  [&](std::size_t at, double square) { nearby.take(tree.order()[at], square); });
      return tree.looked_at();
    };
    constexpr auto endless = std::numeric_limits<std::uint64_t>::max();
    const auto as_asked = [](std::size_t i) { return i; };
    return answer({asked_codes.shape(0), sizes, known, tie, most, endless}, progress, as_asked, walk);
  }());
}

}  // namespace

static const Kernel nearest_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("nearest", &nearest_points, "points"_a, "sizes"_a, "queries"_a, "known"_a, "tie"_a, "most"_a, "each"_a,
        kNearest);
  m.def("nearest_mixed", &nearest_mixed, "numbers"_a, "codes"_a, "sizes"_a, "asked_numbers"_a, "asked_codes"_a,
        "tables"_a, "weights"_a, "known"_a, "tie"_a, "most"_a, kNearestMixed);
});

}  // namespace shoal

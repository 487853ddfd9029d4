// Optimal univariate microaggregation (Hansen & Mukherjee 2003).
//
// In an optimal partition of numbers the groups are runs of the sorted values, of k to 2k - 1 records. So the
// least loss L[j] of the first j values is the shortest path over cuts:
//
//   L[j] = min over m = k .. 2k - 1 of L[j - m] + SSE(values j - m .. j - 1),   L[0] = 0,
//
// O(kn) in all. Each j looks back over at most 2k - 1 values and updates mean and sum of squares of the run as
// it grows (Welford 1962), about its last value. The usual prefix sums over the whole table would subtract
// large numbers from each other; here an offset of 1e8 costs no digits. L is a compensated sum (two doubles).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/kernels.hpp"
#include "core/progress.hpp"

namespace shoal {
namespace {

// A sum as an unevaluated pair: high + low.
struct Pair {
  double high = 0, low = 0;
  Pair plus(double x) const {
    const double sum = high + x, part = sum - high;
    const double error = (high - (sum - part)) + (x - part);
    return {sum, low + error};
  }
  bool below(const Pair& other) const {
    const double a = high - other.high, b = other.low - low;
    return a < b;
  }
};

// Where the last run of the best partition of the first j of n sorted values begins; none for j < k.
std::vector<std::int64_t> last_cuts(const double* x, std::int64_t n, std::int64_t k, Progress& progress) {
  std::vector<std::int64_t> cut(static_cast<std::size_t>(n) + 1, -1);
  std::vector<Pair> least(static_cast<std::size_t>(n) + 1, Pair{std::numeric_limits<double>::infinity(), 0});
  least[0] = Pair{};
  for (std::int64_t j = k; j <= n; ++j) {
    double mean = 0, squares = 0;  // of x[j - m .. j - 1], about x[j - 1]
    for (std::int64_t m = 1; m <= std::min(2 * k - 1, j); ++m) {
      const double value = x[j - m] - x[j - 1], gap = value - mean;
      mean += gap / static_cast<double>(m);
      squares += gap * (value - mean);
      const auto from = static_cast<std::size_t>(j - m), to = static_cast<std::size_t>(j);
      if (m < k || !(least[from].high < std::numeric_limits<double>::infinity())) continue;
      const Pair loss = least[from].plus(squares);
      if (cut[to] < 0 || loss.below(least[to])) least[to] = loss, cut[to] = j - m;
    }
    progress.tick(static_cast<double>(j) / static_cast<double>(n));
  }
  return cut;
}

// Multiplied by a power of two, so that no square overflows or vanishes.
std::vector<double> near_one(const double* x, const std::vector<std::size_t>& order) {
  double largest = 0;
  for (const std::size_t i : order) largest = std::max(largest, std::fabs(x[i]));
  int exponent = 0;
  std::frexp(largest, &exponent);
  std::vector<double> scaled;
  for (const std::size_t i : order) scaled.push_back(std::ldexp(x[i], -exponent));
  return scaled;
}

std::vector<std::int32_t> optimal_groups(const double* x, std::size_t n, std::int64_t k, Progress& progress) {
  std::vector<std::int32_t> labels(n, 0);
  if (static_cast<std::int64_t>(n) < 2 * k) return labels;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return x[i] < x[j]; });
  const auto cut = last_cuts(near_one(x, order).data(), static_cast<std::int64_t>(n), k, progress);
  std::vector<std::int64_t> starts;
  for (auto end = static_cast<std::int64_t>(n); end > 0; starts.push_back(end)) end = cut[static_cast<std::size_t>(end)];
  std::int32_t group = -1;
  for (std::size_t i = 0; i < n; ++i) {
    if (!starts.empty() && static_cast<std::int64_t>(i) == starts.back()) ++group, starts.pop_back();
    labels[order[i]] = group;
  }
  return labels;
}

constexpr const char* kUnivariate = R"(Group numbers so that the within-group sum of squares is the least there is.

Parameters
----------
x
    Shape (n,), finite.
k
    Smallest group size, at least 1. Fewer than 2k numbers make one group.

Returns
-------
Shape (n,); group number of each value, ascending with the values. Equal values are in row order.

Notes
-----
Hansen & Mukherjee (2003): shortest path over runs of k to 2k - 1 sorted values.)";

Output<std::int32_t> univariate(Vector x, std::int64_t k, Listener listener) {
  Progress progress(listener);
  std::vector<std::int32_t> labels;
  {
    nb::gil_scoped_release free_lock;
    labels = optimal_groups(x.data(), x.shape(0), k, progress);
  }
  return to_numpy(std::move(labels));
}

const Kernel univariate_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("univariate", &univariate, "x"_a, "k"_a, nb::kw_only(), "progress"_a.none() = nb::none(), kUnivariate);
});

}  // namespace
}  // namespace shoal

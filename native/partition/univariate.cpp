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
#include <limits>

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

auto univariate(Vector sorted, std::int64_t k, nb::object callback) {
  Progress progress(callback);
  const auto n = static_cast<std::int64_t>(sorted.shape(0));
  std::vector<std::int64_t> cut(static_cast<std::size_t>(n) + 1, -1);
  {
    nb::gil_scoped_release free_lock;
    const double* x = sorted.data();
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
  }
  return to_numpy(std::move(cut));
}

const Kernel kernel([](nb::module_& m) {
  m.def("univariate", &univariate, nb::arg("x"), nb::arg("k"), nb::arg("progress").none());
});

}  // namespace
}  // namespace shoal

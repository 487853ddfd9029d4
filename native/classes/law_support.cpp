// How well one column determines another: records that lack the most frequent cell beside their own of the first.
//
// Records are put side by side by the first column in two passes, and the cells of the second counted group by group.
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "core/kernels.hpp"

namespace shoal {
namespace {

constexpr const char* kLawSupport = R"(Count the exceptions to a law, and what supports it.

Parameters
----------
by, on
    Shape (n,); equal numbers from 0 for equal cells, -1 for missing ones, which are ignored.

Returns
-------
Number of records without the most frequent cell of `on` among those with their cell of `by`; of records that share their
cell of `by` with another one; and of such cells of `by`.)";

auto law_support(Ints by, Ints on) {
  const std::size_t n = by.shape(0);
  std::int64_t exceptions = 0, pairs = 0, groups = 0;
  {
    nb::gil_scoped_release unlock;
    const std::int32_t *const causes = by.data(), *const effects = on.data();
    const auto visible = [&](std::size_t i) { return causes[i] >= 0 && effects[i] >= 0; };
    std::int32_t last_cause = -1, last_effect = -1;
    for (std::size_t i = 0; i < n; ++i) {
      if (!visible(i)) continue;
      last_cause = std::max(last_cause, causes[i]);
      last_effect = std::max(last_effect, effects[i]);
    }
    std::vector<std::uint32_t> start(static_cast<std::size_t>(last_cause) + 3, 0);
    for (std::size_t i = 0; i < n; ++i)
      if (visible(i)) ++start[static_cast<std::size_t>(causes[i]) + 2];
    for (std::size_t c = 2; c < start.size(); ++c) start[c] += start[c - 1];
    std::vector<std::int32_t> sorted(start.back());
    for (std::size_t i = 0; i < n; ++i)
      if (visible(i)) sorted[start[static_cast<std::size_t>(causes[i]) + 1]++] = effects[i];
    std::vector<std::uint32_t> count(static_cast<std::size_t>(last_effect) + 1, 0);
    for (std::size_t c = 0; c + 2 < start.size(); ++c) {
      const std::uint32_t from = start[c], to = start[c + 1];
      if (to - from < 2) continue;
      std::uint32_t most = 0;
      for (std::uint32_t r = from; r < to; ++r) most = std::max(most, ++count[static_cast<std::size_t>(sorted[r])]);
      for (std::uint32_t r = from; r < to; ++r) count[static_cast<std::size_t>(sorted[r])] = 0;
      exceptions += to - from - most;
      pairs += to - from;
      ++groups;
    }
  }
  return std::make_tuple(exceptions, pairs, groups);
}

const Kernel law_support_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("law_support", &law_support, "by"_a, "on"_a, kLawSupport);
});

}  // namespace
}  // namespace shoal

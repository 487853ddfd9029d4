// Rows that are alone on all columns but one.
#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "classes/rows.hpp"
#include "core/kernels.hpp"

namespace shoal {
namespace {

using rows::Key;
using Alone = std::pair<Output<std::int64_t>, std::vector<std::int64_t>>;

// Calls use(first, last) for each run of sorted keys that agree above so many bits.
template <class Use>
void agreeing(const std::vector<Key>& keys, int low, Use use) {
  for (std::size_t first = 0, last = 0; first < keys.size(); first = last) {
    while (last < keys.size() && keys[last] >> low == keys[first] >> low) ++last;
    use(first, last);
  }
}

// Rows that are alone once the digit of `width` bits from bit `low` on is left out of their keys, which ascend. Rows that
// agree on the digits before it lie side by side, and only these are put in the order of the digits after it.
std::int64_t alone_without(const std::vector<Key>& keys, int low, int width) {
  const Key after = (Key{1} << low) - 1;
  std::int64_t alone = 0;
  std::vector<Key> rest;
  agreeing(keys, low + width, [&](std::size_t first, std::size_t last) {
    if (last - first == 1) {
      ++alone;
      return;
    }
    rest.clear();
    for (std::size_t i = first; i < last; ++i) rest.push_back(keys[i] & after);
    sort_keys(rest, 0, low);
    agreeing(rest, 0, [&](std::size_t begin, std::size_t end) { alone += end - begin == 1; });
  });
  return alone;
}

constexpr const char* kLoneWithout = R"(Sizes of the classes of rows, and for some columns the number of rows that are alone on all others.

Parameters
----------
before
    Further columns, each of shape (n,), as in `classes`.
last
    The columns that are left out, one at a time.

Returns
-------
Shapes (C,) and (columns of `last`,); None where there is no room for digits of the last columns.)";

std::optional<Alone> lone_without(const std::vector<Column>& before, const std::vector<Column>& last, std::size_t n) {
  std::vector<std::int64_t> sizes, alone(last.size());
  {
    nb::gil_scoped_release unlocked;
    rows::Group group = rows::grouped(before, n), digits;
    for (const auto& column : last) digits.push_back(rows::digits_of(column, n));
    if (rows::bits(group) + rows::bits(digits) > rows::kKeyBits) rows::make_one(group, n);
    if (rows::bits(group) + rows::bits(digits) > rows::kKeyBits) return std::nullopt;
    std::vector<int> widths;
    for (auto& digit : digits) {
      widths.push_back(digit->bits());
      group.push_back(std::move(digit));
    }
    const std::vector<Key> keys = rows::sorted(group, n, rows::Together{0});
    agreeing(keys, 0, [&](std::size_t first, std::size_t end) { sizes.push_back(static_cast<std::int64_t>(end - first)); });
    int low = 0;
    for (std::size_t j = last.size(); j-- > 0; low += widths[j]) alone[j] = alone_without(keys, low, widths[j]);
  }
  return std::make_pair(to_numpy(std::move(sizes)), std::move(alone));
}

}  // namespace

static const Kernel lone_without_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("lone_without", &lone_without, "before"_a, "last"_a, "n"_a, kLoneWithout);
});

}  // namespace shoal

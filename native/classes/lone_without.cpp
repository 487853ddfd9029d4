// Rows that are alone on all columns but one.
#include <algorithm>

#include "core/arrays.hpp"
#include "core/kernels.hpp"

namespace shoal {
namespace {

// Entries of sorted values that differ from both neighbours.
std::size_t lone(const std::vector<std::int64_t>& sorted) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    count += (i == 0 || sorted[i] != sorted[i - 1]) && (i + 1 == sorted.size() || sorted[i] != sorted[i + 1]);
  return count;
}

constexpr const char* kLoneWithout = R"(Number of rows that are alone once one digit is left out of their numbers.

Rows that agree on the digits before it lie side by side, and are few where these digits say much: only such rows are
put in order.

Parameters
----------
numbers
    Shape (n,); the rows' numbers, which ascend and are not negative.
worth
    What one step of the digit is worth in a number: how many combinations there are of the digits after it.
width
    How many values the digit may have.)";

std::size_t lone_without(const Longs& numbers, std::int64_t worth, std::int64_t width) {
  nb::gil_scoped_release unlocked;
  const std::int64_t* row = numbers.data();
  const std::int64_t* const end = row + numbers.shape(0);
  std::vector<std::int64_t> after;
  std::size_t count = 0;
  while (row < end) {
    const std::int64_t begin = *row - *row % (worth * width);
    const std::int64_t* const first = row;
    while (row < end && *row - begin < worth * width) ++row;
    if (row - first == 1) {
      ++count;
      continue;
    }
    after.assign(first, row);
    for (std::int64_t& number : after) number = (number - begin) % worth;
    std::sort(after.begin(), after.end());
    count += lone(after);
  }
  return count;
}

}  // namespace

static const Kernel lone_without_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("lone_without", &lone_without, "numbers"_a, "worth"_a, "width"_a, kLoneWithout);
});

}  // namespace shoal

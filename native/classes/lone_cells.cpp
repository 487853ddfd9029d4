// Records whose value no other record of their class has.
#include <algorithm>
#include <cstring>

#include "classes/column.hpp"
#include "core/kernels.hpp"

namespace shoal {
namespace {

// The bits by which a cell is compared: all NaNs are one value, and 0 and -0 differ.
std::uint64_t bits_of(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return value == value ? bits : kOneNan;
}
template <class T>
std::uint64_t bits_of(T value) {
  return static_cast<std::uint64_t>(value);
}

// Cells of one class lie side by side, then in order: one that differs from both neighbours is alone. The classes are
// small as a rule, so that nothing is hashed and nothing far away is read twice.
template <class T>
std::size_t lone(const std::int64_t* ids, std::vector<std::size_t> begin, const T* values, std::size_t n) {
  std::vector<std::uint64_t> cells(n);
  for (std::size_t i = 0; i < n; ++i) cells[begin[static_cast<std::size_t>(ids[i])]++] = bits_of(values[i]);
  std::size_t count = 0, from = 0;
  for (const std::size_t end : begin) {  // where a class began, it ends by now
    std::sort(cells.begin() + static_cast<std::ptrdiff_t>(from), cells.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t i = from; i < end; ++i)
      count += (i == from || cells[i] != cells[i - 1]) && (i + 1 == end || cells[i] != cells[i + 1]);
    from = end;
  }
  return count;
}

constexpr const char* kLoneCells = R"(Number of records whose value no other record of their class has.

Parameters
----------
ids
    Shape (n,); class of each record, counted from 0.
sizes
    Shape (C,); records in each class.
column
    Shape (n,); compared as `classes` does.)";

std::size_t lone_cells(const Longs& ids, const Longs& sizes, const Column& column) {
  nb::gil_scoped_release unlocked;
  std::vector<std::size_t> begin(sizes.shape(0), 0);
  for (std::size_t c = 1; c < begin.size(); ++c) begin[c] = begin[c - 1] + static_cast<std::size_t>(sizes.data()[c - 1]);
  return as_typed(column, [&](const auto* values) { return lone(ids.data(), std::move(begin), values, column.shape(0)); });
}

}  // namespace

static const Kernel lone_cells_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("lone_cells", &lone_cells, "ids"_a, "sizes"_a, "column"_a, kLoneCells);
});

}  // namespace shoal

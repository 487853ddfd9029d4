// Equivalence classes: which records agree on a set of columns, and the distinct values of one column.
#include <tuple>

#include "classes/rows.hpp"
#include "core/kernels.hpp"

namespace shoal {
namespace {

constexpr const char* kClasses = R"(Number records so that two have the same number exactly where all columns agree.

Parameters
----------
columns
    Each of shape (n,), of integers or floating-point numbers; 0 and -0 differ, all NaNs are one value. No columns make
    one class of all records.

Returns
-------
Shape (n,) and (C,); class of each record, counted from 0 in the order of the values, column after column (floating-point
ones in that of their bits where not all are whole), and the sizes of the classes.)";

auto classes(const std::vector<Column>& columns, std::size_t n) {
  std::vector<std::int64_t> ids;
  rows::Distinct result;
  {
    nb::gil_scoped_release unlocked;
    result = rows::number(rows::grouped(columns, n), n, &ids);
  }
  return std::make_pair(to_numpy(std::move(ids)), to_numpy(std::move(result.sizes)));
}

auto class_sizes(const std::vector<Column>& columns, std::size_t n) {
  rows::Distinct result;
  {
    nb::gil_scoped_release unlocked;
    result = rows::number<std::int64_t>(rows::grouped(columns, n), n, nullptr);
  }
  return to_numpy(std::move(result.sizes));
}

auto first_rows(const Longs& ids, std::size_t count) {
  std::vector<std::int64_t> first(count);
  for (std::size_t i = ids.shape(0); i-- > 0;) first[static_cast<std::size_t>(ids.data()[i])] = static_cast<std::int64_t>(i);
  return to_numpy(std::move(first));
}

void renumber(Input<std::int32_t, nb::ndim<1>> codes, const Ints& table) {
  std::int32_t* out = codes.data();
  for (std::size_t i = 0; i < codes.shape(0); ++i) out[i] = out[i] < 0 ? -1 : table.data()[out[i]];
}

constexpr const char* kDistinct = R"(Distinct values in ascending order, each record's place among them, and how often each occurs.

Parameters
----------
values
    Shape (n,).

Returns
-------
Shapes (C,), (n,) and (C,): what `np.unique(values, return_inverse=True, return_counts=True)` gives, in O(n + C log C).)";

auto distinct(const Longs& values) {
  const std::size_t n = values.shape(0);
  std::vector<std::int32_t> inverse;
  std::vector<std::int64_t> ascending_values;
  rows::Distinct result;
  {
    nb::gil_scoped_release unlocked;
    if (n) {
      const auto ends = std::minmax_element(values.data(), values.data() + n);
      const auto low = static_cast<rows::Key>(*ends.first), gap = static_cast<rows::Key>(*ends.second) - low;
      if (rows::width(gap) <= rows::kKeyBits) {
        rows::Group group;
        group.push_back(std::make_unique<rows::Whole<std::int64_t>>(values.data(), *ends.first, rows::width(gap)));
        result = rows::number(group, n, &inverse);
        for (const rows::Key key : result.keys) ascending_values.push_back(static_cast<std::int64_t>(key + low));
      } else {
        rows::Numbering numbering;
        for (std::size_t i = 0; i < n; ++i) inverse.push_back(numbering.number(static_cast<rows::Key>(values.data()[i])));
        auto ordered = rows::ascending(numbering, inverse, rows::as_signed);
        result = rows::counted(std::move(ordered), inverse);
        for (const rows::Key key : result.keys) ascending_values.push_back(static_cast<std::int64_t>(key));
      }
    }
  }
  return std::make_tuple(to_numpy(std::move(ascending_values)), to_numpy(std::move(inverse)), to_numpy(std::move(result.sizes)));
}

}  // namespace

static const Kernel classes_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("classes", &classes, "columns"_a, "n"_a, kClasses);
  m.def("class_sizes", &class_sizes, "columns"_a, "n"_a, "Sizes that `classes` gives, in half the time.");
  m.def("first_rows", &first_rows, "ids"_a, "count"_a,
        "Shape (count,); the row at which each of the numbers 0 to count - 1 first occurs in `ids`, which has them all.");
  m.def("renumber", &renumber, "codes"_a.noconvert(), "table"_a,
        "Replace each code, shape (n,), by the entry of `table` at it; -1 stays.");
  m.def("distinct", &distinct, "values"_a, kDistinct);
});

}  // namespace shoal

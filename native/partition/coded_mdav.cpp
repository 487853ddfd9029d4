// MDAV of records of which categories stand as codes: the partition of their points (see core/coded_table.hpp), without
// a coordinate for every category.
#include "core/coded_table.hpp"
#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "partition/mdav.hpp"
#include "search/coded_tree.hpp"

namespace shoal {
namespace {

constexpr const char* kCodedMdav = R"(Group records of numbers and categories as `mdav` groups their points.

No category needs a coordinate of its own.

Parameters
----------
x
    Shape (n, d), finite; numbers, and in columns of categories their codes, from 0.
categories
    Shape (d,); number of categories of each column, 0 for a column of numbers.
sides
    Shape (d,); a category's point has this in its own coordinate and 0 in those of the others. Not looked at for
    columns of numbers.
k, progress
    As for `mdav`.

Returns
-------
Shape (n,); the groups that `mdav` forms of the points, bit for bit.)";

Output<std::int32_t> coded_mdav(Matrix x, Longs categories, Vector sides, std::size_t k, Listener listener) {
  std::vector<std::int32_t> labels;
  Progress progress(listener);
  if (x.shape(0) > 0) {
    nb::gil_scoped_release unlock;
    const CodedTable table(x.data(), x.shape(0), x.shape(1), categories.data(), sides.data());
    std::vector<std::int32_t> rows(table.n);
    std::iota(rows.begin(), rows.end(), 0);
    CodedTree engine(table, rows, baseline_scans());
    labels = Mdav<CodedTable, CodedMean, CodedTree>(table, k, CodedMean(table), engine, progress).run();
  }
  return to_numpy(std::move(labels));
}

const Kernel kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("coded_mdav", &coded_mdav, "x"_a, "categories"_a, "sides"_a, "k"_a, nb::kw_only(), "progress"_a.none() = nb::none(),
        kCodedMdav);
});

}  // namespace
}  // namespace shoal

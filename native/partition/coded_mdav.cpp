// MDAV of records of which categories stand as codes: the partition of their points (see core/coded_table.hpp), without
// a coordinate for every category.
#include "core/coded_table.hpp"
#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "partition/mdav.hpp"
#include "search/coded_tree.hpp"

namespace shoal {
namespace {

nb::ndarray<nb::numpy, std::int32_t> coded_mdav(Matrix x, Longs categories, Vector sides, std::size_t k,
                                                nb::object callback) {
  std::vector<std::int32_t> labels;
  Progress progress(callback);
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
  m.def("coded_mdav", &coded_mdav, nb::arg("x"), nb::arg("categories"), nb::arg("sides"), nb::arg("k"),
        nb::arg("progress").none());
});

}  // namespace
}  // namespace shoal

// The m nearest others of every record, exactly, by a tree of boxes; ties go to the lowest rows.
#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "search/tree.hpp"

namespace shoal {
namespace {

auto neighbours(Matrix x, std::int64_t m, nb::object callback) {
  Progress progress(callback);
  const std::size_t n = x.shape(0), width = static_cast<std::size_t>(m);
  std::vector<std::int32_t> who;
  std::vector<double> square;
  {
    nb::gil_scoped_release free_lock;
    const Table table(x.data(), n, x.shape(1));
    std::vector<std::int32_t> rows(n);
    std::iota(rows.begin(), rows.end(), 0);
    Tree tree(table, rows, scans(true));
    std::vector<Neighbour> nearest;
    who.reserve(n * width);
    square.reserve(n * width);
    for (const std::int32_t row : rows) {
      if ((row & 15) == 0) progress.tick(static_cast<double>(row) / static_cast<double>(n));
      tree.nearest(table.row(static_cast<std::size_t>(row)), row, width + 1, nearest);  // the record itself is first
      for (std::size_t r = 1; r <= width; ++r) {
        who.push_back(nearest[r].row);
        square.push_back(table.in_units(nearest[r].d2));
      }
    }
  }
  return nb::make_tuple(to_numpy(std::move(who), {n, width}), to_numpy(std::move(square), {n, width}));
}

const Kernel kernel([](nb::module_& m) {
  m.def("neighbours", &neighbours, nb::arg("x"), nb::arg("m"), nb::arg("progress").none());
});

}  // namespace
}  // namespace shoal

// The m nearest others of every record, exactly, by a tree of boxes.
//
// (Among records at equal distance it is left open which are listed; their distances are exact either way, and heavy
// ties cost no time.)
#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "partition/groups.hpp"
#include "search/box_tree.hpp"

namespace shoal {
namespace {

using Found = std::vector<std::pair<double, Record>>;

// The nearest others of the record at a place of the tree, into `found` (room for m + 1), nearest first.
void search(BoxTree& tree, const Cloud& cloud, std::size_t at, std::size_t m, Found& found) {
  found.clear();
  double limit = std::numeric_limits<double>::infinity();
  tree.search(cloud.row(tree.order()[at]), at, limit, [&](std::size_t place, double square) {
    if (place == at) return;
    if (found.size() == m) found.pop_back();
    const std::pair<double, Record> entry(square, tree.order()[place]);
    found.insert(std::upper_bound(found.begin(), found.end(), entry), entry);
    if (found.size() == m) limit = found.back().first;
  });
}

auto neighbours(Matrix x, std::int64_t m, nb::object callback) {
  Progress progress(callback);
  const std::size_t n = x.shape(0), width = static_cast<std::size_t>(m);
  std::vector<std::int32_t> who(n * width);
  std::vector<double> square(n * width);
  {
    nb::gil_scoped_release free_lock;
    const Cloud cloud(x.data(), nullptr, n, x.shape(1));
    BoxTree tree(cloud.row(0), n, x.shape(1), cloud.width());
    Found found;
    found.reserve(width + 1);
    for (std::size_t at = 0; at < n; ++at) {
      if ((at & 15) == 0) progress.tick(static_cast<double>(at) / static_cast<double>(n));
      search(tree, cloud, at, width, found);
      const std::size_t base = static_cast<std::size_t>(tree.order()[at]) * width;
      for (std::size_t r = 0; r < width; ++r) {
        square[base + r] = cloud.in_units(found[r].first);
        who[base + r] = found[r].second;
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

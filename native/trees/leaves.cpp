// Where the cases of a table come to lie in trees that are grown (grow.cpp).
#include <cmath>

#include "core/kernels.hpp"

namespace shoal {
namespace {

// The leaf of every case of a table (d, m) with the features that the tree was grown on.
auto leaves(Ints feature, Vector threshold, Bytes missing_left, Ints mask, Ints left, Ints right, Ints leaf, Bytes masks,
            Matrix x) {
  const std::size_t n = x.shape(1);
  std::vector<std::int32_t> leaf_of(n);
  {
    nb::gil_scoped_release free_lock;
    const auto *f = feature.data(), *m = mask.data(), *l = left.data(), *r = right.data(), *end = leaf.data();
    for (std::size_t i = 0; i < n; ++i) {
      std::int32_t node = 0;
      while (end[node] < 0) {
        const double value = x.data()[static_cast<std::size_t>(f[node]) * n + i];
        const bool to_left = m[node] >= 0          ? masks.data()[m[node] + static_cast<std::int32_t>(value)]
                             : std::isnan(value) ? missing_left.data()[node]
                                                 : value <= threshold.data()[node];
        node = to_left ? l[node] : r[node];
      }
      leaf_of[i] = end[node];
    }
  }
  return to_numpy(std::move(leaf_of));
}

const Kernel leaves_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("tree_leaves", &leaves, "feature"_a, "threshold"_a, "missing_left"_a, "mask"_a, "left"_a, "right"_a, "leaf"_a,
        "masks"_a, "x"_a, "Shape (m,); the leaf of every case of a table (d, m) in a tree of these nodes.");
});

}  // namespace
}  // namespace shoal

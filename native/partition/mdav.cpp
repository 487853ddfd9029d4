// MDAV of points: which search looks, and the kernel's face.
#include "core/exact_sum.hpp"
#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "partition/mdav.hpp"
#include "search/brute.hpp"
#include "search/tree.hpp"
#include <nanobind/stl/string.h>
#include <numeric>
#include <string>

namespace shoal {
namespace {

template <class Engine>
std::vector<std::int32_t> partition(const Table& table, std::size_t k, bool simd, Progress& progress) {
  std::vector<std::int32_t> rows(table.n);
  std::iota(rows.begin(), rows.end(), 0);
  Engine engine(table, rows, scans(simd));
  const ExactMean mean(table.values.data(), table.n, table.d);
  return Mdav<Table, ExactMean, Engine>(table, k, mean, engine, progress).run();
}

// Where the exhaustive search is expected to be faster. It costs n^2 d / k and the tree little but its
// construction, n log n; the constant is read off `bench/mdav.py --crossover`.
constexpr double kCrossover = 150.0;

bool small(const Table& table, std::size_t k) {
  return static_cast<double>(table.n) < kCrossover * static_cast<double>(k) * std::sqrt(static_cast<double>(table.d));
}

nb::ndarray<nb::numpy, std::int32_t> mdav(Matrix x, std::size_t k, const std::string& engine, bool simd,
                                          nb::object callback) {
  std::vector<std::int32_t> labels;
  Progress progress(callback);
  {
    nb::gil_scoped_release unlock;
    const Table table(x.data(), x.shape(0), x.shape(1));
    const bool brute = engine == "brute" || (engine == "auto" && small(table, k));
    labels = brute ? partition<Brute>(table, k, simd, progress) : partition<Tree>(table, k, simd, progress);
  }
  return to_numpy(std::move(labels));
}

const Kernel kernel([](nb::module_& m) {
  m.def("mdav", &mdav, nb::arg("x"), nb::arg("k"), nb::arg("engine"), nb::arg("simd"), nb::arg("progress").none());
});

}  // namespace
}  // namespace shoal

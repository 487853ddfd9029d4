// MDAV of points: which search looks, and the kernel's face.
#include "core/exact_sum.hpp"
#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "core/words.hpp"
#include "partition/mdav.hpp"
#include "search/brute.hpp"
#include "search/tree.hpp"
#include <numeric>

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

constexpr const char* kMdav = R"(Group records by MDAV; every group has k to 2k - 1 members (one group if there are fewer than 2k records).

Parameters
----------
x
    Shape (n, d), finite, standardised.
k
    Smallest group size, at least 1.
engine
    "brute" looks at every record at every step, "tree" prunes by bounds; "auto" takes the faster one. The partition is
    the same.
simd
    Use the processor's vector unit where it has one. The partition is the same.
progress
    Called now and then with the fraction of the records that are grouped.

Returns
-------
Shape (n,); group number of each record, counted from 0 in the order the groups were formed.

Notes
-----
Domingo-Ferrer & Torra (2005), MDAV-generic. Distances are float64 sums over the columns in order; the mean is exact,
rounded once; among equals the lowest row is taken; the record a group is built around belongs to it even if others
have the same values.)";

Output<std::int32_t> mdav(Matrix x, std::size_t k, Word<SearchEngine> engine, bool simd, Listener listener) {
  std::vector<std::int32_t> labels;
  Progress progress(listener);
  {
    nb::gil_scoped_release unlock;
    const Table table(x.data(), x.shape(0), x.shape(1));
    labels = exhaustive(engine, small(table, k)) ? partition<Brute>(table, k, simd, progress) : partition<Tree>(table, k, simd, progress);
  }
  return to_numpy(std::move(labels));
}

const Kernel kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("mdav", &mdav, "x"_a, "k"_a, nb::kw_only(), "engine"_a = "auto", "simd"_a = true, "progress"_a.none() = nb::none(),
        kMdav);
});

}  // namespace
}  // namespace shoal

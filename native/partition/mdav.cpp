// MDAV of points: which search looks, and the kernel's face.
#include "core/progress.hpp"
#include "core/words.hpp"
#include "partition/mdav.hpp"
#include "search/brute.hpp"
#include "search/coded_points.hpp"

namespace shoal {
namespace {

template <class Engine, class Points>
std::vector<std::int32_t> partition(const Points& table, std::size_t k, bool simd, Progress& progress) {
  Engine engine(table, all_rows(table.n), scans_for(table, simd));
  return Mdav<Points, MeanOf<Points>, Engine>(table, k, mean_of(table), engine, progress).run();
}

// Where the exhaustive search is expected to be faster. It costs n^2 d / k and the tree little but its
// construction, n log n; the constant is read off `bench/mdav.py --crossover`.
constexpr double kCrossover = 150.0;

bool small(const Matrix& x, std::size_t k) {
  return static_cast<double>(x.shape(0)) < kCrossover * static_cast<double>(k) * std::sqrt(std::max(static_cast<double>(x.shape(1)), 1.0));
}

constexpr const char* kMdav = R"(Group records by MDAV; every group has k to 2k - 1 members (one group if there are fewer than 2k records).

Parameters
----------
x
    Shape (n, d), finite, standardised.
k
    Smallest group size, at least 1.
coding
    None: all columns of `x` are coordinates. Or shapes (d,) and (d,): the number of categories of each column that holds
    codes from 0, and 0 for a column of coordinates; and the side of each column of codes, whose categories are points
    with that in their own coordinate and 0 in those of the others. The groups are those of the points, bit for bit, but
    no category needs a coordinate.
engine
    "brute" looks at every record at every step, "tree" prunes by bounds; "auto" takes the faster one. The partition is
    the same. Codes are searched by a tree.
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

Output<std::int32_t> mdav(Matrix x, std::size_t k, Coding coding, Word<SearchEngine> engine, bool simd, Listener listener) {
  std::vector<std::int32_t> labels;
  Progress progress(listener);
  {
    nb::gil_scoped_release unlock;
    if (!coding && exhaustive(engine, small(x, k)))
      labels = partition<Brute>(Table(x.data(), x.shape(0), x.shape(1)), k, simd, progress);
    else
      with_points(x, coding, [&](const auto& table) {
        labels = partition<EngineOf<decltype(table)>>(table, k, simd, progress);
      });
  }
  return to_numpy(std::move(labels));
}

const Kernel mdav_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("mdav", &mdav, "x"_a, "k"_a, nb::kw_only(), "coding"_a.none() = nb::none(), "engine"_a = "auto", "simd"_a = true, "progress"_a.none() = nb::none(),
        kMdav);
});

}  // namespace
}  // namespace shoal

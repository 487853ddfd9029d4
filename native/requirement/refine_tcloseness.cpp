// Partitions made better, or brought under a requirement, by requirement_refiner.hpp.
#include "requirement/requirement_refiner.hpp"
#include "search/coded_points.hpp"

namespace shoal {
namespace {

struct RequirementRefinement {
  Output<std::int32_t> labels;
  bool satisfied;
  std::int64_t moves;
};

Cloud cloud_of(const Matrix& x, const Coding& coding) {
  const std::int64_t* const sizes = coding ? coding->first.data() : nullptr;
  return {x.data(), x.shape(0), x.shape(1), sizes, coding ? coding->second.data() : nullptr};
}

constexpr const char* kRefine = R"(Lower the within-group sum of squares, keeping groups of `k` or more and ending without excess.

Parameters
----------
x
    Shape (n, d), finite.
check
    What every group must satisfy, as for `merge_groups`.
labels
    Shape (n,); the partition to start from, every group of `k` or more; it may have an excess.
near
    Shape (n, m), m >= 1; candidates (`shoal.kernels.search.neighbours.candidates`).
seed
    Of the proposals.
moves
    Proposals to make.
coding
    As for `mdav`, but distances of centroids are rounded otherwise, which may decide among equal ones.)";

auto refine_tcloseness(Matrix x, const Check& required, Ints labels, IntMatrix near, std::size_t k, std::uint64_t seed,
                       std::int64_t moves, Coding coding, Listener listener) {
  Progress progress(listener);
  std::vector<std::int32_t> out(labels.data(), labels.data() + labels.shape(0));
  bool satisfied = false;
  std::int64_t made = 0;
  {
    nb::gil_scoped_release unlocked;
    const Cloud cloud = cloud_of(x, coding);
    Groups groups(cloud, out);
    RequirementCheck check(required);
    RequirementRefiner refiner(cloud, groups, check, {near.data(), near.shape(1)}, k, seed);
    satisfied = std::isfinite(refiner.search(moves, progress));
    made = refiner.made();
    out = groups.labels();
  }
  return RequirementRefinement{to_numpy(std::move(out)), satisfied, made};
}

constexpr const char* kRepair = R"(Exchange records between groups, sizes unchanged, until no group has an excess or no exchange helps.

Parameters
----------
x, check, labels
    As for `refine_tcloseness`.
near
    Shape (n, m), m >= 1; candidates that are tried first (`shoal.kernels.search.neighbours.candidates`).
coding
    As for `mdav`, but distances of centroids are rounded otherwise, which may decide among equal ones.

Returns
-------
Group of each record, shape (n,), and the number of exchanges.)";

auto repair_tcloseness(Matrix x, const Check& required, Ints labels, IntMatrix near, Listener listener, Coding coding) {
  Progress progress(listener);
  std::vector<std::int32_t> out(labels.data(), labels.data() + labels.shape(0));
  std::int64_t swaps = 0;
  {
    nb::gil_scoped_release unlocked;
    const Cloud cloud = cloud_of(x, coding);
    Groups groups(cloud, out);
    RequirementCheck check(required);
    RequirementRefiner refiner(cloud, groups, check, {near.data(), near.shape(1)}, 1, 0);
    swaps = refiner.repair(progress);
    out = groups.labels();
  }
  return std::make_pair(to_numpy(std::move(out)), swaps);
}

}  // namespace

static const Kernel refine_tcloseness_kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<RequirementRefinement>(m, "RequirementRefinement", "Outcome of `refine_tcloseness`.")
      .def_ro("labels", &RequirementRefinement::labels,
              "Shape (n,); group numbers, with gaps. The start where nothing without excess was met.")
      .def_ro("satisfied", &RequirementRefinement::satisfied, "True if a partition without excess was met.")
      .def_ro("moves", &RequirementRefinement::moves, "Proposals made.");
  m.def("refine_tcloseness", &refine_tcloseness, "x"_a, "check"_a, "labels"_a, "near"_a, "k"_a, nb::kw_only(), "seed"_a,
        "moves"_a, "coding"_a.none() = nb::none(), "progress"_a.none() = nb::none(), kRefine);
  m.def("repair_tcloseness", &repair_tcloseness, "x"_a, "check"_a, "labels"_a, "near"_a, "progress"_a.none() = nb::none(),
        nb::kw_only(), "coding"_a.none() = nb::none(), kRepair);
});

}  // namespace shoal

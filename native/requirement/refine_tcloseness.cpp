// Partitions made better, or brought under a requirement, by requirement_refiner.hpp.
#include <tuple>

#include "requirement/requirement_refiner.hpp"

namespace shoal {
namespace {

auto refine_tcloseness(Matrix x, IntMatrix bins, Requirements requirements, Ints labels, IntMatrix near, std::size_t k,
                       std::int64_t moves, std::uint64_t seed, nb::object callback) {
  Progress progress(callback);
  std::vector<std::int32_t> out(labels.data(), labels.data() + labels.shape(0));
  bool satisfied = false;
  std::int64_t made = 0;
  {
    nb::gil_scoped_release unlocked;
    const Cloud cloud(x.data(), nullptr, x.shape(0), x.shape(1));
    Groups groups(cloud, out);
    RequirementCheck check(bins, std::move(requirements));
    RequirementRefiner refiner(cloud, groups, check, {near.data(), near.shape(1)}, k, seed);
    satisfied = std::isfinite(refiner.search(moves, progress));
    made = refiner.made();
    out = groups.labels();
  }
  return std::make_tuple(to_numpy(std::move(out)), satisfied, made);
}

auto repair_tcloseness(Matrix x, IntMatrix bins, Requirements requirements, Ints labels, IntMatrix near, nb::object callback) {
  Progress progress(callback);
  std::vector<std::int32_t> out(labels.data(), labels.data() + labels.shape(0));
  std::int64_t swaps = 0;
  {
    nb::gil_scoped_release unlocked;
    const Cloud cloud(x.data(), nullptr, x.shape(0), x.shape(1));
    Groups groups(cloud, out);
    RequirementCheck check(bins, std::move(requirements));
    RequirementRefiner refiner(cloud, groups, check, {near.data(), near.shape(1)}, 1, 0);
    swaps = refiner.repair(progress);
    out = groups.labels();
  }
  return std::make_pair(to_numpy(std::move(out)), swaps);
}

}  // namespace

static const Kernel kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("refine_tcloseness", &refine_tcloseness, "x"_a, "bins"_a, "requirements"_a, "labels"_a, "near"_a, "k"_a,
        "moves"_a, "seed"_a, "progress"_a.none());
  m.def("repair_tcloseness", &repair_tcloseness, "x"_a, "bins"_a, "requirements"_a, "labels"_a, "near"_a,
        "progress"_a.none());
});

}  // namespace shoal

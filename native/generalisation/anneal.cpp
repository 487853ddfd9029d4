// Refinement of a local recoding (annealing.hpp): the kernel's face.
#include "generalisation/annealing.hpp"

namespace shoal {
namespace {

constexpr const char* kAnneal = R"(Classes that lose no more than those given, every one of `k` or more and without excess; shape (n,).

Parameters
----------
labels
    Shape (n,); the classes to start from, which satisfy the requirement; -1 for suppressed records.
suppressed
    Shape (m,); what a suppressed record of each combination loses.
most
    Records that may be suppressed.
proposals
    Changes to propose; the result depends on the arguments only.)";

auto anneal(const RecodingTable& table, std::size_t k, const Check& required, Ints labels, Vector suppressed,
            std::int64_t most, std::int64_t proposals, std::uint64_t seed, Listener listener) {
  Progress progress(listener);
  const RequirementCheck check(required);
  std::vector<std::int32_t> out(labels.data(), labels.data() + labels.shape(0));
  {
    nb::gil_scoped_release unlocked;
    Classing classing(table.hierarchies, table.combinations);
    const NearRows near(classing, near_nodes(table.hierarchies, table.covering, out), table.combinations.m);
    Annealing annealing(table.covering, near, out, table.combinations.m, k, check, suppressed.data(), most, seed);
    const double before = annealing.total();
    annealing.run(proposals, progress);
    if (annealing.total() <= before) out = std::move(annealing).labels();
  }
  return to_numpy(std::move(out));
}

}  // namespace

static const Kernel anneal_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("anneal", &anneal, "table"_a, "k"_a, "check"_a, "labels"_a, nb::kw_only(), "suppressed"_a, "most"_a, "proposals"_a,
        "seed"_a, "progress"_a.none() = nb::none(), kAnneal);
});

}  // namespace shoal

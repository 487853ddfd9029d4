// Local suppression when a missing cell matches every value: the kernel's face (see cover.hpp).
#include "core/kernels.hpp"
#include "suppression/cover.hpp"

namespace shoal {
namespace {

struct Suppressed {
  Output<std::int64_t> rows, blanks;
  bool served;
  double first, last;
};

constexpr const char* kSuppress = R"(Cells to blank, at little cost, so that each record is compatible with k when missing matches everything.

Parameters
----------
codes, counts
    As in `wildcard_counts`.
base
    Shape (n,); what `wildcard_counts` gives for them.
cost
    Shape (q,); cost of a cell by column, infinite where none may be blanked.
allowance
    Shape (q,); how many cells of each column may be blanked.
sacrifice
    Whether a record may lose cells that others need and it does not.
work
    How long to refine, in rows touched.
seed
    Of the refinement.)";

Suppressed suppress(IntMatrix codes, Longs counts, Longs base, std::int64_t k, Vector cost, Longs allowance, bool sacrifice,
                    double work, std::uint64_t seed, Listener listener) {
  Progress progress(listener);
  std::vector<std::int64_t> rows, blanks;
  bool served = false;
  double first = 0, last = 0;
  {
    nb::gil_scoped_release release;
    const KeySpace space(codes.data(), codes.shape(0), codes.shape(1));
    const Problem problem{space, counts.data(), base.data(), k, cost.data(), allowance.data(), sacrifice};
    const Cells cells(problem, progress);
    Cover cover(problem, cells, seed, progress);
    served = cover.solve(work);
    first = cover.first_total();
    last = cover.total();
    for (const Operation& o : cover.operations()) {
      rows.push_back(o.row);
      blanks.push_back(static_cast<std::int64_t>(cover.blank(o.cell) & ~space.missing(o.row)));
    }
  }
  return {to_numpy(std::move(rows)), to_numpy(std::move(blanks)), served, first, last};
}

}  // namespace

static const Kernel suppress_kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Suppressed>(m, "Suppressed", "What to blank.")
      .def_ro("rows", &Suppressed::rows, "Shape (m,); for each record that loses cells the row it belongs to.")
      .def_ro("blanks", &Suppressed::blanks, "Shape (m,); the set of columns that it loses, as bits.")
      .def_ro("served", &Suppressed::served, "True if every row reaches k.")
      .def_ro("first", &Suppressed::first, "Cost of the greedy solution.")
      .def_ro("last", &Suppressed::last, "Cost of the refined solution.");
  m.def("suppress", &suppress, "codes"_a, "counts"_a, "base"_a, "k"_a, "cost"_a, nb::kw_only(), "allowance"_a,
        "sacrifice"_a, "work"_a, "seed"_a, "progress"_a.none() = nb::none(), kSuppress);
});

}  // namespace shoal

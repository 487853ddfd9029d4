// Entry points for distributions and requirements (emd.hpp, requirement.hpp), and the distances of all
// groups of a table at once.
#include <algorithm>
#include <memory>
#include <numeric>

#include "core/kernels.hpp"
#include "core/words.hpp"
#include "requirement/requirement.hpp"

namespace shoal {

template <> struct Words<Diverse::Kind> {
  static constexpr auto name = nb::detail::const_name("Kind");
  static constexpr const char* words[] = {"distinct", "entropy", "recursive"};
};

namespace {

constexpr const char* kDistances = R"(Distance of every group's values from the table's.

Parameters
----------
bins
    Shape (n,); bin of each record, 0 to m - 1, or -1 for a missing value.
groups
    Shape (n,); group of each record, 0 to count - 1.

Returns
-------
Shape (count,); 0 to 1.

Notes
-----
O(n + m + count): Li, Li & Venkatasubramanian (2007), section 5, with a group's cost proportional to its size. Ordered
and tree distances are exact in whole numbers and rounded once.)";

Output<double> distances(const Distribution& table, Ints bins, Longs groups, std::int64_t m, std::int64_t count) {
  std::vector<double> out(static_cast<std::size_t>(count), 0.0);
  {
    nb::gil_scoped_release unlocked;
    const Sorted sorted(bins.data(), groups.data(), bins.shape(0), static_cast<std::size_t>(m), out.size());
    for (std::size_t g = 0; g < out.size(); ++g)
      if (sorted.size(g) > 0) out[g] = table.distance(sorted.bins(g), sorted.size(g));
  }
  return to_numpy(std::move(out));
}

// One set of records with the bins that occur in it, numbered anew.
class Part {
 public:
  // Without levels in `nodes` bins lie on a line, else they are leaves of a tree.
  Part(const Bin* sorted, std::size_t size, const IntMatrix& nodes, std::vector<Bin>& local) : local_(local) {
    const std::size_t m = local.size();
    for (std::size_t i = 0; i < size; ++i) {
      if (sorted[i] < 0) {
        ++missing_;
      } else if (places_.empty() || places_.back() != sorted[i]) {
        local_[static_cast<std::size_t>(sorted[i])] = static_cast<Bin>(places_.size());
        places_.push_back(sorted[i]);
        counts_.push_back(1);
      } else {
        ++counts_.back();
      }
    }
    if (nodes.shape(0) == 0) {
      table_ = std::make_unique<Ordered>(counts_.data(), places_.data(), places_.size(), missing_, static_cast<std::int64_t>(m) - 1);
    } else {
      std::vector<Bin> above;
      for (std::size_t l = 0; l < nodes.shape(0); ++l)
        for (const std::int64_t place : places_) above.push_back(nodes.data()[l * m + static_cast<std::size_t>(place)]);
      table_ = std::make_unique<Taxonomy>(counts_.data(), above.data(), places_.size(), nodes.shape(0));
    }
  }

  double distance(const Bin* sorted, std::size_t c) {
    renamed_.clear();
    for (std::size_t i = 0; i < c; ++i)
      renamed_.push_back(sorted[i] < 0 ? sorted[i] : local_[static_cast<std::size_t>(sorted[i])]);
    return table_->distance(renamed_.data(), c);
  }

 private:
  std::vector<Bin>& local_;
  std::vector<Bin> renamed_;
  std::vector<std::int64_t> places_, counts_;
  std::int64_t missing_ = 0;
  std::unique_ptr<Distribution> table_;
};

constexpr const char* kDistancesWithin = R"(Distance of every group from the set of records that it is a part of.

Parameters
----------
bins, groups
    As for `distances`.
inside
    Shape (count,); set of each group, 0 to sets - 1.
nodes
    Shape (height, m) as for `Taxonomy`; height 0 for m ordered bins.

Returns
-------
Shape (count,). Bins are as far apart as in the whole table, whichever of them the set holds.)";

Output<double> distances_within(Ints bins, Longs groups, Longs inside, IntMatrix nodes, std::int64_t sets) {
  const std::size_t count = inside.shape(0), n = bins.shape(0), m = nodes.shape(1);
  std::vector<double> out(count, 0.0);
  {
    nb::gil_scoped_release unlocked;
    const Sorted sorted(bins.data(), groups.data(), n, m, count);
    std::vector<std::int64_t> set_of(n);
    for (std::size_t i = 0; i < n; ++i) set_of[i] = inside.data()[groups.data()[i]];
    const Sorted members(bins.data(), set_of.data(), n, m, static_cast<std::size_t>(sets));
    std::vector<std::vector<std::size_t>> parts(static_cast<std::size_t>(sets));
    for (std::size_t g = 0; g < count; ++g) parts[static_cast<std::size_t>(inside.data()[g])].push_back(g);
    std::vector<Bin> local(m, 0);
    for (std::size_t s = 0; s < parts.size(); ++s) {
      Part part(members.bins(s), members.size(s), nodes, local);
      for (const std::size_t g : parts[s]) out[g] = part.distance(sorted.bins(g), sorted.size(g));
    }
  }
  return to_numpy(std::move(out));
}

Output<double> excesses(const Requirement& requirement, Ints bins, Longs groups, std::int64_t m, std::int64_t count) {
  std::vector<double> out(static_cast<std::size_t>(count), 0.0);
  {
    nb::gil_scoped_release unlocked;
    const Sorted sorted(bins.data(), groups.data(), bins.shape(0), static_cast<std::size_t>(m), out.size());
    for (std::size_t g = 0; g < out.size(); ++g)
      if (sorted.size(g) > 0) out[g] = requirement.excess(sorted.bins(g), sorted.size(g));
  }
  return to_numpy(std::move(out));
}

// The second distance is computed from the first: refinement relies on that.
std::pair<double, double> swap_distances(const Distribution& table, Ints sorted, std::int64_t out, std::int32_t in) {
  const std::size_t c = sorted.shape(0);
  const Wide before = table.cost(sorted.data(), c);
  const Wide after = table.cost_after_swap(sorted.data(), c, before, static_cast<std::size_t>(out), in);
  return {table.distance(before, c), table.distance(after, c)};
}

constexpr const char* kOrdered = R"(Distribution of m ordered bins; neighbouring bins are 1 / (m - 1) apart.

Parameters
----------
counts
    Shape (m,); records in each bin.
missing
    Records without a value. A missing value is at distance 1 from every value.)";

constexpr const char* kTaxonomy = R"(Distribution of the m leaves of a tree.

Leaves are level of nearest common ancestor / height apart.

Parameters
----------
counts
    Shape (m,).
nodes
    Shape (height, m); number of the node above each leaf at level 1, 2, ... up to the root. Every node owns
    neighbouring leaves.)";

void add_distributions(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Distribution>(m, "Distribution", "A distribution of one column.");
  nb::class_<Ordered, Distribution>(m, "Ordered", kOrdered)
      .def("__init__", [](Ordered* self, Longs counts, std::int64_t missing) {
        std::vector<std::int64_t> places(counts.shape(0));
        std::iota(places.begin(), places.end(), 0);
        const auto last = static_cast<std::int64_t>(places.size()) - 1;
        new (self) Ordered(counts.data(), places.data(), places.size(), missing, std::max<std::int64_t>(last, 0));
      }, "counts"_a, "missing"_a = 0);
  nb::class_<Spread, Distribution>(m, "Spread", "As `Ordered`, but over one place for each record: a tied value's mass is "
                                                "spread over its places.")
      .def("__init__", [](Spread* self, Longs counts, std::int64_t missing) {
        new (self) Spread(counts.data(), counts.shape(0), missing);
      }, "counts"_a, "missing"_a = 0);
  nb::class_<Taxonomy, Distribution>(m, "Taxonomy", kTaxonomy)
      .def("__init__", [](Taxonomy* self, Longs counts, IntMatrix nodes) {
        new (self) Taxonomy(counts.data(), nodes.data(), nodes.shape(1), nodes.shape(0));
      }, "counts"_a, "nodes"_a);
}

void add_requirements(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Requirement>(m, "Requirement", "What groups must satisfy in one column.")
      .def("least", &Requirement::least, "size"_a, "An excess that no group of so many records is below.");
  nb::class_<Close, Requirement>(m, "Close", "A group's distance from the table is at most t.")
      .def(nb::init<const Distribution&, double>(), "table"_a, "t"_a, nb::keep_alive<1, 2>());
  nb::class_<Diverse, Requirement>(m, "Diverse", "l-diversity of a kind; c is that of recursive (c, l)-diversity.")
      .def("__init__", [](Diverse* self, Word<Diverse::Kind> kind, double l, double c) { new (self) Diverse(kind, l, c); },
           "kind"_a, "l"_a, "c"_a = 1.0);
  nb::class_<Alike, Requirement>(m, "Alike", "beta-likeness to a column with `counts` records in each of its m bins.")
      .def("__init__", [](Alike* self, Longs counts, double beta, bool enhanced) {
        new (self) Alike(counts.data(), counts.shape(0), beta, enhanced);
      }, "counts"_a, "beta"_a, "enhanced"_a);
  nb::class_<Undisclosed, Requirement>(m, "Undisclosed", "delta-disclosure privacy in a column with `counts` records in each "
                                                         "of its m bins.")
      .def("__init__", [](Undisclosed* self, Longs counts, double delta) {
        new (self) Undisclosed(counts.data(), counts.shape(0), delta);
      }, "counts"_a, "delta"_a);
}

}  // namespace

static const Kernel emd_kernel([](nb::module_& m) {
  using namespace nb::literals;
  add_distributions(m);
  add_requirements(m);
  m.def("distances", &distances, "table"_a, "bins"_a, "groups"_a, "m"_a, "count"_a, kDistances);
  m.def("distances_within", &distances_within, "bins"_a, "groups"_a, "inside"_a, "nodes"_a, "sets"_a, kDistancesWithin);
  m.def("excesses", &excesses, "requirement"_a, "bins"_a, "groups"_a, "m"_a, "count"_a,
        "By how much every group exceeds a requirement; shape (count,), at most 0 where it is satisfied.");
  m.def("swap_distances", &swap_distances, "table"_a, "bins"_a, "out"_a, "into"_a,
        "Distance of one group, whose bins (c,) ascend, before and after its member number `out` gives way to a record in "
        "bin `into`.");
});

}  // namespace shoal

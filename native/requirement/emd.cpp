// Entry points for distributions and requirements (emd.hpp, requirement.hpp), and the distances of all
// groups of a table at once.
#include <memory>

#include "core/kernels.hpp"
#include "requirement/requirement.hpp"

namespace shoal {
namespace {

// Distance of every group's values from `table`; records in any order.
nb::ndarray<nb::numpy, double> distances(const Distribution& table, Ints bins, Longs groups, std::int64_t m,
                                         std::int64_t count) {
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

// Distance of every group from the set of records it lies in: inside[g] is the set of group g.
nb::ndarray<nb::numpy, double> distances_within(Ints bins, Longs groups, Longs inside, IntMatrix nodes,
                                                std::int64_t sets) {
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

// Excess of every group over a requirement.
nb::ndarray<nb::numpy, double> excesses(const Requirement& requirement, Ints bins, Longs groups, std::int64_t m,
                                        std::int64_t count) {
  std::vector<double> out(static_cast<std::size_t>(count), 0.0);
  {
    nb::gil_scoped_release unlocked;
    const Sorted sorted(bins.data(), groups.data(), bins.shape(0), static_cast<std::size_t>(m), out.size());
    for (std::size_t g = 0; g < out.size(); ++g)
      if (sorted.size(g) > 0) out[g] = requirement.excess(sorted.bins(g), sorted.size(g));
  }
  return to_numpy(std::move(out));
}

// Distance of one group before and after a swap, the second from the first: what refinement relies on.
std::pair<double, double> swap_distances(const Distribution& table, Ints sorted, std::int64_t out, std::int32_t in) {
  const std::size_t c = sorted.shape(0);
  const Wide before = table.cost(sorted.data(), c);
  const Wide after = table.cost_after_swap(sorted.data(), c, before, static_cast<std::size_t>(out), in);
  return {table.distance(before, c), table.distance(after, c)};
}

}  // namespace

static const Kernel kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Distribution>(m, "Distribution");
  nb::class_<Ordered, Distribution>(m, "Ordered")
      .def("__init__", [](Ordered* self, Longs count, Longs place, std::int64_t missing, std::int64_t range) {
        new (self) Ordered(count.data(), place.data(), count.shape(0), missing, range);
      });
  nb::class_<Spread, Distribution>(m, "Spread").def("__init__", [](Spread* self, Longs count, std::int64_t missing) {
    new (self) Spread(count.data(), count.shape(0), missing);
  });
  nb::class_<Taxonomy, Distribution>(m, "Taxonomy").def("__init__", [](Taxonomy* self, Longs count, IntMatrix node) {
    new (self) Taxonomy(count.data(), node.data(), node.shape(1), node.shape(0));
  });
  nb::class_<Requirement>(m, "Requirement");
  nb::class_<Close, Requirement>(m, "Close").def(nb::init<const Distribution&, double>(), nb::keep_alive<1, 2>());
  nb::class_<Diverse, Requirement>(m, "Diverse").def(nb::init<int, double, double>());
  nb::class_<Alike, Requirement>(m, "Alike").def("__init__", [](Alike* self, Longs counts, double beta, bool enhanced) {
    new (self) Alike(counts.data(), counts.shape(0), beta, enhanced);
  });
  nb::class_<Undisclosed, Requirement>(m, "Undisclosed").def("__init__", [](Undisclosed* self, Longs counts, double delta) {
    new (self) Undisclosed(counts.data(), counts.shape(0), delta);
  });
  m.def("distances", &distances, "table"_a, "bins"_a, "groups"_a, "m"_a, "count"_a);
  m.def("distances_within", &distances_within, "bins"_a, "groups"_a, "inside"_a, "nodes"_a, "sets"_a);
  m.def("excesses", &excesses, "requirement"_a, "bins"_a, "groups"_a, "m"_a, "count"_a);
  m.def("swap_distances", &swap_distances, "table"_a, "sorted"_a, "out"_a, "in"_a);
});

}  // namespace shoal

// Full-domain generalisation (full_domain.hpp): the kernel's face.
#include "generalisation/full_domain.hpp"

namespace shoal {
namespace {

class Asked : public nb::object {
  NB_OBJECT_DEFAULT(Asked, nb::object, "collections.abc.Callable[[list[int], Ints], int]", is_none_or_callable)
};

// People of each combination, and what is required of those of a class: as of Population.
using PeopleLimits = std::tuple<Vector, double, double, double>;

struct BestNode {
  Levels levels;
  Output<std::int32_t> classes;
  double loss, bound;
  bool finished;
  std::int64_t looked;
};

constexpr const char* kBestNode = R"(The node of least loss; classes under `k` or with an excess are suppressed.

Parameters
----------
check
    What every class must satisfy, as for `merge_groups`.
dropped
    For each column shape (levels, leaves); what a cell of a suppressed record loses, no less than with its label.
most
    Records that may be suppressed.
populations
    For each the people of every combination, shape (m,), the fewest people of a class, and the least and the largest
    share of the people of a class whose records are released. A class that breaks a limit is suppressed; no node is
    allowed that leaves a share below the least.
ask
    Called with the levels of a node that would be the best so far and its classes, as of the outcome: 1 allows it, 0 does
    not, -1 says that no node below is allowed either. Where it does not, the smallest classes are suppressed, as few as it
    takes by bisection.
aggregate
    What is to be least: 0, the sum of all cells' losses; 1, the sum over the columns of log(1 + mean loss); 2, the columns'
    mean losses compared in falling order; 3, the sum of losses, where a cell of a dropped record loses what its label does
    and `dropped` times the logarithm of the dropped records over those of them with its label; 4, the mean over the
    records of the share of the table that their class holds, `weights[0]` times, of dropped records that and `weights[1]`
    of the rest; 5, the size of the average class as a share of the table, where all dropped records make one more. For 4
    and 5 no cell's loss counts.
average
    Largest average of 1 / size of its class over the records that are left; without requirements or populations only.
    Where it is exceeded, the smallest classes are suppressed, as few as it takes.
most_nodes, most_cells
    After so many the search goes on in a thinned lattice, with as many again, and among the neighbours of the best node;
    the bound is that of the first part.)";

auto best_node(const RecodingTable& table, std::int64_t k, const Check& required, const std::vector<Matrix>& dropped, std::int64_t most,
               const std::optional<std::vector<PeopleLimits>>& populations, Asked ask, int aggregate, std::pair<double, double> weights, double average,
               std::int64_t most_nodes, std::int64_t most_cells, Listener listener) {
  Progress progress(listener);
  double nodes = 1;
  for (std::size_t j = 0; j < table.hierarchies.columns(); ++j) nodes *= table.hierarchies.height(j) + 1;
  const RequirementCheck check(required);
  std::vector<Population> limits;
  for (const auto& [people, fewest, least, largest] : populations.value_or(std::vector<PeopleLimits>{})) limits.push_back({people.data(), fewest, least, largest});
  std::vector<const double*> losses;
  for (const Matrix& column : dropped) losses.push_back(column.data());
  Objective objective(table.hierarchies, table.combinations, static_cast<Aggregate>(aggregate), std::move(losses), weights.first, weights.second);
  FullDomain search(table, table.rows(), k, check, std::move(objective), most, std::move(limits), average, std::move(ask));
  bool finished = false;
  {
    nb::gil_scoped_release unlocked;
    finished = search.search(most_nodes, most_cells, nodes, progress);
  }
  Outcome& best = search.best();
  return BestNode{best.levels, to_numpy(std::move(best.classes)), search.loss(), search.bound(), finished, search.looked()};
}

}  // namespace

static const Kernel full_domain_kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<BestNode>(m, "BestNode", "Outcome of a full-domain search.")
      .def_ro("levels", &BestNode::levels, "One a column; empty where no node was allowed.")
      .def_ro("classes", &BestNode::classes,
              "Shape (m,); the class there of each combination, numbers may have gaps; -1 where its records are suppressed.")
      .def_ro("loss", &BestNode::loss, "The first number that was compared; infinite where no node was allowed.")
      .def_ro("bound", &BestNode::bound,
              "No node of the lattice that is allowed loses less; the loss itself where the search was finished.")
      .def_ro("finished", &BestNode::finished, "True if the search came to its end.")
      .def_ro("looked", &BestNode::looked, "Nodes at which classes were formed.");
  m.def("best_node", &best_node, "table"_a, "k"_a, "check"_a, nb::kw_only(), "dropped"_a, "most"_a,
        "populations"_a.none() = nb::none(), "ask"_a.none() = nb::none(), "aggregate"_a = 0, "weights"_a = std::pair(1.0, 1.0), "average"_a = 1.0, "most_nodes"_a = kMostNodes, "most_cells"_a = kMostCells,
        "progress"_a.none() = nb::none(), kBestNode);
});

}  // namespace shoal

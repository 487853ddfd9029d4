// How much every node of a lattice is expected to leave of a table of which a random sample is released.
//
// At each node the records form classes. A class of c records is worth `worth[c]`, beyond the end of that `slope` more for
// each further record, times what its labels keep: 1 less their loss, in whole parts of `unit`. All is whole numbers, so
// that one record more changes the score of a node by what its class becomes worth more, times at most `unit`, exactly.
// (Two classes whose hashed keys are equal, one pair in 2^64, would count as one.)
//
// Nodes are numbered with the levels of the last column running fastest.
#include "core/progress.hpp"
#include "generalisation/classing.hpp"
#include "generalisation/recoding_table.hpp"

namespace shoal {
namespace {

class NodeScores {
 public:
  NodeScores(const RecodingTable& table, const Longs& worth, std::int64_t slope, double suppressed, std::int64_t unit)
      : hierarchies_(table.hierarchies), rows_(table.combinations), worth_(worth.data()), last_(worth.shape(0) - 1), slope_(slope),
        suppressed_(suppressed), unit_(unit), classing_(hierarchies_, rows_) {
    for (std::size_t r = 0; r < rows_.m; ++r) all_.push_back(static_cast<std::int32_t>(r));
  }

  std::vector<std::int64_t> all(Progress& progress) {
    double nodes = 1;
    for (std::size_t j = 0; j < rows_.q; ++j) nodes *= hierarchies_.height(j) + 1;
    std::vector<std::int64_t> scores;
    Levels node(rows_.q, 0);
    do {
      scores.push_back(score(node));
      progress.look(static_cast<double>(scores.size()) / nodes);
    } while (next(node));
    return scores;
  }

 private:
  std::int64_t score(const Levels& node) {
    classing_.classes(node, all_, ids_, sizes_);
    std::int64_t sum = 0;
    std::int32_t seen = 0;
    for (std::size_t r = 0; r < rows_.m; ++r) {
      if (ids_[r] != seen) continue;  // classes are numbered as they first appear
      sum += worth(sizes_[static_cast<std::size_t>(seen)]) * quality(node, rows_.row(r));
      ++seen;
    }
    return sum;
  }

  std::int64_t worth(std::int64_t count) const {
    const std::int64_t beyond = std::max<std::int64_t>(count - last_, 0);
    return worth_[count - beyond] + beyond * slope_;
  }

  std::int64_t quality(const Levels& node, const std::int32_t* leaves) const {
    double loss = 0;
    for (std::size_t j = 0; j < node.size(); ++j) loss += hierarchies_.loss(j, node[j], leaves[j]);
    return static_cast<std::int64_t>(std::max(1 - loss / suppressed_, 0.0) * static_cast<double>(unit_));
  }

  bool next(Levels& node) const {
    for (std::size_t j = node.size(); j-- > 0;) {
      if (node[j] < hierarchies_.height(j)) {
        ++node[j];
        return true;
      }
      node[j] = 0;
    }
    return false;
  }

  const Hierarchies& hierarchies_;
  const Combinations& rows_;
  const std::int64_t* worth_;
  std::int64_t last_, slope_;
  double suppressed_;
  std::int64_t unit_;
  Classing classing_;
  std::vector<std::int32_t> all_, ids_;
  std::vector<std::int64_t> sizes_;
};

constexpr const char* kNodeScores = R"(What every node of the lattice is expected to leave, the levels of the last column running fastest.

Parameters
----------
worth
    Shape (c + 1,); what a class of so many records is worth.
slope
    What each record beyond c adds.
suppressed
    What a suppressed record loses.
unit
    What a record without loss counts.)";

auto node_scores(const RecodingTable& table, Longs worth, std::int64_t slope, double suppressed, std::int64_t unit, Listener listener) {
  Progress progress(listener);
  std::vector<std::int64_t> scores;
  {
    nb::gil_scoped_release unlocked;
    scores = NodeScores(table, worth, slope, suppressed, unit).all(progress);
  }
  return to_numpy(std::move(scores));
}

}  // namespace

static const Kernel node_scores_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("node_scores", &node_scores, "table"_a, "worth"_a, "slope"_a, nb::kw_only(), "suppressed"_a, "unit"_a,
        "progress"_a.none() = nb::none(), kNodeScores);
});

}  // namespace shoal

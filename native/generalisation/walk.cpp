// Local recoding by a walk up the lattice.
//
// The nodes of the lattice are visited in the order of their mean loss. At each, the records that are still there form
// classes; every class of k records or more that satisfies the requirement is released with these labels, and the walk
// goes on with the rest. So every record is released at one of the cheapest nodes at which it finds company, and unlike
// with one node for all no record has to wait for another one's company.
//
// Where the requirement bounds how many records of a confidential value a class may hold, records with rare values, which
// need large classes, come first, in a walk of their own (rare_values.hpp); and of a class that breaks a bound the largest
// part that does not is released.
//
// A walk that has looked at as many nodes or cells as it may goes on through a thinned lattice (thinned.hpp) with as many
// again, and then straight to the top: labels found at the end make up for the levels left out.
//
// What the topmost node leaves over joins the class that it makes the least loss in and that still satisfies the
// requirement then. Records that find none are taken together and united with the class that it costs least to unite
// them with, until the requirement holds (the union of two groups is no worse than the worse of the two). As long as
// records may be suppressed, those are that would cost others more than their own loss. Where a column may not rise to a
// common root there may be records that no class can take: they are suppressed, too, even beyond what is allowed, and it is
// for the caller to refuse that.
//
// Labels are found again at the end, as the nearest common ancestors of each class: what is released is never above
// the node of its release, and sometimes below.
#include "core/kernels.hpp"
#include "core/keys.hpp"
#include "core/progress.hpp"
#include "generalisation/classing.hpp"
#include "generalisation/rare_values.hpp"
#include "generalisation/recoding_table.hpp"
#include "generalisation/thinned.hpp"
#include "requirement/requirement_check.hpp"

namespace shoal {
namespace {

// Classes that failed a requirement, by their members, so that the same class is not looked at twice.
class Failures {
 public:
  explicit Failures(std::size_t rows) {
    Random random(0x6661696c75726573ull);
    for (std::size_t r = 0; r < rows; ++r) bits_.push_back(random.bits());
  }
  std::uint64_t of(std::int32_t row) const { return bits_[static_cast<std::size_t>(row)]; }
  // After some records of a combination have gone.
  void renew(std::int32_t row) { bits_[static_cast<std::size_t>(row)] = bits_[static_cast<std::size_t>(row)] * 0x9e3779b97f4a7c15ull + 0x6661696c75726573ull; }
  bool contains(std::uint64_t members) const { return tally_.get(members) > 0; }
  void add(std::uint64_t members) { tally_.at(members) = 1; }

 private:
  std::vector<std::uint64_t> bits_;
  Tally tally_;
};

class Walk {
 public:
  // `losses`: what a suppressed record of each combination loses; `allowance`: how many may be suppressed.
  Walk(const RecodingTable& whole, std::size_t k, const RequirementCheck& check, const double* losses, std::int64_t allowance)
      : covering_(whole.covering), left_(whole.combinations.counts, whole.combinations.counts + whole.combinations.m),
        table_{whole.combinations.leaves, left_.data(), whole.combinations.m, whole.combinations.q}, k_(static_cast<std::int64_t>(k)), check_(check),
        suppressed_(losses), allowance_(allowance), classing_(whole.hierarchies, table_), means_(table_.mean_losses(whole.hierarchies)), order_(means_),
        failures_(check.columns() > 0 ? table_.m : 0), rare_(check, whole.records()), records_(table_.m), n_(whole.records()) {
    for (std::size_t i = 0; i < n_; ++i) records_[static_cast<std::size_t>(whole.rows()[i])].push_back(static_cast<std::int32_t>(i));
    for (std::size_t r = 0; r < table_.m; ++r) rest_.push_back(static_cast<std::int32_t>(r));
  }

  std::vector<std::int32_t> labels(std::int64_t most_nodes, std::int64_t most_cells, Progress& progress) {
    if (rare_.bounded()) start_with_rare(most_cells, progress);
    const Budget whole{nodes_ + most_nodes, cells_ + most_cells};
    while (!rest_.empty() && !order_.done() && order_.waiting() < kMostWaiting && !spent(whole)) visit(order_.next(), progress);
    if (!rest_.empty() && !order_.done()) walk_thinned(most_nodes, most_cells, progress);
    join_rest();
    std::vector<std::int32_t> out(n_, -1);
    for (std::size_t g = 0; g < classes_.size(); ++g)
      for (const std::int32_t i : classes_[g].members) out[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(g);
    return out;
  }

  std::int64_t nodes() const { return nodes_; }

 private:
  static constexpr std::size_t kRare = 2;  // records that need larger classes than so many times k come first
  static constexpr std::size_t kMostWaiting = 3'000'000;  // nodes waiting in the order take some 100 bytes each

  // How far a walk may go: until so many nodes and cells have been looked at.
  struct Budget {
    std::int64_t nodes, cells;
  };

  bool spent(const Budget& budget) const { return nodes_ >= budget.nodes || cells_ >= budget.cells; }

  // Classes of the records that need much larger ones than k, those first that need the largest.
  void start_with_rare(std::int64_t most_cells, Progress& progress) {
    std::size_t floor = 1;
    while (2 * floor <= rare_.largest_need()) floor *= 2;
    for (; floor > kRare * static_cast<std::size_t>(k_); floor /= 2) {
      const Budget more{std::numeric_limits<std::int64_t>::max(), cells_ + most_cells / 16};
      NodeOrder order(means_);
      while (!order.done() && order.waiting() < kMostWaiting && !spent(more) && visit_rare(order.next(), floor, progress)) {}
    }
  }

  // Release classes of records that need `floor` or more at a node; false where no such record is left.
  bool visit_rare(const Levels& node, std::size_t floor, Progress& progress) {
    ++nodes_;
    cells_ += static_cast<std::int64_t>(rest_.size() * table_.q);
    progress.look(1.0 - static_cast<double>(rest_.size()) / static_cast<double>(table_.m));
    classing_.classes(node, rest_, ids_, sizes_);
    std::vector<std::size_t> least(sizes_.size(), std::numeric_limits<std::size_t>::max());
    bool waiting = false;
    for (std::size_t i = 0; i < rest_.size(); ++i)
      for (const std::int32_t record : records_[static_cast<std::size_t>(rest_[i])])
        if (const std::size_t need = rare_.need(record); need >= floor) {
          waiting = true;
          std::size_t& of_class = least[static_cast<std::size_t>(ids_[i])];
          of_class = std::min(of_class, need);
        }
    if (!waiting) return false;
    std::vector<Members> pools(sizes_.size());
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const auto c = static_cast<std::size_t>(ids_[i]);
      if (static_cast<std::size_t>(sizes_[c]) < std::max(least[c], static_cast<std::size_t>(k_))) continue;
      const Members& list = records_[static_cast<std::size_t>(rest_[i])];
      pools[c].insert(pools[c].end(), list.begin(), list.end());
    }
    for (Members& pool : pools)
      if (!pool.empty()) take(rare_.reserved(std::move(pool), floor, static_cast<std::size_t>(k_)));
    drop_empty();
    return true;
  }

  // Make a class of some records, where that is allowed, and take them from those that wait.
  void take(Members members) {
    if (members.empty() || !allowed(members)) return;
    std::vector<std::int32_t> sorted = members, rows;
    std::sort(sorted.begin(), sorted.end());
    for (const std::int32_t i : members) rows.push_back(covering_.row(i));
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    for (const std::int32_t row : rows) {
      Members& list = records_[static_cast<std::size_t>(row)];
      list.erase(std::remove_if(list.begin(), list.end(), [&](std::int32_t m) { return std::binary_search(sorted.begin(), sorted.end(), m); }), list.end());
      left_[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(list.size());
      failures_.renew(row);
    }
    classes_.push_back(Covered::of(std::move(members), covering_));
  }

  void drop_empty() {
    rest_.erase(std::remove_if(rest_.begin(), rest_.end(), [&](std::int32_t r) { return left_[static_cast<std::size_t>(r)] == 0; }), rest_.end());
  }

  void walk_thinned(std::int64_t most_nodes, std::int64_t most_cells, Progress& progress) {
    const double cells = static_cast<double>(rest_.size() * table_.q);
    const Thinned thin(means_, std::min(static_cast<double>(most_nodes), static_cast<double>(most_cells) / cells));
    const Budget more{nodes_ + most_nodes, cells_ + most_cells};
    NodeOrder order(thin.means());
    Levels node(table_.q, 0);
    while (!rest_.empty() && !order.done() && !spent(more)) {
      const bool visited = order.loss() < order_.loss();
      node = thin.levels(order.next());
      if (!visited) visit(node, progress);
    }
    while (!rest_.empty() && up(node)) visit(node, progress);
  }

  // Raise the level that costs least on the mean; false at the top.
  bool up(Levels& node) const {
    std::size_t best = node.size();
    double least = 0;
    for (std::size_t j = 0; j < node.size(); ++j) {
      const auto level = static_cast<std::size_t>(node[j]);
      if (level + 1 == means_[j].size()) continue;
      const double more = means_[j][level + 1] - means_[j][level];
      if (best == node.size() || more < least) best = j, least = more;
    }
    if (best == node.size()) return false;
    ++node[best];
    return true;
  }

  void visit(const Levels& node, Progress& progress) {
    ++nodes_;
    cells_ += static_cast<std::int64_t>(rest_.size() * table_.q);
    progress.look(1.0 - static_cast<double>(rest_.size()) / static_cast<double>(table_.m));
    classing_.classes(node, rest_, ids_, sizes_);
    std::vector<std::int32_t> place(sizes_.size(), -1);  // of the classes that are large enough
    std::vector<Members> rows;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const auto c = static_cast<std::size_t>(ids_[i]);
      if (sizes_[c] < k_) continue;
      if (place[c] < 0) place[c] = static_cast<std::int32_t>(rows.size()), rows.emplace_back();
      rows[static_cast<std::size_t>(place[c])].push_back(rest_[i]);
    }
    if (rows.empty()) return;
    for (const Members& list : rows) release(list);
    drop_empty();
  }

  void release(const Members& rows) {
    std::uint64_t bits = 0;
    if (check_.columns() > 0) {
      for (const std::int32_t r : rows) bits += failures_.of(r);
      if (failures_.contains(bits)) return;
    }
    Members members;
    for (const std::int32_t r : rows) {
      const Members& list = records_[static_cast<std::size_t>(r)];
      members.insert(members.end(), list.begin(), list.end());
    }
    if (!allowed(members)) {
      failures_.add(bits);
      if (rare_.bounded()) take(rare_.largest_part(std::move(members)));
      return;
    }
    for (const std::int32_t r : rows) records_[static_cast<std::size_t>(r)].clear(), left_[static_cast<std::size_t>(r)] = 0;
    classes_.push_back(Covered::of(std::move(members), covering_));
  }

  // Whether records may be a class.
  bool allowed(const Members& members) const {
    return static_cast<std::int64_t>(members.size()) >= k_ && (check_.columns() == 0 || check_.open(members).excess <= 0);
  }

  void join_rest() {
    Members rest, alone;
    for (const std::int32_t r : rest_) {
      const Members& list = records_[static_cast<std::size_t>(r)];
      rest.insert(rest.end(), list.begin(), list.end());
    }
    for (const std::int32_t i : rest)
      if (!join(i)) alone.push_back(i);
    while (!alone.empty()) alone = unite(alone);
  }

  // What it would add to the loss to unite a group with class `c`.
  double added(const Covered& group, const Covered& c) const {
    const std::int32_t* first = covering_.leaves(c.members.front());
    Levels levels = c.levels;
    for (std::size_t j = 0; j < levels.size(); ++j) levels[j] = std::max(levels[j], group.levels[j]);
    covering_.widen(levels, first, covering_.leaves(group.members.front()));
    return covering_.loss(levels, first) * static_cast<double>(c.size() + group.size()) - c.total() - group.total();
  }

  // All classes that a group could be united with, the one that adds least loss first.
  std::vector<std::pair<double, std::size_t>> partners(const Covered& group) const {
    std::vector<std::pair<double, std::size_t>> list;
    for (std::size_t g = 0; g < classes_.size(); ++g) {
      const double loss = added(group, classes_[g]);
      if (loss < std::numeric_limits<double>::infinity()) list.emplace_back(loss, g);
    }
    std::sort(list.begin(), list.end());
    return list;
  }

  // Whether to suppress records rather than let them add to the loss.
  bool suppress(const Members& records, double added) {
    const auto count = static_cast<std::int64_t>(records.size());
    double loss = 0;
    for (const std::int32_t i : records) loss += suppressed_[covering_.row(i)];
    if (count > allowance_ || added <= loss) return false;
    allowance_ -= count;
    return true;
  }

  // Put a record into the class where it adds the least loss and that stays allowed, or suppress it; false where none takes it.
  bool join(std::int32_t record) {
    for (const auto& [loss, g] : partners(Covered::of({record}, covering_))) {
      Members both = classes_[g].members;
      both.push_back(record);
      if (!allowed(both)) continue;
      if (suppress({record}, loss)) return true;
      classes_[g] = Covered::of(std::move(both), covering_);
      return true;
    }
    return false;
  }

  // Make one class of the first of some records, all others that can share labels with it, and as many whole classes
  // as it takes. Returns the records that are still without a class.
  Members unite(const Members& alone) {
    Covered group = Covered::of({alone.front()}, covering_);
    Members others;
    for (std::size_t i = 1; i < alone.size(); ++i) {
      Members with = group.members;
      with.push_back(alone[i]);
      Covered both = Covered::of(std::move(with), covering_);
      if (both.loss < std::numeric_limits<double>::infinity())
        group = std::move(both);
      else
        others.push_back(alone[i]);
    }
    const Members first = group.members;
    const double alone_loss = group.total();
    double loss = 0;  // that the records add to what the classes lose
    std::vector<std::size_t> taken;
    while (!allowed(group.members)) {
      auto list = partners(group);
      list.erase(std::remove_if(list.begin(), list.end(), [&](const auto& p) { return std::count(taken.begin(), taken.end(), p.second) > 0; }), list.end());
      if (list.empty()) return others;  // no class takes these records
      const Covered& c = classes_[list.front().second];
      taken.push_back(list.front().second);
      loss += list.front().first + (taken.size() == 1 ? alone_loss : 0.0);
      Members both = c.members;
      both.insert(both.end(), group.members.begin(), group.members.end());
      group = Covered::of(std::move(both), covering_);
    }
    if (suppress(first, loss)) return others;
    std::sort(taken.begin(), taken.end(), std::greater<>());
    for (const std::size_t g : taken) classes_[g] = std::move(classes_.back()), classes_.pop_back();
    classes_.push_back(std::move(group));
    return others;
  }

  const Covering& covering_;
  std::vector<std::int64_t> left_;  // records of each combination that are not yet released
  const Combinations table_;
  std::int64_t k_;
  const RequirementCheck& check_;
  const double* suppressed_;  // what a suppressed record of each combination loses
  std::int64_t allowance_;
  Classing classing_;
  std::vector<std::vector<double>> means_;
  NodeOrder order_;
  Failures failures_;
  RareValues rare_;
  std::vector<Members> records_;  // of each combination, those not yet released
  std::size_t n_;
  Members rest_;  // combinations not yet released
  std::vector<Covered> classes_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int64_t> sizes_;
  std::int64_t nodes_ = 0, cells_ = 0;
};

struct Walked {
  Output<std::int32_t> labels;
  std::int64_t nodes;
};

constexpr const char* kWalk = R"(Classes of `k` or more without excess, by visiting the lattice's nodes in the order of their mean loss.

Parameters
----------
check
    What every class must satisfy, as for `merge_groups`; no columns for nothing but k.
suppressed
    Shape (m,); what a suppressed record of each combination loses.
most
    Records that may be suppressed where they would cost others more than that. Records that no class can take, since
    some column has no label in common with any, are suppressed beyond it.
most_nodes, most_cells
    After so many the walk goes on through a thinned lattice, with as many again; what is left then is looked at on the way
    to the top and joins the classes there are.

Notes
-----
Deterministic. Ties go to the node met first and to the class made first.)";

auto walk(const RecodingTable& table, std::size_t k, const Check& required, Vector suppressed, std::int64_t most,
          std::int64_t most_nodes, std::int64_t most_cells, Listener listener) {
  Progress progress(listener);
  const RequirementCheck check(required);
  std::vector<std::int32_t> labels;
  std::int64_t nodes = 0;
  {
    nb::gil_scoped_release unlocked;
    Walk lattice(table, k, check, suppressed.data(), most);
    labels = lattice.labels(most_nodes, most_cells, progress);
    nodes = lattice.nodes();
  }
  return Walked{to_numpy(std::move(labels)), nodes};
}

}  // namespace

static const Kernel walk_kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Walked>(m, "Walked", "Outcome of `walk`.")
      .def_ro("labels", &Walked::labels,
              "Shape (n,); class of each record, from 0, numbers may have gaps; -1 for suppressed records.")
      .def_ro("nodes", &Walked::nodes, "Nodes visited.");
  m.def("walk", &walk, "table"_a, "k"_a, "check"_a, nb::kw_only(), "suppressed"_a, "most"_a, "most_nodes"_a = kMostNodes,
        "most_cells"_a = kMostCells, "progress"_a.none() = nb::none(), kWalk);
});

}  // namespace shoal

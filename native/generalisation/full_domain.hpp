// Full-domain generalisation: the node of the lattice with the least loss (objective.hpp).
//
// One node holds for the whole table; classes of fewer than k records, or that do not satisfy the requirement, are
// suppressed, up to a number of records. What prunes the search and keeps it exact:
//
// - Going up unites classes, so the records in classes under k become fewer: a node that leaves too many of them rules
//   out all nodes below it. The same holds of a requirement where nothing may be suppressed, for the union of two groups is
//   no worse than the worse of the two; where records may be suppressed, only k rules out others.
// - A node's mean loss without suppression bounds its loss, and that of every node above it, from below and costs no look at
//   the records. Nodes are met in the order of that bound, and the search ends when the bound reaches the best loss found.
// - Of an objective that counts classes, a node that has been looked at bounds those above it: if it could not be best with
//   nothing suppressed, none of them can.
//
// A node that is not yet ruled out starts a chain to the top, along which a binary search finds where nodes become feasible
// (Kohlmayer et al. 2012, Flash): that rules out much at once and finds good nodes early, so that a search which is stopped
// after a number of nodes has a result, and a bound on what it may have missed: the mean loss of the next node in the order.
// A search that is stopped goes through a thinned lattice (thinned.hpp), with as much work again, and then as long as that
// helps to a neighbour of the best node: one column a level lower, and at most one other a level higher.
//
// What is required beside the table's distribution must hold beside that of the records left, too: suppression goes on
// until it does. What a node suppresses does not depend on how many records may be, so that more never loses more.
//
// Of nodes that lose the same, that of the lowest levels is kept.
//
// An average risk is kept by suppressing the smallest classes, as few as it takes, and prunes as k does.
//
// Requirements on the whole table are asked of the caller, for nodes that would be the best so far only. Where they do not
// hold and records may be suppressed, the smallest classes are, as few as it takes.
#pragma once
#include <map>
#include <numeric>

#include "core/progress.hpp"
#include "generalisation/classing.hpp"
#include "generalisation/objective.hpp"
#include "generalisation/population.hpp"
#include "generalisation/recoding_table.hpp"
#include "generalisation/smallest_classes.hpp"
#include "generalisation/thinned.hpp"
#include "requirement/requirement_check.hpp"

namespace shoal {

// What the caller says of a table made at a node.
enum class Answer { kYes = 1, kNo = 0, kNoneBelow = -1 };

struct Outcome {
  Levels levels;
  std::vector<std::int32_t> classes;                       // of each combination, -1 where it is suppressed
  Score loss;                                              // nothing where no node was allowed
};

class FullDomain {
 public:
  // `most`: records that may be suppressed. `ask` is called with levels.
  FullDomain(const RecodingTable& table, const std::int32_t* row_of, std::int64_t k, const RequirementCheck& check, Objective objective,
             std::int64_t most, std::vector<Population> populations, double average, nb::object ask)
      : populations_(std::move(populations)), hierarchies_(table.hierarchies), rows_(table.combinations), k_(k), check_(check), objective_(std::move(objective)),
        most_(most), average_(average), ask_(std::move(ask)), nobody_asks_(ask_.is_none()), classing_(hierarchies_, rows_), order_(objective_.order(objective_.steps())) {
    for (std::size_t r = 0; r < rows_.m; ++r) all_.push_back(static_cast<std::int32_t>(r));
    if (check_.columns() > 0) {
      members_.resize(rows_.m);
      for (std::size_t i = 0; i < table.records(); ++i) members_[static_cast<std::size_t>(row_of[i])].push_back(static_cast<std::int32_t>(i));
    }
  }

  // Returns whether the search came to its end. `nodes`: all of the lattice; `most_cells`: looked at, as many as it takes.
  bool search(std::int64_t most_nodes, std::int64_t most_cells, double nodes, Progress& progress) {
    const Budget whole{most_nodes, most_cells};
    for (std::int64_t met = 0; !order_.done() && !all_reached(order_); ++met) {
      if (spent(whole) || order_.waiting() >= kMostWaiting) {
        search_thinned(most_nodes, most_cells, progress);
        return false;
      }
      meet(order_.next());
      progress.look(static_cast<double>(met) / std::min(nodes, static_cast<double>(most_nodes)));
    }
    return true;
  }

  Outcome& best() { return best_; }
  std::int64_t looked() const { return looked_; }
  double loss() const { return best_.loss.empty() ? std::numeric_limits<double>::infinity() : best_.loss.front(); }
  // No node, seen or not, loses less than this.
  double bound() const { return order_.done() ? loss() : std::min(loss(), objective_.of_order(order_.loss())); }

 private:
  static constexpr std::size_t kMostWaiting = 3'000'000;  // nodes waiting in the order take some 100 bytes each
  static constexpr double kRounding = 1 - 1e-12;       // forgiven when a bound is compared with a loss

  // Whether no node of such a bound, which may be the first numbers of one, is better than the best.
  bool reached(const Score& bound) const {
    if (best_.loss.empty()) return false;
    const std::size_t last = bound.size() - 1;
    for (std::size_t i = 0; i < last; ++i) {
      if (bound[i] * kRounding > best_.loss[i]) return true;
      if (bound[i] < best_.loss[i] * kRounding) return false;
    }
    const double rounded = bound[last] * kRounding;
    return bound.size() == best_.loss.size() ? rounded >= best_.loss[last] : rounded > best_.loss[last];
  }

  bool all_reached(const NodeOrder& order) const { return reached({objective_.of_order(order.loss())}); }

  // How far a search may go: until so many nodes and cells have been looked at.
  struct Budget {
    std::int64_t looked, cells;
  };

  bool spent(const Budget& budget) const { return looked_ >= budget.looked || cells_ >= budget.cells; }

  void meet(const Levels& node) {
    if (!ruled_out(node) && seen_.count(node) == 0 && !reached(objective_.bound(node))) follow_chain(node);
  }

  void search_thinned(std::int64_t most_nodes, std::int64_t most_cells, Progress& progress) {
    const double cells = static_cast<double>(rows_.m * rows_.q);
    const Thinned thin(objective_.steps(), std::min(static_cast<double>(most_nodes), static_cast<double>(most_cells) / cells));
    const Budget more{looked_ + most_nodes, cells_ + most_cells};
    for (NodeOrder order = objective_.order(thin.means()); !order.done() && !all_reached(order) && !spent(more);) {
      const bool met = order.loss() < order_.loss();
      const Levels node = thin.levels(order.next());
      if (!met) meet(node);
      progress.look(1.0);
    }
    while (improve(progress)) {
    }
  }

  // Look at the neighbours of the best node; whether one is better.
  bool improve(Progress& progress) {
    const Levels from = best_.levels;
    for (std::size_t j = 0; j < from.size(); ++j) {
      if (from[j] == 0) continue;
      for (std::size_t i = 0; i < from.size(); ++i) {
        Levels node = from;
        --node[j];
        if (i != j && node[i] == hierarchies_.height(i)) continue;
        if (i != j) ++node[i];
        if (!reached(objective_.bound(node))) feasible(node);
        progress.look(1.0);
      }
    }
    return best_.levels != from;
  }

  // Look at a node, and at enough nodes above it to know where its chain becomes feasible.
  void follow_chain(const Levels& node) {
    std::vector<Levels> chain{node};
    while (up(chain.back(), chain)) {
    }
    std::ptrdiff_t low = 0, high = static_cast<std::ptrdiff_t>(chain.size()) - 1;
    while (low <= high) {
      const std::ptrdiff_t middle = (low + high) / 2;
      if (feasible(chain[static_cast<std::size_t>(middle)]))
        high = middle - 1;
      else
        low = middle + 1;
    }
    feasible(node);
  }

  // Append the successor of least mean loss that could still be best.
  bool up(Levels node, std::vector<Levels>& chain) const {
    Score least;
    std::size_t best = node.size();
    for (std::size_t j = 0; j < node.size(); ++j) {
      if (node[j] == hierarchies_.height(j)) continue;
      ++node[j];
      const Score loss = objective_.bound(node);
      --node[j];
      if (!reached(loss) && (best == node.size() || loss < least)) least = loss, best = j;
    }
    if (best == node.size()) return false;
    ++node[best];
    chain.push_back(std::move(node));
    return true;
  }

  bool ruled_out(const Levels& node) {
    cells_ += static_cast<std::int64_t>(tops_.size());
    for (const Levels& top : tops_)
      if (below(node, top)) return true;
    return false;
  }

  static bool below(const Levels& node, const Levels& top) {
    for (std::size_t j = 0; j < node.size(); ++j)
      if (node[j] > top[j]) return false;
    return true;
  }

  void rule_out(const Levels& node) {
    std::size_t kept = 0;
    for (std::size_t t = 0; t < tops_.size(); ++t)
      if (!below(tops_[t], node)) tops_[kept++] = tops_[t];
    tops_.resize(kept);
    tops_.push_back(node);
  }

  // Whether a node keeps what is required, as far as is known: one above a node that no node above can be best is said to.
  bool feasible(const Levels& node) {
    if (std::any_of(bottoms_.begin(), bottoms_.end(), [&](const Levels& bottom) { return below(bottom, node); })) return true;
    if (ruled_out(node)) return false;
    const auto place = seen_.find(node);
    if (place != seen_.end()) return place->second;
    ++looked_;
    cells_ += static_cast<std::int64_t>(rows_.m * (rows_.q + check_.columns()));
    const bool holds = look(node);
    seen_[node] = holds;
    return holds;
  }

  bool look(const Levels& node) {
    classing_.classes(node, all_, ids_, sizes_);
    if (objective_.of_classes() && reached(objective_.at(node, ids_, sizes_, std::vector<char>(sizes_.size(), 1)))) {
      bottoms_.push_back(node);
      return true;
    }
    count_people();
    std::vector<char> kept(sizes_.size());
    std::int64_t dropped = 0;
    for (std::size_t c = 0; c < sizes_.size(); ++c) {
      kept[c] = sizes_[c] >= k_ && !too_few(c);
      if (!kept[c]) dropped += sizes_[c];
    }
    if (dropped > most_) {
      rule_out(node);
      return false;
    }
    dropped += suppress_present(kept);
    if (check_.columns() > 0) {
      open_groups(kept);
      dropped += suppress_failing(kept, [&](std::size_t c) { return groups_[c].excess; });
    }
    dropped += suppress_risky(node, kept);
    if (dropped > most_) {
      if (most_ == 0 || average_ < 1) rule_out(node);
      return false;
    }
    if (check_.columns() > 0 && dropped > 0) {
      if (!better(node, objective_.at(node, ids_, sizes_, kept))) return true;
      dropped += suppress_beside_rest(kept, most_ - dropped);
      if (dropped > most_) return false;
    }
    const Score loss = objective_.at(node, ids_, sizes_, kept);
    return !better(node, loss) || keep_if_allowed(node, kept, loss) || (most_ > 0 && suppress_small(node, kept, dropped));
  }

  bool better(const Levels& node, const Score& loss) const {
    return best_.loss.empty() || loss < best_.loss || (loss == best_.loss && sum(node) < sum(best_.levels));
  }

  // Suppress the smallest classes of a node that is not allowed as it is, as few as it takes, of those of one size first
  // the ones that it adds least to the loss of; whether the node then is best.
  bool suppress_small(const Levels& node, const std::vector<char>& kept, std::int64_t dropped) {
    if (nobody_asks_) return false;
    const auto order = by_size(objective_, node, ids_, sizes_, kept);
    std::size_t most = 0;  // classes that may be suppressed
    for (; most < order.size() && (dropped += order[most].size) <= most_; ++most) {
    }
    const auto without = [&](std::size_t count) {
      std::vector<char> left = kept;
      for (std::size_t o = 0; o < count; ++o) left[order[o].number] = 0;
      return left;
    };
    const auto loss = [&](std::size_t count) { return objective_.at(node, ids_, sizes_, without(count)); };
    // The most classes without which the node could still be best, and then the fewest without which it is allowed
    std::size_t high = least_of(1, most + 1, [&](std::size_t count) { return !better(node, loss(count)); }) - 1;
    if (high == 0 || !keep_if_allowed(node, without(high), loss(high))) return false;
    least_of(1, high, [&](std::size_t count) { return keep_if_allowed(node, without(count), loss(count)); });
    return true;
  }

  // Suppress the smallest classes until the average risk is small enough; the records in them. What suffices at a node does
  // above it: no more classes are left there when those are suppressed that were only made of it.
  std::int64_t suppress_risky(const Levels& node, std::vector<char>& kept) const {
    if (average_ >= 1) return 0;
    const auto order = by_size(objective_, node, ids_, sizes_, kept);
    const std::size_t risky = too_risky(order, average_ / kRounding);
    std::int64_t dropped = 0;
    for (std::size_t o = 0; o < risky; ++o) kept[order[o].number] = 0, dropped += order[o].size;
    return dropped;
  }

  static std::int32_t sum(const Levels& node) { return std::accumulate(node.begin(), node.end(), std::int32_t{0}); }

  void count_people() {
    people_.assign(populations_.size(), {});
    for (std::size_t p = 0; p < populations_.size(); ++p) {
      people_[p].assign(sizes_.size(), 0.0);
      for (std::size_t r = 0; r < rows_.m; ++r) people_[p][static_cast<std::size_t>(ids_[r])] += populations_[p].people[r];
    }
  }

  bool too_few(std::size_t c) const {
    for (std::size_t p = 0; p < populations_.size(); ++p)
      if (populations_[p].too_few(people_[p][c])) return true;
    return false;
  }

  // Suppress classes of which too large a share of the people is released.
  std::int64_t suppress_present(std::vector<char>& kept) const {
    std::int64_t dropped = 0;
    for (std::size_t p = 0; p < populations_.size(); ++p)
      for (std::size_t c = 0; c < kept.size(); ++c)
        if (kept[c] && populations_[p].too_present(static_cast<double>(sizes_[c]), people_[p][c])) kept[c] = 0, dropped += sizes_[c];
    return dropped;
  }

  // Whether of some people too small a share is released.
  bool lacking(const std::vector<char>& kept) const {
    for (std::size_t p = 0; p < populations_.size(); ++p)
      for (std::size_t c = 0; c < kept.size(); ++c)
        if (populations_[p].too_absent(kept[c] ? static_cast<double>(sizes_[c]) : 0.0, people_[p][c])) return true;
    return false;
  }

  bool keep_if_allowed(const Levels& node, const std::vector<char>& kept, const Score& loss) {
    if (lacking(kept)) return false;
    Outcome choice{node, ids_, loss};
    for (std::int32_t& c : choice.classes)
      if (!kept[static_cast<std::size_t>(c)]) c = -1;
    const Answer answer = asked(choice);
    if (answer == Answer::kNoneBelow) rule_out(node);
    if (answer != Answer::kYes) return false;
    best_ = std::move(choice);
    return true;
  }

  Answer asked(const Outcome& choice) const {
    if (nobody_asks_) return Answer::kYes;
    nb::gil_scoped_acquire lock;
    return static_cast<Answer>(nb::cast<int>(ask_(choice.levels, to_numpy(std::vector<std::int32_t>(choice.classes)))));
  }

  // Suppress classes that do not satisfy the requirement beside the records that are left, until all do or more than `most`
  // are suppressed; the records in all of them.
  std::int64_t suppress_beside_rest(std::vector<char>& kept, std::int64_t most) {
    std::int64_t dropped = 0;
    for (bool fewer = true; fewer && dropped <= most;) {
      std::vector<const GroupState*> left;
      for (std::size_t c = 0; c < kept.size(); ++c)
        if (kept[c]) left.push_back(&groups_[c]);
      const std::optional<RequirementCheck> beside = check_.beside(left);
      if (!beside) break;
      const std::int64_t more = suppress_failing(kept, [&](std::size_t c) { return beside->excess(groups_[c]); });
      dropped += more;
      fewer = more > 0;
    }
    return dropped;
  }

  // Suppress the classes of a positive excess; the records in them.
  template <class Excess>
  std::int64_t suppress_failing(std::vector<char>& kept, const Excess& excess) const {
    std::int64_t dropped = 0;
    for (std::size_t c = 0; c < kept.size(); ++c)
      if (kept[c] && excess(c) > 0) kept[c] = 0, dropped += sizes_[c];
    return dropped;
  }

  // The confidential side of each class that is kept.
  void open_groups(const std::vector<char>& kept) {
    std::vector<Members> lists(sizes_.size());
    for (std::size_t r = 0; r < rows_.m; ++r) {
      const auto c = static_cast<std::size_t>(ids_[r]);
      if (kept[c]) lists[c].insert(lists[c].end(), members_[r].begin(), members_[r].end());
    }
    groups_.clear();
    for (const Members& list : lists) groups_.push_back(check_.open(list));
  }

  std::vector<Population> populations_;
  const Hierarchies& hierarchies_;
  const Combinations& rows_;
  std::int64_t k_;
  const RequirementCheck& check_;
  Objective objective_;
  std::int64_t most_;
  double average_;  // largest average risk
  nb::object ask_;
  bool nobody_asks_;
  Classing classing_;
  NodeOrder order_;
  Members all_;
  std::vector<Members> members_;  // records of each combination, where a requirement is to be checked
  std::vector<Levels> tops_;      // nodes that rule out all below them, none below another
  std::vector<Levels> bottoms_;   // nodes from which on up none can be best
  std::map<Levels, bool> seen_;
  Outcome best_;
  std::int64_t looked_ = 0, cells_ = 0;
  std::vector<std::int32_t> ids_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::vector<double>> people_;  // of each population and class
  std::vector<GroupState> groups_;           // the confidential side of each class
};

}  // namespace shoal

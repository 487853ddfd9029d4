// Refinement of a partition whose groups must satisfy a requirement on their confidential values.
//
// Constructive algorithms decide once what a group is, and pay for a requirement such as t-closeness with
// groups larger than it needs. Here only what was promised is kept, k records a group and no excess over the
// requirement (requirement_check.hpp), and the within-group sum of squares is annealed under it:
//
// - an exchange of two records between neighbouring groups; half of them pick the partner whose confidential
//   bin is nearest, which hardly moves the distributions;
// - a relocation, where the group that loses a record stays at k or more;
// - a split of a group of 2k or more into two that are as well spread: members in order of a confidential
//   column are dealt in pairs, one to each side, the way round that is nearer;
// - the dissolution of a group into the groups of its members' neighbours.
//
// The search may pass through partitions that violate the requirement: an excess costs so many mean losses of a
// record per unit at first, and kHard at the end. How much at first is decided by trial. Under a low price
// (kSoft) records gather with their neighbours first and groups grow until they are well spread, which is best
// where that takes few of them; under a high one (kFirm) the groups of the start keep their number and are
// rearranged, which is best where large groups would lose nearly everything, as under several confidential
// columns. One short search is made with each price, and the long one with the price that led lower.
//
// A proposal is priced by its loss first (groups.hpp, O(d)) and dismissed if even the best the requirement could do
// would not save it; only the others are priced in full. In the last part of the budget only improvements count; before it, groups that are still over their
// limit are brought under it by exchanges or, failing that, merged. The best partition without any violation
// is kept: the result is never worse than a start that satisfies the requirement.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <tuple>

#include "core/elementary.hpp"
#include "core/progress.hpp"
#include "requirement/requirement_check.hpp"

namespace shoal {
inline namespace requirement_refinement {

constexpr double kHot = 4.0;       // first temperature, in mean losses of a record, as in refine.cpp
constexpr double kWarm = 1.0;      // first temperature of a trial: closer to the start, where that is hard to better
constexpr double kCold = 0.01;     // last temperature, same unit
constexpr double kAmple = 1000;    // proposals a record for the whole range; with fewer the search begins cooler
constexpr double kSoft = 3e1;      // low price of an excess of 1 (EMD ranges over 0 .. 1), same unit
constexpr double kFirm = 1e4;      // high price; from 300 to 30 000 results differ as between seeds
constexpr double kTrial = 1.0 / 6; // share of the budget for a trial of each price
constexpr double kHard = 1e5;      // at the end: an excess of 1e-5 then outweighs a record
constexpr double kCompound = 0.01; // share of proposals that split a group, and of those that dissolve one
constexpr double kRelocate = 0.25; // share of relocations among the simple proposals
constexpr double kSettled = 0.85;   // from this share of the cooling on the price is kHard
constexpr double kQuench = 0.95;   // from this share of the budget on only improvements count
constexpr double kLooks = 2e7;     // pairs of records that repair looks at beyond neighbours, a second or two

class RequirementRefiner {
 public:
  RequirementRefiner(const Cloud& cloud, Groups& groups, RequirementCheck& check, NeighbourLists near, std::size_t k, std::uint64_t seed)
      : cloud_(cloud), groups_(groups), check_(check), near_(near), journal_(groups), k_(k), random_(seed) {}

  // Returns the loss of the best partition found that satisfies the requirement, infinity if none was.
  double search(std::int64_t moves, Progress& progress) {
    unit_ = groups_.loss() / static_cast<double>(cloud_.n());
    const auto trial = static_cast<std::int64_t>(kTrial * static_cast<double>(moves));
    const std::vector<std::int32_t> start = groups_.labels();
    const double soft = anneal({trial, 0.0, kTrial, kWarm}, kSoft, progress);
    const std::vector<std::int32_t> softly = groups_.labels();
    groups_.reset(start);
    const double firm = anneal({trial, kTrial, kTrial, kWarm}, kFirm, progress);
    if (soft <= firm) groups_.reset(softly);
    const Span rest{moves - 2 * trial, 2 * kTrial, 1 - 2 * kTrial, kHot};
    return anneal(rest, soft <= firm ? kSoft : kFirm, progress);
  }

  std::int64_t made() const { return made_; }

  // Exchanges that bring groups under their limit, sizes unchanged; returns their number. The worst group is
  // taken first. Of the exchanges that settle it (or, if none does, of those that lower its excess most) the
  // one that costs least is made; the other group may not come to exceed its own limit. First a group's members
  // are exchanged with their neighbours; where that does not settle it, with any record, or with every so-many-th
  // where that would be more than kLooks pairs for all groups together. A group that nothing helps is left as it
  // is, and so is one with the least excess that a group of its size can have, before anything is looked at.
  std::int64_t repair(Progress& progress) {
    open_all();
    std::priority_queue<std::pair<double, Group>> waiting;  // excess, and the group's number negated
    double members = 0;
    for (std::size_t g = 0; g < group_states_.size(); ++g) {
      if (group_states_[g].excess <= 0) continue;
      waiting.emplace(group_states_[g].excess, -static_cast<Group>(g));
      members += static_cast<double>(group_states_[g].size());
    }
    const auto step = static_cast<std::size_t>(std::ceil(members * static_cast<double>(cloud_.n()) / kLooks));
    std::int64_t swaps = 0;
    for (std::size_t tries = 0; !waiting.empty(); ++tries) {
      const auto [excess, minus] = waiting.top();
      waiting.pop();
      const double now = group_state(-minus).excess;
      if (now < excess) {  // an exchange with another group has helped it
        if (now > 0) waiting.emplace(now, minus);
        continue;
      }
      progress.tick(0.0);
      const double least = least_excess(group_state(-minus).size());
      if (now <= least) continue;
      const std::size_t first = tries % step;
      const auto neighbour = [&](Record i, std::size_t r) { return near_.at(i, r); };
      const auto anyone = [&](Record, std::size_t r) { return static_cast<Record>(first + r * step); };
      if (!(least <= 0 && settle(-minus, neighbour, near_.width, true)) &&
          !settle(-minus, anyone, (cloud_.n() - first + step - 1) / step, false))
        continue;
      ++swaps;
      if (group_state(-minus).excess > 0) waiting.emplace(group_state(-minus).excess, minus);
    }
    return swaps;
  }

 private:
  // A part of the budget, and where it lies in the whole.
  struct Span {
    std::int64_t moves;
    double first, share, hot;
  };

  double anneal(const Span& span, double price, Progress& progress) {
    open_all();
    double now = groups_.loss(), best = std::numeric_limits<double>::infinity();
    std::vector<std::int32_t> kept = groups_.labels();
    const auto keep_best = [&] {
      if (over_ == 0 && now < best) best = now, kept = groups_.labels();
    };
    keep_best();
    if (unit_ <= 0) return best;
    const std::int64_t sweep = std::max<std::int64_t>(256, static_cast<std::int64_t>(cloud_.n()));
    const double share = static_cast<double>(span.moves) / (kAmple * static_cast<double>(cloud_.n()));
    Cooling cooling(std::clamp(share * kHot, kCold, span.hot) * unit_, kCold * unit_);
    double done = 0.0;
    bool quenching = false;
    for (std::int64_t made = 0;; ++made, ++made_) {
      if (made % 256 == 0) {
        done = span.moves > 0 ? static_cast<double>(made) / static_cast<double>(span.moves) : 1.0;
        progress.tick(span.first + span.share * std::min(done, 1.0));
        const double cooled = std::min(done / kQuench, 1.0);
        cooling.at(cooled);
        reprice(unit_ * price * power(kHard / price, std::min(cooled / kSettled, 1.0)));
        if (done >= kQuench && !quenching) {
          quenching = true;
          repair(progress);
          merge_over();
          now = groups_.loss();
          keep_best();
        }
      }
      if (made % sweep == 0) {
        now = groups_.loss();
        keep_best();
      }
      if (done >= 1.0) break;
      now += propose(!quenching ? cooling.allowance(random_) : 0.0);
      if (quenching && made % 256 == 255) keep_best();
    }
    now = groups_.loss();
    keep_best();
    groups_.reset(kept);
    return best;
  }

  // Merge every group that is over its limit with the nearest one until it is not.
  void merge_over() {
    for (std::size_t g = 0; g < group_states_.size(); ++g) {
      while (group_states_[g].excess > 0) {
        const Group to = nearest(static_cast<Group>(g));
        if (to < 0) return;
        begin();
        const std::vector<Record> leaving = groups_.members(to);
        for (const Record i : leaving) move(i, static_cast<Group>(g));
        finish(0.0, std::numeric_limits<double>::infinity());
      }
    }
  }

  Group nearest(Group g) const {
    Group best = -1;
    for (Group h = 0; h < static_cast<Group>(groups_.slots()); ++h) {
      if (h == g || groups_.size(h) == 0) continue;
      if (best < 0 || groups_.apart(h, g) < groups_.apart(best, g)) best = h;
    }
    return best;
  }

  // One exchange of a member i of `g` with one of the records other(i, 0 .. width - 1) that is of another group;
  // `wholly`: only one that brings `g` under its limit.
  template <class Other>
  bool settle(Group g, const Other& other, std::size_t width, bool wholly) {
    std::tuple<double, double, Record, Record> best{group_state(g).excess, 0.0, -1, -1};
    for (const Record i : groups_.members(g)) {
      for (std::size_t r = 0; r < width; ++r) {
        const Record j = other(i, r);
        if (groups_.of(j) == g) continue;
        const double after = std::max(0.0, check_.excess_after_swap(group_state(g), i, j));
        if (after >= group_state(g).excess || after > std::get<0>(best)) continue;
        const double change = groups_.exchange_change(i, j);
        if (std::get<2>(best) >= 0 && after == std::get<0>(best) && change >= std::get<1>(best)) continue;
        if (check_.excess_after_swap(group_state(groups_.of(j)), j, i) > std::max(0.0, group_state(groups_.of(j)).excess)) continue;
        best = {after, change, i, j};
      }
    }
    const auto [after, change, i, j] = best;
    if (i < 0 || (wholly && after > 0)) return false;
    make_exchange(i, j);
    return true;
  }

  void open_all() {
    group_states_.assign(groups_.slots(), {});
    over_ = 0;
    for (std::size_t g = 0; g < groups_.slots(); ++g) {
      group_states_[g] = check_.open(groups_.members(static_cast<Group>(g)));
      over_ += group_states_[g].excess > 0;
    }
  }
  double least_excess(std::size_t size) {
    const auto [at, fresh] = least_.try_emplace(size, 0.0);
    if (fresh) at->second = check_.least(size);
    return at->second;
  }
  void reprice(double price) { price_ = price; }
  double penalty(double excess) const { return excess > 0 ? price_ * excess : 0.0; }
  GroupState& group_state(Group g) { return group_states_[static_cast<std::size_t>(g)]; }

  // Returns the change of the loss (without penalties) that was made.
  double propose(double allowed) {
    const Record i = static_cast<Record>(random_.below(cloud_.n()));
    const double kind = random_.uniform();
    const Group a = groups_.of(i);
    if (kind < 2 * kCompound / static_cast<double>(k_)) {
      return kind < kCompound / static_cast<double>(k_) ? split(a, allowed) : dissolve(a, allowed);
    }
    const Record j = near_.draw(i, random_);
    const Group b = groups_.of(j);
    if (a == b) return 0;
    if (random_.uniform() < kRelocate) return groups_.size(a) > k_ ? relocate(i, b, allowed) : 0;
    return exchange(i, partner(i, b), allowed);
  }

  double relocate(Record i, Group b, double allowed) {
    const Group a = groups_.of(i);
    const double change = groups_.relocate_change(i, b);
    const double before = penalty(group_state(a).excess) + penalty(group_state(b).excess);
    if (change - before > allowed) return 0;
    const double after_a = check_.excess_after_leaving(group_state(a), i);
    if (change - before + penalty(after_a) > allowed) return 0;
    const double after_b = check_.excess_after_joining(group_state(b), i);
    if (change - before + penalty(after_a) + penalty(after_b) > allowed) return 0;
    count(a, -1), count(b, -1);
    groups_.relocate(i, b);
    check_.leave(group_state(a), i);
    check_.join(group_state(b), i);
    count(a, 1), count(b, 1);
    return change;
  }

  double exchange(Record i, Record j, double allowed) {
    const Group a = groups_.of(i), b = groups_.of(j);
    const double change = groups_.exchange_change(i, j);
    const double before = penalty(group_state(a).excess) + penalty(group_state(b).excess);
    if (change - before > allowed) return 0;
    const double after_a = check_.excess_after_swap(group_state(a), i, j);
    if (change - before + penalty(after_a) > allowed) return 0;
    const double after_b = check_.excess_after_swap(group_state(b), j, i);
    if (change - before + penalty(after_a) + penalty(after_b) > allowed) return 0;
    make_exchange(i, j);
    return change;
  }

  void make_exchange(Record i, Record j) {
    const Group a = groups_.of(i), b = groups_.of(j);
    count(a, -1), count(b, -1);
    groups_.exchange(i, j);
    check_.swap(group_state(a), i, j);
    check_.swap(group_state(b), j, i);
    count(a, 1), count(b, 1);
  }

  void count(Group g, int sign) { over_ += group_state(g).excess > 0 ? sign : 0; }

  // Any member of `b`, or the one whose bin in some column is nearest to that of `i`.
  Record partner(Record i, Group b) {
    const auto& members = groups_.members(b);
    if (random_.uniform() < 0.5) return members[random_.below(members.size())];
    const std::size_t q = random_.below(check_.columns());
    Record best = members.front();
    for (const Record j : members)
      if (std::abs(check_.bin(q, j) - check_.bin(q, i)) < std::abs(check_.bin(q, best) - check_.bin(q, i))) best = j;
    return best;
  }

  double split(Group g, double allowed) {
    if (groups_.size(g) < 2 * k_) return 0;
    begin();
    std::vector<Record> list = groups_.members(g);
    const std::size_t q = random_.below(check_.columns());
    std::sort(list.begin(), list.end(), [&](Record i, Record j) {
      return std::make_pair(check_.bin(q, i), i) < std::make_pair(check_.bin(q, j), j);
    });
    const Record u = list[random_.below(list.size())];
    Record v = list.front();
    for (const Record i : list)
      if (cloud_.distance(i, u) > cloud_.distance(v, u)) v = i;
    const Group fresh = groups_.open();
    double change = 0;
    for (std::size_t r = 0; r + 1 < list.size(); r += 2) {
      const Record i = list[r], j = list[r + 1];
      const bool straight = cloud_.distance(i, u) + cloud_.distance(j, v) <= cloud_.distance(i, v) + cloud_.distance(j, u);
      change += move(straight ? i : j, fresh);
    }
    return finish(change, allowed);
  }

  double dissolve(Group a, double allowed) {
    begin();
    const std::vector<Record> leaving = groups_.members(a);
    double change = 0;
    for (const Record i : leaving) {
      Group best = -1;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t r = 0; r < near_.width; ++r) {
        const Group b = groups_.of(near_.at(i, r));
        if (b == a) continue;
        const double cost = groups_.join_change(i, b);
        if (cost < least) least = cost, best = b;
      }
      if (best < 0) return give_up();
      change += move(i, best);
    }
    return finish(change, allowed);
  }

  // A compound move is made on the groups, then priced, and taken back if it is refused.
  void begin() {
    journal_.start();
    touched_.clear();
  }
  void touch(Group g) {
    if (static_cast<std::size_t>(g) >= group_states_.size()) group_states_.resize(static_cast<std::size_t>(g) + 1);
    if (std::find(touched_.begin(), touched_.end(), g) == touched_.end()) touched_.push_back(g);
  }
  double move(Record i, Group to) {
    touch(groups_.of(i));
    touch(to);
    return journal_.relocate(i, to);
  }
  double give_up() {
    journal_.undo();
    return 0;
  }
  double finish(double change, double allowed) {
    std::vector<GroupState> after;
    double total = change;
    for (const Group g : touched_) {
      if (groups_.size(g) > 0 && groups_.size(g) < k_) return give_up();
      after.push_back(check_.open(groups_.members(g)));
      total += penalty(after.back().excess) - penalty(group_state(g).excess);
    }
    if (total > allowed) return give_up();
    for (std::size_t r = 0; r < touched_.size(); ++r) {
      count(touched_[r], -1);
      group_state(touched_[r]) = std::move(after[r]);
      count(touched_[r], 1);
    }
    return change;
  }

  const Cloud& cloud_;
  Groups& groups_;
  RequirementCheck& check_;
  NeighbourLists near_;
  Journal journal_;
  std::size_t k_;
  Random random_;
  double unit_ = 0;  // mean loss of a record at the start
  double price_ = 0;
  std::int64_t over_ = 0, made_ = 0;
  std::vector<GroupState> group_states_;
  std::map<std::size_t, double> least_;  // excess, by size of group
  std::vector<Group> touched_;
};

}  // namespace requirement_refinement
}  // namespace shoal

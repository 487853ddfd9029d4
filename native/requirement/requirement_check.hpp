// The confidential side of a partition: for every group its members' bins in each confidential column, and
// by how much the group exceeds what is required of it (requirement.hpp). The excess of a group is its
// largest over the columns.
//
// A GroupState is one group's account. A swap changes one bin in each column and is priced by the requirement's
// own update (for EMD over a line: only the stretches between the two bins); joining and leaving change every
// share and are priced anew, in O(group size).
#pragma once
#include <memory>
#include <optional>

#include "core/kernels.hpp"
#include "partition/groups.hpp"
#include "requirement/requirement.hpp"

namespace shoal {

using Requirements = std::vector<const Requirement*>;

// Bins of the records in each column, (columns, n), and a requirement a column.
using Check = std::pair<IntMatrix, Requirements>;

struct GroupState {
  std::vector<std::vector<Bin>> bins;  // by column, ascending
  std::vector<Wide> states;  // by column, as the requirement keeps it
  double excess = 0;
  std::size_t size() const { return bins.empty() ? 0 : bins.front().size(); }
};

class RequirementCheck {
 public:
  explicit RequirementCheck(const Check& check)
      : bins_(check.first.data()), n_(check.first.shape(1)), requirements_(check.second) {}

  std::size_t columns() const { return requirements_.size(); }
  Bin bin(std::size_t column, Record i) const { return bins_[column * n_ + static_cast<std::size_t>(i)]; }

  std::size_t most(std::size_t column, Bin bin, std::size_t c) const { return requirements_[column]->most(bin, c); }

  // An excess that no group of c is below.
  double least(std::size_t c) const {
    double worst = -1e300;
    for (const Requirement* requirement : requirements_) worst = std::max(worst, requirement->least(c));
    return worst;
  }

  GroupState open(const std::vector<Record>& members) const {
    GroupState group;
    for (std::size_t q = 0; q < columns(); ++q) {
      std::vector<Bin> list;
      for (const Record i : members) list.push_back(bin(q, i));
      sort(list);
      group.bins.push_back(std::move(list));
    }
    settle(group);
    return group;
  }

  GroupState united(const GroupState& a, const GroupState& b) const {
    GroupState both;
    for (std::size_t q = 0; q < columns(); ++q) {
      std::vector<Bin> list(a.bins[q].size() + b.bins[q].size());
      std::merge(a.bins[q].begin(), a.bins[q].end(), b.bins[q].begin(), b.bins[q].end(), list.begin());
      both.bins.push_back(std::move(list));
    }
    settle(both);
    return both;
  }

  // The same check beside a table of the records of some groups; none where it does not depend on the table.
  std::optional<RequirementCheck> beside(const std::vector<const GroupState*>& groups) const {
    RequirementCheck fitted(*this);
    fitted.fitted_.clear();
    for (std::size_t q = 0; q < columns(); ++q) {
      std::unique_ptr<Requirement> requirement = requirements_[q]->beside(tallied(groups, q));
      if (requirement == nullptr) continue;
      fitted.requirements_[q] = requirement.get();
      fitted.fitted_.push_back(std::move(requirement));
    }
    if (fitted.fitted_.empty()) return std::nullopt;
    return fitted;
  }

  // By how much a group of another check with the same columns exceeds what is required here.
  double excess(const GroupState& group) const {
    double worst = -1e300;
    for (std::size_t q = 0; q < columns(); ++q)
      worst = std::max(worst, requirements_[q]->excess(group.bins[q].data(), group.bins[q].size()));
    return worst;
  }

  double excess_after_swap(const GroupState& group, Record out, Record in) const {
    double worst = -1e300;
    for (std::size_t q = 0; q < columns(); ++q) {
      const auto& list = group.bins[q];
      if (bin(q, out) == bin(q, in)) {
        worst = std::max(worst, requirements_[q]->excess(group.states[q], list.size()));
        continue;
      }
      const Wide after =
          requirements_[q]->state_after_swap(list.data(), list.size(), group.states[q], place(list, bin(q, out)), bin(q, in));
      worst = std::max(worst, requirements_[q]->excess(after, list.size()));
    }
    return worst;
  }

  // The least excess in one column with a record of this bin in the place of a member.
  double least_with(const GroupState& group, std::size_t q, Bin in) const {
    const auto& list = group.bins[q];
    double least = 1e300;
    for (std::size_t out = 0; out < list.size(); ++out) {
      if (out > 0 && list[out] == list[out - 1]) continue;
      const Wide now = group.states[q];
      const Wide after =
          list[out] == in ? now : requirements_[q]->state_after_swap(list.data(), list.size(), now, out, in);
      least = std::min(least, requirements_[q]->excess(after, list.size()));
    }
    return least;
  }

  double excess_after_leaving(const GroupState& group, Record out) {
    double worst = -1e300;
    for (std::size_t q = 0; q < columns(); ++q) {
      scratch_ = group.bins[q];
      erase(scratch_, bin(q, out));
      worst = std::max(worst, requirements_[q]->excess(scratch_.data(), scratch_.size()));
    }
    return worst;
  }

  double excess_after_joining(const GroupState& group, Record in) {
    double worst = -1e300;
    for (std::size_t q = 0; q < columns(); ++q) {
      scratch_ = group.bins[q];
      insert(scratch_, bin(q, in));
      worst = std::max(worst, requirements_[q]->excess(scratch_.data(), scratch_.size()));
    }
    return worst;
  }

  void swap(GroupState& group, Record out, Record in) const {
    for (std::size_t q = 0; q < columns(); ++q) {
      auto& list = group.bins[q];
      if (bin(q, out) == bin(q, in)) continue;
      const std::size_t at = place(list, bin(q, out));
      group.states[q] = requirements_[q]->state_after_swap(list.data(), list.size(), group.states[q], at, bin(q, in));
      erase(list, bin(q, out));
      insert(list, bin(q, in));
    }
    weigh(group);
  }

  void leave(GroupState& group, Record out) const {
    for (std::size_t q = 0; q < columns(); ++q) erase(group.bins[q], bin(q, out));
    settle(group);
  }

  void join(GroupState& group, Record in) const {
    group.bins.resize(columns());
    for (std::size_t q = 0; q < columns(); ++q) insert(group.bins[q], bin(q, in));
    settle(group);
  }

 private:
  // By counting where there are more members than bins.
  static void sort(std::vector<Bin>& list) {
    if (list.empty()) return;
    const auto [least, largest] = std::minmax_element(list.begin(), list.end());
    const Bin first = *least;
    const auto bins = static_cast<std::size_t>(*largest - first) + 1;
    if (bins > list.size()) return std::sort(list.begin(), list.end());
    std::vector<std::size_t> counts(bins, 0);
    for (const Bin b : list) ++counts[static_cast<std::size_t>(b - first)];
    auto next = list.begin();
    for (std::size_t b = 0; b < bins; ++b) next = std::fill_n(next, counts[b], first + static_cast<Bin>(b));
  }
  static std::size_t place(const std::vector<Bin>& list, Bin bin) {
    return static_cast<std::size_t>(std::lower_bound(list.begin(), list.end(), bin) - list.begin());
  }
  static void erase(std::vector<Bin>& list, Bin bin) { list.erase(std::lower_bound(list.begin(), list.end(), bin)); }
  static void insert(std::vector<Bin>& list, Bin bin) {
    list.insert(std::upper_bound(list.begin(), list.end(), bin), bin);
  }

  void settle(GroupState& group) const {
    group.states.assign(columns(), 0);
    group.excess = 0;
    if (group.size() == 0) return;  // an empty group owes nothing
    for (std::size_t q = 0; q < columns(); ++q)
      group.states[q] = requirements_[q]->state(group.bins[q].data(), group.bins[q].size());
    weigh(group);
  }
  void weigh(GroupState& group) const {
    group.excess = -1e300;
    for (std::size_t q = 0; q < columns(); ++q)
      group.excess = std::max(group.excess, requirements_[q]->excess(group.states[q], group.size()));
  }

  Tallied tallied(const std::vector<const GroupState*>& groups, std::size_t q) const {
    const Bin* column = bins_ + q * n_;
    Tallied sum;
    sum.count.assign(n_ == 0 ? 0 : static_cast<std::size_t>(*std::max_element(column, column + n_) + 1), 0);
    for (const GroupState* group : groups)
      for (const Bin b : group->bins[q]) ++(b < 0 ? sum.missing : sum.count[static_cast<std::size_t>(b)]);
    return sum;
  }

  const Bin* bins_;
  std::size_t n_;
  Requirements requirements_;
  std::vector<std::shared_ptr<const Requirement>> fitted_;  // those of them that this check owns
  std::vector<Bin> scratch_;
};

}  // namespace shoal

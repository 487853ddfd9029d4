// The records that could lower a group's excess, by kinds: what they have in the confidential columns of few bins.
//
// Records of a kind are alike in these columns, so that each is asked once for a group as it stands whether a record of
// that kind could lower its excess; those that could are searched apart, and all others passed over.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "requirement/requirement_check.hpp"
#include "search/stratum.hpp"

namespace shoal {

template <class Points>
class Prospects {
 public:
  Prospects(const Points& table, const RequirementCheck& check) : table_(table), check_(check), kind_(table.n, 0) {
    for (std::size_t q = 0; q < check.columns(); ++q) part_by(q);
  }

  // Whether there is more than one kind.
  bool any() const { return count_ > 1; }

  // The record nearest to q after `last`, a candidate, among those that could lower the excess of the
  // group; no row where there is none. `moved`: the group is not the one that was asked for last.
  Neighbour next(const double* q, const Neighbour& last, const GroupState& group, bool moved) {
    Neighbour best{0.0, -1};
    for (Kind& kind : kinds_) {
      if (moved) kind.lowers = kind.stratum->live() > 0 && could_lower(kind.example, group);
      if (!kind.lowers) continue;
      const Neighbour* const near = after(q, last, kind);
      if (near != nullptr && (best.row < 0 || *near < best)) best = *near;
    }
    return best;
  }

  // Look for a new group; `alive(i)`: whether record i is in none.
  template <class Alive>
  void begin(const Alive& alive) {
    if (kinds_.empty()) build(alive);
    for (Kind& kind : kinds_) kind.near.clear(), kind.at = 0;
  }

  void remove(std::int32_t row) {
    if (!kinds_.empty()) kinds_[kind_[static_cast<std::size_t>(row)]].stratum->remove(row);
  }

 private:
  static constexpr std::size_t kMost = 64;  // kinds
  static constexpr std::size_t kMore = 4;   // times as many neighbours as before

  struct Kind {
    std::unique_ptr<Stratum<Points>> stratum;
    Record example = 0;
    bool lowers = false;
    std::vector<Neighbour> near{};  // in order; those before `at` are not after the last one
    std::size_t at = 0;
  };

  // Part kinds by a further column, unless they become too many.
  void part_by(std::size_t q) {
    std::map<std::pair<std::size_t, Bin>, std::size_t> number;
    std::vector<std::size_t> parted(kind_.size());
    for (std::size_t i = 0; i < kind_.size(); ++i) {
      parted[i] = number.try_emplace({kind_[i], check_.bin(q, static_cast<Record>(i))}, number.size()).first->second;
      if (number.size() > kMost) return;
    }
    kind_ = std::move(parted);
    columns_.push_back(q);
    count_ = number.size();
  }

  template <class Alive>
  void build(const Alive& alive) {
    std::vector<std::vector<std::int32_t>> rows(count_);
    kinds_.resize(count_);
    for (std::size_t i = 0; i < kind_.size(); ++i) {
      const auto row = static_cast<std::int32_t>(i);
      kinds_[kind_[i]].example = row;
      if (alive(row)) rows[kind_[i]].push_back(row);
    }
    for (std::size_t g = 0; g < count_; ++g)
      kinds_[g].stratum = std::make_unique<Stratum<Points>>(table_, std::move(rows[g]), scans_for(table_, true));
  }

  bool could_lower(Record example, const GroupState& group) const {
    return std::all_of(columns_.begin(), columns_.end(), [&](std::size_t q) {
      return check_.least_with(group, q, check_.bin(q, example)) < group.excess;
    });
  }

  // The nearest record of a kind after `last`; none where there is no further one.
  const Neighbour* after(const double* q, const Neighbour& last, Kind& kind) const {
    while (true) {
      for (; kind.at < kind.near.size(); ++kind.at)
        if (last < kind.near[kind.at]) return &kind.near[kind.at];
      const std::size_t known = kind.near.size(), live = kind.stratum->live();
      if (known == live) return nullptr;
      kind.stratum->nearest(q, -1, std::min(std::max(std::size_t{1}, kMore * known), live), kind.near);
    }
  }

  const Points& table_;
  const RequirementCheck& check_;
  std::vector<std::size_t> kind_;  // of each record
  std::vector<std::size_t> columns_;
  std::vector<Kind> kinds_;
  std::size_t count_ = 1;
};

}  // namespace shoal

// The cells that may be blanked to protect rows at risk (cover.hpp says what a cell is).
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "core/bits.hpp"
#include "core/keys.hpp"
#include "core/progress.hpp"
#include "suppression/support_bounds.hpp"

namespace shoal {
inline namespace suppression {

constexpr int kAllSets = 8;     // up to so many free keys every set of cells is a candidate;
constexpr Columns kTop = Columns{1} << 31;
constexpr int kLargestSet = 3;  // beyond, sets of more than three only where nothing smaller serves a row

struct Problem {
  const KeySpace& space;
  const std::int64_t* counts;
  const std::int64_t* base;    // compatible records of each row in the table as it came
  std::int64_t k;
  const double* cost;          // of a cell by key; infinite for a key that must not be touched
  const std::int64_t* budget;  // cells by key that may be suppressed in all
  bool sacrifice;
};

struct Cell {
  Columns blank;
  std::int64_t first, last;  // its rows at risk: a range of `members`
  std::int64_t own, own_end; // those of them that may be blanked: a range of `owners`
  std::int64_t donor;        // the most frequent row that is not at risk, or -1
};

struct Member {
  std::int32_t row;  // number of the row at risk
  bool allowed;      // whether it may itself be blanked here
};

class Cells {
 public:
  Cells(const Problem& p, Progress& progress) : p_(p), bounds_(p.space, p.counts, p.k, progress) {
    number_rows_at_risk();
    find_cells();
  }

  std::vector<std::int64_t> at_risk;               // rows of the table
  std::vector<std::int32_t> number;                // of a row of the table among those at risk, or -1
  std::vector<Cell> cells;
  std::vector<Member> members;                     // cell after cell
  std::vector<std::int32_t> owners;                // cell after cell, the rows at risk that may be blanked there
  std::vector<std::vector<std::int32_t>> cells_of; // of each row at risk

 private:
  // Rows at risk are numbered; `at_risk` leads back to the table, `number` forward.
  void number_rows_at_risk() {
    number.assign(p_.space.size(), -1);
    for (std::size_t i = 0; i < p_.space.size(); ++i)
      if (p_.base[i] < p_.k) {
        number[i] = static_cast<std::int32_t>(at_risk.size());
        at_risk.push_back(static_cast<std::int64_t>(i));
      }
  }

  // Sets of one size, the largest number first, each with the rows at risk that it is closed to, a bit each.
  struct Level {
    std::vector<Columns> sets;
    std::vector<std::uint32_t> closed;
  };

  void find_cells() {
    const int q = static_cast<int>(p_.space.columns());
    Columns free = 0;
    for (int j = 0; j < q; ++j)
      if (std::isfinite(p_.cost[j]) && p_.budget[j] > 0) free |= Columns{1} << j;
    words_ = (at_risk.size() + 31) / 32;
    served_.assign(at_risk.size(), false);
    unserved_ = at_risk.size();
    const bool many = ones(free) > kAllSets;
    const auto done = [&](int size) { return at_risk.empty() || (many && size > kLargestSet && unserved_ == 0); };
    Level smaller{{0}, std::vector<std::uint32_t>(words_)};
    for (int size = 1; size <= ones(free) && !done(size); ++size) {
      Level level = larger(smaller, free);
      for (std::size_t i = 0; i < level.sets.size() && !done(size); ++i) {
        closed_ = &level.closed[i * words_];
        inherit(smaller, level.sets[i]);
        if (size == 1) close_missing(level.sets[i]);
        cells_of_set(level.sets[i]);
      }
      smaller = std::move(level);
    }
    cells_of.assign(at_risk.size(), {});
    for (std::size_t u = 0; u < cells.size(); ++u)
      for (auto m = cells[u].first; m < cells[u].last; ++m)
        cells_of[members[m].row].push_back(static_cast<std::int32_t>(u));
    served_.clear();
  }

  // Each set once, made of the one without its lowest column.
  Level larger(const Level& smaller, Columns free) const {
    Level out;
    for (const Columns set : smaller.sets)
      for (Columns column = kTop; column; column /= 2)
        if (column & free & ((set & (~set + 1)) - 1)) out.sets.push_back(set | column);
    out.closed.assign(out.sets.size() * words_, 0);
    return out;
  }

  // A set is open to a row at risk that has all its cells, and that no subset would make safe. So it is closed to those
  // that a subset of one column less is closed to, or has made safe.
  void inherit(const Level& smaller, Columns set) {
    for (Columns left = set; left; left &= left - 1) {
      const Columns subset = set & ~(left & (~left + 1));
      const auto at = std::lower_bound(smaller.sets.begin(), smaller.sets.end(), subset, std::greater<>());
      const std::uint32_t* from = &smaller.closed[(at - smaller.sets.begin()) * words_];
      for (std::size_t w = 0; w < words_; ++w) closed_[w] |= from[w];
    }
  }

  void close_missing(Columns set) {
    for (std::size_t r = 0; r < at_risk.size(); ++r)
      if (p_.space.missing(at_risk[r]) & set) close(r);
  }

  void close(std::size_t r) { closed_[r / 32] |= std::uint32_t{1} << r % 32; }
  bool open(std::size_t r) const { return !(closed_[r / 32] >> r % 32 & 1); }

  // The cells of all rows at risk that a set is open to, where the original table has k compatible records.
  void cells_of_set(Columns set) {
    open_.clear();
    for (std::size_t r = 0; r < at_risk.size(); ++r)
      if (open(r)) open_.push_back(at_risk[r]);
    if (open_.empty()) return;
    std::vector<Columns> unions;
    for (const std::int64_t i : open_) {
      const Columns both = set | p_.space.missing(i);
      if (unions.empty() || unions.back() != both) unions.push_back(both);
    }
    std::sort(unions.begin(), unions.end());
    unions.erase(std::unique(unions.begin(), unions.end()), unions.end());
    bounds_.clear();
    for (const Columns both : unions) bounds_.add(both);
    Tally place;
    std::vector<Columns> blank;
    std::vector<std::int64_t> support;
    for (const std::int64_t i : open_) {
      const Columns both = set | p_.space.missing(i);
      if (!bounds_.ask(i, both)) continue;
      auto& at = place.at(p_.space.key(i, both), -1);
      if (at >= 0) continue;
      at = static_cast<std::int64_t>(blank.size());
      blank.push_back(both);
      support.push_back(0);
    }
    if (blank.empty()) return;
    std::vector<std::pair<std::int64_t, std::int64_t>> inside;  // (cell, row of the table)
    for (const Columns both : unions)
      bounds_.each_asked(both, [&](std::int64_t i) {
        const std::int64_t at = place.get(p_.space.key(i, both), -1);
        if (at < 0) return;
        support[at] += p_.counts[i];
        inside.emplace_back(at, i);
      });
    std::sort(inside.begin(), inside.end());
    for (std::size_t a = 0, b; a < inside.size(); a = b) {
      for (b = a; b < inside.size() && inside[b].first == inside[a].first; ++b) {}
      if (support[inside[a].first] >= p_.k) add_cell(blank[inside[a].first], set, &inside[a], &inside[b]);
    }
  }

  void add_cell(Columns blank, Columns set, const std::pair<std::int64_t, std::int64_t>* from,
                const std::pair<std::int64_t, std::int64_t>* to) {
    Cell cell{blank, static_cast<std::int64_t>(members.size()), 0, static_cast<std::int64_t>(owners.size()), 0, -1};
    for (; from != to; ++from) {
      const std::int64_t i = from->second;
      const std::int32_t r = number[i];
      if (r < 0) {
        if (cell.donor < 0 || p_.counts[i] > p_.counts[cell.donor]) cell.donor = i;
        continue;
      }
      const bool allowed = open(r) && (set | p_.space.missing(i)) == blank;
      members.push_back({r, allowed});
      if (!allowed) continue;
      owners.push_back(r);
      if (!served_[r]) --unserved_;
      served_[r] = true;
      if (!p_.sacrifice) close(r);
    }
    cell.last = static_cast<std::int64_t>(members.size());
    cell.own_end = static_cast<std::int64_t>(owners.size());
    if (!p_.sacrifice) cell.donor = -1;
    cells.push_back(cell);
  }

  const Problem& p_;
  SupportBounds bounds_;
  std::vector<std::int64_t> open_;            // rows of the table that a set is open to
  std::size_t words_ = 0, unserved_ = 0;
  std::uint32_t* closed_ = nullptr;           // of the set that is looked at
  std::vector<bool> served_;                  // by row at risk: whether a set would make it safe
};

}  // namespace suppression
}  // namespace shoal

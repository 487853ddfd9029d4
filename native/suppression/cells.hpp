// The cells that may be blanked to protect rows at risk (cover.hpp says what a cell is).
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/bits.hpp"
#include "core/keys.hpp"
#include "core/progress.hpp"
#include "suppression/support_bounds.hpp"

namespace shoal {
inline namespace suppression {

constexpr int kAllSets = 8;     // up to so many free keys every set of cells is a candidate;
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

  void find_cells() {
    const int q = static_cast<int>(p_.space.columns());
    Columns free = 0;
    for (int j = 0; j < q; ++j)
      if (std::isfinite(p_.cost[j]) && p_.budget[j] > 0) free |= Columns{1} << j;
    std::vector<Columns> sets;
    const bool many = ones(free) > kAllSets;
    for (Columns set = free; set; set = (set - 1) & free) sets.push_back(set);
    std::stable_sort(sets.begin(), sets.end(),
                     [](Columns a, Columns b) { return ones(a) < ones(b); });
    served_.assign(at_risk.size(), {});
    std::size_t unserved = at_risk.size();
    for (const Columns set : sets) {
      if (many && ones(set) > kLargestSet && unserved == 0) break;
      cells_of_set(set, unserved);
    }
    cells_of.assign(at_risk.size(), {});
    for (std::size_t u = 0; u < cells.size(); ++u)
      for (auto m = cells[u].first; m < cells[u].last; ++m)
        cells_of[members[m].row].push_back(static_cast<std::int32_t>(u));
    served_.clear();
  }

  // Whether a set of cells may be blanked in a row at risk: it has them all, and no subset would do. The subset that
  // would is put first, for it is part of the sets that follow, too.
  bool open(std::int32_t r, Columns set) {
    if (p_.space.missing(at_risk[r]) & set) return false;
    if (p_.sacrifice) return true;
    auto& served = served_[r];
    for (std::size_t i = 0; i < served.size(); ++i)
      if ((served[i] & set) == served[i]) {
        std::swap(served[i], served[0]);
        return false;
      }
    return true;
  }

  // The cells of all rows at risk that a set is open to, where the original table has k compatible records.
  void cells_of_set(Columns set, std::size_t& unserved) {
    open_.clear();
    for (std::size_t r = 0; r < at_risk.size(); ++r)
      if (open(static_cast<std::int32_t>(r), set)) open_.push_back(at_risk[r]);
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
      if (support[inside[a].first] >= p_.k) add_cell(blank[inside[a].first], set, &inside[a], &inside[b], unserved);
    }
  }

  void add_cell(Columns blank, Columns set, const std::pair<std::int64_t, std::int64_t>* from,
                const std::pair<std::int64_t, std::int64_t>* to, std::size_t& unserved) {
    Cell cell{blank, static_cast<std::int64_t>(members.size()), 0, -1};
    for (; from != to; ++from) {
      const std::int64_t i = from->second;
      const std::int32_t r = number[i];
      if (r < 0) {
        if (cell.donor < 0 || p_.counts[i] > p_.counts[cell.donor]) cell.donor = i;
        continue;
      }
      const bool allowed = open(r, set) && (set | p_.space.missing(i)) == blank;
      members.push_back({r, allowed});
      if (!allowed) continue;
      if (served_[r].empty()) --unserved;
      served_[r].push_back(set);
    }
    cell.last = static_cast<std::int64_t>(members.size());
    if (!p_.sacrifice) cell.donor = -1;
    cells.push_back(cell);
  }

  const Problem& p_;
  SupportBounds bounds_;
  std::vector<std::int64_t> open_;            // rows of the table that a set is open to
  std::vector<std::vector<Columns>> served_;  // by row at risk: the sets that would make it safe
};

}  // namespace suppression
}  // namespace shoal

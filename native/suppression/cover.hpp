// Local suppression when a missing cell matches every value: the fewest weighted cells by greedy cover and
// repeated repair.
//
// Rows are distinct combinations of q keys with their number of records. A row whose records have fewer than k
// compatible records is at risk. Blanking a set V of cells in one record of row b (which then misses U, V and
// what it missed before) does two things:
//   - the record itself becomes compatible with all records of its cell (U, p), p its projection off U. Where
//     the original table has k or more of them, it is safe for good, because blanking only ever adds
//     compatible pairs;
//   - each record at risk in the cell (U, p) that was not compatible with b gains one compatible record.
// So what is left to find is a cover: a set of operations (cell, row) of least cost after which each record at
// risk is blanked itself or has gained what it lacks.
//
// Without `sacrifice` a record at risk may only lose a set of cells that is *minimal for itself*: no proper
// subset would make it safe. Each lost cell is then one that its own record needs. With `sacrifice` any record
// may lose any cells for the sake of others, and k - 1 records blanked altogether "protect" a whole table:
// fewest cells, but not what one usually wants.
//
// Greedy: the operation with the largest gain (sum over records at risk of what they lack and get) for its
// cost, through a heap of upper bounds; gains only fall, so a popped bound that still holds is the maximum.
// Look-ahead: gains are weighted by a price of each row at risk, the least cost at which it can be served at
// all divided by what it lacks, so that cells which only serve rows that are cheap to serve anyway wait.
// Refinement: take out the operations around a random row at risk, repair greedily, drop what has become
// superfluous, and keep the outcome unless it costs more; until a given amount of work is done. The work is
// counted in rows touched, not in seconds, so results repeat.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

#include "core/elementary.hpp"
#include "core/random.hpp"
#include "suppression/cells.hpp"

namespace shoal {
inline namespace suppression {

constexpr int kRuin = 12;        // at most so many operations are taken out at once;
constexpr std::size_t kMostCells = 2000;  // looked at for what an insertion makes superfluous
constexpr double kWarmth = 0.3;  // temperature at the start, in costs of the cheapest cell
constexpr double kWhim = 0.5;    // and the rates of cells vary by up to this share from round to round

struct Operation {
  std::int32_t cell;
  std::int64_t row;  // row of the table
};

class Cover {
 public:
  Cover(const Problem& p, const Cells& candidates, std::uint64_t seed, Progress& progress)
      : p_(p), at_risk_(candidates.at_risk), number_(candidates.number), cells_(candidates.cells), members_(candidates.members),
        owners_(candidates.owners), cells_of_(candidates.cells_of), random_(seed), progress_(progress), budget_(p.budget, p.budget + p.space.columns()),
        donated_(p.space.size(), 0), operations_at_(cells_.size()), demand_(cells_.size(), 0) {
    for (const std::int64_t row : at_risk_) {
      have_.push_back(p.base[row]);
      left_.push_back(p.counts[row]);
    }
    price();
  }

  bool solve(double work) {
    std::vector<std::int32_t> all(cells_.size());
    std::iota(all.begin(), all.end(), 0);
    const bool served = repair(all);
    for (std::size_t r = 0; r < at_risk_.size(); ++r)
      if (lacks(r)) return false;  // it lies in no cell that is left
    if (!served) return false;
    first_total_ = total_;
    drop_superfluous(operations());
    const std::vector<Operation> greedy = operations();
    const double greedy_total = total_;
    for (const double start = work_; work_ < start + work && !at_risk_.empty();) {
      done_ = (work_ - start) / work;
      progress_.tick(done_);
      improve(least_cost() * kWarmth * (1 - done_));
    }
    if (total_ > greedy_total) {
      for (const Operation& o : operations()) take_out(o);
      for (const Operation& o : greedy) add(o.cell, o.row);
    }
    return true;
  }

  std::vector<Operation> operations() const {
    std::vector<Operation> out;
    for (std::size_t u = 0; u < cells_.size(); ++u)
      for (const std::int64_t row : operations_at_[u]) out.push_back({static_cast<std::int32_t>(u), row});
    return out;
  }
  double first_total() const { return first_total_; }
  double total() const { return total_; }
  Columns blank(std::int32_t cell) const { return cells_[cell].blank; }

 private:
  double cost(std::int32_t u, std::int64_t row) const {
    double sum = 0;
    const Columns lost = cells_[u].blank & ~p_.space.missing(row);
    for (std::size_t j = 0; j < p_.space.columns(); ++j)
      if (lost >> j & 1) sum += p_.cost[j];
    return sum;
  }

  // Price of one missing compatible record of each row at risk; and the demand of each cell.
  void price() {
    std::vector<double> least(at_risk_.size(), std::numeric_limits<double>::infinity());
    for (std::size_t u = 0; u < cells_.size(); ++u)
      for (auto m = cells_[u].own; m < cells_[u].own_end; ++m) {
        const std::int32_t r = owners_[m];
        least[r] = std::min(least[r], cost(static_cast<std::int32_t>(u), at_risk_[r]));
      }
    price_.assign(at_risk_.size(), 0);
    own_gain_.resize(at_risk_.size());
    for (std::size_t r = 0; r < at_risk_.size(); ++r) {
      if (!std::isfinite(least[r])) least[r] = 1;
      price_[r] = least[r] / static_cast<double>(p_.k - have_[r]);
      if (lacks(r)) change_demand(r, static_cast<double>(left_[r]));
      settle_own_gain(r);
    }
  }

  bool lacks(std::size_t r) const { return left_[r] > 0 && have_[r] < p_.k; }

  void change_demand(std::size_t r, double records) {
    for (const std::int32_t u : cells_of_[r]) demand_[u] += price_[r] * records;
    work_ += static_cast<double>(cells_of_[r].size());
  }

  bool affordable(std::int32_t u, std::int64_t row) const {
    const Columns lost = cells_[u].blank & ~p_.space.missing(row);
    for (std::size_t j = 0; j < p_.space.columns(); ++j)
      if ((lost >> j & 1) && budget_[j] < 1) return false;
    return true;
  }

  // The best row to blank in a cell: {gain for its cost, row}. Rows at risk that may be blanked there lose the same cells, so
  // that of them only one that gains more than those before can be better.
  std::pair<double, std::int64_t> best_in(std::int32_t u) {
    std::pair<double, std::int64_t> best{0, -1};
    const Cell& cell = cells_[u];
    const auto consider = [&](double gain, std::int64_t row) {
      const double rate = gain * whim(u) / std::max(cost(u, row), 1e-12);
      if (rate > best.first && affordable(u, row)) best = {rate, row};
    };
    const bool donates = cell.donor >= 0 && donated_[cell.donor] < p_.counts[cell.donor];
    if (donates && demand_[u] > 1e-9) consider(demand_[u], cell.donor);
    double most = 1e-9;
    for (auto m = cell.own; m < cell.own_end; ++m) {
      const double gain = demand_[u] + own_gain_[owners_[m]];
      if (!(gain > most)) continue;
      most = gain;
      consider(gain, at_risk_[owners_[m]]);
    }
    work_ += static_cast<double>(cell.last - cell.first);
    return best;
  }

  // What a row at risk gains by being blanked itself, beside what its cell gains: nothing where it lacks nothing.
  void settle_own_gain(std::size_t r) {
    own_gain_[r] = -std::numeric_limits<double>::infinity();
    if (lacks(r)) own_gain_[r] = price_[r] * static_cast<double>(p_.k - have_[r] - left_[r]);
  }

  // Blank one record of `row` as the cell says, or take that back (`step` -1).
  void move(std::int32_t u, std::int64_t row, int step) {
    const std::int32_t own = number_[row];
    const Cell& cell = cells_[u];
    if (own >= 0) {
      if (have_[own] < p_.k) change_demand(own, -step);
      left_[own] -= step;
      settle_own_gain(own);
    } else {
      donated_[row] += step;
    }
    for (auto m = cell.first; m < cell.last; ++m) {
      const std::int32_t r = members_[m].row;
      if (r == own || p_.space.compatible(at_risk_[r], row)) continue;
      if (step > 0 && have_[r] + 1 == p_.k) change_demand(r, -static_cast<double>(left_[r]));
      if (step < 0 && have_[r] == p_.k) change_demand(r, static_cast<double>(left_[r]));
      have_[r] += step;
      settle_own_gain(r);
    }
    const Columns lost = cell.blank & ~p_.space.missing(row);
    for (std::size_t j = 0; j < p_.space.columns(); ++j) budget_[j] -= (lost >> j & 1) ? step : 0;
    total_ += step * cost(u, row);
    work_ += static_cast<double>(cell.last - cell.first);
  }

  void add(std::int32_t u, std::int64_t row) {
    move(u, row, 1);
    operations_at_[u].push_back(row);
    journal_.push_back({{u, row}, 1});
  }

  void take_out(const Operation& o) {
    move(o.cell, o.row, -1);
    auto& here = operations_at_[o.cell];
    here.erase(std::find(here.begin(), here.end(), o.row));
    journal_.push_back({o, -1});
  }

  void roll_back() {
    std::vector<std::pair<Operation, int>> done;
    done.swap(journal_);
    for (auto it = done.rbegin(); it != done.rend(); ++it)
      if (it->second > 0) {
        take_out(it->first);
      } else {
        add(it->first.cell, it->first.row);
      }
  }

  // Greedy over some cells until nothing in them helps; true if no row at risk of theirs lacks anything.
  bool repair(const std::vector<std::int32_t>& where) {
    std::priority_queue<std::pair<double, std::int32_t>> heap;
    for (const std::int32_t u : where)
      if (const auto [rate, row] = best_in(u); row >= 0) heap.emplace(rate, -u);
    while (!heap.empty()) {
      progress_.tick(done_);
      const auto [bound, minus] = heap.top();
      heap.pop();
      const auto [rate, row] = best_in(-minus);
      if (row < 0) continue;
      if (heap.empty() || rate >= heap.top().first) add(-minus, row);
      heap.emplace(rate, minus);
    }
    for (const std::int32_t u : where)
      for (auto m = cells_[u].first; m < cells_[u].last; ++m)
        if (lacks(members_[m].row)) return false;
    return true;
  }

  bool superfluous(const Operation& o) {
    const std::int32_t own = number_[o.row];
    if (own >= 0 && have_[own] < p_.k) return false;
    for (auto m = cells_[o.cell].first; m < cells_[o.cell].last; ++m) {
      work_ += 1;
      const std::int32_t r = members_[m].row;
      if (r != own && left_[r] > 0 && have_[r] <= p_.k && !p_.space.compatible(at_risk_[r], o.row)) return false;
    }
    return true;
  }

  // Take out what is not needed, costliest first.
  void drop_superfluous(std::vector<Operation> all) {
    std::stable_sort(all.begin(), all.end(), [&](const Operation& a, const Operation& b) {
      return cost(a.cell, a.row) > cost(b.cell, b.row);
    });
    for (const Operation& o : all)
      if (superfluous(o)) take_out(o);
  }

  double least_cost() const { return *std::min_element(p_.cost, p_.cost + p_.space.columns()); }

  // One round around a random row at risk; what costs more stays with the probability of simulated annealing.
  void improve(double temperature) {
    work_ += 1;
    const std::size_t centre = random_.below(at_risk_.size());
    journal_.clear();
    const double before = total_;
    const bool whole = random_.below(2) ? ruin_and_repair(centre) : insert_and_prune(centre);
    const double worse = total_ - before;
    if (!whole || (worse > 1e-9 && random_.uniform() >= exponential(-worse / temperature))) roll_back();
    journal_.clear();
  }

  // Blank a record more, then drop what that makes superfluous, in random order.
  bool insert_and_prune(std::size_t centre) {
    const auto& own = cells_of_[centre];
    const std::int32_t u = own[random_.below(own.size())];
    const Cell& cell = cells_[u];
    const Member& one = members_[cell.first + static_cast<std::int64_t>(random_.below(cell.last - cell.first))];
    if (!one.allowed || left_[one.row] < 1 || !affordable(u, at_risk_[one.row])) return true;
    std::vector<std::int32_t> where;
    for (auto m = cell.first; m < cell.last && where.size() < kMostCells; ++m)
      where.insert(where.end(), cells_of_[members_[m].row].begin(), cells_of_[members_[m].row].end());
    add(u, at_risk_[one.row]);
    std::sort(where.begin(), where.end());
    where.erase(std::unique(where.begin(), where.end()), where.end());
    std::vector<Operation> now = operations_in(where);
    for (std::size_t i = now.size(); i > 1; --i) std::swap(now[i - 1], now[random_.below(i)]);
    for (const Operation& o : now)
      if (!(o.cell == u && o.row == at_risk_[one.row]) && superfluous(o)) take_out(o);
    return true;
  }

  std::vector<Operation> operations_in(const std::vector<std::int32_t>& where) const {
    std::vector<Operation> now;
    for (const std::int32_t u : where)
      for (const std::int64_t row : operations_at_[u]) now.push_back({u, row});
    return now;
  }

  // Take out operations around a row at risk and let the greedy choose anew.
  bool ruin_and_repair(std::size_t centre) {
    std::vector<Operation> near;
    for (const std::int32_t u : cells_of_[centre])
      for (const std::int64_t row : operations_at_[u]) near.push_back({u, row});
    if (near.empty()) return true;
    const std::size_t few = std::min<std::size_t>(near.size(), 1 + random_.below(kRuin));
    for (std::size_t i = 0; i < few; ++i) std::swap(near[i], near[i + random_.below(near.size() - i)]);
    near.resize(few);
    std::vector<std::int32_t> where;
    for (const Operation& o : near) take_out(o);
    for (const Operation& o : near) {
      if (number_[o.row] >= 0) gather(number_[o.row], where);
      for (auto m = cells_[o.cell].first; m < cells_[o.cell].last; ++m) gather(members_[m].row, where);
    }
    std::sort(where.begin(), where.end());
    where.erase(std::unique(where.begin(), where.end()), where.end());
    salt_ = random_.bits();
    if (!repair(where)) return false;
    drop_superfluous(operations_in(where));
    return true;
  }

  // The cells of a row at risk, if it lacks something.
  void gather(std::int32_t r, std::vector<std::int32_t>& where) const {
    if (lacks(r)) where.insert(where.end(), cells_of_[r].begin(), cells_of_[r].end());
  }

  // A factor near 1 for each cell, the same throughout a round: makes repairs differ.
  double whim(std::int32_t u) const {
    if (salt_ == 0) return 1;
    return 1 + kWhim * Random(salt_ ^ static_cast<std::uint64_t>(u)).uniform();
  }

  const Problem& p_;
  const std::vector<std::int64_t>& at_risk_;
  const std::vector<std::int32_t>& number_;
  const std::vector<Cell>& cells_;
  const std::vector<Member>& members_;
  const std::vector<std::int32_t>& owners_;
  const std::vector<std::vector<std::int32_t>>& cells_of_;
  Random random_;
  Progress& progress_;
  std::vector<std::int64_t> budget_, have_, left_, donated_;
  std::vector<std::vector<std::int64_t>> operations_at_;  // by cell: the rows that lose a record to it
  std::vector<std::pair<Operation, int>> journal_;
  std::vector<double> price_, demand_, own_gain_;
  std::uint64_t salt_ = 0;
  double total_ = 0, first_total_ = 0, work_ = 0, done_ = 0;
};

}  // namespace suppression
}  // namespace shoal

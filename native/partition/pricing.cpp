// All groups of k to 2k - 1 records that cost less than their members' prices.
//
// With a price u_i a record, the reduced cost of a group S of m records is a sum over its pairs,
//
//   SSE(S) - sum u_i = sum_{i<j in S} w_ij,   w_ij = |x_i - x_j|^2 / m - (u_i + u_j) / (m - 1),
//
// since SSE(S) is the sum of its squared distances over m. Let the star of i in S be s_i = sum_j w_ij; the
// stars of S sum to 2 w(S). If w(S) < 0, the member with the largest star can be taken away and w stays
// negative: a star that is not negative leaves w(S) - s <= w(S); if all stars are negative, the largest is at
// least their mean 2 w(S) / m and leaves at most w(S) (1 - 2/m), negative for m > 2. So every group below its
// price grows from a pair below zero, one record at a time, each time by the record whose star is then the
// largest (the highest row among equals): every such group has exactly one such history, and a depth-first
// walk over the histories meets each group once and misses none (reverse search, Avis & Fukuda 1996).
//
// That argument compares stars, which must not depend on the history that led to them: among duplicates stars are
// equal, and a last bit would hide a group or list it twice. So weights are rounded to multiples of a power of two
// so coarse that every sum of them is exact. They are rounded down, which keeps all groups below zero below zero;
// whether a group is listed is decided by its unrounded cost.
//
// Branches are cut by a second bound: with D(S, v) the sum of v's squared distances to S and N(v, r) that of its r
// least squared distances to any record, a completion R of S costs at least D(S)/m - u(S) + the sum of the |R| = r
// least values of (D(S, v) + N(v, r - 1)/2)/m - u_v. A walk that is cut short by `limit` says so.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "partition/groups.hpp"

namespace shoal {
namespace {

// A record that may join a group S, and the sum D(S, v) of its squared distances to S.
using Newcomer = std::pair<Record, double>;
using Newcomers = std::vector<Newcomer>;

class Walk {
 public:
  // Of groups of fewer than `most` + 1 records.
  Walk(const Cloud& cloud, std::vector<double> prices, std::size_t most, std::int64_t limit, double least,
       Progress& progress)
      : cloud_(cloud), prices_(std::move(prices)), most_(most), left_(limit), least_(least), progress_(progress),
        short_(cloud.n(), 0.0) {
    const std::size_t n = cloud.n();
    square_.resize(n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        square_[i * n + j] = cloud.distance(static_cast<Record>(i), static_cast<Record>(j));
    measure_near();
  }

  // All groups of m records with a reduced cost below -least; false if the limit came first.
  bool of_size(std::size_t m) {
    m_ = m;
    newcomers_.assign(m, {});
    for (Record v = 0; v < static_cast<Record>(cloud_.n()); ++v) newcomers_[0].emplace_back(v, 0.0);
    if (!weigh()) return true;
    for (Record i = 0; i < static_cast<Record>(cloud_.n()); ++i) {
      group_ = {i};
      for (const auto& [j, apart] : narrow(1, -price(i))) {
        const double w = weight(i, j);
        if (j < i || w >= 0) continue;
        group_ = {i, j};
        stars_ = {w, w};
        if (!grow(apart, price(i) + price(j), w)) return false;
      }
      progress_.tick(0);
    }
    return true;
  }

  std::vector<std::int32_t> members;
  std::vector<std::int64_t> ends;
  std::vector<double> costs;
  // How far each price must fall, at most, so that no group found stays below it.
  const std::vector<double>& shortfall() const { return short_; }

 private:
  double square(Record i, Record j) const {
    return square_[static_cast<std::size_t>(i) * cloud_.n() + static_cast<std::size_t>(j)];
  }
  double price(Record i) const { return prices_[static_cast<std::size_t>(i)]; }
  double weight(Record i, Record j) const {
    return weight_[static_cast<std::size_t>(i) * cloud_.n() + static_cast<std::size_t>(j)];
  }

  // Weights w_ij for groups of m_ records, rounded down; false if none is below zero, so that no group is. A
  // weight above the sum of all that a group could set against it may count as that sum: no group with such a
  // pair is below zero either way, and the rounding need not be coarser for it.
  bool weigh() {
    const auto n = static_cast<Record>(cloud_.n());
    const double m = static_cast<double>(m_);
    weight_.resize(square_.size());
    double least = 0.0;
    for (Record i = 0; i < n; ++i) {
      for (Record j = 0; j < n; ++j) {
        const double w = square(i, j) / m - (price(i) + price(j)) / (m - 1);
        weight_[static_cast<std::size_t>(i) * cloud_.n() + static_cast<std::size_t>(j)] = w;
        if (i != j) least = std::min(least, w);
      }
    }
    int of_cap = 0, of_pairs = 0;
    std::frexp(-least * m * m, &of_cap);
    std::frexp(m * m, &of_pairs);
    of_cap = std::max(of_cap, -900);  // coarser for prices near underflow
    const double cap = std::ldexp(1.0, of_cap), unit = std::ldexp(1.0, of_cap + of_pairs - 53);
    for (double& w : weight_) w = std::floor(std::min(w, cap) / unit) * unit;
    return least < 0;
  }

  // Walk on from the group at hand, given the sums of its squared distances, of its prices and of its weights;
  // false if the limit came first.
  bool grow(double distances, double owned, double total) {
    if (--left_ < 0) return false;
    const std::size_t t = group_.size();
    const double m = static_cast<double>(m_), cost = distances / m - owned;
    if (t == m_) {
      if (cost < -least_) keep(cost);
      return true;
    }
    const Newcomers& now = narrow(t, cost);
    if (now.size() < m_ - t) return true;
    for (std::size_t c = 0; c < now.size(); ++c) {
      const auto [added, far] = now[c];
      double star = 0.0;
      for (const Record i : group_) star += weight(i, added);
      if (total + star >= 0 || !is_last(added, star)) continue;
      const std::vector<double> stars = stars_;
      for (std::size_t r = 0; r < t; ++r) stars_[r] += weight(group_[r], added);
      group_.push_back(added);
      stars_.push_back(star);
      const bool complete = grow(distances + far, owned + price(added), total + star);
      group_.pop_back();
      stars_ = stars;
      if (!complete) return false;
    }
    return true;
  }

  // Those who could join the group S of t records: of those who could join it without its newest member, all with
  // whom the bound stays below zero. Who is out here is out for all that grows from S.
  const Newcomers& narrow(std::size_t t, double cost) {
    const Newcomers& before = newcomers_[t - 1];
    Newcomers& now = newcomers_[t];
    const std::size_t others = m_ - t - 1;
    now.clear();
    cheapest_.assign(others, std::numeric_limits<double>::infinity());
    for (const auto& [v, far] : before) {
      if (v == group_.back()) continue;
      now.emplace_back(v, far + square(v, group_.back()));
      double newcomer = join_cost(now.back(), others);
      if (others == 0 || newcomer >= cheapest_.back()) continue;
      for (double& kept : cheapest_)
        if (newcomer < kept) std::swap(newcomer, kept);
    }
    for (const double newcomer : cheapest_) cost += newcomer;
    const auto out = [&](const Newcomer& one) { return cost + join_cost(one, others) >= -least_; };
    now.erase(std::remove_if(now.begin(), now.end(), out), now.end());
    return now;
  }

  // What a newcomer adds to the cost, at least, together with `others`: these are no nearer to it than its nearest.
  double join_cost(const Newcomer& one, std::size_t others) const {
    const double among = near_[static_cast<std::size_t>(one.first) * most_ + others];
    return (one.second + 0.5 * among) / static_cast<double>(m_) - price(one.first);
  }

  // near_[v * most_ + r]: the sum of v's r least squared distances to other records.
  void measure_near() {
    const std::size_t n = cloud_.n();
    near_.assign(n * most_, 0.0);
    std::vector<double> row(n);
    for (std::size_t v = 0; v < n; ++v) {
      std::copy_n(square_.begin() + static_cast<std::ptrdiff_t>(v * n), n, row.begin());
      std::swap(row[v], row[n - 1]);
      const auto end = row.begin() + static_cast<std::ptrdiff_t>(std::min(most_, n) - 1);
      std::partial_sort(row.begin(), end, row.end() - 1);
      for (std::size_t r = 1; r < std::min(most_, n); ++r) near_[v * most_ + r] = near_[v * most_ + r - 1] + row[r - 1];
    }
  }

  // Whether `v`, from outside the group, would be the member with the largest star, highest row among equals.
  bool is_last(Record v, double star) const {
    for (std::size_t r = 0; r < group_.size(); ++r) {
      const double other = stars_[r] + weight(group_[r], v);
      if (other > star || (other == star && group_[r] > v)) return false;
    }
    return true;
  }

  void keep(double total) {
    for (const Record i : group_) {
      double& need = short_[static_cast<std::size_t>(i)];
      need = std::max(need, -total / static_cast<double>(m_));
    }
    members.insert(members.end(), group_.begin(), group_.end());
    std::sort(members.end() - static_cast<std::ptrdiff_t>(m_), members.end());
    ends.push_back(static_cast<std::int64_t>(members.size()));
    costs.push_back(total);
  }

  const Cloud& cloud_;
  std::vector<double> prices_;
  std::size_t most_;
  std::int64_t left_;
  double least_;
  Progress& progress_;
  std::vector<double> square_;
  std::vector<double> weight_;  // w_ij for groups of m_ records, rounded
  std::vector<double> short_;
  std::size_t m_ = 0;
  std::vector<double> near_;
  std::vector<Newcomers> newcomers_;  // by size of the group
  std::vector<double> cheapest_;
  std::vector<Record> group_;
  std::vector<double> stars_;
};

using Rows = nb::typed<nb::tuple, int, nb::ellipsis>;

// Tuples of row numbers, from all of them one after the other and where each tuple ends.
std::vector<Rows> as_tuples(const std::vector<std::int32_t>& members, const std::vector<std::int64_t>& ends) {
  std::vector<Rows> tuples;
  std::size_t at = 0;
  for (const std::int64_t end : ends) {
    nb::list rows;
    while (at < static_cast<std::size_t>(end)) rows.append(members[at++]);
    tuples.emplace_back(nb::tuple(rows));
  }
  return tuples;
}

struct BelowPrice {
  std::vector<Rows> groups;
  Output<double> reduced, shortfall;
  bool complete;
};

constexpr const char* kGroupsBelowPrice = R"(List the groups of k to 2k - 1 records whose sum of squares is more than `least` below their prices.

Parameters
----------
x
    Shape (n, d), finite; n^2 distances are kept in memory.
prices
    Shape (n,).
k
    At least 2.
limit
    Steps of the walk after which it is cut short.)";

auto groups_below_price(Matrix x, Vector prices, std::int64_t k, double least, std::int64_t limit,
                        Listener listener) {
  Progress progress(listener);
  std::vector<double> shortfall, costs;
  std::vector<std::int32_t> members;
  std::vector<std::int64_t> ends;
  bool complete = true;
  {
    nb::gil_scoped_release free_lock;
    const Cloud cloud(x.data(), nullptr, x.shape(0), x.shape(1));
    const double unit = cloud.in_units(1.0);
    std::vector<double> scaled(prices.data(), prices.data() + prices.shape(0));
    for (double& price : scaled) price /= unit;
    const std::size_t most = std::min(static_cast<std::size_t>(2 * k - 1), cloud.n());
    Walk walk(cloud, std::move(scaled), most, limit, least / unit, progress);
    for (std::size_t m = static_cast<std::size_t>(k); m <= most && complete; ++m) complete = walk.of_size(m);
    shortfall = walk.shortfall();
    costs = walk.costs;
    for (double& value : shortfall) value *= unit;
    for (double& value : costs) value *= unit;
    members = std::move(walk.members);
    ends = std::move(walk.ends);
  }
  return BelowPrice{as_tuples(members, ends), to_numpy(std::move(costs)), to_numpy(std::move(shortfall)), complete};
}

const Kernel pricing_kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<BelowPrice>(m, "BelowPrice", "Groups whose loss is below the sum of their members' prices.")
      .def_ro("groups", &BelowPrice::groups, "Ascending row numbers of each.")
      .def_ro("reduced", &BelowPrice::reduced, "Shape (number of groups,); loss less prices, negative.")
      .def_ro("shortfall", &BelowPrice::shortfall,
              "Shape (n,); lowering each price by this much leaves no listed group below its price.")
      .def_ro("complete", &BelowPrice::complete, "True if the list holds all such groups.");
  m.def("groups_below_price", &groups_below_price, "x"_a, "prices"_a, "k"_a, nb::kw_only(), "least"_a, "limit"_a,
        "progress"_a.none() = nb::none(), kGroupsBelowPrice);
});

}  // namespace
}  // namespace shoal

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
// Branches are cut by a second bound: with D(S, v) the sum of v's squared distances to S, and the distances
// of the newcomers to each other taken as 0, a completion R of S costs at least D(S)/m - u(S) + the sum of the
// |R| least values of D(S, v)/m - u_v. A walk that is cut short by `limit` says so.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "partition/groups.hpp"

namespace shoal {
namespace {

class Walk {
 public:
  Walk(const Cloud& cloud, std::vector<double> prices, std::int64_t limit, double least, Progress& progress)
      : cloud_(cloud), prices_(std::move(prices)), left_(limit), least_(least), progress_(progress), short_(cloud.n(), 0.0) {
    const std::size_t n = cloud.n();
    square_.resize(n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        square_[i * n + j] = cloud.distance(static_cast<Record>(i), static_cast<Record>(j));
  }

  // All groups of m records with a reduced cost below -least; false if the limit came first.
  bool of_size(std::size_t m) {
    m_ = m;
    far_.assign(m + 1, std::vector<double>(cloud_.n()));
    if (!weigh()) return true;
    const auto n = static_cast<Record>(cloud_.n());
    for (Record i = 0; i < n; ++i) {
      for (Record j = i + 1; j < n; ++j) {
        const double w = weight(i, j);
        if (w >= 0) continue;
        group_ = {i, j};
        stars_ = {w, w};
        if (!grow(square(i, j), price(i) + price(j), w)) return false;
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
    const std::size_t t = group_.size(), n = cloud_.n();
    const double m = static_cast<double>(m_);
    if (t == m_) {
      if (distances / m - owned < -least_) keep(distances / m - owned);
      return true;
    }
    measure(t);
    const std::vector<double>& far = far_[t];
    const double before_last = distances / m - owned + least_of_newcomers(far, m_ - t - 1);
    for (std::size_t v = 0; v < n; ++v) {
      if (before_last + far[v] / m - prices_[v] >= -least_) continue;
      const Record added = static_cast<Record>(v);
      double star = 0.0;
      for (const Record i : group_) star += weight(i, added);
      if (total + star >= 0 || !is_last(added, star)) continue;
      const std::vector<double> stars = stars_;
      for (std::size_t r = 0; r < t; ++r) stars_[r] += weight(group_[r], added);
      group_.push_back(added);
      stars_.push_back(star);
      const bool complete = grow(distances + far[v], owned + prices_[v], total + star);
      group_.pop_back();
      stars_ = stars;
      if (!complete) return false;
    }
    return true;
  }

  // far_[t][v] = D(S, v): that of the level above plus the distances to the newest member; infinite inside S.
  void measure(std::size_t t) {
    const std::size_t n = cloud_.n();
    const double* newest = square_.data() + static_cast<std::size_t>(group_[t - 1]) * n;
    const double* above = t == 2 ? square_.data() + static_cast<std::size_t>(group_[0]) * n : far_[t - 1].data();
    for (std::size_t v = 0; v < n; ++v) far_[t][v] = above[v] + newest[v];
    for (const Record i : group_) far_[t][static_cast<std::size_t>(i)] = std::numeric_limits<double>::infinity();
  }

  // Sum of the `count` least values of D(S, v)/m - u_v, of records outside S.
  double least_of_newcomers(const std::vector<double>& far, std::size_t count) {
    if (count == 0) return 0;
    least_values_.assign(count, std::numeric_limits<double>::infinity());
    for (std::size_t v = 0; v < far.size(); ++v) {
      double cost = far[v] / static_cast<double>(m_) - prices_[v];
      if (cost >= least_values_.back()) continue;
      for (double& kept : least_values_)
        if (cost < kept) std::swap(cost, kept);
    }
    double sum = 0;
    for (const double value : least_values_) sum += value;
    return sum;
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
  std::int64_t left_;
  double least_;
  Progress& progress_;
  std::vector<double> square_;
  std::vector<double> weight_;  // w_ij for groups of m_ records, rounded
  std::vector<double> short_;
  std::size_t m_ = 0;
  std::vector<std::vector<double>> far_;  // by size of the group
  std::vector<double> least_values_;
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
    Walk walk(cloud, std::move(scaled), limit, least / unit, progress);
    const std::size_t most = std::min(static_cast<std::size_t>(2 * k - 1), cloud.n());
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

const Kernel kernel([](nb::module_& m) {
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

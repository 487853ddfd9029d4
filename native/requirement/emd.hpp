// Earth mover's distance between the confidential values of a group and those of a table.
//
// A Distribution is one column of the table: m bins, bin j holding count[j] of its N records. A group is the
// ascending list of its members' bins. Three ground distances (Li, Li & Venkatasubramanian 2007):
//
// Ordered     bins lie on a line at whole-numbered places; two bins are |place difference| / range apart.
//             With F the group's and Q the table's cumulative distribution, EMD is the sum over the steps
//             between neighbouring places of |F - Q|, over the range. F is constant between two neighbouring
//             members, and Q only grows, so |F - Q| changes sign at most once there: two prefix sums (of
//             steps, and of Q over steps) and a table that finds the sign change make each such stretch cost
//             O(1). A group of c members costs O(c), whatever m and N are.
// Spread      n bins, one a record; the mass of a value that B records share is spread evenly over their B
//             places. F and Q are both straight inside a block and between blocks: arithmetic series.
// Taxonomy    two leaves are level of nearest common ancestor / height apart. Leaves are numbered so that
//             every inner node owns a range of them; the group's surplus over the table moves up the tree and
//             at each node what can be settled among its children is settled: min(surplus, deficit) times
//             the node's level. Only nodes above members can have surplus, so the cost is O(c height). One
//             level of inner nodes is the equal distance, 1/2 sum |p - q|.
//
// All are computed in whole numbers, F and Q times c N, and divided once at the end: the distance is rounded once,
// equal distances come out equal, and '<= t' means what it says. Where a share of missing values or of a block comes
// in, the quotient is cut off 27 bits below a double's last (Fixed). All numbers stay below 2^127 for any N < 2^31.
//
// A missing value (bin -1) lies at distance 1 from every value. Ordered distances then follow the plan that
// moves the missing part and the known part separately, |difference of the missing shares| + smaller known
// share x EMD of the known parts: never less than the optimum, so a table is never called closer than it is.
// A group is part of the table it is compared with: what is missing in it is missing there.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "core/ratio.hpp"

namespace shoal {

using Bin = std::int32_t;

// How often each bin occurs among some records of a table, and how many of them have no value.
struct Tallied {
  std::vector<std::int64_t> count;
  std::int64_t missing = 0;
};

class Distribution {
 public:
  virtual ~Distribution() = default;

  // The same column of a table of some of the records; bins keep their numbers, those that occur no more hold none.
  virtual std::unique_ptr<Distribution> of(const Tallied& records) const = 0;

  // The distance in whole units, for a group of `c` members in ascending order.
  virtual Wide cost(const Bin* sorted, std::size_t c) const = 0;

  // The cost when `in` takes the place of sorted[out]; `now` is the cost before.
  virtual Wide cost_after_swap(const Bin* sorted, std::size_t c, Wide now, std::size_t out, Bin in) const {
    (void)now;
    std::vector<Bin> after(sorted, sorted + c);
    after.erase(after.begin() + static_cast<std::ptrdiff_t>(out));
    after.insert(std::upper_bound(after.begin(), after.end(), in), in);
    return cost(after.data(), c);
  }

  // A cost that no group of `c` members is below, as near to the least as is known.
  virtual Wide least(std::size_t c) const {
    (void)c;
    return 0;
  }

  // The distance that a cost means for a group of `c` members.
  virtual double distance(Wide cost, std::size_t c) const = 0;
  double distance(const Bin* sorted, std::size_t c) const { return distance(cost(sorted, c), c); }
};

// The cost of groups and tables in which some have no value, and of shares that are no multiple of one unit.
struct Fixed {
  static constexpr int kPlaces = 80;  // a cost is cut off to a multiple of 2^-80 of the distance 1

  std::int64_t known, missing;  // of the table

  // For c members, `without` of them without a value; `area` is the distance of the known parts times their number,
  // that of the table's known records, and `range`, of which there are `more` 2^-64ths besides.
  Wide cost(std::size_t c, std::size_t without, std::int64_t range, WideBits area, WideBits more = 0) const {
    const Wide size = static_cast<std::int64_t>(c), all = known + missing;
    const WideBits apart = magnitude(all * static_cast<std::int64_t>(without) - size * missing);
    WideBits sum = apart == 0 ? WideBits{0} : fixed_quotient(apart, static_cast<WideBits>(size * all), kPlaces);
    if (area == 0 && more == 0) return static_cast<Wide>(sum);
    // The smaller known share, of the group or of the table, times the distance.
    const Wide units = std::max(size * known, all * static_cast<std::int64_t>(c - without)) * range;
    sum += fixed_quotient(area, static_cast<WideBits>(units), kPlaces);
    sum += fixed_quotient(more, static_cast<WideBits>(units), kPlaces - 64);
    return static_cast<Wide>(sum);
  }

  static double distance(Wide cost) { return std::ldexp(nearest(magnitude(cost)), -kPlaces); }
};

class Ordered : public Distribution {
 public:
  // `place` ascending; `range` is the distance that counts as 1 (the whole column's, where this is a part).
  Ordered(const std::int64_t* count, const std::int64_t* place, std::size_t m, std::int64_t missing,
          std::int64_t range)
      : m_(m), missing_(missing), range_(range), place_(place, place + m), below_(m + 1, 0), area_(m + 1, 0) {
    for (std::size_t j = 0; j < m; ++j) below_[j + 1] = below_[j] + count[j];
    for (std::size_t j = 0; j + 1 < m; ++j)
      area_[j + 1] = area_[j] + (place_[j + 1] - place_[j]) * below_[j + 1];
    n_ = below_[m];
    passed_.resize(static_cast<std::size_t>(n_) + 1);
    for (std::int64_t r = 0, j = 0; r <= n_; ++r) {
      while (j < static_cast<std::int64_t>(m) && below_[j + 1] <= r) ++j;
      passed_[r] = static_cast<Bin>(j);
    }
  }

  // Places are counted anew over the bins that occur, so that what is left lies on a line of its own.
  std::unique_ptr<Distribution> of(const Tallied& records) const override {
    std::vector<std::int64_t> place;
    std::int64_t occurring = 0;
    for (const std::int64_t count : records.count) {
      place.push_back(occurring);
      occurring += count > 0;
    }
    return std::make_unique<Ordered>(records.count.data(), place.data(), place.size(), records.missing, std::max<std::int64_t>(occurring - 1, 0));
  }

  Wide cost(const Bin* sorted, std::size_t c) const override {
    return missing_ > 0 ? with_missing(sorted, c) : known_cost(sorted, c);
  }

  // Only the stretches between the value that leaves and the one that comes change.
  Wide cost_after_swap(const Bin* sorted, std::size_t c, Wide now, std::size_t out, Bin in) const override {
    if (missing_ > 0) return Distribution::cost_after_swap(sorted, c, now, out, in);
    const Bin leaving = sorted[out];
    if (in > leaving) {
      std::size_t i = out;  // member i + 1 slides down to rank i while it is below `in`
      for (Bin at = leaving; at < in; ++i) {
        const Bin next = i + 1 < c ? std::min(sorted[i + 1], in) : in;
        now += stretch(i, c, at, next) - stretch(i + 1, c, at, next);
        at = next;
      }
    } else {
      std::size_t i = out;
      for (Bin at = leaving; at > in; --i) {
        const Bin next = i > 0 ? std::max(sorted[i - 1], in) : in;
        now += stretch(i + 1, c, next, at) - stretch(i, c, next, at);
        at = next;
      }
    }
    return now;
  }

  // At every step the whole number of members at or below whose share is nearest to the table's. These numbers ascend.
  Wide least(std::size_t c) const override {
    if (missing_ > 0) return 0;
    Wide sum = 0;
    for (std::size_t j = 0; j + 1 < m_; ++j) {
      const std::int64_t over = static_cast<std::int64_t>(c) * below_[j + 1] % n_;
      sum += static_cast<Wide>(place_[j + 1] - place_[j]) * std::min(over, n_ - over);
    }
    return sum;
  }

  double distance(Wide cost, std::size_t c) const override {
    if (missing_ > 0) return Fixed::distance(cost);
    const Wide units = static_cast<Wide>(c) * n_ * range_;
    return units > 0 ? nearest_quotient(magnitude(cost), static_cast<WideBits>(units)) : 0.0;
  }
  using Distribution::distance;

 private:
  Wide known_cost(const Bin* sorted, std::size_t c) const {
    if (m_ < 2 || c == 0) return 0;
    Wide sum = static_cast<Wide>(c) * area_[sorted[0]];
    for (std::size_t i = 1; i < c; ++i)
      if (sorted[i] != sorted[i - 1]) sum += stretch(i, c, sorted[i - 1], sorted[i]);
    return sum + stretch(c, c, sorted[c - 1], static_cast<Bin>(m_ - 1));
  }

  // Sum over bins a .. b - 1 of step x |i N - c below| where i members lie at or below.
  Wide stretch(std::size_t i, std::size_t c, Bin a, Bin b) const {
    const Wide group = static_cast<Wide>(i) * n_;
    const Bin turn = std::clamp(passed_[static_cast<std::size_t>(group / static_cast<Wide>(c))], a, b);
    return group * ((place_[turn] - place_[a]) - (place_[b] - place_[turn])) -
           static_cast<Wide>(c) * ((area_[turn] - area_[a]) - (area_[b] - area_[turn]));
  }

  Wide with_missing(const Bin* sorted, std::size_t c) const {
    const std::size_t without = static_cast<std::size_t>(std::lower_bound(sorted, sorted + c, 0) - sorted);
    return Fixed{n_, missing_}.cost(c, without, range_, magnitude(known_cost(sorted + without, c - without)));
  }

  std::size_t m_;
  std::int64_t n_ = 0, missing_, range_;
  std::vector<std::int64_t> place_, below_, area_;
  std::vector<Bin> passed_;  // passed_[r]: number of bins whose records all lie among the r lowest
};

class Spread : public Distribution {
 public:
  Spread(const std::int64_t* count, std::size_t m, std::int64_t missing) : missing_(missing), below_(m + 1, 0) {
    for (std::size_t j = 0; j < m; ++j) below_[j + 1] = below_[j] + count[j];
    n_ = below_[m];
  }

  std::unique_ptr<Distribution> of(const Tallied& records) const override {
    return std::make_unique<Spread>(records.count.data(), records.count.size(), records.missing);
  }

  Wide cost(const Bin* sorted, std::size_t c) const override {
    const std::size_t without = static_cast<std::size_t>(std::lower_bound(sorted, sorted + c, 0) - sorted);
    const Fixed fixed{n_, missing_};
    if (without == c || n_ < 2) return fixed.cost(c, without, 0, 0);
    const Area area = known_area(sorted + without, c - without);
    return fixed.cost(c, without, 2 * (n_ - 1), area.whole, area.more);
  }

  double distance(Wide cost, std::size_t) const override { return Fixed::distance(cost); }
  using Distribution::distance;

 private:
  struct Area {
    WideBits whole = 0, more = 0;  // more: 2^-64ths, below 2^64

    void add(WideBits numerator, std::int64_t denominator) {
      const auto by = static_cast<WideBits>(denominator);
      const WideBits quotient = numerator / by;
      more += ((numerator - quotient * by) << 64) / by;
      whole += quotient + (more >> 64);
      more = static_cast<std::uint64_t>(more);
    }
  };

  // Twice the sum over places s = 1 .. n - 1 of |c n (F - Q)|.
  Area known_area(const Bin* sorted, std::size_t c) const {
    Area sum;
    std::int64_t at = 0;  // places done
    const Wide size = static_cast<Wide>(c);
    for (std::size_t i = 0; i < c;) {
      std::size_t next = i;
      while (next < c && sorted[next] == sorted[i]) ++next;
      const std::int64_t from = below_[sorted[i]], block = below_[sorted[i] + 1] - from;
      const Wide lead = static_cast<Wide>(i) * n_;
      sum.add(series(lead - size * at, -size, from - at), 1);
      sum.add(series((lead - size * from) * block, static_cast<Wide>(next - i) * n_ - size * block, block), block);
      at = from + block;
      i = next;
    }
    sum.add(series(size * (n_ - at), -size, n_ - at), 1);
    return sum;
  }

  // Twice the sum over u = 1 .. count of |start + step u|.
  static WideBits series(Wide start, Wide step, std::int64_t count) {
    if (count <= 0) return 0;
    const Wide first = start + step, last = start + step * count;
    if ((first >= 0) == (last >= 0) || first == 0 || last == 0) return magnitude((first + last) * count);
    const std::int64_t turn = static_cast<std::int64_t>(-start / step);  // the last u on the first side
    return magnitude((first + start + step * turn) * turn) +
           magnitude((start + step * (turn + 1) + last) * (count - turn));
  }

  std::int64_t n_ = 0, missing_;
  std::vector<std::int64_t> below_;
};

class Taxonomy : public Distribution {
 public:
  // node[l * m + j]: number of the level l + 1 node above leaf j, ascending in j; the last level is the root.
  Taxonomy(const std::int64_t* count, const Bin* node, std::size_t m, std::size_t height)
      : m_(m), height_(height), node_(node, node + m * height), records_(height + 1) {
    records_[0].assign(count, count + m);
    for (std::size_t l = 0; l < height; ++l) {
      for (std::size_t j = 0; j < m; ++j) {
        const auto at = static_cast<std::size_t>(node_[l * m + j]);
        if (at >= records_[l + 1].size()) records_[l + 1].resize(at + 1, 0);
        records_[l + 1][at] += count[j];
      }
    }
    for (std::size_t j = 0; j < m; ++j) n_ += count[j];
  }

  std::unique_ptr<Distribution> of(const Tallied& records) const override {
    return std::make_unique<Taxonomy>(records.count.data(), node_.data(), m_, height_);
  }

  Wide cost(const Bin* sorted, std::size_t c) const override {
    Wide sum = 0;
    for (std::size_t l = 1; l <= height_; ++l) {
      for (std::size_t i = 0; i < c;) {
        const Bin above = at(l, sorted[i]);
        const std::size_t first = i;
        Wide surplus = 0;
        while (i < c && at(l, sorted[i]) == above) {
          const std::size_t from = i;
          const Bin child = at(l - 1, sorted[i]);
          while (i < c && at(l - 1, sorted[i]) == child) ++i;
          surplus += std::max<Wide>(0, extra(l - 1, child, i - from, c));
        }
        const Wide deficit = surplus - extra(l, above, i - first, c);
        sum += static_cast<Wide>(l) * std::min(surplus, deficit);
      }
    }
    return sum;
  }

  // A cost is, level by level, half of what the shares of the nodes differ by; on each level members are shared out by
  // itself, by the largest remainders.
  Wide least(std::size_t c) const override {
    Wide twice = 0;
    for (std::size_t l = 0; l < height_; ++l) {
      std::vector<std::int64_t> over;
      for (const std::int64_t count : records_[l]) over.push_back(static_cast<std::int64_t>(c) * count % n_);
      std::sort(over.begin(), over.end(), std::greater<>());
      std::int64_t left = std::accumulate(over.begin(), over.end(), std::int64_t{0}) / n_;
      for (const std::int64_t rest : over) twice += left-- > 0 ? n_ - rest : rest;
    }
    return twice / 2;
  }

  double distance(Wide cost, std::size_t c) const override {
    const Wide units = static_cast<Wide>(c) * n_ * static_cast<std::int64_t>(height_);
    return units > 0 ? nearest_quotient(magnitude(cost), static_cast<WideBits>(units)) : 0.0;
  }
  using Distribution::distance;

 private:
  Bin at(std::size_t level, Bin leaf) const {
    return level == 0 ? leaf : node_[(level - 1) * m_ + static_cast<std::size_t>(leaf)];
  }
  Wide extra(std::size_t level, Bin node, std::size_t members, std::size_t c) const {
    return static_cast<Wide>(members) * n_ - static_cast<Wide>(c) * records_[level][static_cast<std::size_t>(node)];
  }

  std::size_t m_, height_;
  std::int64_t n_ = 0;
  std::vector<Bin> node_;
  std::vector<std::vector<std::int64_t>> records_;
};

// Records in order of (group, bin), by counting: two passes, no comparison.
class Sorted {
 public:
  // Bins from -1 to m - 1, groups from 0 to groups - 1.
  template <class Number>
  Sorted(const Bin* bin, const Number* group, std::size_t n, std::size_t m, std::size_t groups)
      : bins_(n), start_(groups + 1, 0) {
    std::vector<std::size_t> from(m + 2, 0);  // slot b + 1 becomes the first place of bin b
    for (std::size_t i = 0; i < n; ++i) ++from[static_cast<std::size_t>(bin[i] + 2)];
    for (std::size_t j = 1; j < from.size(); ++j) from[j] += from[j - 1];
    std::vector<std::uint32_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[from[static_cast<std::size_t>(bin[i] + 1)]++] = static_cast<std::uint32_t>(i);
    for (std::size_t i = 0; i < n; ++i) ++start_[static_cast<std::size_t>(group[i]) + 1];
    for (std::size_t g = 0; g < groups; ++g) start_[g + 1] += start_[g];
    std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
    for (const std::uint32_t i : order) bins_[next[static_cast<std::size_t>(group[i])]++] = bin[i];
  }

  const Bin* bins(std::size_t g) const { return bins_.data() + start_[g]; }
  std::size_t size(std::size_t g) const { return start_[g + 1] - start_[g]; }

 private:
  std::vector<Bin> bins_;
  std::vector<std::size_t> start_;
};

}  // namespace shoal

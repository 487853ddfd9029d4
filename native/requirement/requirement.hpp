// What a group of records must satisfy in one confidential column, measured as an excess over the limit.
//
// An excess of 0 or less means that the group satisfies the requirement; the larger a positive excess, the
// further the group is from doing so. All requirements here have one property in common: the union of two
// groups is no worse than the worse of the two (EMD is convex, entropy concave, and the published proofs for
// distinct and recursive diversity), so merging groups leads to a partition that satisfies them whenever one
// exists. Groups are given by the ascending list of their members' bins; a missing value is bin -1.
#pragma once
#include "core/elementary.hpp"
#include "requirement/emd.hpp"

namespace shoal {

class Requirement {
 public:
  virtual ~Requirement() = default;
  // What is kept with a group, so that a swap need not start from nothing.
  virtual Wide state(const Bin* sorted, std::size_t c) const = 0;
  virtual Wide state_after_swap(const Bin* sorted, std::size_t c, Wide now, std::size_t out, Bin in) const = 0;
  virtual double excess(Wide state, std::size_t c) const = 0;
  // The same requirement beside a table of some of the records; none where it does not depend on the table.
  virtual std::unique_ptr<Requirement> beside(const Tallied& records) const {
    (void)records;
    return nullptr;
  }
  // Records of a bin that a group of c may hold, whatever else it holds: rises with c; c where there is no such bound.
  virtual std::size_t most(Bin bin, std::size_t c) const {
    (void)bin;
    return c;
  }
  // An excess that no group of c is below.
  virtual double least(std::size_t c) const {
    (void)c;
    return -1e300;
  }
  double excess(const Bin* sorted, std::size_t c) const { return excess(state(sorted, c), c); }
};

// EMD <= t.
class Close : public Requirement {
 public:
  Close(const Distribution& table, double t) : table_(std::shared_ptr<const Distribution>(), &table), t_(t) {}
  Close(std::unique_ptr<Distribution> table, double t) : table_(std::move(table)), t_(t) {}
  Wide state(const Bin* sorted, std::size_t c) const override { return table_->cost(sorted, c); }
  Wide state_after_swap(const Bin* sorted, std::size_t c, Wide now, std::size_t out, Bin in) const override {
    return table_->cost_after_swap(sorted, c, now, out, in);
  }
  double excess(Wide state, std::size_t c) const override { return table_->distance(state, c) - t_; }
  double least(std::size_t c) const override { return table_->distance(table_->least(c), c) - t_; }
  std::unique_ptr<Requirement> beside(const Tallied& records) const override {
    return std::make_unique<Close>(table_->of(records), t_);
  }
  using Requirement::excess;

 private:
  std::shared_ptr<const Distribution> table_;
  double t_;
};

// l-diversity (Machanavajjhala et al. 2007) of one kind; the state is the excess in fixed point. Missing values add
// no diversity: they count as the group's most frequent value, the least diverse of all ways to fill them in. (The
// union keeps the property above: filled in with one value, each part is as diverse as with its own, or more.)
class Diverse : public Requirement {
 public:
  enum Kind { kDistinct, kEntropy, kRecursive };
  Diverse(Kind kind, double l, double c) : kind_(kind), l_(l), c_(c) {}

  Wide state(const Bin* sorted, std::size_t c) const override {
    const auto missing = static_cast<std::size_t>(std::lower_bound(sorted, sorted + c, 0) - sorted);
    std::vector<double> counts;
    for (std::size_t i = missing, from = missing; i < c; from = i) {
      while (i < c && sorted[i] == sorted[from]) ++i;
      counts.push_back(static_cast<double>(i - from));
    }
    if (counts.empty()) counts.push_back(0);
    *std::max_element(counts.begin(), counts.end()) += static_cast<double>(missing);
    return static_cast<Wide>(std::llround(lack(counts, static_cast<double>(c)) * kFixed));
  }
  Wide state_after_swap(const Bin* sorted, std::size_t c, Wide, std::size_t out, Bin in) const override {
    std::vector<Bin> after(sorted, sorted + c);
    after.erase(after.begin() + static_cast<std::ptrdiff_t>(out));
    after.insert(std::upper_bound(after.begin(), after.end(), in), in);
    return state(after.data(), c);
  }
  double excess(Wide state, std::size_t) const override { return static_cast<double>(static_cast<std::int64_t>(state)) / kFixed; }
  using Requirement::excess;

 private:
  static constexpr double kFixed = 0x1p40;

  double lack(std::vector<double>& counts, double c) const {
    if (kind_ == kDistinct) return l_ - static_cast<double>(counts.size());
    if (kind_ == kEntropy) {
      double entropy = 0;
      for (const double x : counts) entropy -= x / c * logarithm(x / c);
      return l_ - exponential(entropy);
    }
    std::sort(counts.begin(), counts.end(), [](double a, double b) { return a > b; });
    double tail = 0;
    for (std::size_t j = static_cast<std::size_t>(l_) - 1; j < counts.size(); ++j) tail += counts[j];
    const double gap = counts[0] - c_ * tail;  // must be below 0
    return (gap < 0 ? gap : gap + 1) / c;
  }

  Kind kind_;
  double l_, c_;
};

// What depends on the shares of a group's values alone, each compared with the table's; the state is the excess in fixed
// point, rounded up, so that none is lost.
class Shares : public Requirement {
 public:
  // `counts`: records of the table in each bin.
  Shares(const std::int64_t* counts, std::size_t m) : counts_(counts, counts + m) {
    for (const std::int64_t count : counts_) {
      n_ += static_cast<double>(count);
      distinct_ += count > 0;
    }
  }
  Wide state(const Bin* sorted, std::size_t c) const override {
    double worst = -kLargest;
    std::size_t values = 0;
    for (std::size_t i = 0, from = 0; i < c; from = i, ++values) {
      while (i < c && sorted[i] == sorted[from]) ++i;
      const double expected = static_cast<double>(c) * static_cast<double>(counts_[static_cast<std::size_t>(sorted[from])]);
      worst = std::max(worst, value_excess(static_cast<double>(i - from) * n_, expected, expected / (n_ * static_cast<double>(c))));
    }
    worst = std::max(worst, group_excess(values == distinct_));
    return static_cast<Wide>(std::ceil(std::clamp(worst, -kLargest, kLargest) * kFixed));
  }
  Wide state_after_swap(const Bin* sorted, std::size_t c, Wide, std::size_t out, Bin in) const override {
    std::vector<Bin> after(sorted, sorted + c);
    after.erase(after.begin() + static_cast<std::ptrdiff_t>(out));
    after.insert(std::upper_bound(after.begin(), after.end(), in), in);
    return state(after.data(), c);
  }
  double excess(Wide state, std::size_t) const override { return static_cast<double>(state) / kFixed; }
  using Requirement::excess;

 protected:
  static constexpr double kFixed = 0x1p40, kLargest = 0x1p40;
  // Of a value whose share is q = got / (c n), p of the table: got and expected are q and p times c n.
  virtual double value_excess(double got, double expected, double p) const = 0;
  // Of a group that holds, or does not hold, every value of the table.
  virtual double group_excess(bool complete) const = 0;

  double share(Bin bin) const { return static_cast<double>(counts_[static_cast<std::size_t>(bin)]) / n_; }
  // By how much so many records of a bin exceed what a group of c may hold of it.
  double bin_excess(Bin bin, std::size_t count, std::size_t c) const {
    const double expected = static_cast<double>(c) * static_cast<double>(counts_[static_cast<std::size_t>(bin)]);
    return value_excess(static_cast<double>(count) * n_, expected, expected / (n_ * static_cast<double>(c)));
  }

 private:
  std::vector<std::int64_t> counts_;
  double n_ = 0;
  std::size_t distinct_ = 0;
};

// beta-likeness (Cao & Karras 2012): (q - p) / p <= beta for every value; enhanced: <= min(beta, -ln p). A convex function of
// the shares, so that the union of two groups is no worse than the worse of the two.
class Alike : public Shares {
 public:
  Alike(const std::int64_t* counts, std::size_t m, double beta, bool enhanced) : Shares(counts, m), beta_(beta), enhanced_(enhanced) {}

 protected:
  double value_excess(double got, double expected, double p) const override {
    const double gain = std::max(got - expected, 0.0) / expected;
    return enhanced_ && gain > -logarithm(p) ? kLargest : gain - beta_;
  }
  double group_excess(bool) const override { return -kLargest; }

 public:
  std::size_t most(Bin bin, std::size_t c) const override {
    const double p = share(bin), gain = enhanced_ ? std::min(beta_, -logarithm(p)) : beta_;
    auto count = static_cast<std::size_t>(std::min((1 + gain) * p, 1.0) * static_cast<double>(c));
    while (count < c && bin_excess(bin, count + 1, c) <= 0) ++count;
    while (count > 0 && bin_excess(bin, count, c) > 0) --count;
    return count;
  }
  std::unique_ptr<Requirement> beside(const Tallied& records) const override {
    return std::make_unique<Alike>(records.count.data(), records.count.size(), beta_, enhanced_);
  }

 private:
  double beta_;
  bool enhanced_;
};

// delta-disclosure privacy (Brickell & Shmatikov 2008): |ln(q / p)| < delta for every value of the table. The ratio q / p of a
// union lies between those of its parts.
class Undisclosed : public Shares {
 public:
  Undisclosed(const std::int64_t* counts, std::size_t m, double delta) : Shares(counts, m), delta_(delta) {}

 protected:
  double value_excess(double got, double expected, double) const override {
    const double figure = std::abs(logarithm(got / expected));
    return figure < delta_ ? figure - delta_ : std::max(figure - delta_, 1 / kFixed);
  }
  double group_excess(bool complete) const override { return complete ? -kLargest : kLargest; }

 public:
  std::unique_ptr<Requirement> beside(const Tallied& records) const override {
    return std::make_unique<Undisclosed>(records.count.data(), records.count.size(), delta_);
  }

 private:
  double delta_;
};

}  // namespace shoal

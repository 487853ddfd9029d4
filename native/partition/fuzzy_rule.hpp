// The rule by which distances become memberships and weights, and the sums of weighted records (see fuzzy.cpp).
#pragma once
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/elementary.hpp"
#include "partition/fuzzy_loops.hpp"

namespace shoal {

enum class FuzzyRule { kPower, kEntropy };

constexpr double kCoincident = 1e-290;  // a squared distance below this is that of a record on a centre
constexpr double kFarAway = 1e150;     // where the padding centres lie

constexpr std::size_t in_fours(std::size_t count) { return (count + 3) / 4 * 4; }

// The rule by which distances become memberships, and the centres it applies to.
class Rule {
 public:
  Rule(const double* centres, std::size_t c, std::size_t d, FuzzyRule kind, double parameter, bool simd)
      : c_(c), d_(d), padded_(in_fours(c)), entropy_(kind == FuzzyRule::kEntropy), parameter_(parameter),
        power_(entropy_ ? 0.0 : 1.0 / (parameter - 1.0)), loops_(fuzzy_loops(simd)), columns_(padded_ * d, kFarAway) {
    for (std::size_t j = 0; j < c; ++j)
      for (std::size_t s = 0; s < d; ++s) columns_[s * padded_ + j] = centres[j * d + s];
  }

  std::size_t centres() const { return c_; }
  std::size_t padded() const { return padded_; }
  const double* columns() const { return columns_.data(); }  // shape (d, padded)
  const FuzzyLoops& loops() const { return loops_; }

  void distances(const double* x, double* d2) const { loops_.distances(columns_.data(), x, d_, padded_, d2); }

  // Fills d2 and the unnormalised memberships t; returns D and S.
  std::pair<double, double> memberships(const double* x, double* d2, double* t) const {
    distances(x, d2);
    const double least = *std::min_element(d2, d2 + c_);
    return {least, shares(d2, c_, least, t)};
  }

  // Fills the unnormalised memberships t in so many centres, and zeros up to a multiple of four; returns S.
  double shares(const double* d2, std::size_t count, double least, double* t) const {
    const std::size_t padded = in_fours(count);
    if (entropy_) loops_.exponentials(d2, padded, least, parameter_, t);
    else if (least >= kCoincident) loops_.powers(d2, padded, least, power_, t);
    else for (std::size_t j = 0; j < count; ++j) t[j] = d2[j] < kCoincident ? 1.0 : 0.0;
    std::fill(t + count, t + padded, 0.0);
    return loops_.total(t, padded);
  }

  // The squared distance beyond which a centre's weight is below a share, over 0, of that of the nearest.
  double farthest(double least, double share) const {
    if (entropy_) return least - logarithm(share) / parameter_;
    return std::max(least, kCoincident) * power(share, -1.0 / (power_ + 1.0));
  }

  // log of what the weight of a record is multiplied by.
  double log_factor(double sum) const { return entropy_ ? -logarithm(sum) : -parameter_ * logarithm(sum); }

  void weights(const double* t, const double* d2, std::size_t count, double least, double factor, double* w) const {
    const std::size_t padded = in_fours(count);
    if (!entropy_ && least >= kCoincident) {
      loops_.sharpen(t, d2, padded, least, factor, w);
      std::fill(w + count, w + padded, 0.0);
    } else {
      for (std::size_t j = 0; j < padded; ++j) w[j] = t[j] * factor;
    }
  }

  double objective(double least, double sum) const {
    if (entropy_) return least - logarithm(sum) / parameter_;
    return least < kCoincident ? 0.0 : least * power(sum, 1.0 - parameter_);
  }

  // By how much the log-membership of x in centre j falls short of that in centre i.
  double loss(const double* x, const double* to, const double* from) const {
    const double there = distance(x, to), here = distance(x, from);
    if (entropy_) return parameter_ * (there - here);
    return power_ * (logarithm(std::max(there, kCoincident)) - logarithm(std::max(here, kCoincident)));
  }

 private:
  double distance(const double* x, const double* v) const {
    double sum = 0.0;
    for (std::size_t s = 0; s < d_; ++s) sum += (x[s] - v[s]) * (x[s] - v[s]);
    return sum;
  }

  std::size_t c_, d_, padded_;
  bool entropy_;
  double parameter_, power_;
  const FuzzyLoops& loops_;
  std::vector<double> columns_;
};

// The weighted sums of one step, relative to the greatest log-factor met so far. Those of all centres stand column by
// column where records move all of them, and centre by centre where they move some; the last column adds up the weights.
class FuzzySums {
 public:
  FuzzySums(const Rule& rule, std::size_t d, bool by_centre)
      : d_(d), next_column_(by_centre ? 1 : rule.padded()), next_centre_(by_centre ? in_fours(d + 1) : 1),
        reference_(-std::numeric_limits<double>::infinity()), row_(in_fours(d + 1), 1.0),
        sums_(by_centre ? rule.padded() * next_centre_ : (d + 1) * rule.padded(), 0.0) {}

  double relative(double log_factor) const { return exponential(log_factor - reference_); }

  void raise(double log_factor) {
    if (log_factor <= reference_) return;
    const double shrink = exponential(reference_ - log_factor);
    for (double& s : sums_) s *= shrink;
    reference_ = log_factor;
  }

  // Records', to all centres.
  void add(const FuzzyLoops& loops, const double* w, const double* x, std::size_t rows) {
    loops.accumulate(sums_.data(), w, x, rows, d_, next_column_);
  }

  // One record's, to some centres alone.
  void add_to(const FuzzyLoops& loops, const std::uint32_t* centres, std::size_t count, const double* w,
              const double* x) {
    std::copy_n(x, d_, row_.begin());
    loops.scatter(sums_.data(), centres, w, count, row_.data(), next_centre_);
  }

  // The weighted mean of centre j, or the centre as it was where no record has a weight for it.
  void mean(std::size_t j, const double* before, double* out) const {
    const double* const own = sums_.data() + j * next_centre_;
    const double mass = own[d_ * next_column_];
    for (std::size_t s = 0; s < d_; ++s) out[s] = mass > 0 ? own[s * next_column_] / mass : before[s];
  }

 private:
  std::size_t d_, next_column_, next_centre_;
  double reference_;
  std::vector<double> row_, sums_;
};

}  // namespace shoal

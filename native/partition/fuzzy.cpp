// Fuzzy c-means and entropy fuzzy c-means: one step, memberships, random assignment.
//
// A record x belongs to the centre v_i with membership u_i, sum u_i = 1 (Bezdek 1981; Miyamoto & Mukaidono 1997):
//   fuzzy c-means          u_i ~ |x - v_i|^(-2/(m-1)),     centre = weighted mean with weights u^m
//   entropy fuzzy c-means  u_i ~ exp(-lambda |x - v_i|^2), centre = weighted mean with weights u
// Both are computed relative to the nearest centre: with D = min_i |x - v_i|^2 and d_i = |x - v_i|^2,
// t_i = (D/d_i)^(1/(m-1)) or exp(-lambda (d_i - D)), S = sum t_i >= 1, u_i = t_i / S. Nothing can overflow, and a
// large lambda or an m near 1 ends in the crisp assignment to the nearest centre. A record that
// lies on centres shares its membership among them. Further
//   u_i^m = t_i (D/d_i) S^-m       so one power serves membership and weight;
//   sum_i u_i^m d_i = D S^(1-m)    and  sum_i u_i d_i + u_i log(u_i) / lambda = D - log(S) / lambda
// are the record's part of the objective.
// S^-m lies between c^-m and 1 and may underflow for large m; only ratios of weights matter, so all are kept
// relative to the greatest S^-m met so far, and the sums are rescaled when a greater one comes.
//
// A step visits each pair of record and centre once, O(n c d), eight records at a time; nothing of size n c is
// kept. Sums run over the records in their order, whatever the processor.
//
// Most of the time goes into the powers of far centres, of which a record has next to nothing. A step may leave out those
// whose weight is below a share of the nearest one's: it then finds which by the distances alone.
#include <algorithm>
#include <cstring>
#include <limits>

#include "core/elementary.hpp"
#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/words.hpp"
#include "partition/fuzzy_loops.hpp"

namespace shoal {

enum class FuzzyRule { kPower, kEntropy };

template <> struct Words<FuzzyRule> {
  static constexpr auto name = nb::detail::const_name("Rule");
  static constexpr const char* words[] = {"power", "entropy"};
};

namespace {

constexpr std::size_t kRows = 8;       // records whose weights are added up together
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

// The weighted sums of one step, relative to the greatest log-factor met so far.
class Sums {
 public:
  Sums(std::size_t d, std::size_t padded)
      : d_(d), padded_(padded), reference_(-std::numeric_limits<double>::infinity()), sums_((d + 1) * padded, 0.0) {}

  double relative(double log_factor) const { return exponential(log_factor - reference_); }

  void raise(double log_factor) {
    if (log_factor <= reference_) return;
    const double shrink = exponential(reference_ - log_factor);
    for (double& s : sums_) s *= shrink;
    reference_ = log_factor;
  }

  void add(const FuzzyLoops& loops, const double* w, const double* x, std::size_t rows) {
    loops.accumulate(sums_.data(), w, x, rows, d_, padded_);
  }

  // One record's, to some centres alone.
  void add_to(const std::vector<std::uint32_t>& centres, std::size_t count, const double* w, const double* x) {
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t s = 0; s < d_; ++s) sums_[s * padded_ + centres[k]] += w[k] * x[s];
      sums_[d_ * padded_ + centres[k]] += w[k];
    }
  }

  // The weighted mean of centre j, or the centre as it was where no record has a weight for it.
  void mean(std::size_t j, const double* before, double* out) const {
    const double mass = sums_[d_ * padded_ + j];
    for (std::size_t s = 0; s < d_; ++s) out[s] = mass > 0 ? sums_[s * padded_ + j] / mass : before[s];
  }

 private:
  std::size_t d_, padded_;
  double reference_;
  std::vector<double> sums_;
};

double add_all(const double* x, std::size_t n, std::size_t d, const Rule& rule, Sums& sums, Progress& progress) {
  const std::size_t p = rule.padded();
  std::vector<double> d2(kRows * p), t(kRows * p), w(kRows * p);
  double objective = 0.0;
  for (std::size_t first = 0; first < n; first += kRows) {
    const std::size_t rows = std::min(kRows, n - first);
    double least[kRows], log_factor[kRows];
    for (std::size_t r = 0; r < rows; ++r) {
      const auto [nearest, sum] = rule.memberships(x + (first + r) * d, &d2[r * p], &t[r * p]);
      least[r] = nearest;
      log_factor[r] = rule.log_factor(sum);
      objective += rule.objective(nearest, sum);
      sums.raise(log_factor[r]);
    }
    for (std::size_t r = 0; r < rows; ++r)
      rule.weights(&t[r * p], &d2[r * p], rule.centres(), least[r], sums.relative(log_factor[r]), &w[r * p]);
    sums.add(rule.loops(), w.data(), x + first * d, rows);
    progress.tick(static_cast<double>(first) / static_cast<double>(n));
  }
  return objective;
}

double least_of(const double* values, std::size_t count) {  // four apart, for each waits for the one before
  double a = values[0], b = a, c = a, e = a;
  std::size_t j = 0;
  for (; j + 4 <= count; j += 4) {
    a = values[j] < a ? values[j] : a;
    b = values[j + 1] < b ? values[j + 1] : b;
    c = values[j + 2] < c ? values[j + 2] : c;
    e = values[j + 3] < e ? values[j + 3] : e;
  }
  for (; j < count; ++j) a = values[j] < a ? values[j] : a;
  return std::min(std::min(a, b), std::min(c, e));
}

// Only to centres whose weight is no less than a share of the nearest one's.
double add_near(const double* x, std::size_t n, std::size_t d, const Rule& rule, double share, Sums& sums,
                Progress& progress) {
  const std::size_t c = rule.centres(), p = rule.padded();
  std::vector<double> all(p), d2(p), t(p), w(p);
  std::vector<std::uint32_t> near(p);
  double objective = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    rule.distances(x + i * d, all.data());
    const double least = least_of(all.data(), c), farthest = rule.farthest(least, share);
    std::size_t count = 0;
    for (std::size_t j = 0; j < c; ++j) {
      near[count] = static_cast<std::uint32_t>(j);
      d2[count] = all[j];
      count += all[j] <= farthest;
    }
    for (std::size_t k = count; k < in_fours(count); ++k) d2[k] = farthest;
    const double sum = rule.shares(d2.data(), count, least, t.data());
    const double log_factor = rule.log_factor(sum);
    objective += rule.objective(least, sum);
    sums.raise(log_factor);
    rule.weights(t.data(), d2.data(), count, least, sums.relative(log_factor), w.data());
    sums.add_to(near, count, w.data(), x + i * d);
    progress.tick(static_cast<double>(i) / static_cast<double>(n));
  }
  return objective;
}

constexpr const char* kFuzzyStep = R"(Move centres to the weighted means that the memberships in them cause.

Parameters
----------
x
    Shape (n, d), finite.
centres
    Shape (c, d), finite.
rule
    Memberships |x - v|^(-2/(m-1)) ("power", fuzzy c-means) or exp(-lambda |x - v|^2) ("entropy", entropy fuzzy
    c-means).
parameter
    m > 1 for the power rule, lambda > 0 for the entropy rule.
least
    Centres whose weight is below this share of the nearest one's are left out, record by record; 0 leaves out none.
simd
    Use the processor's vector unit where it has one. The result is the same.

Returns
-------
Shape (c, d), the weighted means (a centre no record has weight for stays), and the objective at the centres that
came in.

Notes
-----
O(n c d) time, O(c d) memory.)";

auto fuzzy_step(Matrix x, Matrix centres, Word<FuzzyRule> kind, double parameter, double least, bool simd,
                Listener listener) {
  Progress progress(listener);
  const std::size_t n = x.shape(0), d = x.shape(1), c = centres.shape(0);
  std::vector<double> means(c * d);
  double objective = 0.0;
  {
    nb::gil_scoped_release release;
    const Rule rule(centres.data(), c, d, kind, parameter, simd);
    Sums sums(d, rule.padded());
    objective = least > 0 ? add_near(x.data(), n, d, rule, least, sums, progress)
                          : add_all(x.data(), n, d, rule, sums, progress);
    for (std::size_t j = 0; j < c; ++j) sums.mean(j, centres.data() + j * d, &means[j * d]);
  }
  return std::pair(to_numpy(std::move(means), {c, d}), objective);
}

constexpr const char* kFuzzyMemberships = R"(Memberships of records in centres, shape (n, c), summing to 1 for each record.

The parameters are those of `fuzzy_step`.)";

auto fuzzy_memberships(Matrix x, Matrix centres, Word<FuzzyRule> kind, double parameter, bool simd) {
  const std::size_t n = x.shape(0), d = x.shape(1), c = centres.shape(0);
  std::vector<double> u(n * c);
  {
    nb::gil_scoped_release release;
    const Rule rule(centres.data(), c, d, kind, parameter, simd);
    std::vector<double> d2(rule.padded()), t(rule.padded());
    for (std::size_t i = 0; i < n; ++i) {
      const double sum = rule.memberships(x.data() + i * d, d2.data(), t.data()).second;
      for (std::size_t j = 0; j < c; ++j) u[i * c + j] = t[j] / sum;
    }
  }
  return to_numpy(std::move(u), {n, c});
}

constexpr const char* kFuzzyDraw = R"(Draw a centre for each record with the probabilities of its memberships.

The parameters are those of `fuzzy_step`.

Returns
-------
Shape (n,), the number of the centre drawn, and shape (c,), the expected sizes.)";

auto fuzzy_draw(Matrix x, Matrix centres, Word<FuzzyRule> kind, double parameter, std::uint64_t seed, bool simd,
                Listener listener) {
  Progress progress(listener);
  const std::size_t n = x.shape(0), d = x.shape(1), c = centres.shape(0);
  std::vector<std::int32_t> labels(n);
  std::vector<double> expected(c, 0.0);
  {
    nb::gil_scoped_release release;
    const Rule rule(centres.data(), c, d, kind, parameter, simd);
    Random random(seed);
    std::vector<double> d2(rule.padded()), t(rule.padded());
    for (std::size_t i = 0; i < n; ++i) {
      const double sum = rule.memberships(x.data() + i * d, d2.data(), t.data()).second;
      const double mark = random.uniform() * sum;
      const double share = 1.0 / sum;
      double below = 0.0;
      std::size_t chosen = c, last = 0;
      for (std::size_t j = 0; j < c; ++j) {
        expected[j] += t[j] * share;
        below += t[j];
        if (t[j] > 0) last = j;
        if (chosen == c && mark < below) chosen = j;
      }
      labels[i] = static_cast<std::int32_t>(chosen == c ? last : chosen);
      progress.tick(static_cast<double>(i) / static_cast<double>(n));
    }
  }
  return std::pair(to_numpy(std::move(labels)), to_numpy(std::move(expected)));
}

constexpr const char* kFuzzyFill = R"(Bring every group to at least `least` records, c * least <= n.

Short groups take, one after the other, the records that lose least log-membership by coming, from groups that can
spare one. Ties go to the lowest row. The other parameters are those of `fuzzy_step`.

Parameters
----------
labels
    Shape (n,); group of each record.

Returns
-------
Shape (n,); group of each record.)";

auto fuzzy_fill(Matrix x, Matrix centres, Word<FuzzyRule> kind, double parameter, Ints start, std::int64_t least,
                Listener listener) {
  Progress progress(listener);
  const std::size_t n = x.shape(0), d = x.shape(1), c = centres.shape(0);
  std::vector<std::int32_t> labels(start.data(), start.data() + n);
  {
    nb::gil_scoped_release release;
    const Rule rule(centres.data(), c, d, kind, parameter, false);
    std::vector<std::int64_t> size(c, 0);
    for (std::int32_t g : labels) ++size[static_cast<std::size_t>(g)];
    std::vector<std::pair<double, std::size_t>> offers;
    for (std::size_t g = 0; g < c; ++g) {
      if (size[g] >= least) continue;
      offers.clear();
      for (std::size_t i = 0; i < n; ++i) {
        const auto from = static_cast<std::size_t>(labels[i]);
        if (from == g || size[from] <= least) continue;
        offers.emplace_back(rule.loss(x.data() + i * d, centres.data() + g * d, centres.data() + from * d), i);
        if ((i & 1023) == 0) progress.tick(static_cast<double>(g) / static_cast<double>(c));
      }
      std::sort(offers.begin(), offers.end());
      for (const auto& [loss, i] : offers) {
        auto& from = size[static_cast<std::size_t>(labels[i])];
        if (size[g] == least) break;
        if (from <= least) continue;
        --from;
        ++size[g];
        labels[i] = static_cast<std::int32_t>(g);
      }
    }
  }
  return to_numpy(std::move(labels));
}

const Kernel fuzzy_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.attr("COINCIDENT") = kCoincident;
  m.def("fuzzy_step", &fuzzy_step, "x"_a, "centres"_a, "rule"_a, "parameter"_a, nb::kw_only(), "least"_a = 0.0,
        "simd"_a = true, "progress"_a.none() = nb::none(), kFuzzyStep);
  m.def("fuzzy_memberships", &fuzzy_memberships, "x"_a, "centres"_a, "rule"_a, "parameter"_a, nb::kw_only(),
        "simd"_a = true, kFuzzyMemberships);
  m.def("fuzzy_draw", &fuzzy_draw, "x"_a, "centres"_a, "rule"_a, "parameter"_a, "seed"_a, nb::kw_only(), "simd"_a = true,
        "progress"_a.none() = nb::none(), kFuzzyDraw);
  m.def("fuzzy_fill", &fuzzy_fill, "x"_a, "centres"_a, "rule"_a, "parameter"_a, "labels"_a, "least"_a,
        "progress"_a.none() = nb::none(), kFuzzyFill);
});

}  // namespace
}  // namespace shoal

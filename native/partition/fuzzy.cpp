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
// kept. Sums run over the records in their order, whatever the processor. A step may leave out centres of which a record
// has next to nothing (fuzzy_near.hpp).
#include <functional>

#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/words.hpp"
#include "partition/fuzzy_near.hpp"

namespace shoal {

template <> struct Words<FuzzyRule> {
  static constexpr auto name = nb::detail::const_name("Rule");
  static constexpr const char* words[] = {"power", "entropy"};
};

namespace {

constexpr std::size_t kRows = 8;  // records whose weights are added up together

double add_all(const double* x, std::size_t n, std::size_t d, const Rule& rule, FuzzySums& sums, Progress& progress) {
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
    Centres whose weight is below this share of the nearest one's are left out, record by record; 0 leaves out none. They
    are found fast where records that follow one another are near each other, and so are centres.
simd
    Use the processor's vector unit where it has one. The result is the same.

Returns
-------
Shape (c, d), the weighted means (a centre no record has weight for stays), and the objective at the centres that
came in.

Notes
-----
O(n c d) time, O(c d) memory. With `least`, and where few dimensions keep most centres far, about O(n c / 128).)";

auto fuzzy_step(Matrix x, Matrix centres, Word<FuzzyRule> kind, double parameter, double least, bool simd,
                Listener listener) {
  Progress progress(listener);
  const std::size_t n = x.shape(0), d = x.shape(1), c = centres.shape(0);
  std::vector<double> means(c * d);
  double objective = 0.0;
  {
    nb::gil_scoped_release release;
    const Rule rule(centres.data(), c, d, kind, parameter, simd);
    FuzzySums sums(rule, d, least > 0);
    objective = least > 0 ? NearStep(x.data(), n, d, rule, least, sums).run(progress)
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
      std::make_heap(offers.begin(), offers.end(), std::greater<>());
      for (; size[g] < least && !offers.empty(); offers.pop_back()) {
        std::pop_heap(offers.begin(), offers.end(), std::greater<>());
        const std::size_t i = offers.back().second;
        auto& from = size[static_cast<std::size_t>(labels[i])];
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

// Nearest records by Gower's distance, for attackers who guess what the nearest record tells.
//
// The distance of two records is the sum over columns of |x - y| / range for ordered columns and of 0 or 1, equal or
// not, for the others (Gower 1971). A missing cell is minus infinity and equals a missing cell only, everything, or
// nothing, as the attacker reads it. Sums are taken column by column, so that equal cells give equal distances to
// the last bit, and what is equally near is found as a tie.
//
// Every target is compared with every candidate: the attacks draw their targets, a thousand or so, and a candidate
// costs a subtraction a column. Ties are not broken but handed back as counts: in tables of few categories hundreds of
// records are equally near, and which of them a program meets first says nothing about the release.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "core/words.hpp"

namespace shoal {

enum class Reading { equal, wildcard, nothing };

template <> struct Words<Reading> {
  static constexpr auto name = nb::detail::const_name("Reading");
  static constexpr const char* words[] = {"equal", "wildcard", "nothing"};
};

namespace {

constexpr double kMissing = -std::numeric_limits<double>::infinity();

struct GowerSpace {
  Matrix candidates;
  Vector scale;
  Word<Reading> missing;
};

class Gower {
 public:
  explicit Gower(const GowerSpace& space)
      : cells_(space.candidates.data()), n_(space.candidates.shape(1)), scale_(space.scale.data()), reading_(space.missing),
        complete_(space.candidates.shape(0)) {
    for (std::size_t c = 0; c < complete_.size(); ++c)
      complete_[c] = std::find(column(c), column(c) + n_, kMissing) == column(c) + n_;
  }

  // Distances of a target, whose cells lie `stride` apart, from all candidates over columns [first, last).
  void distances(const double* target, std::size_t stride, std::size_t first, std::size_t last,
                 std::vector<double>& out) const {
    std::fill(out.begin(), out.end(), 0.0);
    for (std::size_t c = first; c < last; ++c) {
      const double t = target[c * stride];
      if (complete_[c] && t != kMissing) add(column(c), t, scale_[c], out.data());
      else add_incomplete(column(c), t, scale_[c], out.data());
    }
  }

 private:
  const double* column(std::size_t c) const { return cells_ + c * n_; }

  void add(const double* x, double t, double scale, double* out) const {
    if (scale > 0) {
      for (std::size_t i = 0; i < n_; ++i) out[i] += std::fabs(x[i] - t) * scale;
    } else {
      for (std::size_t i = 0; i < n_; ++i) out[i] += x[i] != t ? 1.0 : 0.0;
    }
  }

  void add_incomplete(const double* x, double t, double scale, double* out) const {
    for (std::size_t i = 0; i < n_; ++i) {
      if (x[i] == kMissing || t == kMissing) {
        if (reading_ == Reading::nothing || (reading_ == Reading::equal && x[i] != t)) out[i] += 1.0;
      } else {
        out[i] += scale > 0 ? std::fabs(x[i] - t) * scale : (x[i] != t ? 1.0 : 0.0);
      }
    }
  }

  const double* cells_;
  std::size_t n_;
  const double* scale_;
  Reading reading_;
  std::vector<char> complete_;  // by column, whether no candidate lacks its cell
};

// The k-th smallest of some distances; `scratch` is overwritten.
double threshold(const std::vector<double>& distances, std::size_t k, std::vector<double>& scratch) {
  if (k == 1) return *std::min_element(distances.begin(), distances.end());
  scratch = distances;
  std::nth_element(scratch.begin(), scratch.begin() + (k - 1), scratch.end());
  return scratch[k - 1];
}

constexpr const char* kOverlaps = R"(Count how the candidates nearest to each target by some columns overlap with those nearest to it by the others.

Parameters
----------
targets
    Shape (d, m).
split
    So many columns come first.
k
    How many nearest ones are meant, from 1 to n.

Returns
-------
Shape (m, 8). With N the candidates nearer than the k-th and T those that tie with it, by the first columns (1) and by the
others (2), the numbers in N1 and N2, N1 and T2, T1 and N2, T1 and T2, N1, T1, N2, T2.)";

Output<std::int64_t> gower_overlaps(const GowerSpace& space, Matrix targets, std::size_t split, std::size_t k) {
  Progress progress;
  const std::size_t n = space.candidates.shape(1), columns = space.candidates.shape(0), m = targets.shape(1);
  std::vector<std::int64_t> out(8 * m, 0);
  {
    nb::gil_scoped_release unlock;
    const Gower gower(space);
    std::vector<double> one(n), two(n), scratch;
    for (std::size_t j = 0; j < m; ++j) {
      progress.look(static_cast<double>(j) / static_cast<double>(m));
      gower.distances(targets.data() + j, m, 0, split, one);
      gower.distances(targets.data() + j, m, split, columns, two);
      const double end1 = threshold(one, k, scratch), end2 = threshold(two, k, scratch);
      std::int64_t* row = out.data() + 8 * j;
      for (std::size_t i = 0; i < n; ++i) {
        const bool n1 = one[i] < end1, t1 = one[i] == end1, n2 = two[i] < end2, t2 = two[i] == end2;
        row[0] += n1 & n2;
        row[1] += n1 & t2;
        row[2] += t1 & n2;
        row[3] += t1 & t2;
        row[4] += n1;
        row[5] += t1;
        row[6] += n2;
        row[7] += t2;
      }
    }
  }
  return to_numpy(std::move(out), {m, 8});
}

constexpr const char* kGuesses = R"(Share of the nearest candidates that tell a secret, for each secret and target.

Parameters
----------
targets
    Shape (d, m).
low, high
    Shape (s, n); bounds of the secrets that a candidate would tell.
secrets
    Shape (s, m).

Returns
-------
Shape (s, m).)";

Output<double> gower_guesses(const GowerSpace& space, Matrix targets, Matrix low, Matrix high, Matrix secrets) {
  Progress progress;
  const std::size_t n = space.candidates.shape(1), columns = space.candidates.shape(0), m = targets.shape(1);
  const std::size_t count = secrets.shape(0);
  std::vector<double> out(count * m, 0.0);
  {
    nb::gil_scoped_release unlock;
    const Gower gower(space);
    std::vector<double> distance(n);
    for (std::size_t j = 0; j < m; ++j) {
      progress.look(static_cast<double>(j) / static_cast<double>(m));
      gower.distances(targets.data() + j, m, 0, columns, distance);
      const double nearest = *std::min_element(distance.begin(), distance.end());
      double ties = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        if (distance[i] != nearest) continue;
        ++ties;
        for (std::size_t s = 0; s < count; ++s) {
          const double secret = secrets.data()[s * m + j];
          out[s * m + j] += low.data()[s * n + i] <= secret && secret <= high.data()[s * n + i];
        }
      }
      for (std::size_t s = 0; s < count; ++s) out[s * m + j] /= ties;
    }
  }
  return to_numpy(std::move(out), {count, m});
}

constexpr const char* kGowerSpace = R"(Candidates, and the scale on which columns are compared.

Parameters
----------
candidates
    Shape (d, n); one column after the other, minus infinity for missing cells.
scale
    Shape (d,); 1 / range of an ordered column, 0 for a column whose values are equal or not.
missing
    What a missing cell equals: a missing cell ("equal"), everything ("wildcard"), or nothing.)";

}  // namespace

static const Kernel gower_kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<GowerSpace>(m, "GowerSpace", kGowerSpace)
      .def("__init__", [](GowerSpace* self, Matrix candidates, Vector scale, Word<Reading> missing) {
        new (self) GowerSpace{std::move(candidates), std::move(scale), missing};
      }, nb::kw_only(), "candidates"_a, "scale"_a, "missing"_a = "equal");
  m.def("gower_overlaps", &gower_overlaps, "space"_a, "targets"_a, "split"_a, "k"_a, kOverlaps);
  m.def("gower_guesses", &gower_guesses, "space"_a, "targets"_a, "low"_a, "high"_a, "secrets"_a, kGuesses);
});

}  // namespace shoal

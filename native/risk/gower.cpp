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

namespace shoal {
namespace {

constexpr double kMissing = -std::numeric_limits<double>::infinity();

enum class Reading { equal, wildcard, nothing };

class Gower {
 public:
  // `cells` holds one column of the candidates after the other; a scale of 0 marks a column without an order.
  Gower(const double* cells, std::size_t n, std::size_t columns, const double* scale, Reading reading)
      : cells_(cells), n_(n), scale_(scale), reading_(reading), complete_(columns) {
    for (std::size_t c = 0; c < columns; ++c)
      complete_[c] = std::find(column(c), column(c) + n, kMissing) == column(c) + n;
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

// For each target, how the candidates nearest to it by the first `split` columns and those nearest to it by the other
// columns overlap. N are those nearer than the k-th, T those that tie with it. Rows of eight: N1 and N2, N1 and T2,
// T1 and N2, T1 and T2, N1, T1, N2, T2.
nb::ndarray<nb::numpy, std::int64_t> gower_overlaps(Matrix candidates, Matrix targets, Vector scale, std::size_t split,
                                                    std::size_t k, int reading) {
  Progress progress;
  const std::size_t n = candidates.shape(1), columns = candidates.shape(0), m = targets.shape(1);
  std::vector<std::int64_t> out(8 * m, 0);
  {
    nb::gil_scoped_release unlock;
    const Gower gower(candidates.data(), n, columns, scale.data(), static_cast<Reading>(reading));
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

// For each target and each secret, how many of the nearest candidates there are, and for how many of them the secret
// lies between the bounds that the candidate sets. Shape (secrets + 1, m): the number of nearest ones first.
nb::ndarray<nb::numpy, std::int64_t> gower_guesses(Matrix candidates, Matrix targets, Vector scale, int reading,
                                                   Matrix low, Matrix high, Matrix secrets) {
  Progress progress;
  const std::size_t n = candidates.shape(1), columns = candidates.shape(0), m = targets.shape(1);
  const std::size_t count = secrets.shape(0);
  std::vector<std::int64_t> out((count + 1) * m, 0);
  {
    nb::gil_scoped_release unlock;
    const Gower gower(candidates.data(), n, columns, scale.data(), static_cast<Reading>(reading));
    std::vector<double> distance(n);
    for (std::size_t j = 0; j < m; ++j) {
      progress.look(static_cast<double>(j) / static_cast<double>(m));
      gower.distances(targets.data() + j, m, 0, columns, distance);
      const double nearest = *std::min_element(distance.begin(), distance.end());
      for (std::size_t i = 0; i < n; ++i) {
        if (distance[i] != nearest) continue;
        ++out[j];
        for (std::size_t s = 0; s < count; ++s) {
          const double secret = secrets.data()[s * m + j];
          out[(s + 1) * m + j] += low.data()[s * n + i] <= secret && secret <= high.data()[s * n + i];
        }
      }
    }
  }
  return to_numpy(std::move(out), {count + 1, m});
}

}  // namespace

static const Kernel kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("gower_overlaps", &gower_overlaps, "candidates"_a, "targets"_a, "scale"_a, "split"_a, "k"_a, "reading"_a);
  m.def("gower_guesses", &gower_guesses, "candidates"_a, "targets"_a, "scale"_a, "reading"_a, "low"_a, "high"_a,
        "secrets"_a);
});

}  // namespace shoal

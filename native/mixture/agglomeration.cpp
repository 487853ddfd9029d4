// Model-based hierarchical agglomeration (Fraley & Raftery 2002; Fraley 1998): the start of EM.
//
// Every record begins as a class of its own; at each of n - 1 stages the two classes merge whose union costs
// the classification likelihood of the unconstrained normal model (VVV) least. The classification
// likelihood is, up to constants, -1/2 sum_c n_c log|W_c / n_c|, which is infinite for classes of fewer than
// d + 1 records; so each class is credited with one further record, scattered like the whole table (which
// the caller has given unit covariance):
//     cost(c) = n_c log |(W_c + I) / (n_c + 1)|.
// Differs from Fraley (1998), which adds traces inside the logarithm for the same purpose: this form is the
// classification likelihood under an inverse Wishart prior worth one record.
//
// All n(n-1)/2 increases are kept (the caller samples above a few thousand records), with the best partner
// among higher rows for each row. A merge recomputes one row and one column; rows whose partner has gone
// are searched anew. Ties go to the lowest rows.
#include <algorithm>

#include "core/elementary.hpp"
#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "linear/symmetric.hpp"

namespace shoal {
namespace {

class Agglomeration {
 public:
  Agglomeration(const double* x, std::size_t n, std::size_t d)
      : n_(n), d_(d), size_(n, 1.0), mean_(x, x + n * d), scatter_(n * d * d, 0.0), cost_(n), increase_(n * (n - 1) / 2),
        partner_(n, 0), alive_(n) {
    for (std::size_t i = 0; i < n; ++i) {
      alive_[i] = i;
      cost_[i] = cost(1.0, &scatter_[0]);
    }
  }

  std::vector<std::int32_t> run(Progress& progress) {
    for (std::size_t i = 0; i + 1 < n_; ++i) {
      for (std::size_t j = i + 1; j < n_; ++j) at(i, j) = union_increase(i, j);
      search(i);
      progress.tick(0.5 * static_cast<double>(i) / static_cast<double>(n_));
    }
    std::vector<std::int32_t> merges;
    merges.reserve(2 * (n_ - 1));
    while (alive_.size() > 1) {
      std::size_t best = alive_[0];
      for (std::size_t a = 0; a + 1 < alive_.size(); ++a) {
        const std::size_t i = alive_[a];
        if (at(i, partner_[i]) < at(best, partner_[best])) best = i;
      }
      merges.push_back(static_cast<std::int32_t>(best));
      merges.push_back(static_cast<std::int32_t>(partner_[best]));
      merge(best, partner_[best]);
      progress.tick(1.0 - 0.5 * static_cast<double>(alive_.size()) / static_cast<double>(n_));
    }
    return merges;
  }

 private:
  double& at(std::size_t i, std::size_t j) { return increase_[i * (2 * n_ - i - 1) / 2 + (j - i - 1)]; }

  double cost(double size, const double* scatter) {
    work_.assign(scatter, scatter + d_ * d_);
    for (std::size_t j = 0; j < d_; ++j) work_[j * d_ + j] += 1.0;
    cholesky(work_, d_, 0.0);
    double product = 0.0;
    for (std::size_t j = 0; j < d_; ++j) product += logarithm(work_[j * d_ + j]);
    return size * (2.0 * product - static_cast<double>(d_) * logarithm(size + 1.0));
  }

  // Scatter of the union of two classes: both scatters and the one between their means.
  void unite(std::size_t i, std::size_t j, double* out) const {
    const double between = size_[i] * size_[j] / (size_[i] + size_[j]);
    for (std::size_t r = 0; r < d_; ++r) {
      const double gap = between * (mean_[i * d_ + r] - mean_[j * d_ + r]);
      for (std::size_t c = 0; c < d_; ++c)
        out[r * d_ + c] = scatter_[(i * d_ + r) * d_ + c] + scatter_[(j * d_ + r) * d_ + c] +
                          gap * (mean_[i * d_ + c] - mean_[j * d_ + c]);
    }
  }

  double union_increase(std::size_t i, std::size_t j) {
    union_.resize(d_ * d_);
    unite(i, j, union_.data());
    return cost(size_[i] + size_[j], union_.data()) - cost_[i] - cost_[j];
  }

  // Best partner of row i among the living rows above it.
  void search(std::size_t i) {
    auto next = std::upper_bound(alive_.begin(), alive_.end(), i);
    if (next == alive_.end()) return;
    partner_[i] = *next;
    for (; next != alive_.end(); ++next)
      if (at(i, *next) < at(i, partner_[i])) partner_[i] = *next;
  }

  void merge(std::size_t i, std::size_t j) {
    union_.resize(d_ * d_);
    unite(i, j, union_.data());
    std::copy(union_.begin(), union_.end(), scatter_.begin() + static_cast<std::ptrdiff_t>(i * d_ * d_));
    const double size = size_[i] + size_[j];
    for (std::size_t r = 0; r < d_; ++r)
      mean_[i * d_ + r] = (size_[i] * mean_[i * d_ + r] + size_[j] * mean_[j * d_ + r]) / size;
    size_[i] = size;
    cost_[i] = cost(size, union_.data());
    alive_.erase(std::lower_bound(alive_.begin(), alive_.end(), j));
    for (std::size_t other : alive_)
      if (other != i) at(std::min(i, other), std::max(i, other)) = union_increase(std::min(i, other), std::max(i, other));
    for (std::size_t a = 0; a + 1 < alive_.size(); ++a) {
      const std::size_t row = alive_[a];
      if (row == i || partner_[row] == j || partner_[row] == i) {
        search(row);
      } else if (row < i && at(row, i) < at(row, partner_[row])) {
        partner_[row] = i;
      }
    }
  }

  std::size_t n_, d_;
  std::vector<double> size_, mean_, scatter_, cost_, increase_;
  std::vector<std::size_t> partner_, alive_;
  Square work_, union_;
};

constexpr const char* kAgglomeration = R"(Merge records one pair of classes at a time by the normal classification likelihood.

Parameters
----------
x
    Shape (n, d), n >= 1, centred with unit covariance matrix. Memory is 4 n^2 bytes.

Returns
-------
Shape (n - 1, 2); the rows that name the two classes merged at each stage, the lower one first: it names the union from
then on.

Notes
-----
Fraley & Raftery (2002), unconstrained covariances. Ties go to the lowest rows.)";

Output<std::int32_t> agglomeration(const Matrix& x, Listener listener) {
  const std::size_t n = x.shape(0);
  std::vector<std::int32_t> merges;
  Progress progress(listener);
  {
    nb::gil_scoped_release release;
    merges = Agglomeration(x.data(), n, x.shape(1)).run(progress);
  }
  return to_numpy(std::move(merges), {n - 1, 2});
}

const Kernel agglomeration_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("agglomeration", &agglomeration, "x"_a, "progress"_a.none() = nb::none(), kAgglomeration);
});

}  // namespace
}  // namespace shoal

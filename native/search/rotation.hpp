// Axes along which points vary most first, as a product of reflections.
//
// Where columns are correlated, a few directions hold most of the variance. A box whose sides lie along them is small,
// and the first terms of a distance tell most of it. The directions come from a few rounds of orthogonal iteration on
// the covariances of a sample (Golub & Van Loan, Matrix Computations, 8.2.4): which ones they are changes no answer.
// What must hold is that distances stay, and a product of Householder reflections is orthogonal but for rounding: with
// r of them in d columns a point is off by less than 8 r d 2^-53 of its norm, less than 2^-10 of the rounding to
// float32.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/hash_table.hpp"

namespace shoal {
inline namespace search {

class Rotation {
 public:
  // Choose the axes for points of d columns, from a sample of them about their middle, row by row. Half of it tells the
  // axes, the other half whether they hold more than the columns as they stand; otherwise nothing is turned.
  void choose(const std::vector<double>& sample, std::size_t d) {
    reflections_.clear();
    d_ = d;
    if (d < kFewestColumns || d > kMostColumns || sample.size() < std::max(4 * d, kFewestPoints) * d) return;
    const std::size_t r = std::min(d / 2, kMostAxes);
    const std::vector<double> covariances = covariances_of(sample, 0);
    std::vector<double> span(r * d), next(r * d);  // the axes one after the other
    for (std::size_t i = 0; i < r * d; ++i) span[i] = (mixed(i + 1) >> 63) ? 1.0 : -1.0;
    for (int round = 0; round < kRounds; ++round) {
      multiply(covariances, span, next);
      reflect(next);
      for (std::size_t a = 0; a < r; ++a) {
        double* const axis = span.data() + a * d;
        std::fill(axis, axis + d, 0.0);
        axis[a] = 1.0;
        for (std::size_t b = r; b-- > 0;) apply_one<1>(b, axis);
      }
    }
    if (!(gain(span, covariances_of(sample, 1)) > kGain)) reflections_.clear();
  }

  // Turn some points, the values of a column side by side.
  template <std::size_t Points>
  void apply(double* points) const {
    for (std::size_t a = 0; a * d_ < reflections_.size(); ++a) apply_one<Points>(a, points);
  }

 private:
  static constexpr std::size_t kFewestColumns = 8, kMostColumns = 1024, kFewestPoints = 500, kMostAxes = 48;
  static constexpr int kRounds = 6;
  static constexpr double kGain = 1.15;  // variance along the axes that is worth them, in that of as many columns

  // Sums of products over every other point.
  std::vector<double> covariances_of(const std::vector<double>& sample, std::size_t first) const {
    std::vector<double> out(d_ * d_, 0.0);
    for (const double* point = sample.data() + first * d_; point < sample.data() + sample.size(); point += 2 * d_)
      for (std::size_t i = 0; i < d_; ++i)
        for (std::size_t j = 0; j < d_; ++j) out[i * d_ + j] += point[i] * point[j];
    return out;
  }

  void multiply(const std::vector<double>& matrix, const std::vector<double>& axes, std::vector<double>& out) const {
    std::fill(out.begin(), out.end(), 0.0);
    for (std::size_t first = 0; first < axes.size(); first += d_)
      for (std::size_t i = 0; i < d_; ++i)
        for (std::size_t j = 0; j < d_; ++j) out[first + j] += axes[first + i] * matrix[i * d_ + j];
  }

  // The variance along some axes, in that of as many columns with the largest.
  double gain(const std::vector<double>& axes, const std::vector<double>& covariances) const {
    std::vector<double> image(axes.size()), own(d_);
    multiply(covariances, axes, image);
    double along = 0.0, columns = 0.0;
    for (std::size_t i = 0; i < axes.size(); ++i) along += axes[i] * image[i];
    for (std::size_t j = 0; j < d_; ++j) own[j] = covariances[j * d_ + j];
    std::sort(own.rbegin(), own.rend());
    for (std::size_t a = 0; a < axes.size() / d_; ++a) columns += own[a];
    return along / columns;
  }

  double norm(const double* v) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < d_; ++j) sum += v[j] * v[j];
    return std::sqrt(sum);
  }

  // The reflections that bring the span of some axes into the first coordinates (QR by Householder); axes are lost.
  void reflect(std::vector<double>& axes) {
    reflections_.clear();
    for (std::size_t a = 0; a * d_ < axes.size(); ++a) {
      double* const axis = axes.data() + a * d_;
      for (std::size_t b = 0; b < a; ++b) apply_one<1>(b, axis);
      std::fill(axis, axis + a, 0.0);
      const double length = norm(axis);
      axis[a] += axis[a] < 0.0 ? -length : length;
      const double unit = norm(axis);
      for (std::size_t j = 0; j < d_; ++j) reflections_.push_back(unit > 0.0 ? axis[j] / unit : 0.0);
    }
  }

  // The reflection v - 2 (u.v) u by the unit vector u, or none where u is 0.
  template <std::size_t Points>
  void apply_one(std::size_t a, double* points) const {
    const double* const u = reflections_.data() + a * d_;
    double along[Points] = {};
    for (std::size_t j = a; j < d_; ++j)
      for (std::size_t i = 0; i < Points; ++i) along[i] += points[j * Points + i] * u[j];
    for (std::size_t i = 0; i < Points; ++i) along[i] *= 2.0;
    for (std::size_t j = a; j < d_; ++j)
      for (std::size_t i = 0; i < Points; ++i) points[j * Points + i] -= along[i] * u[j];
  }

  std::size_t d_ = 0;
  std::vector<double> reflections_;  // unit vectors one after the other; vector a begins with a zeros
};

}  // namespace search
}  // namespace shoal

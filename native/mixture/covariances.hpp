// What the covariance models of a mixture work on (covariance_models.hpp), and the algebra that they share.
#pragma once
#include <cstddef>
#include <vector>

#include "core/elementary.hpp"
#include "linear/symmetric.hpp"

namespace shoal {

// What one E-step leaves behind: all that an M-step needs.
struct Scatters {
  std::size_t groups, d;
  std::vector<double> weight;   // (G): sum_i z_ig
  std::vector<double> mean;     // (G, d)
  std::vector<Square> scatter;  // G times (d, d), about the group's mean
  std::vector<double> tail;     // (G): sum_i z_ig (log u_ig - u_ig), t components only

  Scatters(std::size_t groups_, std::size_t d_)
      : groups(groups_), d(d_), weight(groups_), mean(groups_ * d_),
        scatter(groups_, Square(d_ * d_)), tail(groups_) {}

  double total() const {
    double sum = 0.0;
    for (double w : weight) sum += w;
    return sum;
  }
};

// Covariances, and what the iterative models carry from one M-step to the next.
struct Covariances {
  std::vector<Square> matrix;
  std::vector<double> volume;
  Square orientation;

  Covariances(std::size_t groups, std::size_t d)
      : matrix(groups, Square(d * d)), volume(groups, 0.0), orientation() {}
};
namespace covariance {

inline double trace(const Square& a, std::size_t d) {
  double sum = 0.0;
  for (std::size_t j = 0; j < d; ++j) sum += a[j * d + j];
  return sum;
}

inline Square pooled(const Scatters& s) {
  Square w(s.d * s.d, 0.0);
  for (const auto& a : s.scatter)
    for (std::size_t e = 0; e < w.size(); ++e) w[e] += a[e];
  return w;
}

inline std::vector<double> diagonal(const Square& a, std::size_t d) {
  std::vector<double> out(d);
  for (std::size_t j = 0; j < d; ++j) out[j] = a[j * d + j];
  return out;
}

inline double geometric_mean(const std::vector<double>& v) {
  double sum = 0.0;
  for (double x : v) sum += logarithm(x);
  return exponential(sum / static_cast<double>(v.size()));
}

// |a|^(1/d); zero if a is not positive definite.
inline double root_determinant(Square a, std::size_t d) {
  if (!cholesky(a, d, 0.0)) return 0.0;
  const double g = geometric_mean(diagonal(a, d));
  return g * g;
}

inline Square scaled(const Square& a, double factor) {
  Square out(a);
  for (double& x : out) x *= factor;
  return out;
}

inline Square diagonal_matrix(const std::vector<double>& v, double factor) {
  const std::size_t d = v.size();
  Square out(d * d, 0.0);
  for (std::size_t j = 0; j < d; ++j) out[j * d + j] = v[j] * factor;
  return out;
}

// D diag(v) D'
inline Square sandwich(const Square& q, const std::vector<double>& v) {
  const std::size_t d = v.size();
  Square out(d * d, 0.0);
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < d; ++k) sum += q[i * d + k] * v[k] * q[j * d + k];
      out[i * d + j] = out[j * d + i] = sum;
    }
  return out;
}

// diag(D' w D)
inline std::vector<double> rotated_diagonal(const Square& w, const Square& q, std::size_t d) {
  std::vector<double> out(d, 0.0);
  for (std::size_t k = 0; k < d; ++k)
    for (std::size_t i = 0; i < d; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < d; ++j) sum += w[i * d + j] * q[j * d + k];
      out[k] += q[i * d + k] * sum;
    }
  return out;
}

// tr(w c^-1) = squared length of L^-1 applied to the columns of the factor of w; written with c's factor.
inline double trace_ratio(const Square& w, const Square& inverse_factor, std::size_t d) {
  double sum = 0.0;
  for (std::size_t r = 0; r < d; ++r)
    for (std::size_t i = 0; i <= r; ++i)
      for (std::size_t j = 0; j <= r; ++j)
        sum += inverse_factor[r * d + i] * w[i * d + j] * inverse_factor[r * d + j];
  return sum;
}

}  // namespace covariance
}  // namespace shoal

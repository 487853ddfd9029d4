// Small dense symmetric matrices: Cholesky factor, inverse of a triangle, eigenvalues, polar factor.
//
// Matrices are d x d, row-major, d at most a few dozen, so the plain cubic algorithms are the right ones.
// Eigenvalues come from cyclic Jacobi rotations, which find small eigenvalues of a positive matrix to high
// relative accuracy (Golub & Van Loan, Matrix Computations, section 8.5); the polar factor comes from the
// one-sided variant of the same rotations (section 8.6.3).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace shoal {

using Square = std::vector<double>;

// Replace the lower triangle of `a` by its Cholesky factor and clear the rest. False as soon as a pivot is
// not above `least`: the variance left in a column, given the ones before it, is too small.
inline bool cholesky(Square& a, std::size_t d, double least) {
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t i = j; i < d; ++i) {
      double sum = a[i * d + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * d + k] * a[j * d + k];
      if (i == j) {
        if (!(sum > least)) return false;
        a[j * d + j] = std::sqrt(sum);
      } else {
        a[i * d + j] = sum / a[j * d + j];
      }
    }
    for (std::size_t k = j + 1; k < d; ++k) a[j * d + k] = 0.0;
  }
  return true;
}

// Inverse of a lower triangle with positive diagonal.
inline Square inverse_triangle(const Square& l, std::size_t d) {
  Square m(d * d, 0.0);
  for (std::size_t j = 0; j < d; ++j) {
    m[j * d + j] = 1.0 / l[j * d + j];
    for (std::size_t i = j + 1; i < d; ++i) {
      double sum = 0.0;
      for (std::size_t k = j; k < i; ++k) sum -= l[i * d + k] * m[k * d + j];
      m[i * d + j] = sum / l[i * d + i];
    }
  }
  return m;
}

// Rotate columns p and q of the d x d matrix `a`.
inline void rotate_columns(Square& a, std::size_t d, std::size_t p, std::size_t q, double c, double s) {
  for (std::size_t i = 0; i < d; ++i) {
    const double x = a[i * d + p], y = a[i * d + q];
    a[i * d + p] = c * x - s * y;
    a[i * d + q] = s * x + c * y;
  }
}

// Cosine and sine of the rotation that clears the off-diagonal `apq` between `app` and `aqq`.
inline void jacobi_angle(double app, double aqq, double apq, double& c, double& s) {
  const double theta = (aqq - app) / (2.0 * apq);
  const double t = (theta >= 0.0 ? 1.0 : -1.0) / (std::fabs(theta) + std::sqrt(1.0 + theta * theta));
  c = 1.0 / std::sqrt(1.0 + t * t);
  s = t * c;
}

struct Eigen {
  std::vector<double> values;  // largest first
  Square vectors;              // in columns
};

inline Eigen eigen(Square a, std::size_t d) {
  Square v(d * d, 0.0);
  for (std::size_t j = 0; j < d; ++j) v[j * d + j] = 1.0;
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < 60; ++sweep) {
    rotated = false;
    for (std::size_t p = 0; p + 1 < d; ++p) {
      for (std::size_t q = p + 1; q < d; ++q) {
        const double apq = a[p * d + q];
        if (std::fabs(apq) <= 1e-17 * std::sqrt(std::fabs(a[p * d + p] * a[q * d + q])) || apq == 0.0) continue;
        rotated = true;
        double c, s;
        jacobi_angle(a[p * d + p], a[q * d + q], apq, c, s);
        rotate_columns(a, d, p, q, c, s);
        for (std::size_t i = 0; i < d; ++i) {
          const double x = a[p * d + i], y = a[q * d + i];
          a[p * d + i] = c * x - s * y;
          a[q * d + i] = s * x + c * y;
        }
        a[p * d + q] = a[q * d + p] = 0.0;
        rotate_columns(v, d, p, q, c, s);
      }
    }
  }
  std::vector<std::size_t> order(d);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return a[i * d + i] > a[j * d + j]; });
  Eigen e{std::vector<double>(d), Square(d * d)};
  for (std::size_t j = 0; j < d; ++j) {
    e.values[j] = a[order[j] * d + order[j]];
    for (std::size_t i = 0; i < d; ++i) e.vectors[i * d + j] = v[i * d + order[j]];
  }
  return e;
}

// Orthogonal polar factor P R' of a full-rank f = P B R'. One-sided Jacobi: rotate columns of f until they
// are orthogonal, f R = P B.
inline Square polar_factor(Square f, std::size_t d) {
  Square r(d * d, 0.0);
  for (std::size_t j = 0; j < d; ++j) r[j * d + j] = 1.0;
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < 60; ++sweep) {
    rotated = false;
    for (std::size_t p = 0; p + 1 < d; ++p) {
      for (std::size_t q = p + 1; q < d; ++q) {
        double pp = 0.0, qq = 0.0, pq = 0.0;
        for (std::size_t i = 0; i < d; ++i) {
          pp += f[i * d + p] * f[i * d + p];
          qq += f[i * d + q] * f[i * d + q];
          pq += f[i * d + p] * f[i * d + q];
        }
        if (std::fabs(pq) <= 1e-15 * std::sqrt(pp * qq) || pq == 0.0) continue;
        rotated = true;
        double c, s;
        jacobi_angle(pp, qq, pq, c, s);
        rotate_columns(f, d, p, q, c, s);
        rotate_columns(r, d, p, q, c, s);
      }
    }
  }
  for (std::size_t j = 0; j < d; ++j) {
    double norm = 0.0;
    for (std::size_t i = 0; i < d; ++i) norm += f[i * d + j] * f[i * d + j];
    norm = std::sqrt(norm);
    for (std::size_t i = 0; i < d; ++i) f[i * d + j] /= norm;
  }
  Square out(d * d, 0.0);
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t k = 0; k < d; ++k) out[i * d + j] += f[i * d + k] * r[j * d + k];
  return out;
}

}  // namespace shoal

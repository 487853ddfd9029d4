// The fourteen covariance parametrisations of a Gaussian mixture.
//
// Celeux & Govaert (1995) write the covariance matrix of group g as lambda_g D_g A_g D_g' with volume
// lambda_g, orientation D_g (orthogonal) and shape A_g (diagonal, determinant one). Three letters say
// whether volume, shape and orientation are Equal, Variable or the Identity. Every M-step needs the data
// only through the group weights n_g and the scatter matrices W_g = sum_i z_ig (x_i - m_g)(x_i - m_g)',
// and maximises  - 1/2 sum_g [ n_g log|S_g| + tr(W_g S_g^-1) ]  over the permitted S_g.
//
// Nine models have a closed form. VEI, VEE and VEV alternate between volumes and the common shape or
// matrix (each half step is a maximum, so the likelihood rises). EVE and VVE share one orientation D, which
// minimises sum_g tr(W_g D B_g D') for diagonal B_g: Browne & McNicholas (2014) replace one factor of each
// trace by its largest eigenvalue times the identity, which leaves a majorising function linear in D whose
// minimum is a polar factor; the two ways to do so alternate. The slack of 1e-3 on that eigenvalue
// keeps the majorisation valid and the polar factor unique.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "core/elementary.hpp"
#include "mixture/covariances.hpp"

namespace shoal {

namespace covariance {

constexpr int kInnerSteps = 1000;
// Most turns of a common orientation in one M-step. It goes on from there in the next one, so that EM is a
// generalised EM for EVE and VVE: every M-step raises its objective, few of them waste time on an early one.
constexpr int kTurns = 20;
constexpr double kInnerTolerance = 1e-10;  // relative, on the objective of the inner problem

inline void eii(const Scatters& s, Covariances& c) {
  const double volume = trace(pooled(s), s.d) / (s.total() * static_cast<double>(s.d));
  for (auto& m : c.matrix) m = diagonal_matrix(std::vector<double>(s.d, 1.0), volume);
}

inline void vii(const Scatters& s, Covariances& c) {
  for (std::size_t g = 0; g < s.groups; ++g)
    c.matrix[g] = diagonal_matrix(std::vector<double>(s.d, 1.0),
                                  trace(s.scatter[g], s.d) / (s.weight[g] * static_cast<double>(s.d)));
}

inline void eei(const Scatters& s, Covariances& c) {
  const auto common = diagonal_matrix(diagonal(pooled(s), s.d), 1.0 / s.total());
  for (auto& m : c.matrix) m = common;
}

// Volumes when none are known yet: those of VII.
inline void start_volumes(const Scatters& s, Covariances& c) {
  if (c.volume[0] > 0.0) return;
  for (std::size_t g = 0; g < s.groups; ++g)
    c.volume[g] = trace(s.scatter[g], s.d) / (s.weight[g] * static_cast<double>(s.d));
}

// What is left of minus twice the objective, but for a constant, once shapes have determinant one and the
// volumes fit them: d sum_g n_g log lambda_g.
inline double volume_objective(const Scatters& s, const std::vector<double>& volume) {
  double sum = 0.0;
  for (std::size_t g = 0; g < s.groups; ++g) sum += s.weight[g] * logarithm(volume[g]);
  return sum * static_cast<double>(s.d);
}

// Alternate `step` (common shape given the volumes, then the volumes given it) until volumes settle.
template <class Step>
void settle_volumes(const Scatters& s, Covariances& c, Step step) {
  start_volumes(s, c);
  double before = HUGE_VAL;
  for (int inner = 0; inner < kInnerSteps; ++inner) {
    if (!step()) return;
    const double now = volume_objective(s, c.volume);
    if (!(std::fabs(before - now) > kInnerTolerance * (1.0 + std::fabs(now)))) return;
    before = now;
  }
}

inline void vei(const Scatters& s, Covariances& c) {
  std::vector<double> shape(s.d);
  settle_volumes(s, c, [&] {
    std::fill(shape.begin(), shape.end(), 0.0);
    for (std::size_t g = 0; g < s.groups; ++g)
      for (std::size_t j = 0; j < s.d; ++j) shape[j] += s.scatter[g][j * s.d + j] / c.volume[g];
    const double root = geometric_mean(shape);
    for (double& a : shape) a /= root;
    for (std::size_t g = 0; g < s.groups; ++g) {
      double sum = 0.0;
      for (std::size_t j = 0; j < s.d; ++j) sum += s.scatter[g][j * s.d + j] / shape[j];
      c.volume[g] = sum / (s.weight[g] * static_cast<double>(s.d));
    }
    return true;
  });
  for (std::size_t g = 0; g < s.groups; ++g) c.matrix[g] = diagonal_matrix(shape, c.volume[g]);
}

inline void evi(const Scatters& s, Covariances& c) {
  double volume = 0.0;
  for (std::size_t g = 0; g < s.groups; ++g) volume += geometric_mean(diagonal(s.scatter[g], s.d));
  volume /= s.total();
  for (std::size_t g = 0; g < s.groups; ++g) {
    const auto v = diagonal(s.scatter[g], s.d);
    c.matrix[g] = diagonal_matrix(v, volume / geometric_mean(v));
  }
}

inline void vvi(const Scatters& s, Covariances& c) {
  for (std::size_t g = 0; g < s.groups; ++g)
    c.matrix[g] = diagonal_matrix(diagonal(s.scatter[g], s.d), 1.0 / s.weight[g]);
}

inline void eee(const Scatters& s, Covariances& c) {
  const auto common = scaled(pooled(s), 1.0 / s.total());
  for (auto& m : c.matrix) m = common;
}

inline void vee(const Scatters& s, Covariances& c) {
  Square common(s.d * s.d);
  settle_volumes(s, c, [&] {
    std::fill(common.begin(), common.end(), 0.0);
    for (std::size_t g = 0; g < s.groups; ++g)
      for (std::size_t e = 0; e < common.size(); ++e) common[e] += s.scatter[g][e] / c.volume[g];
    const double root = root_determinant(common, s.d);
    if (!(root > 0.0)) return false;
    common = scaled(common, 1.0 / root);
    Square factor(common);
    if (!cholesky(factor, s.d, 0.0)) return false;
    const Square inverse = inverse_triangle(factor, s.d);
    for (std::size_t g = 0; g < s.groups; ++g)
      c.volume[g] = trace_ratio(s.scatter[g], inverse, s.d) / (s.weight[g] * static_cast<double>(s.d));
    return true;
  });
  for (std::size_t g = 0; g < s.groups; ++g) c.matrix[g] = scaled(common, c.volume[g]);
}

// One majorisation step for D in sum_g tr(W_g D B_g D'). `by_shape` bounds B_g, otherwise W_g is bounded.
inline Square improve_orientation(const Scatters& s, const std::vector<std::vector<double>>& b,
                                  const std::vector<double>& top, const Square& q, bool by_shape) {
  constexpr double kSlack = 1.001;
  const std::size_t d = s.d;
  Square f(d * d, 0.0);
  for (std::size_t g = 0; g < s.groups; ++g) {
    const double bound = kSlack * (by_shape ? *std::max_element(b[g].begin(), b[g].end()) : top[g]);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t k = 0; k < d; ++k) {
        double wq = 0.0;
        for (std::size_t j = 0; j < d; ++j) wq += s.scatter[g][i * d + j] * q[j * d + k];
        f[i * d + k] += by_shape ? (bound - b[g][k]) * wq : b[g][k] * (bound * q[i * d + k] - wq);
      }
  }
  return polar_factor(f, d);
}

// Common orientation with B_g = inverse of `shape_of(diag(D' W_g D), g)`, D carried between M-steps.
template <class Shape, class Objective>
void settle_orientation(const Scatters& s, Covariances& c, Shape shape_of, Objective objective) {
  if (c.orientation.empty()) c.orientation = eigen(pooled(s), s.d).vectors;
  std::vector<double> top(s.groups);
  for (std::size_t g = 0; g < s.groups; ++g) top[g] = eigen(s.scatter[g], s.d).values[0];
  std::vector<std::vector<double>> diag(s.groups), b(s.groups, std::vector<double>(s.d));
  double before = HUGE_VAL;
  for (int inner = 0; inner < kTurns; ++inner) {
    for (std::size_t g = 0; g < s.groups; ++g) {
      diag[g] = rotated_diagonal(s.scatter[g], c.orientation, s.d);
      for (double v : diag[g])
        if (!(v > 0.0)) return;  // singular: the caller's Cholesky says so
      const auto shape = shape_of(diag[g], g);
      for (std::size_t j = 0; j < s.d; ++j) b[g][j] = 1.0 / shape[j];
    }
    const double now = objective(diag);
    if (!(std::fabs(before - now) > kInnerTolerance * (1.0 + std::fabs(now)))) return;
    before = now;
    c.orientation = improve_orientation(s, b, top, c.orientation, false);
    c.orientation = improve_orientation(s, b, top, c.orientation, true);
  }
}

// Turn D towards EVE's: it minimises sum_g |diag(D' W_g D)|^(1/d), the shapes having determinant one.
inline void settle_by_shape(const Scatters& s, Covariances& c) {
  const double n = s.total();
  settle_orientation(
      s, c,
      [](const std::vector<double>& v, std::size_t) {
        auto shape = v;
        const double root = geometric_mean(v);
        for (double& a : shape) a /= root;
        return shape;
      },
      [&](const std::vector<std::vector<double>>& diag) {
        double sum = 0.0;
        for (const auto& v : diag) sum += geometric_mean(v);
        return n * static_cast<double>(s.d) * logarithm(sum / n);
      });
}

inline void eve(const Scatters& s, Covariances& c) {
  settle_by_shape(s, c);
  const double n = s.total();
  double volume = 0.0;
  std::vector<std::vector<double>> diag(s.groups);
  for (std::size_t g = 0; g < s.groups; ++g) {
    diag[g] = rotated_diagonal(s.scatter[g], c.orientation, s.d);
    volume += geometric_mean(diag[g]) / n;
  }
  for (std::size_t g = 0; g < s.groups; ++g) {
    const double factor = volume / geometric_mean(diag[g]);
    for (double& v : diag[g]) v *= factor;
    c.matrix[g] = sandwich(c.orientation, diag[g]);
  }
}

// Covariances D A D' with A each group's own diagonal along the axes D.
inline void along_axes(const Scatters& s, Covariances& c) {
  for (std::size_t g = 0; g < s.groups; ++g) {
    auto variances = rotated_diagonal(s.scatter[g], c.orientation, s.d);
    for (double& v : variances) v /= s.weight[g];
    c.matrix[g] = sandwich(c.orientation, variances);
  }
}

inline void vve(const Scatters& s, Covariances& c) {
  const auto variances_of = [&](const std::vector<double>& v, std::size_t g) {
    auto variances = v;
    for (double& a : variances) a /= s.weight[g];
    return variances;
  };
  settle_orientation(s, c, variances_of, [&](const std::vector<std::vector<double>>& diag) {
    double sum = 0.0;
    for (std::size_t g = 0; g < s.groups; ++g)
      for (double v : diag[g]) sum += s.weight[g] * logarithm(v / s.weight[g]);
    return sum;
  });
  along_axes(s, c);
}

// VVE along EVE's axes. These leave out that groups of different volume weigh differently in the likelihood, so
// this is no maximum of it. It is what mclust 6.0.0 computes under the name VVE, and here for comparison only.
inline void vve_along_eve(const Scatters& s, Covariances& c) {
  settle_by_shape(s, c);
  along_axes(s, c);
}

inline std::vector<Eigen> decomposed(const Scatters& s) {
  std::vector<Eigen> out;
  out.reserve(s.groups);
  for (const auto& w : s.scatter) out.push_back(eigen(w, s.d));
  return out;
}

inline void eev(const Scatters& s, Covariances& c) {
  const auto parts = decomposed(s);
  std::vector<double> common(s.d, 0.0);
  for (const auto& e : parts)
    for (std::size_t j = 0; j < s.d; ++j) common[j] += e.values[j] / s.total();
  for (std::size_t g = 0; g < s.groups; ++g) c.matrix[g] = sandwich(parts[g].vectors, common);
}

inline void vev(const Scatters& s, Covariances& c) {
  const auto parts = decomposed(s);
  std::vector<double> shape(s.d);
  settle_volumes(s, c, [&] {
    std::fill(shape.begin(), shape.end(), 0.0);
    for (std::size_t g = 0; g < s.groups; ++g)
      for (std::size_t j = 0; j < s.d; ++j) shape[j] += parts[g].values[j] / c.volume[g];
    const double root = geometric_mean(shape);
    for (double& a : shape) a /= root;
    for (std::size_t g = 0; g < s.groups; ++g) {
      double sum = 0.0;
      for (std::size_t j = 0; j < s.d; ++j) sum += parts[g].values[j] / shape[j];
      c.volume[g] = sum / (s.weight[g] * static_cast<double>(s.d));
    }
    return true;
  });
  for (std::size_t g = 0; g < s.groups; ++g) {
    auto values = shape;
    for (double& v : values) v *= c.volume[g];
    c.matrix[g] = sandwich(parts[g].vectors, values);
  }
}

inline void evv(const Scatters& s, Covariances& c) {
  std::vector<double> root(s.groups);
  double volume = 0.0;
  for (std::size_t g = 0; g < s.groups; ++g) volume += (root[g] = root_determinant(s.scatter[g], s.d)) / s.total();
  for (std::size_t g = 0; g < s.groups; ++g) c.matrix[g] = scaled(s.scatter[g], volume / root[g]);
}

inline void vvv(const Scatters& s, Covariances& c) {
  for (std::size_t g = 0; g < s.groups; ++g) c.matrix[g] = scaled(s.scatter[g], 1.0 / s.weight[g]);
}

}  // namespace covariance

struct CovarianceModel {
  std::string_view name;
  void (*update)(const Scatters&, Covariances&);
};

inline constexpr std::array<CovarianceModel, 15> kCovarianceModels{{
    {"EII", covariance::eii}, {"VII", covariance::vii}, {"EEI", covariance::eei}, {"VEI", covariance::vei},
    {"EVI", covariance::evi}, {"VVI", covariance::vvi}, {"EEE", covariance::eee}, {"VEE", covariance::vee},
    {"EVE", covariance::eve}, {"VVE", covariance::vve}, {"EEV", covariance::eev}, {"VEV", covariance::vev},
    {"EVV", covariance::evv}, {"VVV", covariance::vvv}, {"VVE along EVE", covariance::vve_along_eve},
}};

}  // namespace shoal

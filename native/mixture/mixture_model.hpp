// EM for mixtures of multivariate normal or t distributions, with mixing proportions held above a floor.
//
// Density: sum_g pi_g f_g(x), f_g normal with mean m_g and covariance S_g, or multivariate t with dof_g
// degrees of freedom and scale matrix S_g. The E-step (Oganian & Domingo-Ferrer 2017, equation 2) works
// with logarithms and subtracts the largest term before it exponentiates, so no record is ever lost to
// underflow. The M-step needs only n_g, the group means and the scatter matrices; therefore the pass over
// the records that finds the posteriors adds them up at once, and the n x G posterior matrix is never
// stored. Sums are taken about the group's current mean, which keeps them accurate for data far from the
// origin: the corrections vanish as EM converges. Records are taken in blocks of 64, transposed so that the
// inner loops (mixture_loops.hpp) run along records; sums go to eight fixed lanes in a fixed order, hence the same
// bytes on every run and machine width.
//
// After every M-step the proportions are moved by equations (3) and (4) where one is below the floor k/n (see
// proportion_floor.hpp). The likelihood may fall at such a step, and says nothing about how near the end is: it rests where
// it turns. So EM ends when the statistics are at rest, and where its steps are slow they are extrapolated (path.hpp).
//
// t components: Liu & Rubin (1995), ECM. A record's weight in group g is z_ig u_ig with
// u = (dof + d)/(dof + mahalanobis distance^2); dof solves a one-dimensional equation, here by bisection.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/elementary.hpp"
#include "core/progress.hpp"
#include "mixture/covariance_models.hpp"
#include "mixture/mixture_loops.hpp"
#include "mixture/path.hpp"
#include "mixture/proportion_floor.hpp"

namespace shoal::mixture {

constexpr double kLog2Pi = 1.8378770664093454836;
// Beyond 200 degrees of freedom a t is a normal to all purposes; below 2 it has no covariance.
constexpr double kLeastDof = 2.1, kMostDof = 200.0;

struct Mixture {
  std::size_t groups, d;
  std::vector<double> proportion, mean, dof;  // dof: infinity for a normal component
  std::vector<Square> inverse;                // inverse Cholesky factors of the covariances
  std::vector<char> diagonal;                 // whether only the diagonal of that factor is not 0
  std::vector<double> log_scale;              // log of pi_g times the density's constant
  const MixtureLoops* loops;

  bool tailed(std::size_t g) const { return std::isfinite(dof[g]); }
};

inline double digamma(double x) {
  double shift = 0.0;
  for (; x < 10.0; x += 1.0) shift -= 1.0 / x;
  const double r = 1.0 / (x * x);
  return shift + logarithm(x) - 0.5 / x - r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132))));
}

inline bool is_diagonal(const Square& l, std::size_t d) {
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (l[i * d + j] != 0.0) return false;
  return true;
}

// Prepare densities; the group whose covariance is singular, or -1.
inline int prepare(Mixture& m, const std::vector<Square>& covariance, double singular) {
  const double d = static_cast<double>(m.d);
  for (std::size_t g = 0; g < m.groups; ++g) {
    Square factor = covariance[g];
    if (!cholesky(factor, m.d, singular)) return static_cast<int>(g);
    double scale = logarithm(m.proportion[g]);
    for (std::size_t j = 0; j < m.d; ++j) scale -= logarithm(factor[j * m.d + j]);
    if (m.tailed(g)) {
      const double nu = m.dof[g];
      scale += log_gamma(0.5 * (nu + d)) - log_gamma(0.5 * nu) - 0.5 * d * (logarithm(nu) + kLog2Pi - logarithm(2.0));
    } else {
      scale -= 0.5 * d * kLog2Pi;
    }
    m.inverse[g] = inverse_triangle(factor, m.d);
    m.diagonal[g] = is_diagonal(m.inverse[g], m.d);
    m.log_scale[g] = scale;
  }
  return -1;
}

// Work space for one block of records: everything is column-wise, kBlock long.
struct Block {
  std::size_t size = 0;
  std::vector<double> x, y, joint, u;
  Block(std::size_t groups, std::size_t d)
      : x(d * kBlock), y(groups * d * kBlock), joint(groups * kBlock), u(groups * kBlock, 1.0) {}

  void load(const double* rows, std::size_t count, std::size_t d) {
    size = count;
    for (std::size_t i = 0; i < kBlock; ++i)  // a short last block repeats its first record, with weight zero
      for (std::size_t j = 0; j < d; ++j) x[j * kBlock + i] = rows[(i < count ? i : 0) * d + j];
  }
};

// log(pi_g f_g) of a block's records, and u_ig for t components.
inline void log_joint(const Mixture& m, std::size_t g, Block& b) {
  double* out = &b.joint[g * kBlock];
  double distance[kBlock];
  m.loops->distances(b.x.data(), &m.mean[g * m.d], m.inverse[g].data(), m.d, m.diagonal[g] != 0, &b.y[g * m.d * kBlock],
                     distance);
  if (!m.tailed(g)) {
    for (std::size_t i = 0; i < kBlock; ++i) out[i] = m.log_scale[g] - 0.5 * distance[i];
    return;
  }
  const double nu = m.dof[g], d = static_cast<double>(m.d);
  for (std::size_t i = 0; i < kBlock; ++i) {
    out[i] = m.log_scale[g] - 0.5 * (nu + d) * logarithm_above_one(distance[i] / nu);
    b.u[g * kBlock + i] = (nu + d) / (nu + distance[i]);
  }
}

// Turn a block's log joint densities into posteriors; the sum of its records' log densities.
inline double normalise(const MixtureLoops& loops, Block& b, std::size_t groups) {
  double top[kBlock], sum[kBlock], loglik = 0.0;
  loops.posteriors(b.joint.data(), groups, top, sum);
  for (std::size_t i = 0; i < b.size; ++i) loglik += top[i] + logarithm(sum[i]);
  for (std::size_t i = 0; i < kBlock; ++i) sum[i] = i < b.size ? 1.0 / sum[i] : 0.0;
  loops.scale(b.joint.data(), groups, sum);
  return loglik;
}

// Sums of one E-step about the current means; `mass` is the sum of z u, `weight` the sum of z.
struct Sums {
  std::vector<double> weight, mass, first, second, tail;
  Sums(std::size_t groups, std::size_t d)
      : weight(groups), mass(groups), first(groups * d), second(groups * d * d), tail(groups) {}
};

inline void accumulate(const Mixture& m, std::size_t g, Block& b, Sums& s) {
  double* z = &b.joint[g * kBlock];
  const double weight = m.loops->sum(z);
  if (weight == 0.0) return;  // no record of the block has a part in the group
  s.weight[g] += weight;
  if (m.tailed(g)) {
    const double* u = &b.u[g * kBlock];
    for (std::size_t i = 0; i < kBlock; ++i) {
      if (z[i] > 0.0) s.tail[g] += z[i] * (logarithm(u[i]) - u[i]);
      z[i] *= u[i];
    }
    s.mass[g] += m.loops->sum(z);
  }
  m.loops->accumulate(z, &b.y[g * m.d * kBlock], m.d, &s.first[g * m.d], &s.second[g * m.d * m.d]);
}

// Means and scatters from the sums of a pass about the old means.
inline Scatters finish(const Mixture& m, const Sums& s) {
  Scatters out(m.groups, m.d);
  out.weight = s.weight;
  out.tail = s.tail;
  for (std::size_t g = 0; g < m.groups; ++g) {
    const double mass = m.tailed(g) ? s.mass[g] : s.weight[g];
    const double* first = &s.first[g * m.d];
    for (std::size_t j = 0; j < m.d; ++j) {
      out.mean[g * m.d + j] = m.mean[g * m.d + j] + first[j] / mass;
      for (std::size_t k = 0; k <= j; ++k) {
        const double w = s.second[(g * m.d + j) * m.d + k] - first[j] * (first[k] / mass);
        out.scatter[g][j * m.d + k] = out.scatter[g][k * m.d + j] = w;
      }
    }
  }
  return out;
}

// One E-step: the log-likelihood, and the statistics for the next M-step.
inline double pass(const double* x, std::size_t n, const Mixture& m, Scatters& out, Progress& progress, double done) {
  Block b(m.groups, m.d);
  Sums sums(m.groups, m.d);
  double loglik = 0.0;
  for (std::size_t start = 0; start < n; start += kBlock) {
    b.load(x + start * m.d, std::min(kBlock, n - start), m.d);
    for (std::size_t g = 0; g < m.groups; ++g) log_joint(m, g, b);
    loglik += normalise(*m.loops, b, m.groups);
    for (std::size_t g = 0; g < m.groups; ++g) accumulate(m, g, b, sums);
    progress.tick(done);
  }
  out = finish(m, sums);
  return loglik;
}

// Shares of the total weight.
inline std::vector<double> proportions(std::vector<double> weight) {
  double total = 0.0;
  for (double w : weight) total += w;
  for (double& w : weight) w /= total;
  return weight;
}

inline double next_dof(double old, double weight, double tail, double d) {
  const double constant = 1.0 + tail / weight + digamma(0.5 * (old + d)) - logarithm(0.5 * (old + d));
  double lo = kLeastDof, hi = kMostDof;
  for (int step = 0; step < 60; ++step) {
    const double mid = std::sqrt(lo * hi);
    (logarithm(0.5 * mid) - digamma(0.5 * mid) + constant > 0.0 ? lo : hi) = mid;
  }
  return std::sqrt(lo * hi);
}

struct Rules {
  double floor, tolerance, singular, ridge;
  int most_steps;
};

struct Fit {
  Mixture mixture;
  Covariances covariances;
  Scatters scatters;
  double loglik = -HUGE_VAL;
  int steps = 0;
  bool converged = false;
  bool moved = false;  // the last M-step moved the proportions to the floor
  int singular = -1;   // group whose covariance became singular
};

// M-step: proportions, means, covariances, degrees of freedom; false if a covariance is singular.
inline bool maximise(Fit& f, const CovarianceModel& model, const Rules& rules, bool first) {
  Mixture& m = f.mixture;
  const auto free = proportions(f.scatters.weight);
  m.proportion = floored_proportions(free, rules.floor);
  f.moved = m.proportion != free;
  m.mean = f.scatters.mean;
  for (std::size_t g = 0; g < m.groups; ++g)
    for (std::size_t j = 0; j < m.d; ++j) f.scatters.scatter[g][j * m.d + j] += rules.ridge * f.scatters.weight[g];
  model.update(f.scatters, f.covariances);
  for (std::size_t g = 0; g < m.groups && !first; ++g)
    if (m.tailed(g)) m.dof[g] = next_dof(m.dof[g], f.scatters.weight[g], f.scatters.tail[g], static_cast<double>(m.d));
  f.singular = prepare(m, f.covariances.matrix, rules.singular);
  return f.singular < 0;
}

// One EM step; false if a covariance is singular.
inline bool step(const double* x, std::size_t n, Fit& f, const CovarianceModel& model, const Rules& rules, Progress& progress) {
  if (!maximise(f, model, rules, f.steps == 0)) return false;
  f.loglik = pass(x, n, f.mixture, f.scatters, progress, static_cast<double>(f.steps) / rules.most_steps);
  ++f.steps;
  return true;
}

inline void run(const double* x, std::size_t n, Fit& f, const CovarianceModel& model, const Rules& rules, Progress& progress) {
  Path path(x, n, f.mixture.d);
  double before = -HUGE_VAL;
  while (f.steps < rules.most_steps && step(x, n, f, model, rules, progress)) {
    const bool slow = std::fabs(f.loglik - before) <= kSlow * (1.0 + std::fabs(f.loglik));
    before = f.loglik;
    path.add(f.scatters, f.mixture.dof);
    f.converged = path.full() && path.ahead() <= rules.tolerance;
    if (f.converged) return;
    if (!slow || !path.full() || f.steps == rules.most_steps) continue;
    Fit leapt = f;
    const bool sound = path.leap(leapt.scatters, leapt.mixture.dof) && step(x, n, leapt, model, rules, progress) &&
                       (leapt.moved ? path.nearer(leapt.scatters, leapt.mixture.dof) : leapt.loglik >= f.loglik);
    const int steps = f.steps + 1;
    if (sound) f = std::move(leapt);
    f.steps = steps;
    before = f.loglik;
    path.start(f.scatters, f.mixture.dof);
  }
}

inline Mixture empty_mixture(std::size_t groups, std::size_t d, const double* dof, bool simd) {
  return {groups, d, std::vector<double>(groups, 1.0), std::vector<double>(groups * d),
          std::vector<double>(dof, dof + groups), std::vector<Square>(groups, Square(d * d)),
          std::vector<char>(groups), std::vector<double>(groups), &mixture_loops(simd)};
}

inline std::vector<double> flattened(const std::vector<Square>& matrices) {
  std::vector<double> flat;
  for (const auto& m : matrices) flat.insert(flat.end(), m.begin(), m.end());
  return flat;
}

}  // namespace shoal::mixture

// EM for latent class models, and latent class regression with continuous covariates.
//
// P(y_i) = sum_g p_g(x_i) prod_j pi[j, y_ij, g] with p_g(x) = exp(b_g'x) / sum_h exp(b_h'x), the first entry of x
// being 1 (Oganian & Domingo-Ferrer 2017, equation 12; Bandeen-Roche et al. 1997). With that entry alone it
// is the plain latent class model. Missing answers (code -1) say nothing about the class.
//
// E-step in logarithms, one pass over the records. M-step: the tables pi in the same pass as their sums; b by
// Newton steps with halving on the multinomial logit whose responses are the posteriors.
//
// Zero cells and separation: each class is credited with `pseudo` further records that answer like the whole
// table, and slopes (intercepts) have normal priors with precision `slope` (`intercept`); so every maximum is
// finite, and what EM raises is the log-likelihood plus the logarithms of these priors.
//
// Prevalences p*_g = mean of z_ig (equations 13, 14) below the floor k/n are moved by equations (3) and (4) to a
// target t, and z follows. Equation (15) of the paper can leave [0, 1]; instead z moves to the nearest matrix in
// Kullback-Leibler divergence with rows that sum to 1 and column means t. It has the form
// z_ig exp(a_g) / sum_h z_ih exp(a_h): multiply each column by target over mean, make the rows sum to 1, and
// repeat (iterative proportional fitting).
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/elementary.hpp"
#include "core/progress.hpp"
#include "mixture/proportion_floor.hpp"
#include "linear/symmetric.hpp"

namespace shoal::latent_class {

// The logit is fitted anew at each EM step, from where it was: a few Newton steps do.
constexpr int kNewtonSteps = 8;
constexpr int kHalvings = 30;
constexpr double kLeastGain = 1e-9;  // Newton ends when its objective F rises by less than this times 1 + |F|

constexpr int kFittingSteps = 2000;
constexpr double kReached = 1e-10;  // a column mean this near to its target is there
constexpr double kLeast = 1e-300;   // posteriors and prevalences stay above it, so that no class is lost for good

// Precisions of the normal priors of the logit, of slopes on standardised covariates and of intercepts: standard
// deviations of 2.5, the scale of the Cauchy prior, and 10, both as Gelman et al. (2008) recommend.
constexpr double kSlopePrecision = 1 / (2.5 * 2.5);
constexpr double kInterceptPrecision = 1 / (10.0 * 10.0);

struct Answers {
  const std::int32_t* code;      // (n, J)
  const std::int32_t* offset;    // (J + 1): where each column's categories begin in the tables
  const double* covariate;       // (n, q), first column 1
  std::size_t n, columns, q;
};

struct Classes {
  std::size_t groups;
  std::vector<double> coefficient;  // (G, q)
  std::vector<double> log_table;    // (categories of all columns, G)
};

struct Priors {
  double pseudo, slope, intercept;
  std::vector<double> share;  // share of each category in the whole table
};

// log p_g(x) of one record.
inline void log_prior(const Classes& c, const double* x, std::size_t q, double* out) {
  double top = -HUGE_VAL, sum = 0.0;
  for (std::size_t g = 0; g < c.groups; ++g) {
    out[g] = 0.0;
    for (std::size_t j = 0; j < q; ++j) out[g] += c.coefficient[g * q + j] * x[j];
    top = std::max(top, out[g]);
  }
  for (std::size_t g = 0; g < c.groups; ++g) sum += exponential(out[g] - top);
  const double scale = top + logarithm(sum);
  for (std::size_t g = 0; g < c.groups; ++g) out[g] -= scale;
}

inline void log_joint(const Answers& a, const Classes& c, std::size_t i, double* out) {
  log_prior(c, a.covariate + i * a.q, a.q, out);
  for (std::size_t j = 0; j < a.columns; ++j) {
    const std::int32_t code = a.code[i * a.columns + j];
    if (code < 0) continue;
    const double* row = &c.log_table[static_cast<std::size_t>(a.offset[j] + code) * c.groups];
    for (std::size_t g = 0; g < c.groups; ++g) out[g] += row[g];
  }
}

// Replace a row of logarithms by probabilities; the logarithm of their sum.
inline double normalise(double* row, std::size_t groups) {
  const double top = *std::max_element(row, row + groups);
  double sum = 0.0;
  for (std::size_t g = 0; g < groups; ++g) sum += (row[g] = exponential(row[g] - top));
  for (std::size_t g = 0; g < groups; ++g) row[g] /= sum;
  return top + logarithm(sum);
}

inline double e_step(const Answers& a, const Classes& c, std::vector<double>& z, Progress& progress, double done) {
  double loglik = 0.0;
  for (std::size_t i = 0; i < a.n; ++i) {
    log_joint(a, c, i, &z[i * c.groups]);
    loglik += normalise(&z[i * c.groups], c.groups);
    progress.tick(done);
  }
  return loglik;
}

inline std::vector<double> column_means(const std::vector<double>& z, std::size_t groups) {
  std::vector<double> mean(groups, 0.0);
  for (std::size_t i = 0; i < z.size(); ++i) mean[i % groups] += z[i];
  for (double& m : mean) m *= static_cast<double>(groups) / static_cast<double>(z.size());
  return mean;
}

// The KL projection of z on column means t; whether every column mean reached its target.
inline bool project(std::vector<double>& z, const std::vector<double>& target) {
  const std::size_t groups = target.size();
  for (double& v : z) v = std::max(v, kLeast);
  for (int step = 0; step < kFittingSteps; ++step) {
    const auto mean = column_means(z, groups);
    double worst = 0.0;
    for (std::size_t g = 0; g < groups; ++g) worst = std::max(worst, std::fabs(mean[g] - target[g]));
    if (worst <= kReached) return true;
    for (std::size_t i = 0; i < z.size(); i += groups) {
      double sum = 0.0;
      for (std::size_t g = 0; g < groups; ++g) sum += (z[i + g] *= target[g] / mean[g]);
      for (std::size_t g = 0; g < groups; ++g) z[i + g] = std::max(z[i + g] / sum, kLeast);
    }
  }
  return false;
}

inline void fit_tables(const Answers& a, const std::vector<double>& z, const Priors& priors, Classes& c) {
  const std::size_t groups = c.groups;
  std::vector<double>& table = c.log_table;
  for (std::size_t e = 0; e < priors.share.size(); ++e)
    for (std::size_t g = 0; g < groups; ++g) table[e * groups + g] = priors.pseudo * priors.share[e];
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) {
      const std::int32_t code = a.code[i * a.columns + j];
      if (code < 0) continue;
      double* row = &table[static_cast<std::size_t>(a.offset[j] + code) * groups];
      for (std::size_t g = 0; g < groups; ++g) row[g] += z[i * groups + g];
    }
  for (std::size_t j = 0; j < a.columns; ++j)
    for (std::size_t g = 0; g < groups; ++g) {
      double sum = 0.0;
      const auto first = static_cast<std::size_t>(a.offset[j]), last = static_cast<std::size_t>(a.offset[j + 1]);
      for (std::size_t e = first; e < last; ++e) sum += table[e * groups + g];
      for (std::size_t e = first; e < last; ++e) table[e * groups + g] = logarithm(table[e * groups + g] / sum);
    }
}

// The multinomial logit of the posteriors on the covariates, with normal priors.
class Logit {
 public:
  Logit(const Answers& a, const std::vector<double>& z, const Priors& priors, std::size_t groups)
      : a_(a), z_(z), priors_(priors), groups_(groups), size_(groups * a.q) {}

  void fit(Classes& c) const {
    double value = objective(c);
    for (int step = 0; step < kNewtonSteps; ++step) {
      const auto direction = newton(c);
      double length = 1.0, better = value;
      Classes trial = c;
      for (int half = 0; half < kHalvings; ++half, length *= 0.5) {
        for (std::size_t e = 0; e < size_; ++e) trial.coefficient[e] = c.coefficient[e] + length * direction[e];
        better = objective(trial);
        if (better >= value) break;
      }
      if (!(better > value)) return;
      c.coefficient = trial.coefficient;
      const double gain = better - value;
      value = better;
      if (gain <= kLeastGain * (1.0 + std::fabs(value))) return;
    }
  }

  double log_prior_density(const Classes& c) const {
    double sum = 0.0;
    for (std::size_t e = 0; e < size_; ++e) sum -= 0.5 * precision(e) * c.coefficient[e] * c.coefficient[e];
    return sum;
  }

 private:
  double precision(std::size_t e) const { return e % a_.q == 0 ? priors_.intercept : priors_.slope; }

  double objective(const Classes& c) const {
    std::vector<double> p(groups_);
    double sum = log_prior_density(c);
    for (std::size_t i = 0; i < a_.n; ++i) {
      log_prior(c, a_.covariate + i * a_.q, a_.q, p.data());
      for (std::size_t g = 0; g < groups_; ++g) sum += z_[i * groups_ + g] * p[g];
    }
    return sum;
  }

  // Inverse Hessian times gradient.
  std::vector<double> newton(const Classes& c) const {
    Square hessian(size_ * size_, 0.0);
    std::vector<double> gradient(size_), p(groups_);
    for (std::size_t e = 0; e < size_; ++e) {
      gradient[e] = -precision(e) * c.coefficient[e];
      hessian[e * size_ + e] = precision(e);
    }
    for (std::size_t i = 0; i < a_.n; ++i) {
      const double* x = a_.covariate + i * a_.q;
      log_prior(c, x, a_.q, p.data());
      for (double& v : p) v = exponential(v);
      for (std::size_t g = 0; g < groups_; ++g) {
        const double gap = z_[i * groups_ + g] - p[g];
        for (std::size_t j = 0; j < a_.q; ++j) gradient[g * a_.q + j] += gap * x[j];
        for (std::size_t h = 0; h <= g; ++h) add_block(hessian, g, h, (g == h ? p[g] : 0.0) - p[g] * p[h], x);
      }
    }
    cholesky(hessian, size_, 0.0);
    solve(hessian, gradient);
    return gradient;
  }

  void add_block(Square& hessian, std::size_t g, std::size_t h, double w, const double* x) const {
    for (std::size_t j = 0; j < a_.q; ++j) {
      double* row = &hessian[(g * a_.q + j) * size_ + h * a_.q];
      for (std::size_t k = 0; k < a_.q; ++k) row[k] += w * x[j] * x[k];
    }
  }

  void solve(const Square& l, std::vector<double>& v) const {
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t k = 0; k < i; ++k) v[i] -= l[i * size_ + k] * v[k];
      v[i] /= l[i * size_ + i];
    }
    for (std::size_t i = size_; i-- > 0;) {
      for (std::size_t k = i + 1; k < size_; ++k) v[i] -= l[k * size_ + i] * v[k];
      v[i] /= l[i * size_ + i];
    }
  }

  const Answers& a_;
  const std::vector<double>& z_;
  const Priors& priors_;
  std::size_t groups_, size_;
};

struct ClassFit {
  Classes classes;
  std::vector<double> z, prevalence;
  double loglik = -HUGE_VAL, objective = -HUGE_VAL;
  int steps = 0;
  bool converged = false, moved = false, reached = true;
};

// M-step. `moved` says that the prevalences were below the floor, `reached` that the projection got them there.
inline void maximise(const Answers& a, const Priors& priors, double floor, ClassFit& f) {
  const auto mean = column_means(f.z, f.classes.groups);
  f.prevalence = floored_proportions(mean, floor);
  f.moved = f.prevalence != mean;
  if (f.moved) f.reached = project(f.z, f.prevalence);
  fit_tables(a, f.z, priors, f.classes);
  if (a.q > 1) {
    Logit(a, f.z, priors, f.classes.groups).fit(f.classes);
  } else {
    for (std::size_t g = 0; g < f.classes.groups; ++g)
      f.classes.coefficient[g] = logarithm(std::max(f.prevalence[g], kLeast));
  }
}

inline double log_priors(const Answers& a, const Priors& priors, const ClassFit& f) {
  double sum = a.q > 1 ? Logit(a, f.z, priors, f.classes.groups).log_prior_density(f.classes) : 0.0;
  for (std::size_t e = 0; e < priors.share.size(); ++e)
    for (std::size_t g = 0; g < f.classes.groups; ++g)
      if (priors.share[e] > 0.0) sum += priors.pseudo * priors.share[e] * f.classes.log_table[e * f.classes.groups + g];
  return sum;
}

inline std::vector<double> shares(const Answers& a) {
  std::vector<double> share(static_cast<std::size_t>(a.offset[a.columns]), 0.0);
  for (std::size_t j = 0; j < a.columns; ++j) {
    double answered = 0.0;
    for (std::size_t i = 0; i < a.n; ++i) answered += a.code[i * a.columns + j] >= 0;
    for (std::size_t i = 0; i < a.n; ++i)
      if (a.code[i * a.columns + j] >= 0)
        share[static_cast<std::size_t>(a.offset[j] + a.code[i * a.columns + j])] += 1.0 / answered;
  }
  return share;
}

}  // namespace shoal::latent_class

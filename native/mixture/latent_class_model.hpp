// EM for latent class models, and latent class regression with continuous covariates.
//
// P(y_i) = sum_g p_g(x_i) prod_j pi[j, y_ij, g] with p_g(x) = exp(b_g'x) / sum_h exp(b_h'x), the first entry of x
// being 1 (Oganian & Domingo-Ferrer 2017, equation 12; Bandeen-Roche et al. 1997). With that entry alone it
// is the plain latent class model. Missing answers (code -1) say nothing about the class.
//
// E-step in logarithms, one pass over the rows in blocks (latent_class_rows.hpp). M-step: the tables pi in the same pass
// as their sums; b by a Newton step with halving on the multinomial logit whose responses are the posteriors, which
// raises it (generalised EM).
// A row stands for all records with its answers and covariates: it counts as many times.
//
// EM ends when no prevalence, probability of an answer or coefficient still goes farther than a tolerance, as its last
// steps tell; it leaps ahead where that raises what EM raises (path.hpp), unless prevalences are held.
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
#include "linear/symmetric.hpp"
#include "mixture/latent_class_rows.hpp"
#include "mixture/path.hpp"
#include "mixture/proportion_floor.hpp"

namespace shoal::latent_class {

constexpr int kHalvings = 30;  // of a Newton step

constexpr int kFittingSteps = 2000;
constexpr double kReached = 1e-10;  // a column mean this near to its target is there
constexpr double kLeast = 1e-300;   // posteriors and prevalences stay above it, so that no class is lost for good

// Precisions of the normal priors of the logit, of slopes on standardised covariates and of intercepts: standard
// deviations of 2.5, the scale of the Cauchy prior, and 10, both as Gelman et al. (2008) recommend.
constexpr double kSlopePrecision = 1 / (2.5 * 2.5);
constexpr double kInterceptPrecision = 1 / (10.0 * 10.0);

struct ClassLimits {
  double floor, tolerance;
  int most_steps;
};

struct Priors {
  double pseudo, slope, intercept;
  std::vector<double> share;  // share of each category in the whole table
};

inline std::vector<double> column_means(const std::vector<double>& z, const double* count, std::size_t groups) {
  std::vector<double> mean(groups, 0.0);
  double total = 0.0;
  for (std::size_t i = 0; i < z.size() / groups; ++i) {
    for (std::size_t g = 0; g < groups; ++g) mean[g] += count[i] * z[i * groups + g];
    total += count[i];
  }
  for (double& m : mean) m /= total;
  return mean;
}

// The KL projection of z on column means t; whether every column mean reached its target.
inline bool project(std::vector<double>& z, const double* count, const std::vector<double>& target) {
  const std::size_t groups = target.size();
  for (double& v : z) v = std::max(v, kLeast);
  for (int step = 0; step < kFittingSteps; ++step) {
    const auto mean = column_means(z, count, groups);
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

// Turn counts, or anything in proportion to probabilities, into logarithms of probabilities.
inline void take_logarithms(const Answers& a, Classes& c) {
  const std::size_t groups = c.groups;
  for (std::size_t j = 0; j < a.columns; ++j)
    for (std::size_t g = 0; g < groups; ++g) {
      double sum = 0.0;
      const auto first = static_cast<std::size_t>(a.offset[j]), last = static_cast<std::size_t>(a.offset[j + 1]);
      for (std::size_t e = first; e < last; ++e) sum += c.log_table[e * groups + g];
      for (std::size_t e = first; e < last; ++e) c.log_table[e * groups + g] = logarithm(c.log_table[e * groups + g] / sum);
    }
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
      for (std::size_t g = 0; g < groups; ++g) row[g] += a.count[i] * z[i * groups + g];
    }
  take_logarithms(a, c);
}

// The multinomial logit of the posteriors on the covariates, with normal priors.
class Logit {
 public:
  Logit(const Answers& a, const std::vector<double>& z, const Priors& priors, std::size_t groups, const MixtureLoops& loops)
      : a_(a), z_(z), priors_(priors), loops_(loops), groups_(groups), size_(groups * a.q) {}

  // A Newton step, halved until it raises the objective; none where no half does.
  void step(Classes& c) const {
    const double value = objective(c);
    const auto direction = newton(c), from = c.coefficient;
    double length = 1.0;
    for (int half = 0; half < kHalvings; ++half, length *= 0.5) {
      for (std::size_t e = 0; e < size_; ++e) c.coefficient[e] = from[e] + length * direction[e];
      if (objective(c) > value) return;
    }
    c.coefficient = from;
  }

  double log_prior_density(const Classes& c) const {
    double sum = 0.0;
    for (std::size_t e = 0; e < size_; ++e) sum -= 0.5 * precision(e) * c.coefficient[e] * c.coefficient[e];
    return sum;
  }

 private:
  double precision(std::size_t e) const { return e % a_.q == 0 ? priors_.intercept : priors_.slope; }

  double objective(const Classes& c) const {
    std::vector<double> p(groups_ * kBlock);
    Priorities priorities(a_, c, loops_);
    double sum = log_prior_density(c);
    for (std::size_t first = 0; first < a_.n; first += kBlock) {
      const std::size_t count = std::min(kBlock, a_.n - first);
      priorities.of(first, count, p.data());
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t g = 0; g < groups_; ++g)
          sum += a_.count[first + i] * z_[(first + i) * groups_ + g] * p[i * groups_ + g];
    }
    return sum;
  }

  // Inverse Hessian times gradient.
  std::vector<double> newton(const Classes& c) const {
    Square hessian(size_ * size_, 0.0);
    std::vector<double> gradient(size_), block(groups_ * kBlock);
    Priorities priorities(a_, c, loops_);
    for (std::size_t e = 0; e < size_; ++e) {
      gradient[e] = -precision(e) * c.coefficient[e];
      hessian[e * size_ + e] = precision(e);
    }
    for (std::size_t i = 0; i < a_.n; ++i) {
      const double* x = a_.covariate + i * a_.q;
      if (i % kBlock == 0) {
        priorities.of(i, std::min(kBlock, a_.n - i), block.data());
        for (double& v : block) v = exponential(v);
      }
      const double* p = &block[i % kBlock * groups_];
      for (std::size_t g = 0; g < groups_; ++g) {
        const double gap = a_.count[i] * (z_[i * groups_ + g] - p[g]);
        for (std::size_t j = 0; j < a_.q; ++j) gradient[g * a_.q + j] += gap * x[j];
        for (std::size_t h = 0; h <= g; ++h) add_block(hessian, g, h, a_.count[i] * ((g == h ? p[g] : 0.0) - p[g] * p[h]), x);
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
  const MixtureLoops& loops_;
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
inline void maximise(const Answers& a, const Priors& priors, double floor, const MixtureLoops& loops, ClassFit& f) {
  const auto mean = column_means(f.z, a.count, f.classes.groups);
  f.prevalence = floored_proportions(mean, floor);
  f.moved = f.prevalence != mean;
  if (f.moved) f.reached = project(f.z, a.count, f.prevalence);
  fit_tables(a, f.z, priors, f.classes);
  if (a.q > 1) {
    Logit(a, f.z, priors, f.classes.groups, loops).step(f.classes);
  } else {
    for (std::size_t g = 0; g < f.classes.groups; ++g)
      f.classes.coefficient[g] = logarithm(std::max(f.prevalence[g], kLeast));
  }
}

inline double log_priors(const Answers& a, const Priors& priors, const MixtureLoops& loops, const ClassFit& f) {
  double sum = a.q > 1 ? Logit(a, f.z, priors, f.classes.groups, loops).log_prior_density(f.classes) : 0.0;
  for (std::size_t e = 0; e < priors.share.size(); ++e)
    for (std::size_t g = 0; g < f.classes.groups; ++g)
      if (priors.share[e] > 0.0) sum += priors.pseudo * priors.share[e] * f.classes.log_table[e * f.classes.groups + g];
  return sum;
}

// What EM moves: prevalences, probabilities of answers, and coefficients where these are more than logarithms of prevalences.
inline State state(const Answers& a, const ClassFit& f) {
  State y = f.prevalence;
  for (double v : f.classes.log_table) y.push_back(exponential(v));
  if (a.q > 1) y.insert(y.end(), f.classes.coefficient.begin(), f.classes.coefficient.end());
  return y;
}

// Take the parameters of a leap; no probability becomes less than half of what it was.
inline void take(const Answers& a, const State& y, ClassFit& f) {
  const double* at = y.data();
  double sum = 0.0;
  for (double& p : f.prevalence) sum += (p = std::max(*at++, 0.5 * p));
  for (double& p : f.prevalence) p /= sum;
  for (double& v : f.classes.log_table) v = std::max(*at++, 0.5 * exponential(v));
  take_logarithms(a, f.classes);
  for (std::size_t e = 0; e < f.classes.coefficient.size(); ++e)
    f.classes.coefficient[e] = a.q > 1 ? *at++ : logarithm(std::max(f.prevalence[e], kLeast));
}

inline void run(const Answers& a, const Priors& priors, const ClassLimits& limits, const MixtureLoops& loops, ClassFit& f,
                Progress& progress) {
  const auto look = [&](ClassFit& at) {
    at.loglik = e_step(a, at.classes, at.z, loops, progress, static_cast<double>(at.steps) / limits.most_steps);
    at.objective = at.loglik + log_priors(a, priors, loops, at);
    ++at.steps;
  };
  Steps steps;
  while (f.steps < limits.most_steps && !f.converged) {
    maximise(a, priors, limits.floor, loops, f);
    const double before = f.objective;
    look(f);
    steps.add(state(a, f));
    f.converged = steps.full() && steps.ahead() <= limits.tolerance;
    const bool slow = std::fabs(f.objective - before) <= kSlow * (1.0 + std::fabs(f.objective));
    if (f.converged || !slow || !steps.full() || f.steps + 2 > limits.most_steps) continue;
    ClassFit leapt = f;
    const State there = steps.leap();
    take(a, there, leapt);
    look(leapt);
    bool sound = leapt.objective >= f.objective;
    if (f.moved) {  // what EM raises may fall then: the next step must be shorter
      maximise(a, priors, limits.floor, loops, leapt);
      look(leapt);
      sound = apart(state(a, leapt), there) < steps.last();
    }
    const int made = leapt.steps;
    if (sound) f = std::move(leapt);
    f.steps = made;
    steps.clear();
    steps.add(state(a, f));
  }
}

inline std::vector<double> shares(const Answers& a) {
  std::vector<double> share(static_cast<std::size_t>(a.offset[a.columns]), 0.0);
  for (std::size_t j = 0; j < a.columns; ++j) {
    double answered = 0.0;
    for (std::size_t i = 0; i < a.n; ++i)
      if (a.code[i * a.columns + j] >= 0) answered += a.count[i];
    for (std::size_t i = 0; i < a.n; ++i)
      if (a.code[i * a.columns + j] >= 0)
        share[static_cast<std::size_t>(a.offset[j] + a.code[i * a.columns + j])] += a.count[i] / answered;
  }
  return share;
}

}  // namespace shoal::latent_class

// Rows of a latent class model: their answers, what the classes are, and the E-step (see latent_class_model.hpp).
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/elementary.hpp"
#include "core/progress.hpp"
#include "mixture/mixture_loops.hpp"

namespace shoal::latent_class {

using mixture::kBlock;
using mixture::MixtureLoops;

struct Answers {
  const std::int32_t* code;      // (n, J)
  const std::int32_t* offset;    // (J + 1): where each column's categories begin in the tables
  const double* covariate;       // (n, q), first column 1
  const double* count;           // (n): records of a row
  std::size_t n, columns, q;
};

struct Classes {
  std::size_t groups;
  std::vector<double> coefficient;  // (G, q)
  std::vector<double> log_table;    // (categories of all columns, G)
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

inline void add_answers(const Answers& a, const Classes& c, std::size_t i, double* out) {
  for (std::size_t j = 0; j < a.columns; ++j) {
    const std::int32_t code = a.code[i * a.columns + j];
    if (code < 0) continue;
    const double* row = &c.log_table[static_cast<std::size_t>(a.offset[j] + code) * c.groups];
    for (std::size_t g = 0; g < c.groups; ++g) out[g] += row[g];
  }
}

inline void log_joint(const Answers& a, const Classes& c, std::size_t i, double* out) {
  log_prior(c, a.covariate + i * a.q, a.q, out);
  add_answers(a, c, i, out);
}

// Logarithms of the classes' probabilities, for rows in blocks: what comes of `log_prior` row by row.
class Priorities {
 public:
  Priorities(const Answers& a, const Classes& c, const MixtureLoops& loops)
      : a_(a), c_(c), loops_(loops), constant_(c.groups), joint_(c.groups * kBlock) {
    if (a.q == 1 && a.n > 0) log_prior(c, a.covariate, 1, constant_.data());
  }

  // Rows first to first + count, at most kBlock; out: (count, G).
  void of(std::size_t first, std::size_t count, double* out) {
    const std::size_t groups = c_.groups;
    if (a_.q == 1) {  // the constant alone, the same for all
      for (std::size_t i = 0; i < count; ++i) std::copy(constant_.begin(), constant_.end(), out + i * groups);
      return;
    }
    for (std::size_t i = 0; i < kBlock; ++i) {  // a short block repeats its first row
      const double* x = a_.covariate + (first + (i < count ? i : 0)) * a_.q;
      for (std::size_t g = 0; g < groups; ++g) {
        double log = 0.0;
        for (std::size_t j = 0; j < a_.q; ++j) log += c_.coefficient[g * a_.q + j] * x[j];
        joint_[g * kBlock + i] = log;
        if (i < count) out[i * groups + g] = log;
      }
    }
    double top[kBlock], sum[kBlock];
    loops_.posteriors(joint_.data(), groups, top, sum);
    for (std::size_t i = 0; i < count; ++i) {
      const double scale = top[i] + logarithm(sum[i]);
      for (std::size_t g = 0; g < groups; ++g) out[i * groups + g] -= scale;
    }
  }

 private:
  const Answers& a_;
  const Classes& c_;
  const MixtureLoops& loops_;
  std::vector<double> constant_, joint_;
};

inline double e_step(const Answers& a, const Classes& c, std::vector<double>& z, const MixtureLoops& loops,
                     Progress& progress, double done) {
  const std::size_t groups = c.groups;
  Priorities priorities(a, c, loops);
  std::vector<double> joint(groups * kBlock);
  double loglik = 0.0;
  for (std::size_t first = 0; first < a.n; first += kBlock) {
    const std::size_t count = std::min(kBlock, a.n - first);
    priorities.of(first, count, &z[first * groups]);
    for (std::size_t i = 0; i < kBlock; ++i) {  // a short block repeats its first row
      double* row = &z[(first + (i < count ? i : 0)) * groups];
      if (i < count) add_answers(a, c, first + i, row);
      for (std::size_t g = 0; g < groups; ++g) joint[g * kBlock + i] = row[g];
    }
    double top[kBlock], sum[kBlock];
    loops.posteriors(joint.data(), groups, top, sum);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t g = 0; g < groups; ++g) z[(first + i) * groups + g] = joint[g * kBlock + i] / sum[i];
      loglik += a.count[first + i] * (top[i] + logarithm(sum[i]));
    }
    progress.tick(done);
  }
  return loglik;
}

}  // namespace shoal::latent_class

// The path of EM: how far it still goes, and a leap ahead.
//
// Near its end each EM step is a fixed linear map of what is left, so slow steps are all alike. Of three states y0, y1, y2
// in a row let r = y1 - y0 and v = (y2 - y1) - r. With one rate c, v = (c - 1) r: what is left after y2 is
// c / (1 - c) (y2 - y1), at most |r| / |v| times the last step. The leap is y0 + 2 a r + a^2 v with a = |r| / |v|
// (squared extrapolation, Varadhan & Roland 2008, step length S3; a = 1 gives y2). It is the caller's to take it only
// where the likelihood is no lower there.
//
// A mixture's state is the shares of the groups, their means and covariances in units of the columns' standard deviations, and the
// logarithms of the degrees of freedom; the scatters are what an M-step takes, so a leap keeps to the covariance model.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/elementary.hpp"
#include "mixture/covariances.hpp"

namespace shoal {

// Steps are slow, and leaps are tried, once they change the log-likelihood L by less than this times 1 + |L|. The first
// steps are long, and leaps from them may end on another hill.
constexpr double kSlow = 1e-6;

using State = std::vector<double>;

inline double apart(const State& a, const State& b) {
  double most = 0.0;
  for (std::size_t e = 0; e < a.size(); ++e) most = std::max(most, std::fabs(a[e] - b[e]));
  return most;
}

// The last three states.
class Steps {
 public:
  void clear() { size_ = 0; }
  bool full() const { return size_ == 3; }

  void add(State y) {
    if (full()) std::rotate(state_.begin(), state_.begin() + 1, state_.end());
    else ++size_;
    state_[size_ - 1] = std::move(y);
  }

  double last() const { return apart(state_[2], state_[1]); }

  // The largest distance that a coordinate still goes, as the last steps tell.
  double ahead() const { return last() == 0.0 ? 0.0 : last() * length(); }

  State leap() const {
    const double a = length();
    State y(state_[0].size());
    for (std::size_t e = 0; e < y.size(); ++e) {
      const double r = state_[1][e] - state_[0][e], v = state_[2][e] - state_[1][e] - r;
      y[e] = state_[0][e] + a * (2.0 * r + a * v);
    }
    return y;
  }

 private:
  // a = |r| / |v|, at least 1.
  double length() const {
    double of_r = 0.0, of_v = 0.0;
    for (std::size_t e = 0; e < state_[0].size(); ++e) {
      const double r = state_[1][e] - state_[0][e], v = state_[2][e] - state_[1][e] - r;
      of_r += r * r;
      of_v += v * v;
    }
    return of_r > of_v ? std::sqrt(of_r / of_v) : 1.0;
  }

  std::array<State, 3> state_;
  std::size_t size_ = 0;
};

namespace mixture {

class Path {
 public:
  Path(const double* x, std::size_t n, std::size_t d) : unit_(d, 1.0) {
    for (std::size_t j = 0; j < d; ++j) {
      double mean = 0.0, square = 0.0;
      for (std::size_t i = 0; i < n; ++i) mean += x[i * d + j] / static_cast<double>(n);
      for (std::size_t i = 0; i < n; ++i) square += (x[i * d + j] - mean) * (x[i * d + j] - mean);
      if (square > 0.0) unit_[j] = std::sqrt(square / static_cast<double>(n));
    }
  }

  // Begin anew from a state.
  void start(const Scatters& s, const std::vector<double>& dof) {
    steps_.clear();
    add(s, dof);
  }

  bool full() const { return steps_.full(); }
  void add(const Scatters& s, const std::vector<double>& dof) { steps_.add(state(s, dof)); }
  double ahead() const { return steps_.ahead(); }

  // Whether the step from the leap's end to the state given is shorter than the last one before the leap.
  bool nearer(const Scatters& s, const std::vector<double>& dof) const {
    return apart(state(s, dof), leapt_) < steps_.last();
  }

  // Turn the last state's statistics and degrees of freedom into those of the leap; false if a group would be empty.
  bool leap(Scatters& s, std::vector<double>& dof) {
    const double total = s.total();
    leapt_ = steps_.leap();
    const double* at = leapt_.data();
    for (std::size_t g = 0; g < s.groups; ++g) {
      const double weight = total * *at++;
      if (!(weight > 0.0)) return false;
      s.tail[g] *= weight / s.weight[g];
      s.weight[g] = weight;
      for (std::size_t j = 0; j < s.d; ++j) s.mean[g * s.d + j] = *at++ * unit_[j];
      for (std::size_t j = 0; j < s.d; ++j)
        for (std::size_t k = 0; k <= j; ++k)
          s.scatter[g][j * s.d + k] = s.scatter[g][k * s.d + j] = *at++ * weight * unit_[j] * unit_[k];
      if (std::isfinite(dof[g])) dof[g] = exponential(*at++);
    }
    return true;
  }

 private:
  State state(const Scatters& s, const std::vector<double>& dof) const {
    State y;
    const double total = s.total();
    for (std::size_t g = 0; g < s.groups; ++g) {
      y.push_back(s.weight[g] / total);
      for (std::size_t j = 0; j < s.d; ++j) y.push_back(s.mean[g * s.d + j] / unit_[j]);
      for (std::size_t j = 0; j < s.d; ++j)
        for (std::size_t k = 0; k <= j; ++k)
          y.push_back(s.scatter[g][j * s.d + k] / (s.weight[g] * unit_[j] * unit_[k]));
      if (std::isfinite(dof[g])) y.push_back(logarithm(dof[g]));
    }
    return y;
  }

  std::vector<double> unit_;  // standard deviations of the columns
  Steps steps_;
  State leapt_;
};

}  // namespace mixture
}  // namespace shoal

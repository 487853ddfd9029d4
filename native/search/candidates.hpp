// A float32 filter in front of the float64 decision.
//
// Let p, q be the float32 copies of two points P, Q (coordinates of the frame in tree_blocks.hpp) and u = 2^-24. Then
// | |p - q| - |P - Q| | <= u (|P| + |Q|), and the computed square of |p - q| is off by a factor within 1 +- gamma,
// gamma = (2 d + 32) u, which also covers the rounding of the canonical float64 distance. If w is the k-th
// smallest computed square so far, k points lie within sqrt(w (1 + gamma)) + e / 2 of Q, and a point nearer than
// those has a computed square of at most (sqrt(w (1 + gamma)) + e)^2 (1 + 2 gamma): everything beyond that limit
// can be dropped. For the nearest, |P| <= |Q| + |P - Q| makes e = 4.2 u |Q| enough, wherever the other points
// are. For the farthest, with b the greatest computed square, the limit is (sqrt(b (1 - gamma)) - e)^2 (1 - 2 gamma)
// with e = 2.1 u (|Q| + R), R the radius of the live points. A small constant covers squares that vanish.
//
// What passes is decided in canonical order. Where the filter cannot tell points apart (a tight cluster far
// from the frame's origin) the list grows; it is then decided early and cut to what can still be an answer.
#pragma once
#include <limits>
#include "core/points.hpp"

namespace shoal {

constexpr double kUnit = 0x1p-24;

inline double filter_gamma(std::size_t d) { return (2.0 * static_cast<double>(d) + 32.0) * kUnit; }
// Squares of coordinate differences below 2^-63 may vanish in float32, at most d of them.
inline double filter_floor(std::size_t d) { return std::sqrt(static_cast<double>(d)) * 0x1p-60; }

class NearestCandidates {
 public:
  explicit NearestCandidates(const DistinctPoints& points) : points_(points), gamma_(filter_gamma(points.d)) {}

  // Look for the `count` rows nearest to q; `seed` (or -1) is one of them in any case. |Q| = `norm`.
  void begin(const double* q, std::int32_t seed, std::size_t count, double norm) {
    q_ = q;
    seed_ = seed;
    count_ = count;
    error_ = 4.2 * kUnit * norm + filter_floor(points_.d);
    limit_ = std::numeric_limits<float>::infinity();
    smallest_.clear();
    list_.clear();
    decided_.clear();
  }

  float limit() const { return limit_; }

  // A point whose computed square is at most limit(); settle() after each leaf.
  void offer(float d2, std::int32_t id) {
    list_.push_back({d2, id});
    if (smallest_.size() < count_) {
      smallest_.push_back(d2);
      std::push_heap(smallest_.begin(), smallest_.end());
    } else if (d2 < smallest_.front()) {
      std::pop_heap(smallest_.begin(), smallest_.end());
      smallest_.back() = d2;
      std::push_heap(smallest_.begin(), smallest_.end());
    }
  }

  void settle() {
    if (smallest_.size() < count_) return;
    const double reach = std::sqrt(smallest_.front() * (1.0 + gamma_)) + error_;
    limit_ = static_cast<float>(reach * reach * (1.0 + 2.0 * gamma_));
    if (list_.size() > 4 * count_ + 256) shorten();
  }

  // A point of which nothing is known: decide it at once.
  void consider(std::int32_t id) {
    measure(id);
    if (decided_.size() > 4 * count_ + 256) keep_best();
  }

  // The answer, nearest first.
  void finish(std::vector<Neighbour>& out) {
    decide();
    std::sort(decided_.begin(), decided_.end());
    out.clear();
    if (seed_ >= 0) out.push_back({0.0, seed_});
    out.insert(out.end(), decided_.begin(), decided_.end());
  }

 private:
  struct Candidate {
    float d2;
    std::int32_t id;
  };

  void shorten() {
    list_.erase(std::remove_if(list_.begin(), list_.end(), [this](const Candidate& c) { return c.d2 > limit_; }),
                list_.end());
    if (list_.size() > 2 * count_ + 128) decide();
  }

  // Move the list into `decided_`, of which only the best are kept.
  void decide() {
    for (const auto& c : list_)
      if (c.d2 <= limit_) measure(c.id);
    list_.clear();
    keep_best();
  }

  void measure(std::int32_t id) {
    const double d2 = squared_distance(points_.values(id), q_, points_.d);
    std::size_t remaining = count_ + 1;
    for (auto row = points_.begin(id); row != points_.end(id) && remaining > 0; ++row, --remaining)
      if (*row != seed_) decided_.push_back({d2, *row});
  }

  void keep_best() {
    const std::size_t wanted = count_ - (seed_ >= 0 ? 1 : 0);
    if (decided_.size() <= wanted) return;
    std::nth_element(decided_.begin(), decided_.begin() + static_cast<std::ptrdiff_t>(wanted), decided_.end());
    decided_.resize(wanted);
  }

  const DistinctPoints& points_;
  const double gamma_;
  const double* q_ = nullptr;
  std::int32_t seed_ = -1;
  std::size_t count_ = 0;
  double error_ = 0.0;
  float limit_ = 0.0f;
  std::vector<float> smallest_;  // max-heap of the count_ smallest computed squares
  std::vector<Candidate> list_;
  std::vector<Neighbour> decided_;
};

class FarthestCandidates {
 public:
  explicit FarthestCandidates(const DistinctPoints& points) : points_(points), gamma_(filter_gamma(points.d)) {}

  // |Q| = `norm`, the live points lie within `radius`.
  void begin(const double* q, double norm, double radius) {
    q_ = q;
    error_ = 2.1 * kUnit * (norm + radius) + filter_floor(points_.d);
    best_ = limit_ = -1.0f;
    best_id_ = -1;
    reach_ = 0.0;
    list_.clear();
    row_ = -1;
    d2_ = -1.0;
  }

  float limit() const { return limit_; }
  double error() const { return error_; }
  double reach() const { return reach_; }  // the farthest point is at least this far

  // Still valid after removals: nothing was decided early, and the point that set the limit is live.
  bool intact() const { return row_ < 0 && best_id_ >= 0 && !points_.empty(best_id_); }

  // A point whose computed square is at least limit(); settle() after each leaf.
  void offer(float d2, std::int32_t id) {
    list_.push_back({d2, id});
    if (d2 > best_) {
      best_ = d2;
      best_id_ = id;
    }
  }

  void settle() {
    reach_ = std::fmax(0.0, std::sqrt(std::fmax(best_, 0.0f) * (1.0 - gamma_)) - error_);
    limit_ = static_cast<float>(reach_ * reach_ * (1.0 - 2.0 * gamma_));
    if (list_.size() > kMost) shorten();
  }

  // A live point of which nothing is known: decide it at once.
  void consider(std::int32_t id) {
    const double d2 = squared_distance(points_.values(id), q_, points_.d);
    const std::int32_t row = *points_.begin(id);
    if (d2 > d2_ || (d2 == d2_ && row < row_)) {
      d2_ = d2;
      row_ = row;
    }
  }

  // The live row that is farthest, the lowest among equals.
  std::int32_t finish() {
    decide();
    return row_;
  }

 private:
  static constexpr std::size_t kMost = 512;

  struct Candidate {
    float d2;
    std::int32_t id;
  };

  void shorten() {
    list_.erase(std::remove_if(list_.begin(), list_.end(), [this](const Candidate& c) { return c.d2 < limit_; }),
                list_.end());
    if (list_.size() > kMost / 2) decide();
  }

  void decide() {
    for (const auto& c : list_)
      if (c.d2 >= limit_ && !points_.empty(c.id)) consider(c.id);
    list_.clear();
  }

  const DistinctPoints& points_;
  const double gamma_;
  const double* q_ = nullptr;
  double error_ = 0.0, reach_ = 0.0, d2_ = -1.0;
  float best_ = -1.0f, limit_ = -1.0f;
  std::int32_t best_id_ = -1, row_ = -1;
  std::vector<Candidate> list_;
};

}  // namespace shoal

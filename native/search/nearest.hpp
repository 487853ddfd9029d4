// What a search for the nearest point keeps, ties included, whichever tree is walked.
//
// A point ties with the nearest where its distance is at most near + tie (1 + near): such differences come from
// rounding. The walk keeps every point within the reach of the nearest one so far, and drops at its end what the
// last one left out of reach. Where it is asked only whether the nearest points are as far as one that is known, the
// walk begins with the reach of that one, and ends with the first point that is nearer beyond rounding.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace shoal {

class Nearest {
 public:
  explicit Nearest(double tie) : tie_(tie) {}

  // `known` is the distance of a point that is known, infinite where none is.
  void begin(double known) {
    within_.clear();
    known_ = known;
    least_ = std::numeric_limits<double>::infinity();
    limit_ = reach(known) * reach(known);
  }

  void take(std::int32_t point, double square) {
    within_.push_back({square, point});
    if (square >= least_) return;
    least_ = square;
    const double far = reach(std::sqrt(square));
    limit_ = std::isfinite(known_) && far < known_ ? kNothing : std::min(limit_, far * far);
  }

  // Squared distance from which on points are of no use; below 0 where none is.
  const double& limit() const { return limit_; }

  double distance() const { return std::sqrt(least_); }

  // Calls use(point) for every point that ties at the least distance; none where a known point was beaten.
  template <class Use>
  void ties(Use use) const {
    for (const auto& entry : within_)
      if (entry.square < limit_) use(entry.point);
  }

 private:
  static constexpr double kNothing = -1.0;

  struct Entry {
    double square;
    std::int32_t point;
  };

  double reach(double near) const { return near + tie_ * (1.0 + near); }

  double tie_, known_ = 0.0, least_ = 0.0, limit_ = 0.0;
  std::vector<Entry> within_;
};

}  // namespace shoal

// The tree's blocks: points in float32, cut on the widest dimension.
//
// Coordinates are float32 copies in a frame of their own: shifted to the coordinate-wise median of a sample (a
// mean would be dragged off by one outlier, and precision lost where most points are) and scaled by a power of
// two so that the farthest point is near 1. A copy p of a point differs from it by at most u |p| (u = 2^-24).
//
// Besides its coordinates each slot keeps the squared distance of its point from an anchor, which the search
// for the farthest point needs.
#pragma once
#include <cmath>
#include <limits>
#include "core/points.hpp"
#include "search/leaf_boxes.hpp"

namespace shoal {

class TreeBlocks : public LeafBoxes<float> {
 public:
  using LeafBoxes<float>::LeafBoxes;

  // Arrange the points `ids` anew; on return `ids` is in the order of the slots.
  void build(const DistinctPoints& points, std::vector<std::int32_t>& ids) {
    const std::size_t d = points.d;
    choose_frame(points, ids);
    std::vector<float> copies(points.size() * d);
    for (std::int32_t p : ids) to_frame(points.values(p), copies.data() + static_cast<std::size_t>(p) * d);
    const auto value = [&](std::int32_t id, std::size_t j) { return copies[static_cast<std::size_t>(id) * d + j]; };
    arrange(d, points.size(), ids, [&](const std::int32_t* some, std::size_t n) { return widest(value, some, n); }, value);
    anchor_.assign(d, 0.0f);
    measure_from_anchor();
  }

  // Coordinates in the frame, of type double or float.
  template <class Float>
  void to_frame(const double* values, Float* out) const {
    for (std::size_t j = 0; j < middle_.size(); ++j) out[j] = static_cast<Float>((values[j] - middle_[j]) * scale_);
  }

  // Shrink the boxes after removals.
  void refresh() {
    shrink();
    update_radius();
  }

  // Measure the radii from a new anchor (in the frame).
  void move_anchor(const float* anchor) {
    anchor_.assign(anchor, anchor + d_);
    measure_from_anchor();
  }

  const float* anchor() const { return anchor_.data(); }
  double radius() const { return radius_; }                // no live copy is farther from the frame's origin
  double anchor_radius() const { return anchor_radius_; }  // nor farther from the anchor

 private:
  static constexpr std::size_t kSample = 1001;  // points in the sample whose median is the origin
  static constexpr std::size_t kWide = 512;     // points looked at to find the widest dimension

  void choose_frame(const DistinctPoints& points, const std::vector<std::int32_t>& ids) {
    const std::size_t d = points.d;
    middle_.assign(d, 0.0);
    const std::size_t step = ids.size() / kSample + 1;
    std::vector<double> sample;
    double largest = 0.0;
    for (std::size_t j = 0; j < d; ++j) {
      sample.clear();
      for (std::size_t i = 0; i < ids.size(); i += step) sample.push_back(points.values(ids[i])[j]);
      std::nth_element(sample.begin(), sample.begin() + sample.size() / 2, sample.end());
      middle_[j] = sample[sample.size() / 2];
    }
    for (std::int32_t p : ids)
      for (std::size_t j = 0; j < d; ++j) largest = std::max(largest, std::fabs(points.values(p)[j] - middle_[j]));
    int exponent = 0;
    std::frexp(largest, &exponent);
    scale_ = std::ldexp(1.0, std::min(-exponent, 1000));
  }

  template <class Value>
  std::size_t widest(Value& value, const std::int32_t* ids, std::size_t n) {
    const std::size_t step = n / kWide + 1;
    lo_.assign(d_ + 1, std::numeric_limits<float>::max());
    hi_.assign(d_ + 1, std::numeric_limits<float>::lowest());
    for (std::size_t i = 0; i < n; i += step)
      for (std::size_t j = 0; j < d_; ++j) {
        const float x = value(ids[i], j);
        lo_[j] = std::min(lo_[j], x);
        hi_[j] = std::max(hi_[j], x);
      }
    std::size_t best = 0;
    for (std::size_t j = 1; j < d_; ++j)
      if (hi_[j] - lo_[j] > hi_[best] - lo_[best]) best = j;
    return best;
  }

  void measure_from_anchor() {
    enclose([this](std::size_t leaf, float* out) {
      scans_.distances(block(leaf), anchor_.data(), d_, count(leaf), out);
    });
    update_radius();
  }

  void update_radius() {
    node_range(0, 0);
    double sum = 0.0;
    if (live())
      for (std::size_t j = 0; j < d_; ++j) {
        const double far = std::fmax(std::fabs(lo_[j]), std::fabs(hi_[j]));
        sum += far * far;
      }
    radius_ = std::sqrt(sum);
    anchor_radius_ = live() ? std::sqrt(static_cast<double>(hi_[d_])) : 0.0;
  }

  double scale_ = 1.0, radius_ = 0.0, anchor_radius_ = 0.0;
  std::vector<double> middle_;
  std::vector<float> anchor_;
};

}  // namespace shoal

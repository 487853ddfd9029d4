// The tree's blocks: points in float32, cut on the widest dimension.
//
// Coordinates are float32 copies in a frame of their own: shifted to the coordinate-wise median of a sample (a
// mean would be dragged off by one outlier, and precision lost where most points are) and scaled by a power of
// two so that the farthest point is near 1, and turned where that helps (rotation.hpp). A copy p of a point differs
// from it by at most u |p| (u = 2^-24).
//
// Besides its coordinates each slot keeps the squared distance of its point from an anchor, which the search
// for the farthest point needs.
#pragma once
#include <cmath>
#include <limits>
#include "core/points.hpp"
#include "search/leaf_boxes.hpp"
#include "search/rotation.hpp"

namespace shoal {

class TreeBlocks : public LeafBoxes<float> {
 public:
  using LeafBoxes<float>::LeafBoxes;

  // Arrange the points `ids` anew; on return `ids` is in the order of the slots.
  void build(const DistinctPoints& points, std::vector<std::int32_t>& ids) {
    const std::size_t d = points.d;
    choose_frame(points, ids);
    std::vector<float> copies(points.size() * d);
    copy(points, ids, copies);
    const auto value = [&](std::int32_t id, std::size_t j) { return copies[static_cast<std::size_t>(id) * d + j]; };
    arrange(d, points.size(), ids, [&](const std::int32_t* some, std::size_t n) { return widest(value, some, n); }, value);
    anchor_.assign(d, 0.0f);
    measure_from_anchor();
    measure_rests();
  }

  // Coordinates in the frame.
  void to_frame(const double* values, double* out) const {
    for (std::size_t j = 0; j < middle_.size(); ++j) out[j] = (values[j] - middle_[j]) * scale_;
    rotation_.apply<1>(out);
  }

  // Chunks of columns after which some are left.
  std::size_t chunks() const { return d_ > 0 ? (d_ - 1) / kChunk : 0; }

  // Of each chunk, the largest norm that a leaf's points have in the columns after it.
  const float* rests(std::size_t leaf) const { return rests_.data() + leaf * chunks(); }

  // The norms that a point has in the columns after each chunk, rounded up.
  template <class Value>
  void rests_of(Value value, float* out) const {
    double sum = 0.0;
    for (std::size_t j = d_; j-- > kChunk;) {
      const double x = value(j);
      sum += x * x;
      if (j % kChunk == 0) out[j / kChunk - 1] = static_cast<float>(std::sqrt(sum) * (1.0 + 0x1p-20));
    }
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
    sample.clear();
    for (std::size_t i = 0; i < ids.size(); i += step)
      for (std::size_t j = 0; j < d; ++j) sample.push_back((points.values(ids[i])[j] - middle_[j]) * scale_);
    rotation_.choose(sample, d);
  }

  // float32 copies of points, each in the place of its number; several are turned at once.
  void copy(const DistinctPoints& points, const std::vector<std::int32_t>& ids, std::vector<float>& out) const {
    const std::size_t d = points.d;
    std::vector<double> some(d * kFan);
    for (std::size_t first = 0; first < ids.size(); first += kFan) {
      const std::size_t count = std::min(kFan, ids.size() - first);
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < d; ++j)
          some[j * kFan + i] = (points.values(ids[first + i])[j] - middle_[j]) * scale_;
      rotation_.apply<kFan>(some.data());
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < d; ++j)
          out[static_cast<std::size_t>(ids[first + i]) * d + j] = static_cast<float>(some[j * kFan + i]);
    }
  }

  void measure_rests() {
    rests_.assign(leaves() * chunks(), 0.0f);
    std::vector<float> own(chunks());
    for (std::size_t leaf = 0; leaf < leaves(); ++leaf)
      for (std::size_t i = 0; i < count(leaf); ++i) {
        rests_of([&](std::size_t j) { return block(leaf)[j * kBlock + i]; }, own.data());
        float* const most = rests_.data() + leaf * chunks();
        for (std::size_t c = 0; c < own.size(); ++c) most[c] = std::max(most[c], own[c]);
      }
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
  std::vector<float> anchor_, rests_;
  Rotation rotation_;
};

}  // namespace shoal

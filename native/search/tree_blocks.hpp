// The tree's blocks: points in float32, 32 to a leaf, under boxes that shrink as points are removed.
//
// A left-balanced kd-tree, split on the widest dimension, whose binary levels are grouped by three: every node
// has eight children, whose boxes are stored column by column so that eight bounds are computed at once. Leaf
// i holds slots 32 i to 32 i + 31, and node i of a level has the children 8 i to 8 i + 7 of the next, so no
// pointers are needed.
//
// Coordinates are float32 copies in a frame of their own: shifted to the coordinate-wise median of a sample (a
// mean would be dragged off by one outlier, and precision lost where most points are) and scaled by a power of
// two so that the farthest point is near 1. A copy p of a point differs from it by at most u |p| (u = 2^-24).
//
// Besides its coordinates each slot keeps the squared distance of its point from an anchor, which the search
// for the farthest point needs; boxes keep the largest of these.
#pragma once
#include <cmath>
#include <limits>
#include "core/points.hpp"
#include "search/scans.hpp"

namespace shoal {

class TreeBlocks {
 public:
  explicit TreeBlocks(const Scans& scans) : scans_(scans) {}

  // Arrange the points `ids` anew; on return `ids` is in the order of the slots.
  void build(const DistinctPoints& points, std::vector<std::int32_t>& ids) {
    d_ = points.d;
    choose_frame(points, ids);
    std::vector<float> copies(points.size() * d_);
    for (std::int32_t p : ids) to_frame(points.values(p), copies.data() + static_cast<std::size_t>(p) * d_);
    shape(ids.size());
    keys_.resize(ids.size());
    std::size_t capacity = 1;
    for (std::size_t level = 0; level < boxes_.size(); ++level) capacity *= kFan;
    split(copies, ids.data(), ids.size(), capacity);
    std::vector<Key>().swap(keys_);
    slot_of_.resize(points.size());
    for (std::size_t s = 0; s < ids.size(); ++s) place(s, ids[s], copies.data());
    anchor_.assign(d_, 0.0f);
    measure_from_anchor();
  }

  // Point numbers were permuted so that the point in slot s is number s.
  void renumber() {
    std::iota(slot_of_.begin(), slot_of_.end(), 0);
    std::iota(id_.begin(), id_.begin() + static_cast<std::ptrdiff_t>(slot_of_.size()), 0);
  }

  // Coordinates in the frame, of type double or float.
  template <class Float>
  void to_frame(const double* values, Float* out) const {
    for (std::size_t j = 0; j < d_; ++j) out[j] = static_cast<Float>((values[j] - middle_[j]) * scale_);
  }

  // Remove a point; boxes are shrunk by the next refresh().
  void remove(std::int32_t id) {
    const std::size_t slot = static_cast<std::size_t>(slot_of_[id]), leaf = slot / kBlock;
    const std::size_t last = leaf * kBlock + --count_[leaf];
    float* const values = own_block(leaf);
    for (std::size_t j = 0; j <= d_; ++j) values[j * kBlock + slot % kBlock] = values[j * kBlock + last % kBlock];
    id_[slot] = id_[last];
    slot_of_[id_[slot]] = static_cast<std::int32_t>(slot);
    --live_;
    if (count_[leaf] == 0) --live_leaves_;
    if (dirty_.empty() || dirty_.back() != leaf) dirty_.push_back(leaf);
  }

  // Shrink the boxes above the leaves that lost points, upwards while they change.
  void refresh() {
    std::sort(dirty_.begin(), dirty_.end());
    dirty_.erase(std::unique(dirty_.begin(), dirty_.end()), dirty_.end());
    for (std::size_t leaf : dirty_) {
      leaf_range(leaf);
      std::size_t level = boxes_.size(), node = leaf;
      while (level > 0 && store_box(level - 1, node)) {
        node /= kFan;
        if (--level > 0) node_range(level, node);
      }
    }
    dirty_.clear();
    update_radius();
  }

  // Measure the radii from a new anchor (in the frame).
  void move_anchor(const float* anchor) {
    anchor_.assign(anchor, anchor + d_);
    measure_from_anchor();
  }

  std::size_t d() const { return d_; }
  std::size_t live() const { return live_; }
  std::size_t slots() const { return slots_; }
  std::size_t leaves() const { return count_.size(); }
  std::size_t live_leaves() const { return live_leaves_; }
  std::size_t height() const { return boxes_.size(); }
  std::size_t count(std::size_t leaf) const { return count_[leaf]; }
  const float* block(std::size_t leaf) const { return values_.data() + leaf * kBlock * (d_ + 1); }
  const float* boxes(std::size_t level, std::size_t node) const { return boxes_[level].data() + node * box_size(); }
  const std::int32_t* ids(std::size_t leaf) const { return id_.data() + leaf * kBlock; }
  std::size_t leaf_of(std::int32_t id) const { return static_cast<std::size_t>(slot_of_[id]) / kBlock; }
  const float* anchor() const { return anchor_.data(); }
  double radius() const { return radius_; }                // no live copy is farther from the frame's origin
  double anchor_radius() const { return anchor_radius_; }  // nor farther from the anchor

 private:
  static constexpr float kNowhere = 1e15f;     // the ends of an empty box; coordinates are below 1
  static constexpr std::size_t kSample = 1001;  // points in the sample whose median is the origin
  static constexpr std::size_t kWide = 512;     // points looked at to find the widest dimension

  struct Key {
    float value;
    std::int32_t id;
  };

  float* own_block(std::size_t leaf) { return values_.data() + leaf * kBlock * (d_ + 1); }
  std::size_t box_size() const { return (2 * d_ + 1) * kFan; }

  void choose_frame(const DistinctPoints& points, const std::vector<std::int32_t>& ids) {
    middle_.assign(d_, 0.0);
    const std::size_t step = ids.size() / kSample + 1;
    std::vector<double> sample;
    double largest = 0.0;
    for (std::size_t j = 0; j < d_; ++j) {
      sample.clear();
      for (std::size_t i = 0; i < ids.size(); i += step) sample.push_back(points.values(ids[i])[j]);
      std::nth_element(sample.begin(), sample.begin() + sample.size() / 2, sample.end());
      middle_[j] = sample[sample.size() / 2];
    }
    for (std::int32_t p : ids)
      for (std::size_t j = 0; j < d_; ++j) largest = std::max(largest, std::fabs(points.values(p)[j] - middle_[j]));
    int exponent = 0;
    std::frexp(largest, &exponent);
    scale_ = std::ldexp(1.0, std::min(-exponent, 1000));
  }

  // Allocate for n points.
  void shape(std::size_t n) {
    slots_ = live_ = n;
    const std::size_t leaves = (n + kBlock - 1) / kBlock;
    live_leaves_ = leaves;
    count_.assign(leaves, kBlock);
    if (n % kBlock) count_.back() = n % kBlock;
    values_.assign(leaves * kBlock * (d_ + 1), 0.0f);
    id_.assign(leaves * kBlock, -1);
    std::vector<std::size_t> nodes;
    for (std::size_t width = leaves; nodes.empty() || width > 1;) {
      width = (width + kFan - 1) / kFan;
      nodes.push_back(width);
    }
    boxes_.clear();
    for (auto width = nodes.rbegin(); width != nodes.rend(); ++width) boxes_.emplace_back(*width * box_size());
    lo_.resize(d_ + 1);
    hi_.resize(d_ + 1);
    for (std::size_t level = 0; level < boxes_.size(); ++level)
      for (std::size_t child = 0; child < boxes_[level].size() / box_size() * kFan; ++child) empty_box(level, child);
    dirty_.clear();
  }

  // Order ids[0, n) so that each half of the capacity (in leaves) holds one side of a cut.
  void split(const std::vector<float>& copies, std::int32_t* ids, std::size_t n, std::size_t capacity) {
    if (capacity == 1 || n <= 1) return;
    const std::size_t half = capacity / 2 * kBlock;
    if (n <= half) return split(copies, ids, n, capacity / 2);
    const std::size_t column = widest(copies, ids, n);
    Key* const keys = keys_.data();
    for (std::size_t i = 0; i < n; ++i) keys[i] = {copies[static_cast<std::size_t>(ids[i]) * d_ + column], ids[i]};
    std::nth_element(keys, keys + half, keys + n, [](const Key& a, const Key& b) { return a.value < b.value; });
    for (std::size_t i = 0; i < n; ++i) ids[i] = keys[i].id;
    split(copies, ids, half, capacity / 2);
    split(copies, ids + half, n - half, capacity / 2);
  }

  std::size_t widest(const std::vector<float>& copies, const std::int32_t* ids, std::size_t n) {
    const std::size_t step = n / kWide + 1;
    lo_.assign(d_ + 1, std::numeric_limits<float>::max());
    hi_.assign(d_ + 1, std::numeric_limits<float>::lowest());
    for (std::size_t i = 0; i < n; i += step) {
      const float* const p = copies.data() + static_cast<std::size_t>(ids[i]) * d_;
      for (std::size_t j = 0; j < d_; ++j) {
        lo_[j] = std::min(lo_[j], p[j]);
        hi_[j] = std::max(hi_[j], p[j]);
      }
    }
    std::size_t best = 0;
    for (std::size_t j = 1; j < d_; ++j)
      if (hi_[j] - lo_[j] > hi_[best] - lo_[best]) best = j;
    return best;
  }

  void place(std::size_t slot, std::int32_t id, const float* copies) {
    id_[slot] = id;
    slot_of_[id] = static_cast<std::int32_t>(slot);
    float* const values = own_block(slot / kBlock) + slot % kBlock;
    for (std::size_t j = 0; j < d_; ++j) values[j * kBlock] = copies[static_cast<std::size_t>(id) * d_ + j];
  }

  void measure_from_anchor() {
    for (std::size_t leaf = 0; leaf < count_.size(); ++leaf) {
      if (count_[leaf] == 0) continue;
      scans_.distances(block(leaf), anchor_.data(), d_, count_[leaf], own_block(leaf) + d_ * kBlock);
      leaf_range(leaf);
      store_box(boxes_.size() - 1, leaf);
    }
    for (std::size_t level = boxes_.size() - 1; level > 0; --level)
      for (std::size_t node = 0; node < boxes_[level].size() / box_size(); ++node) {
        node_range(level, node);
        store_box(level - 1, node);
      }
    update_radius();
  }

  // Column ranges (the last column is the squared radius) of a leaf's points, or of a node's boxes, into lo_, hi_.
  void leaf_range(std::size_t leaf) {
    if (count_[leaf])
      scans_.ranges(block(leaf), d_ + 1, count_[leaf], lo_.data(), hi_.data());
    else
      nothing();
  }

  void node_range(std::size_t level, std::size_t node) {
    const float* const box = boxes(level, node);
    nothing();
    for (std::size_t j = 0; j < d_; ++j)
      for (std::size_t c = 0; c < kFan; ++c) {
        lo_[j] = std::min(lo_[j], box[2 * j * kFan + c]);
        hi_[j] = std::max(hi_[j], box[(2 * j + 1) * kFan + c]);
      }
    for (std::size_t c = 0; c < kFan; ++c) hi_[d_] = std::max(hi_[d_], box[2 * d_ * kFan + c]);
  }

  void nothing() {
    std::fill(lo_.begin(), lo_.end(), kNowhere);
    std::fill(hi_.begin(), hi_.end(), -kNowhere);
    hi_[d_] = -1.0f;
  }

  void empty_box(std::size_t level, std::size_t child) {
    nothing();
    store_box(level, child);
  }

  // Write lo_, hi_ as the box of a child of `level`; says whether anything changed.
  bool store_box(std::size_t level, std::size_t child) {
    float* const box = boxes_[level].data() + child / kFan * box_size() + child % kFan;
    bool changed = false;
    for (std::size_t j = 0; j < d_; ++j) {
      float &lo = box[2 * j * kFan], &hi = box[(2 * j + 1) * kFan];
      changed |= lo != lo_[j] || hi != hi_[j];
      lo = lo_[j];
      hi = hi_[j];
    }
    float& r2 = box[2 * d_ * kFan];
    changed |= r2 != hi_[d_];
    r2 = hi_[d_];
    return changed;
  }

  void update_radius() {
    node_range(0, 0);
    double sum = 0.0;
    if (live_)
      for (std::size_t j = 0; j < d_; ++j) {
        const double far = std::fmax(std::fabs(lo_[j]), std::fabs(hi_[j]));
        sum += far * far;
      }
    radius_ = std::sqrt(sum);
    anchor_radius_ = live_ ? std::sqrt(static_cast<double>(hi_[d_])) : 0.0;
  }

  const Scans& scans_;
  std::size_t d_ = 0, slots_ = 0, live_ = 0, live_leaves_ = 0;
  double scale_ = 1.0, radius_ = 0.0, anchor_radius_ = 0.0;
  std::vector<double> middle_;
  std::vector<float> values_, anchor_, lo_, hi_;
  std::vector<std::vector<float>> boxes_;  // by level, the root first
  std::vector<std::size_t> count_, dirty_;
  std::vector<std::int32_t> id_, slot_of_;
  std::vector<Key> keys_;
};

}  // namespace shoal

// Leaves of 32 points under boxes that shrink as points are removed.
//
// A left-balanced kd-tree whose binary levels are grouped by three: every node has eight children, whose boxes are
// stored column by column so that eight bounds are computed at once. Leaf i holds slots 32 i to 32 i + 31, and node i
// of a level has the children 8 i to 8 i + 7 of the next, so no pointers are needed.
//
// Besides its d columns each slot has a radius, a squared distance from an anchor; of these the boxes keep the largest.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "search/scans.hpp"

namespace shoal {
inline namespace search {

template <class Float>
class LeafBoxes {
 public:
  explicit LeafBoxes(const Scans& scans) : scans_(scans) {}

  // Point numbers were permuted so that the point in slot s is number s.
  void renumber() {
    std::iota(slot_of_.begin(), slot_of_.end(), 0);
    std::iota(id_.begin(), id_.begin() + static_cast<std::ptrdiff_t>(slot_of_.size()), 0);
  }

  // Remove a point; boxes are shrunk by the next shrink().
  void remove(std::int32_t id) {
    const std::size_t slot = static_cast<std::size_t>(slot_of_[id]), leaf = slot / kBlock;
    const std::size_t last = leaf * kBlock + --count_[leaf];
    Float* const values = own_block(leaf);
    for (std::size_t j = 0; j <= d_; ++j) values[j * kBlock + slot % kBlock] = values[j * kBlock + last % kBlock];
    id_[slot] = id_[last];
    slot_of_[id_[slot]] = static_cast<std::int32_t>(slot);
    --live_;
    if (count_[leaf] == 0) --live_leaves_;
    if (dirty_.empty() || dirty_.back() != leaf) dirty_.push_back(leaf);
  }

  std::size_t d() const { return d_; }
  std::size_t live() const { return live_; }
  std::size_t slots() const { return slots_; }
  std::size_t leaves() const { return count_.size(); }
  std::size_t live_leaves() const { return live_leaves_; }
  std::size_t height() const { return boxes_.size(); }
  std::size_t count(std::size_t leaf) const { return count_[leaf]; }
  const Float* block(std::size_t leaf) const { return values_.data() + leaf * kBlock * (d_ + 1); }
  const Float* boxes(std::size_t level, std::size_t node) const { return boxes_[level].data() + node * box_size(); }
  const std::int32_t* ids(std::size_t leaf) const { return id_.data() + leaf * kBlock; }
  std::size_t leaf_of(std::int32_t id) const { return static_cast<std::size_t>(slot_of_[id]) / kBlock; }

 protected:
  static constexpr Float kNowhere = static_cast<Float>(1e15);  // the ends of an empty box; values lie below

  Float* own_block(std::size_t leaf) { return values_.data() + leaf * kBlock * (d_ + 1); }
  std::size_t box_size() const { return (2 * d_ + 1) * kFan; }

  // Allocate for the points `ids`, of numbers below `points`, and order them so that each half of the capacity holds
  // one side of a cut. `widest(ids, n)` is the column to cut, `value(id, column)` a point's value in it.
  template <class Widest, class Value>
  void arrange(std::size_t d, std::size_t points, std::vector<std::int32_t>& ids, Widest widest, Value value) {
    d_ = d;
    shape(ids.size());
    std::size_t capacity = 1;
    for (std::size_t level = 0; level < boxes_.size(); ++level) capacity *= kFan;
    std::vector<Key> keys(ids.size());
    split(keys.data(), ids.data(), ids.size(), capacity, widest, value);
    slot_of_.resize(points);
    for (std::size_t s = 0; s < ids.size(); ++s) {
      id_[s] = ids[s];
      slot_of_[ids[s]] = static_cast<std::int32_t>(s);
      Float* const values = own_block(s / kBlock) + s % kBlock;
      for (std::size_t j = 0; j < d_; ++j) values[j * kBlock] = value(ids[s], j);
    }
  }

  // Shrink the boxes above the leaves that lost points, upwards while they change.
  void shrink() {
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
  }

  // Compute all boxes, after `radii(leaf, out)` gave each live leaf's radii.
  template <class Radii>
  void enclose(Radii radii) {
    for (std::size_t leaf = 0; leaf < count_.size(); ++leaf) {
      if (count_[leaf] == 0) continue;
      radii(leaf, own_block(leaf) + d_ * kBlock);
      leaf_range(leaf);
      store_box(boxes_.size() - 1, leaf);
    }
    for (std::size_t level = boxes_.size() - 1; level > 0; --level)
      for (std::size_t node = 0; node < boxes_[level].size() / box_size(); ++node) {
        node_range(level, node);
        store_box(level - 1, node);
      }
  }

  // The ranges of a node's boxes into lo_, hi_; the last is the largest radius, below 0 where nothing lives.
  void node_range(std::size_t level, std::size_t node) {
    const Float* const box = boxes(level, node);
    nothing();
    for (std::size_t j = 0; j < d_; ++j)
      for (std::size_t c = 0; c < kFan; ++c) {
        lo_[j] = std::min(lo_[j], box[2 * j * kFan + c]);
        hi_[j] = std::max(hi_[j], box[(2 * j + 1) * kFan + c]);
      }
    for (std::size_t c = 0; c < kFan; ++c) hi_[d_] = std::max(hi_[d_], box[2 * d_ * kFan + c]);
  }

  const Scans& scans_;
  std::size_t d_ = 0;
  std::vector<Float> lo_, hi_;

 private:
  struct Key {
    Float value;
    std::int32_t id;
  };

  // Allocate for n points.
  void shape(std::size_t n) {
    slots_ = live_ = n;
    const std::size_t leaves = (n + kBlock - 1) / kBlock;
    live_leaves_ = leaves;
    count_.assign(leaves, kBlock);
    if (n % kBlock) count_.back() = n % kBlock;
    values_.assign(leaves * kBlock * (d_ + 1), Float{0});
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
    nothing();
    for (std::size_t level = 0; level < boxes_.size(); ++level)
      for (std::size_t child = 0; child < boxes_[level].size() / box_size() * kFan; ++child) store_box(level, child);
    dirty_.clear();
  }

  template <class Widest, class Value>
  void split(Key* keys, std::int32_t* ids, std::size_t n, std::size_t capacity, Widest& widest, Value& value) {
    if (capacity == 1 || n <= 1) return;
    const std::size_t half = capacity / 2 * kBlock;
    if (n <= half) return split(keys, ids, n, capacity / 2, widest, value);
    const std::size_t column = widest(ids, n);
    for (std::size_t i = 0; i < n; ++i) keys[i] = {value(ids[i], column), ids[i]};
    std::nth_element(keys, keys + half, keys + n, [](const Key& a, const Key& b) { return a.value < b.value; });
    for (std::size_t i = 0; i < n; ++i) ids[i] = keys[i].id;
    split(keys, ids, half, capacity / 2, widest, value);
    split(keys, ids + half, n - half, capacity / 2, widest, value);
  }

  // The ranges of a leaf's points into lo_, hi_.
  void leaf_range(std::size_t leaf) {
    if (count_[leaf])
      ranges(block(leaf), count_[leaf]);
    else
      nothing();
  }

  void ranges(const float* block, std::size_t count) { scans_.ranges(block, d_ + 1, count, lo_.data(), hi_.data()); }

  void ranges(const double* block, std::size_t count) {
    for (std::size_t j = 0; j <= d_; ++j, block += kBlock) {
      const auto ends = std::minmax_element(block, block + count);
      lo_[j] = *ends.first;
      hi_[j] = *ends.second;
    }
  }

  void nothing() {
    std::fill(lo_.begin(), lo_.end(), kNowhere);
    std::fill(hi_.begin(), hi_.end(), -kNowhere);
    hi_[d_] = Float{-1};
  }

  // Write lo_, hi_ as the box of a child of `level`; says whether anything changed.
  bool store_box(std::size_t level, std::size_t child) {
    Float* const box = boxes_[level].data() + child / kFan * box_size() + child % kFan;
    bool changed = false;
    for (std::size_t j = 0; j < d_; ++j) {
      Float &lo = box[2 * j * kFan], &hi = box[(2 * j + 1) * kFan];
      changed |= lo != lo_[j] || hi != hi_[j];
      lo = lo_[j];
      hi = hi_[j];
    }
    Float& radius = box[2 * d_ * kFan];
    changed |= radius != hi_[d_];
    radius = hi_[d_];
    return changed;
  }

  std::size_t slots_ = 0, live_ = 0, live_leaves_ = 0;
  std::vector<Float> values_;
  std::vector<std::vector<Float>> boxes_;  // by level, the root first
  std::vector<std::size_t> count_, dirty_;
  std::vector<std::int32_t> id_, slot_of_;
};

}  // namespace search
}  // namespace shoal

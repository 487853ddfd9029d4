// The record farthest from a point that moves little: a lazy heap over the leaves.
//
// When a leaf is scanned, its largest distance from the mean of that moment is known. While the mean moves,
// that distance grows by no more than the length of the mean's path since; removals only lower it. With P the
// length of the whole path and P(t) that at the scan, distance - P(t) is a key that never changes, and key + P
// is an upper bound now. So the leaves stand in a heap by key, and a search rescans from the top until the
// bound falls below the farthest record found: seldom more than a handful of leaves.
#pragma once
#include "core/bits.hpp"
#include "search/candidates.hpp"
#include "search/tree_blocks.hpp"

namespace shoal {

class LeafHeap {
 public:
  LeafHeap(const TreeBlocks& blocks, const Scans& scans) : blocks_(blocks), scans_(scans) {}

  // The blocks were arranged anew: the next search scans every leaf.
  void reset() {
    heap_.clear();
    fresh_ = true;
  }

  // Offer every point that can be the farthest from the centre; `frame` and `copy` are the centre's
  // coordinates in the frame, in float64 and float32.
  void search(const std::vector<double>& frame, const float* copy, FarthestCandidates& far) {
    fresh_ ? scan_all(copy, far) : scan_top(frame, copy, far);
    centre_ = frame;
    fresh_ = false;
  }

 private:
  struct Entry {
    double key;
    std::size_t leaf;
    bool operator<(const Entry& other) const { return key < other.key; }
  };

  void scan_all(const float* copy, FarthestCandidates& far) {
    path_ = 0.0;
    for (std::size_t leaf = 0; leaf < blocks_.leaves(); ++leaf)
      if (blocks_.count(leaf)) heap_.push_back({scan(leaf, copy, far), leaf});
    std::make_heap(heap_.begin(), heap_.end());
  }

  void scan_top(const std::vector<double>& frame, const float* copy, FarthestCandidates& far) {
    path_ += std::sqrt(squared_distance(frame.data(), centre_.data(), frame.size())) * (1.0 + 0x1p-40);
    scanned_.clear();
    while (!heap_.empty() && heap_.front().key + path_ >= far.reach()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const std::size_t leaf = heap_.back().leaf;
      heap_.pop_back();
      if (blocks_.count(leaf)) scanned_.push_back({scan(leaf, copy, far) - path_, leaf});
    }
    for (const Entry& entry : scanned_) {
      heap_.push_back(entry);
      std::push_heap(heap_.begin(), heap_.end());
    }
  }

  // Offer a leaf's points; an upper bound of their true distances.
  double scan(std::size_t leaf, const float* copy, FarthestCandidates& far) {
    alignas(32) float d2[kBlock];
    const std::size_t count = blocks_.count(leaf);
    scans_.distances(blocks_.block(leaf), copy, blocks_.d(), count, d2);
    for (std::uint32_t bits = scans_.at_least(d2, count, far.limit()); bits; bits &= bits - 1) {
      const std::uint32_t i = lowest_bit(bits);
      far.offer(d2[i], blocks_.ids(leaf)[i]);
    }
    far.settle();
    const double largest = *std::max_element(d2, d2 + count);
    return std::sqrt(largest * (1.0 + filter_gamma(blocks_.d()))) + far.error();
  }

  const TreeBlocks& blocks_;
  const Scans& scans_;
  std::vector<Entry> heap_, scanned_;
  std::vector<double> centre_;
  double path_ = 0.0;
  bool fresh_ = true;
};

}  // namespace shoal

// The record farthest from a point that moves little: a lazy heap over the leaves.
//
// When a leaf is scanned, its largest distance from the mean of that moment is known. While the mean moves,
// that distance grows by no more than the length of the mean's path since; removals only lower it. With P the
// length of the whole path and P(t) that at the scan, distance - P(t) is a key that never changes, and key + P
// is an upper bound now. So the leaves stand in a heap by key, and a search rescans from the top until the
// bound falls below the farthest record found: seldom more than a handful of leaves.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/table.hpp"

namespace shoal {

class LeafHeap {
 public:
  // The leaves were arranged anew: the next search scans every one.
  void reset() {
    heap_.clear();
    fresh_ = true;
  }

  // Scan every leaf that can hold the farthest point from the centre. `scan(leaf)` offers its points and gives an upper
  // bound of their distances, below 0 if it has none; nothing nearer than `reach()` matters.
  template <class Scan, class Reach>
  void search(const std::vector<double>& centre, std::size_t leaves, Scan scan, Reach reach) {
    scanned_.clear();
    if (fresh_) {
      path_ = 0.0;
      for (std::size_t leaf = 0; leaf < leaves; ++leaf) look(leaf, scan);
    } else {
      path_ += std::sqrt(squared_distance(centre.data(), centre_.data(), centre.size())) * (1.0 + 0x1p-40);
      while (!heap_.empty() && heap_.front().key + path_ + slack() >= reach()) {
        std::pop_heap(heap_.begin(), heap_.end());
        const std::size_t leaf = heap_.back().leaf;
        heap_.pop_back();
        look(leaf, scan);
      }
    }
    for (const Entry& entry : scanned_) {
      heap_.push_back(entry);
      std::push_heap(heap_.begin(), heap_.end());
    }
    centre_ = centre;
    fresh_ = false;
    if (path_ > kLong * reach()) reset();
  }

 private:
  struct Entry {
    double key;
    std::size_t leaf;
    bool operator<(const Entry& other) const { return key < other.key; }
  };

  static constexpr double kLong = 0x1p10;  // paths, in distances: beyond, keys no longer tell leaves apart

  // Covers the rounding of a key and of what is made of it.
  double slack() const { return path_ * 0x1p-50; }

  template <class Scan>
  void look(std::size_t leaf, Scan& scan) {
    const double bound = scan(leaf);
    if (bound >= 0.0) scanned_.push_back({bound - path_ + slack(), leaf});
  }

  std::vector<Entry> heap_, scanned_;
  std::vector<double> centre_;
  double path_ = 0.0;
  bool fresh_ = true;
};

}  // namespace shoal

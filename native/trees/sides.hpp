// One side of a candidate split of a tree: cases join and leave it, and its score is always at hand.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal {

using Case = std::int32_t;

constexpr int kOrders = 4;  // a nominal feature is put in the order of so many classes' shares

// Of numbers, centred at the root's mean.
class NumberSide {
 public:
  explicit NumberSide(std::size_t) {}
  void add(double y) { sum_ += y, ++n_; }
  void drop(double y) { sum_ -= y, --n_; }
  double score() const { return n_ ? sum_ * sum_ / static_cast<double>(n_) : 0; }
  std::int64_t size() const { return n_; }
  void clear() { sum_ = 0, n_ = 0; }

 private:
  double sum_ = 0;
  std::int64_t n_ = 0;
};

// Of classes; counts are whole, so every sum here is exact.
class ClassSide {
 public:
  explicit ClassSide(std::size_t classes) : count_(classes) {}
  void add(std::int32_t y) { squares_ += 2 * count_[static_cast<std::size_t>(y)]++ + 1, ++n_; }
  void drop(std::int32_t y) { squares_ -= 2 * --count_[static_cast<std::size_t>(y)] + 1, --n_; }
  double score() const { return n_ ? static_cast<double>(squares_) / static_cast<double>(n_) : 0; }
  std::int64_t size() const { return n_; }
  void clear() { std::fill(count_.begin(), count_.end(), 0), squares_ = 0, n_ = 0; }

 private:
  std::vector<std::int64_t> count_;
  std::int64_t squares_ = 0, n_ = 0;
};

// The order of a node's categories by which a scan for numbers, or for one class after the other, is made.
inline std::size_t orders_of(const double*, std::size_t) { return 1; }
inline std::size_t orders_of(const std::int32_t*, std::size_t classes) {
  return classes <= 2 ? 1 : std::min<std::size_t>(classes, kOrders);
}

}  // namespace shoal

// One side of a candidate split of a tree: cases join and leave it, and its score is always at hand.
//
// The score is a sum of squares over the side's size. Whether two sides do better than a score is first asked without a
// division: a / n + b / m > s where a m + b n > s n m, but for a few roundings.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal {

using Case = std::int32_t;
using Counts = std::vector<std::int64_t>;

constexpr int kOrders = 4;  // a nominal feature is put in the order of so many classes' shares

// Of numbers, centred at the root's mean; a case that counts several times has the sum of its numbers.
class NumberSide {
 public:
  explicit NumberSide(Counts&) {}
  void add(double y, std::int32_t times) { sum_ += y, n_ += times; }
  void drop(double y, std::int32_t times) { sum_ -= y, n_ -= times; }
  double squares() const { return sum_ * sum_; }
  std::int64_t size() const { return n_; }
  // What a case adds to the score if it is by itself.
  static double alone(double y, std::int32_t times) { return y * y / times; }

 private:
  double sum_ = 0;
  std::int64_t n_ = 0;
};

// Of classes; counts are whole, so every sum here is exact.
class ClassSide {
 public:
  explicit ClassSide(Counts& counts) : count_(counts.data()) { std::fill(counts.begin(), counts.end(), 0); }
  void add(std::int32_t y, std::int32_t times) {
    squares_ += times * (2 * count_[y] + times), count_[y] += times, n_ += times;
  }
  void drop(std::int32_t y, std::int32_t times) {
    count_[y] -= times, squares_ -= times * (2 * count_[y] + times), n_ -= times;
  }
  double squares() const { return static_cast<double>(squares_); }
  std::int64_t size() const { return n_; }
  static double alone(std::int32_t, std::int32_t times) { return times; }

 private:
  std::int64_t* count_;
  std::int64_t squares_ = 0, n_ = 0;
};

template <class Side>
double score(const Side& side) {
  return side.size() ? side.squares() / static_cast<double>(side.size()) : 0;
}

// Whether both sides have at least so many cases and do better than a score.
template <class Side>
bool better(const Side& left, const Side& right, std::int64_t least, double than) {
  const double n = static_cast<double>(left.size()), m = static_cast<double>(right.size());
  const bool may = left.squares() * m + right.squares() * n >= than * (1 - 1e-12) * (n * m);
  return (left.size() >= least) & (right.size() >= least) & may && score(left) + score(right) > than;
}

// The order of a node's categories by which a scan for numbers, or for one class after the other, is made.
inline std::size_t orders_of(const double*, std::size_t) { return 1; }
inline std::size_t orders_of(const std::int32_t*, std::size_t classes) {
  return classes <= 2 ? 1 : std::min<std::size_t>(classes, kOrders);
}

}  // namespace shoal

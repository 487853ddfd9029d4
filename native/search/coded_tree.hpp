// Exact nearest and farthest search with deletions among records of numbers and codes.
//
// As `Tree`, but in float64 throughout: a leaf's distances are the ones that decide, so nothing is looked at twice.
// Only distances from the mean, which has a coordinate for every category, are first found nearly, one addition a
// column; those that may be the greatest are then added up coordinate by coordinate.
#pragma once
#include <array>
#include <limits>
#include "search/coded_blocks.hpp"
#include "search/leaf_heap.hpp"

namespace shoal {
inline namespace search {

class CodedTree {
 public:
  CodedTree(const CodedTable& table, const std::vector<std::int32_t>& rows, const Scans& scans);

  CodedTree(const CodedTree&) = delete;
  CodedTree& operator=(const CodedTree&) = delete;

  std::size_t live() const { return live_; }
  bool alive(std::int32_t row) const { return points_.of_row(row) >= 0; }

  // The live record farthest from q, a point that moves little from call to call.
  std::int32_t farthest_from_mean(const double* q);

  // The live record farthest from q, a row of numbers and codes.
  std::int32_t farthest(const double* q);

  // The `count` live records nearest to q, a row of numbers and codes, in order; `seed` (a live row, or -1) comes first
  // whatever its row.
  void nearest(const double* q, std::int32_t seed, std::size_t count, std::vector<Neighbour>& out);

  // Remove `seed` and its k - 1 nearest into `rows`; then the record farthest from the seed among those left
  // if one is asked for, else -1.
  std::int32_t take(std::int32_t seed, std::size_t k, std::vector<std::int32_t>& rows, bool farthest_next);

  void remove(const std::vector<std::int32_t>& rows);

 private:
  struct Stop {
    double bound;
    std::uint32_t level, node;
  };
  using Stack = std::array<Stop, 96>;  // a node leaves at most seven siblings waiting on each of at most eleven levels

  // What rounding can make of a distance from a point, as a share of it: every coordinate is one subtraction, one
  // product and one addition.
  double gamma() const { return (2.0 * static_cast<double>(table_.width) + 64.0) * 0x1p-52; }

  // The part of each category in the squared distance from the centre: all squares but its own, and its own.
  void prepare_parts();

  // Look for the farthest among a leaf's points; an upper bound of their distances from the centre, below 0 if none.
  double scan_from_mean(std::size_t leaf);

  double at_most(double nearly) const { return nearly * (1.0 + gamma()) + slack_; }

  void consider_from_mean(std::int32_t id, double nearly);

  void consider(std::int32_t id, double d2);

  // The live record farthest from the seed.
  std::int32_t farthest();

  // The `count` live records nearest to the seed, but for itself, into nearest_.
  void nearest(std::int32_t seed, std::size_t count);

  // Squared distance of the last of `count`, once there are so many.
  double limit(std::size_t count) const {
    return nearest_.size() < count ? std::numeric_limits<double>::infinity() : nearest_.front().d2;
  }

  void offer(double d2, std::int32_t id, std::int32_t seed, std::size_t count);

  // Put a child on the stack, under those of its siblings that are looked at before it.
  template <class After>
  static std::size_t push(Stack& stack, std::size_t base, std::size_t top, const Stop& child, After after);

  template <class Take>
  void scan(std::size_t leaf, Take take);

  void rebuild();

  const CodedTable& table_;
  DistinctPoints points_;
  CodedBlocks blocks_;
  LeafHeap heap_;
  std::size_t live_;
  std::vector<double> centre_, parts_, seed_;
  double slack_ = 0.0;
  Neighbour farthest_{-1.0, -1};
  std::vector<Neighbour> nearest_;
};

}  // namespace search
}  // namespace shoal

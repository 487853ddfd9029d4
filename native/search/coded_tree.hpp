// Exact nearest and farthest search with deletions among records of numbers and codes.
//
// As `Tree`, but in float64 throughout: a leaf's distances are the ones that decide, so nothing is looked at twice.
// Of records of categories many are equally far, and the lowest row is taken: what has the bound of the best one found,
// but only higher rows, is passed by.
// Only distances from the mean, which has a coordinate for every category, are first found nearly, one addition a
// column; those that may be the greatest are then added up coordinate by coordinate.
#pragma once
#include <array>
#include <functional>
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
    std::int32_t lowest;  // row under it
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

  // Put the children of a node that may matter on the stack, those on top that are looked at first: `before(a, b)`
  // compares bounds, and among equal ones it is the lowest row.
  template <class Open, class Before>
  std::size_t push(Stack& stack, std::size_t top, const Stop& parent, const double* bounds, Open open,
                   Before before) const;

  // The lowest live rows, after every point or one of a leaf was looked at.
  void find_lowest();
  void find_lowest(std::size_t leaf);

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
  std::vector<std::vector<std::int32_t>> lowest_;  // by level, of each child: the lowest live row under it
};

}  // namespace search
}  // namespace shoal

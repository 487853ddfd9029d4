// Exact nearest and farthest search with deletions, by a tree of shrinking boxes.
//
// `DistinctPoints` merges equal rows, `TreeBlocks` holds their float32 copies under boxes, the candidate lists decide in
// float64 what the copies cannot; this file walks the boxes. Whatever is pruned is pruned by a bound that holds
// with rounding included, so the answers are those of `Brute`, bit for bit.
//
// Points are removed from their leaf and the boxes above shrink. When fewer than half of the slots hold a live
// point, or the live points have shrunk to a thousandth of the frame (outliers go first, and with them the need
// for a coarse scale), the blocks are built anew. Each time a tenth of the points are gone the anchor moves to
// the current mean, about which the live points of MDAV fill a ball: the bounds of the farthest search rely on it.
//
// A point far outside the frame (the record of another stratum, or an outlier that was the last of its kind) is
// beyond what float32 can tell apart; such a search looks at every point in float64.
//
// In many dimensions bounds prune little and a search by nearest box first loses to a walk in memory order. When
// the searches look at more than a share of the leaves, the tree walks instead, and answers 'nearest to' and
// 'farthest from' the same record in one pass.
#pragma once
#include <array>
#include "search/candidates.hpp"
#include "search/leaf_heap.hpp"
#include "search/tree_blocks.hpp"

namespace shoal {
inline namespace search {

class Tree {
 public:
  Tree(const Table& table, const std::vector<std::int32_t>& rows, const Scans& scans);

  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  std::size_t live() const { return live_; }
  bool alive(std::int32_t row) const { return points_.of_row(row) >= 0; }

  // The live record farthest from q, for a q that moves little from call to call.
  std::int32_t farthest_from_mean(const double* q);

  // The live record farthest from any q.
  std::int32_t farthest(const double* q);

  // The `count` live records nearest to q, in order; `seed` (a live row, or -1) comes first whatever its row.
  void nearest(const double* q, std::int32_t seed, std::size_t count, std::vector<Neighbour>& out);

  // Remove `seed` and its k - 1 nearest into `rows`; then the record farthest from the seed among those left
  // if one is asked for, else -1.
  std::int32_t take(std::int32_t seed, std::size_t k, std::vector<std::int32_t>& rows, bool farthest_next);

  void remove(const std::vector<std::int32_t>& rows);

 private:
  static constexpr double kAnchorShare = 0.9;
  static constexpr double kShrunk = 0x1p-10;
  static constexpr std::size_t kWeighEvery = 16;  // pairs of groups between two looks at how well the bounds prune
  static constexpr double kWalkShare = 0.35;       // of the live leaves
  static constexpr double kHorizon = 0x1p20;       // in frames; float32 has 24 bits

  struct Stop {
    float bound;
    std::uint32_t level, node;
  };
  // A node leaves at most seven siblings waiting on each of at most eleven levels.
  using Stack = std::array<Stop, 96>;

  void rebuild();

  void arrange(std::vector<std::int32_t>& ids);

  void aim(const double* q);

  bool beyond() const { return !(norm_ < kHorizon); }

  template <class Candidates>
  void consider_all(Candidates& candidates);

  // Prepare the upper bounds of scans_body.hpp for the point aimed at.
  void begin_far(const double* q);

  void search_near();

  void search_far();

  // Push the open children of a node, the most promising last; `after(a, b)`: bound a is looked at after b.
  template <class After>
  static std::size_t push(Stack& stack, std::size_t top, const Stop& parent, const float* bounds,
                          std::uint32_t open, After after);

  // All leaves in memory order, for the nearest and perhaps the farthest at once; those beside the seed first,
  // so that the limits are sharp from the start.
  void walk(std::size_t seed_leaf, bool fused);

  void walk_node(std::size_t node, bool fused);

  template <bool Near, bool Far>
  void scan(std::size_t leaf);

  // Of each chunk of columns, the squares so far with which a leaf's points can still be the farthest.
  void bound_squares(std::size_t leaf);

  // Offer a leaf's points as farthest; an upper bound of their true distances.
  double scan_from_mean(std::size_t leaf);

  // Every so often: walk if both searches look at too many leaves.
  void weigh();

  // Above the distance of any box that holds points, below that of an empty one.
  static constexpr float kBeyond = 1e20f;

  const Scans& scans_;
  DistinctPoints points_;
  TreeBlocks blocks_;
  LeafHeap heap_;
  NearestCandidates near_;
  FarthestCandidates far_;
  std::size_t live_, anchored_ = 0;
  double built_radius_ = 0.0, norm_ = 0.0, share_ = 0.0;
  bool walking_ = false;
  std::size_t weighed_ = 0, near_leaves_ = 0, far_leaves_ = 0;
  std::vector<double> frame_;                      // the point aimed at, in the frame
  std::vector<float> copy_, toward_, antipode_;    // the same in float32, and what far_bounds needs
  std::vector<float> rests_, enough_;              // its norms after each chunk; squares from which a scan goes on
  std::vector<double> seed_;
  std::vector<Neighbour> neighbours_;
  FarQuery query_{};
};

}  // namespace search
}  // namespace shoal

// Blocks of records of numbers and codes (see core/coded_table.hpp), cut so that distances within them become small.
//
// A cut at a median takes about 0.64 of the variance of a column of numbers away. Of a column of codes all that it
// adds to a distance goes once its log2(m) bits are fixed, so a cut counts for that share of it: columns of few
// categories are cut early, one of a thousand late.
#pragma once
#include <cmath>
#include <limits>
#include "core/coded_table.hpp"
#include "core/points.hpp"
#include "search/leaf_boxes.hpp"

namespace shoal {
inline namespace search {

class CodedBlocks : public LeafBoxes<double> {
 public:
  CodedBlocks(const CodedTable& table, const Scans& scans) : LeafBoxes<double>(scans), table_(table) {}

  // Arrange the points `ids` anew; on return `ids` is in the order of the slots.
  void build(const DistinctPoints& points, std::vector<std::int32_t>& ids) {
    arrange(
        points.d, points.size(), ids, [&](const std::int32_t* some, std::size_t n) { return best_cut(points, some, n); },
        [&](std::int32_t id, std::size_t j) { return points.values(id)[j]; });
    enclose([](std::size_t, double*) {});
  }

  using LeafBoxes<double>::shrink;

  // Lower bounds of the distances from q to eight boxes. Terms and sums are rounded as those of a distance are, none of
  // which they exceed, so neither do the bounds. Infinite for empty ones.
  void near_bounds(std::size_t level, std::size_t node, const double* q, double* out) const {
    const double* box = boxes(level, node);
    std::fill_n(out, kFan, 0.0);
    for (std::size_t j = 0; j < d_; ++j, box += 2 * kFan) {
      const double square = table_.side[j] * table_.side[j];
      for (std::size_t c = 0; c < kFan; ++c) {
        const double gap = std::max(std::max(box[c] - q[j], q[j] - box[kFan + c]), 0.0);
        const double term = !table_.coded(j) ? gap * gap : gap > 0.0 ? square : 0.0;
        out[c] += term;
        if (table_.coded(j)) out[c] += term;
      }
    }
    for (std::size_t c = 0; c < kFan; ++c)
      if (box[c] < 0.0) out[c] = std::numeric_limits<double>::infinity();
  }

  // Upper bounds of the distances from q to what lives in eight boxes, below 0 for empty ones.
  void far_bounds(std::size_t level, std::size_t node, const double* q, double* out) const {
    const double* box = boxes(level, node);
    std::fill_n(out, kFan, 0.0);
    for (std::size_t j = 0; j < d_; ++j, box += 2 * kFan) {
      const double square = table_.side[j] * table_.side[j];
      for (std::size_t c = 0; c < kFan; ++c) {
        const double reach = std::max(q[j] - box[c], box[kFan + c] - q[j]);
        const bool same = box[c] == box[kFan + c] && box[c] == q[j];
        const double term = !table_.coded(j) ? reach * reach : same ? 0.0 : square;
        out[c] += term;
        if (table_.coded(j)) out[c] += term;
      }
    }
    for (std::size_t c = 0; c < kFan; ++c)
      if (box[c] < 0.0) out[c] = -1.0;
  }

  // Squared distances from q to a leaf's points, exact.
  void distances(std::size_t leaf, const double* q, double* out) const {
    const double* x = block(leaf);
    std::fill_n(out, kBlock, 0.0);
    for (std::size_t j = 0; j < d_; ++j, x += kBlock) {
      if (!table_.coded(j)) {
        for (std::size_t i = 0; i < kBlock; ++i) {
          const double t = x[i] - q[j];
          out[i] += t * t;
        }
        continue;
      }
      const double square = table_.side[j] * table_.side[j];
      for (std::size_t i = 0; i < kBlock; ++i) {
        const double term = x[i] != q[j] ? square : 0.0;
        out[i] = (out[i] + term) + term;
      }
    }
  }

  // What each column adds to the squared distances from a point to a leaf's points, nearly: `parts` has those of every
  // category where the point has its coordinates.
  void nearly_from(std::size_t leaf, const double* q, const double* parts, double* out) const {
    const double* x = block(leaf);
    std::fill_n(out, kBlock, 0.0);
    for (std::size_t j = 0; j < d_; ++j, x += kBlock) {
      if (table_.coded(j)) {
        const double* const part = parts + table_.first[j];
        for (std::size_t i = 0; i < count(leaf); ++i) out[i] += part[static_cast<std::size_t>(x[i])];
        continue;
      }
      const double middle = q[table_.first[j]];
      for (std::size_t i = 0; i < kBlock; ++i) {
        const double t = x[i] - middle;
        out[i] += t * t;
      }
    }
  }

 private:
  static constexpr double kTaken = 0.64;     // 2 / pi: of a normal column's variance, by a cut at the median
  static constexpr std::size_t kLook = 512;  // points looked at to choose a cut

  std::size_t best_cut(const DistinctPoints& points, const std::int32_t* ids, std::size_t n) {
    const std::size_t step = n / kLook + 1;
    std::size_t best = 0;
    double most = -1.0;
    for (std::size_t j = 0; j < d_; ++j) {
      cells_.clear();
      for (std::size_t i = 0; i < n; i += step) cells_.push_back(points.values(ids[i])[j]);
      const double gain = table_.coded(j) ? 2.0 * table_.side[j] * table_.side[j] * variety() : 2.0 * kTaken * variance();
      if (gain > most) {
        most = gain;
        best = j;
      }
    }
    return best;
  }

  double variance() const {
    const double count = static_cast<double>(cells_.size());
    const double mean = std::accumulate(cells_.begin(), cells_.end(), 0.0) / count;
    double sum = 0.0;
    for (double x : cells_) sum += (x - mean) * (x - mean);
    return sum / count;
  }

  // The share of pairs of codes that differ, by bit of what there is to know of them.
  double variety() {
    std::sort(cells_.begin(), cells_.end());
    const double count = static_cast<double>(cells_.size());
    double same = 0.0, bits = 0.0;
    for (auto from = cells_.begin(); from != cells_.end();) {
      const auto to = std::upper_bound(from, cells_.end(), *from);
      const double share = static_cast<double>(to - from) / count;
      same += share * share;
      bits -= share * std::log2(share);
      from = to;
    }
    return (1.0 - same) / std::max(bits, 1.0);
  }

  const CodedTable& table_;
  std::vector<double> cells_;
};

}  // namespace search
}  // namespace shoal

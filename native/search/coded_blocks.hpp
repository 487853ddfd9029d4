// Blocks of records of numbers and codes (see core/coded_table.hpp), cut so that distances within them become small.
//
// A cut at a median takes about 0.64 of the variance of a column of numbers away. Of a column of codes all that it
// adds to a distance goes once its log2(m) bits are fixed, so a cut counts for that share of it: columns of few
// categories are cut early, one of a thousand late.
//
// A range of codes tells little of a column that was not cut. So each box also has a bit for each code that was under it
// when the blocks were arranged (codes 1024 apart share one): of a thousand categories 32 records have few, and a search
// for the nearest passes by the leaves that lack its own.
#pragma once
#include <cmath>
#include <limits>
#include "core/coded_table.hpp"
#include "core/elementary.hpp"
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
    choose_middle(points, ids);
    enclose([this](std::size_t leaf, double* out) { radii(leaf, out); });
    note_codes();
  }

  using LeafBoxes<double>::shrink;

  // Lower bounds of the distances from q to eight boxes. Terms and sums are rounded as those of a distance are, none of
  // which they exceed, so neither do the bounds. Infinite for empty ones.
  void near_bounds(std::size_t level, std::size_t node, const double* q, double* out) const {
    const double* box = boxes(level, node);
    const std::uint64_t* bits = bits_[level].data() + node * words_ * kFan;
    std::fill_n(out, kFan, 0.0);
    for (std::size_t j = 0; j < d_; ++j, box += 2 * kFan) {
      if (!table_.coded(j)) {
        for (std::size_t c = 0; c < kFan; ++c) {
          const double gap = std::max(std::max(box[c] - q[j], q[j] - box[kFan + c]), 0.0);
          out[c] += gap * gap;
        }
        continue;
      }
      const double term[] = {table_.side[j] * table_.side[j], 0.0};
      const auto code = static_cast<std::size_t>(q[j]);
      const std::uint64_t* const word = bits + word_of(j, code) * kFan;
      for (std::size_t c = 0; c < kFan; ++c) {
        const double least = term[word[c] >> (code % kBits) & 1];
        out[c] = (out[c] + least) + least;
      }
      bits += words(j) * kFan;
    }
    for (std::size_t c = 0; c < kFan; ++c)
      if (box[c] < 0.0) out[c] = std::numeric_limits<double>::infinity();
  }

  // Upper bounds of the distances from q to what lives in eight boxes, below 0 for empty ones: of the numbers by the
  // corners of the boxes, or by the ball about their middle that holds them.
  void far_bounds(std::size_t level, std::size_t node, const double* q, double* out) const {
    const double* box = boxes(level, node);
    double differing[kFan] = {};
    std::fill_n(out, kFan, 0.0);
    for (std::size_t j = 0; j < d_; ++j, box += 2 * kFan) {
      if (!table_.coded(j)) {
        for (std::size_t c = 0; c < kFan; ++c) {
          const double reach = std::max(q[j] - box[c], box[kFan + c] - q[j]);
          out[c] += reach * reach;
        }
        continue;
      }
      const double square = table_.side[j] * table_.side[j];
      for (std::size_t c = 0; c < kFan; ++c) {
        const double term = box[c] == box[kFan + c] && box[c] == q[j] ? 0.0 : square;
        out[c] = (out[c] + term) + term;
        differing[c] += term;
      }
    }
    const double own = from_middle(q);
    for (std::size_t c = 0; c < kFan; ++c) {
      const double reach = own + std::sqrt(std::max(box[c], 0.0));
      const double in_ball = (reach * reach + 2.0 * differing[c]) * (1.0 + 0x1p-30);
      out[c] = box[c] < 0.0 ? -1.0 : std::min(out[c], in_ball);
    }
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
  static constexpr std::size_t kBits = 64, kMostWords = 16;

  // Words of a column's bits, and the one that has a code's.
  std::size_t words(std::size_t j) const { return std::min((table_.categories[j] + kBits - 1) / kBits, kMostWords); }
  std::size_t word_of(std::size_t j, std::size_t code) const { return code / kBits % words(j); }

  // Set the bits of the codes under every box.
  void note_codes() {
    words_ = 0;
    for (std::size_t j = 0; j < d_; ++j) words_ += table_.coded(j) ? words(j) : 0;
    bits_.assign(height(), {});
    std::size_t width = leaves();
    for (std::size_t level = height(); level-- > 0;) {
      const std::size_t nodes = (width + kFan - 1) / kFan;
      bits_[level].assign(nodes * words_ * kFan, 0);
      for (std::size_t child = 0; child < width; ++child) {
        std::uint64_t* const own = bits_[level].data() + child / kFan * words_ * kFan + child % kFan;
        if (level + 1 == height())
          note_leaf(child, own);
        else
          note_node(bits_[level + 1].data() + child * words_ * kFan, own);
      }
      width = nodes;
    }
  }

  void note_leaf(std::size_t leaf, std::uint64_t* out) const {
    const double* x = block(leaf);
    for (std::size_t j = 0; j < d_; ++j, x += kBlock) {
      if (!table_.coded(j)) continue;
      for (std::size_t i = 0; i < count(leaf); ++i) {
        const auto code = static_cast<std::size_t>(x[i]);
        out[word_of(j, code) * kFan] |= std::uint64_t{1} << (code % kBits);
      }
      out += words(j) * kFan;
    }
  }

  void note_node(const std::uint64_t* below, std::uint64_t* out) const {
    for (std::size_t word = 0; word < words_; ++word)
      for (std::size_t c = 0; c < kFan; ++c) out[word * kFan] |= below[word * kFan + c];
  }

  // The mean of the numbers, or near it: the bounds hold for any point.
  void choose_middle(const DistinctPoints& points, const std::vector<std::int32_t>& ids) {
    middle_.assign(d_, 0.0);
    for (std::size_t j = 0; j < d_; ++j) {
      if (table_.coded(j)) continue;
      for (std::int32_t id : ids) middle_[j] += points.values(id)[j] / static_cast<double>(ids.size());
    }
  }

  // Squared distances of a leaf's numbers from the middle.
  void radii(std::size_t leaf, double* out) const {
    const double* x = block(leaf);
    std::fill_n(out, kBlock, 0.0);
    for (std::size_t j = 0; j < d_; ++j, x += kBlock)
      for (std::size_t i = 0; i < kBlock && !table_.coded(j); ++i) out[i] += (x[i] - middle_[j]) * (x[i] - middle_[j]);
  }

  double from_middle(const double* q) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < d_; ++j)
      if (!table_.coded(j)) sum += (q[j] - middle_[j]) * (q[j] - middle_[j]);
    return std::sqrt(sum);
  }

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
      bits -= share * logarithm(share);
      from = to;
    }
    return (1.0 - same) / std::max(bits / kLn2, 1.0);
  }

  const CodedTable& table_;
  std::size_t words_ = 0;                          // of a box
  std::vector<std::vector<std::uint64_t>> bits_;  // by level; of eight boxes, word by word
  std::vector<double> middle_, cells_;
};

}  // namespace search
}  // namespace shoal

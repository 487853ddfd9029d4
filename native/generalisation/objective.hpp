// What a full-domain search loses least of, as numbers that are compared one after the other.
//
// A cell has two losses at a level: that of its label, and, no less, that of being dropped with its record. Their sum is
// the objective, or of the columns' mean losses x_j:
// - the geometric mean of 1 + x_j, under which one column that loses much counts less than in the mean;
// - their rank: the greatest is compared first, then the next greatest, so that no column loses more than it must;
// - or their sum, but for entropies: a dropped cell loses what its label does and so many times the logarithm of the dropped
//   records over those of them that have the label, which it hides among (chained).
//
// Or not the labels count but the classes they make:
// - discernibility (Bayardo & Agrawal 2005): a record loses the share of the table that its class holds, w times that
//   where it is kept, and where it is dropped s of what is left of the whole on top;
// - the size of the average class (LeFevre et al. 2006), as a share of the table; all dropped records are one class.
//
// No node above another has a lower bound. Of classes all that is known of a node that has not been looked at is that
// there are no more than combinations of labels, p of them: both measures are 1 / p at least.
#pragma once
#include <functional>
#include <numeric>

#include "core/elementary.hpp"
#include "generalisation/hierarchies.hpp"

namespace shoal {

enum class Aggregate { kMean, kGeometricMean, kRank, kChained, kDiscernibility, kClassSize };
using Score = std::vector<double>;

class Objective {
 public:
  // `dropped[j]`: what a dropped cell of column j loses, as the hierarchies' losses; chained: how many times the logarithm.
  // `kept` and `lost`: w and s.
  Objective(const Hierarchies& hierarchies, const Combinations& rows, Aggregate aggregate, std::vector<const double*> dropped, double kept, double lost)
      : hierarchies_(hierarchies), rows_(rows), aggregate_(aggregate), dropped_(std::move(dropped)), kept_(kept), lost_(lost), steps_(rows.mean_losses(hierarchies)) {
    for (std::size_t r = 0; r < rows.m; ++r) records_ += static_cast<double>(rows.counts[r]);
    for (std::size_t j = 0; j < steps_.size(); ++j)
      for (std::size_t level = 0; level < steps_[j].size(); ++level) {
        if (of_classes()) steps_[j][level] = -logarithm(labels(j, static_cast<std::int32_t>(level)));
        if (aggregate == Aggregate::kGeometricMean) steps_[j][level] = logarithm_above_one(steps_[j][level]);
      }
  }

  bool of_classes() const { return aggregate_ >= Aggregate::kDiscernibility; }

  // Nodes in an order in which none comes before one of a lower bound, of the first number at least.
  NodeOrder order(std::vector<std::vector<double>> steps) const { return NodeOrder(std::move(steps), aggregate_ == Aggregate::kRank); }
  const std::vector<std::vector<double>>& steps() const { return steps_; }

  // The least first number of a node with such a place in the order.
  double of_order(double place) const {
    if (of_classes()) return exponential(place) * (aggregate_ == Aggregate::kDiscernibility ? kept_ : 1.0);
    return summed() ? place * records_ : place;
  }

  // What no node from this one up goes below.
  Score bound(const Levels& node) const {
    if (aggregate_ != Aggregate::kRank) {
      double place = 0;
      for (std::size_t j = 0; j < node.size(); ++j) place += steps_[j][static_cast<std::size_t>(node[j])];
      return {of_order(place)};
    }
    Score means;
    for (std::size_t j = 0; j < node.size(); ++j) means.push_back(steps_[j][static_cast<std::size_t>(node[j])]);
    return ranked(std::move(means));
  }

  // A node's score with its classes of these sizes, some of which are kept; `ids`: class of each combination.
  Score at(const Levels& node, const std::vector<std::int32_t>& ids, const std::vector<std::int64_t>& sizes, const std::vector<char>& kept) const {
    if (of_classes()) return {of(sizes, kept)};
    Score columns(node.size());
    double sum = 0;
    for (std::size_t r = 0; r < rows_.m; ++r) {
      const bool stays = kept[static_cast<std::size_t>(ids[r])] != 0;
      const auto count = static_cast<double>(rows_.counts[r]);
      if (summed())
        sum += count * loss(node, r, stays);
      else
        for (std::size_t j = 0; j < node.size(); ++j) columns[j] += count * cell(node, r, j, stays) / records_;
    }
    if (aggregate_ == Aggregate::kChained) sum += among_dropped(node, ids, kept);
    if (summed()) return {sum};
    if (aggregate_ == Aggregate::kRank) return ranked(std::move(columns));
    for (const double mean : columns) sum += logarithm_above_one(mean);
    return {sum};
  }

  // By how much every class adds to the loss when it is dropped; chained, when all that are no larger are.
  std::vector<double> added(const Levels& node, const std::vector<std::int32_t>& ids, const std::vector<std::int64_t>& sizes) const {
    std::vector<double> more(sizes.size(), 0.0);
    if (aggregate_ == Aggregate::kChained) return added_among(node, ids, sizes);
    for (std::size_t r = 0; !of_classes() && r < rows_.m; ++r)
      more[static_cast<std::size_t>(ids[r])] += static_cast<double>(rows_.counts[r]) * (loss(node, r, false) - loss(node, r, true));
    return more;
  }

 private:
  bool summed() const { return aggregate_ == Aggregate::kMean || aggregate_ == Aggregate::kChained; }

  double loss(const Levels& node, std::size_t r, bool stays) const {
    double sum = 0;
    for (std::size_t j = 0; j < node.size(); ++j) sum += cell(node, r, j, stays);
    return sum;
  }

  double cell(const Levels& node, std::size_t r, std::size_t j, bool stays) const {
    const std::int32_t leaf = rows_.row(r)[j];
    if (stays || aggregate_ == Aggregate::kChained) return hierarchies_.loss(j, node[j], leaf);
    return dropped_[j][static_cast<std::size_t>(node[j]) * static_cast<std::size_t>(hierarchies_.leaves(j)) + static_cast<std::size_t>(leaf)];
  }

  // What hiding the labels of the dropped records among each other costs.
  double among_dropped(const Levels& node, const std::vector<std::int32_t>& ids, const std::vector<char>& kept) const {
    double sum = 0;
    for (std::size_t j = 0; j < node.size(); ++j) {
      std::vector<double> with(static_cast<std::size_t>(hierarchies_.leaves(j)), 0.0);
      double dropped = 0;
      for (std::size_t r = 0; r < rows_.m; ++r) {
        if (kept[static_cast<std::size_t>(ids[r])]) continue;
        with[static_cast<std::size_t>(hierarchies_.label(j, node[j], rows_.row(r)[j]))] += static_cast<double>(rows_.counts[r]);
        dropped += static_cast<double>(rows_.counts[r]);
      }
      for (const double records : with)
        if (records > 0) sum += dropped_[j][0] * records * logarithm(dropped / records);
    }
    return sum;
  }

  // But for a constant: the rarer its labels among the records of classes no larger, the more a class adds.
  std::vector<double> added_among(const Levels& node, const std::vector<std::int32_t>& ids, const std::vector<std::int64_t>& sizes) const {
    const auto size = [&](std::size_t r) { return sizes[static_cast<std::size_t>(ids[r])]; };
    std::vector<std::size_t> order(rows_.m);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) < size(b); });
    std::vector<double> more(sizes.size(), 0.0);
    for (std::size_t j = 0; j < node.size(); ++j) {
      std::vector<double> with(static_cast<std::size_t>(hierarchies_.leaves(j)), 0.0);
      const auto label = [&](std::size_t r) { return static_cast<std::size_t>(hierarchies_.label(j, node[j], rows_.row(r)[j])); };
      for (std::size_t begin = 0, end = 0; begin < rows_.m; begin = end) {
        for (; end < rows_.m && size(order[end]) == size(order[begin]); ++end) with[label(order[end])] += static_cast<double>(rows_.counts[order[end]]);
        for (std::size_t o = begin; o < end; ++o)
          if (const auto count = static_cast<double>(rows_.counts[order[o]]); count > 0)
            more[static_cast<std::size_t>(ids[order[o]])] -= count * dropped_[j][0] * logarithm(with[label(order[o])]);
      }
    }
    return more;
  }

  double of(const std::vector<std::int64_t>& sizes, const std::vector<char>& kept) const {
    double loss = 0, groups = 0;
    bool drops = false;
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      const double share = static_cast<double>(sizes[c]) / records_;
      loss += share * (kept[c] ? kept_ * share : share + lost_ * (1 - share));
      if (sizes[c] > 0) (kept[c] ? groups += 1 : drops = true);
    }
    return aggregate_ == Aggregate::kDiscernibility ? loss : 1 / (groups + (drops ? 1 : 0));
  }

  // Number of labels of a column that records bear at a level.
  double labels(std::size_t j, std::int32_t level) const {
    std::vector<char> borne(static_cast<std::size_t>(hierarchies_.leaves(j)), 0);
    for (std::size_t r = 0; r < rows_.m; ++r)
      if (rows_.counts[r] > 0) borne[static_cast<std::size_t>(hierarchies_.label(j, level, rows_.row(r)[j]))] = 1;
    return static_cast<double>(std::count(borne.begin(), borne.end(), 1));
  }

  static Score ranked(Score means) {
    std::sort(means.begin(), means.end(), std::greater<>());
    return means;
  }

  const Hierarchies& hierarchies_;
  const Combinations& rows_;
  Aggregate aggregate_;
  std::vector<const double*> dropped_;
  double kept_, lost_;
  std::vector<std::vector<double>> steps_;  // of the order, of each column and level
  double records_ = 0;
};

}  // namespace shoal

// The hierarchies of some columns in arrays, and the lattice of their levels.
//
// Column j has leaves 0 .. n_j - 1 and levels 0 .. h_j. Each leaf has at each level a label (a number) and a loss:
// what one cell loses whose label at that level is released. The loss of a label is the same for all of its leaves and
// does not fall on the way up. A hierarchy need not end in one root (a column that may not rise above some level, a
// stratum that must stay apart): two leaves then may have no label in common, and records with such leaves can never
// be in one class.
//
// A node of the lattice gives every column a level. Its mean loss is the sum over the columns of the loss at that level,
// averaged over the records: it needs no look at how records combine. NodeOrder hands out nodes as it rises.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

namespace shoal {

using Levels = std::vector<std::int32_t>;

class Hierarchies {
 public:
  // `sizes` and `heights` hold one number a column; `labels` and `losses` the columns one after the other, each level by
  // level from 0 to its height, each level leaf by leaf.
  Hierarchies(const std::int32_t* sizes, const std::int32_t* heights, std::size_t columns, const std::int32_t* labels,
              const double* losses)
      : sizes_(sizes, sizes + columns), heights_(heights, heights + columns), labels_(columns), losses_(columns) {
    for (std::size_t j = 0; j < columns; ++j) {
      labels_[j] = labels;
      losses_[j] = losses;
      const std::int32_t* const top = this->labels(j, heights_[j]);
      rooted_.push_back(std::all_of(top, top + sizes_[j], [&](std::int32_t label) { return label == *top; }));
      const auto cells = static_cast<std::size_t>(sizes_[j]) * static_cast<std::size_t>(heights_[j] + 1);
      labels += cells;
      losses += cells;
    }
  }

  std::size_t columns() const { return sizes_.size(); }
  std::int32_t height(std::size_t j) const { return heights_[j]; }
  std::int32_t leaves(std::size_t j) const { return sizes_[j]; }
  std::int32_t label(std::size_t j, std::int32_t level, std::int32_t leaf) const { return labels_[j][at(j, level, leaf)]; }
  double loss(std::size_t j, std::int32_t level, std::int32_t leaf) const { return losses_[j][at(j, level, leaf)]; }

  // The labels of a level, by leaf.
  const std::int32_t* labels(std::size_t j, std::int32_t level) const { return labels_[j] + at(j, level, 0); }
  // The level above which no two leaves can have to go for a label in common.
  std::int32_t highest(std::size_t j) const { return heights_[j] + (rooted_[j] ? 0 : 1); }

  // The lowest level from `level` on at which two leaves share a label; height + 1 where there is none.
  std::int32_t meet(std::size_t j, std::int32_t level, std::int32_t a, std::int32_t b) const {
    while (level <= heights_[j] && label(j, level, a) != label(j, level, b)) ++level;
    return level;
  }

 private:
  std::size_t at(std::size_t j, std::int32_t level, std::int32_t leaf) const {
    return static_cast<std::size_t>(level) * static_cast<std::size_t>(sizes_[j]) + static_cast<std::size_t>(leaf);
  }

  std::vector<std::int32_t> sizes_, heights_;
  std::vector<const std::int32_t*> labels_;
  std::vector<const double*> losses_;
  std::vector<bool> rooted_;  // whether all leaves of a column have one label at its height
};

// All nodes in the order of their mean loss, each once, found as they are asked for. Every node but the lowest is
// reached from one other: that with its last raised column one level lower, whose mean loss is no larger. Nodes of
// equal loss come in the order in which they were reached.
class NodeOrder {
 public:
  // `means[j][level]`: mean loss over the records of column j at each level, rising; `greatest`: the order is that of the
  // greatest of the columns' means, not of their sum.
  explicit NodeOrder(std::vector<std::vector<double>> means, bool greatest = false) : means_(std::move(means)), greatest_(greatest) {
    waiting_.push({loss_of(Levels(means_.size(), 0)), 0, Levels(means_.size(), 0)});
  }

  bool done() const { return waiting_.empty(); }
  double loss() const { return waiting_.top().loss; }
  std::size_t waiting() const { return waiting_.size(); }

  // The next node; its successors join those that wait.
  Levels next() {
    Levels node = waiting_.top().levels;
    waiting_.pop();
    std::size_t last = 0;
    for (std::size_t j = 0; j < node.size(); ++j)
      if (node[j] > 0) last = j;
    for (std::size_t j = last; j < node.size(); ++j) {
      if (static_cast<std::size_t>(node[j]) + 1 >= means_[j].size()) continue;
      ++node[j];
      waiting_.push({loss_of(node), ++made_, node});
      --node[j];
    }
    return node;
  }

  double loss_of(const Levels& node) const {
    double sum = 0;
    for (std::size_t j = 0; j < node.size(); ++j) {
      const double mean = means_[j][static_cast<std::size_t>(node[j])];
      sum = greatest_ ? std::max(sum, mean) : sum + mean;
    }
    return sum;
  }

 private:
  struct Waiting {
    double loss;
    std::uint64_t number;
    Levels levels;
    bool operator<(const Waiting& other) const {  // the top of the queue is the least
      return loss != other.loss ? loss > other.loss : number > other.number;
    }
  };

  std::vector<std::vector<double>> means_;
  bool greatest_;
  std::priority_queue<Waiting> waiting_;
  std::uint64_t made_ = 0;
};

// Distinct rows of leaves with how many records have each.
struct Combinations {
  const std::int32_t* leaves;  // m rows of q
  const std::int64_t* counts;
  std::size_t m, q;

  const std::int32_t* row(std::size_t r) const { return leaves + r * q; }

  std::vector<std::vector<double>> mean_losses(const Hierarchies& hierarchies) const {
    double records = 0;
    for (std::size_t r = 0; r < m; ++r) records += static_cast<double>(counts[r]);
    std::vector<std::vector<double>> means(q);
    for (std::size_t j = 0; j < q; ++j) {
      std::vector<double> share(static_cast<std::size_t>(hierarchies.leaves(j)), 0.0);
      for (std::size_t r = 0; r < m; ++r) share[static_cast<std::size_t>(row(r)[j])] += static_cast<double>(counts[r]) / records;
      for (std::int32_t level = 0; level <= hierarchies.height(j); ++level) {
        double mean = 0;
        for (std::size_t leaf = 0; leaf < share.size(); ++leaf)
          mean += share[leaf] * hierarchies.loss(j, level, static_cast<std::int32_t>(leaf));
        means[j].push_back(level > 0 ? std::max(mean, means[j].back()) : mean);
      }
    }
    return means;
  }
};

}  // namespace shoal

// A coarser lattice inside a lattice, small enough to be gone through as a whole.
//
// Of each column the lowest and the highest level are kept, and of those between as many as the size allows: again and
// again the level goes between whose neighbours the mean loss differs least. A search that must stop in the order of
// mean loss, somewhere among the low nodes of a huge lattice, goes through a thinned one to the top.
#pragma once
#include "generalisation/hierarchies.hpp"

namespace shoal {

class Thinned {
 public:
  // `means` as of NodeOrder; at most `most` nodes are left unless two levels a column make more.
  Thinned(std::vector<std::vector<double>> means, double most) : means_(std::move(means)), kept_(means_.size()) {
    double nodes = 1;
    for (std::size_t j = 0; j < means_.size(); ++j) {
      for (std::size_t l = 0; l < means_[j].size(); ++l) kept_[j].push_back(static_cast<std::int32_t>(l));
      nodes *= static_cast<double>(means_[j].size());
    }
    while (nodes > most) {
      const std::size_t j = drop_one();
      if (j == means_.size()) return;
      nodes = nodes / static_cast<double>(means_[j].size() + 1) * static_cast<double>(means_[j].size());
    }
  }

  const std::vector<std::vector<double>>& means() const { return means_; }

  // The levels of the whole lattice that a node of the thinned one has.
  Levels levels(Levels node) const {
    for (std::size_t j = 0; j < node.size(); ++j) node[j] = kept_[j][static_cast<std::size_t>(node[j])];
    return node;
  }

 private:
  // Returns the column that lost a level, or the number of columns where none can.
  std::size_t drop_one() {
    std::size_t column = means_.size(), at = 0;
    double least = 0;
    for (std::size_t j = 0; j < means_.size(); ++j)
      for (std::size_t l = 1; l + 1 < means_[j].size(); ++l) {
        const double gap = means_[j][l + 1] - means_[j][l - 1];
        if (column == means_.size() || gap < least) column = j, at = l, least = gap;
      }
    if (column == means_.size()) return column;
    means_[column].erase(means_[column].begin() + static_cast<std::ptrdiff_t>(at));
    kept_[column].erase(kept_[column].begin() + static_cast<std::ptrdiff_t>(at));
    return column;
  }

  std::vector<std::vector<double>> means_;
  std::vector<Levels> kept_;
};

}  // namespace shoal

// A table for generalisation as it comes from Python: hierarchies, distinct combinations, and the records' rows.
#pragma once
#include <nanobind/stl/optional.h>

#include "core/kernels.hpp"
#include "generalisation/covers.hpp"

namespace shoal {

constexpr std::int64_t kMostNodes = 2'000'000;      // of a lattice that one search looks at, however large the lattice
constexpr std::int64_t kMostCells = 2'000'000'000;  // that one search looks at, some ten seconds' worth

// Labels and losses of one column, both (levels, leaves).
using Ladder = std::pair<IntMatrix, Matrix>;

class RecodingTable {
 public:
  // `times`: how many records each entry of `row_of` stands for; none for one each.
  RecodingTable(const std::vector<Ladder>& ladders, IntMatrix leaves, Ints row_of, const std::optional<Longs>& times)
      : leaves_(leaves.data(), leaves.data() + leaves.size()), counts_(leaves.shape(0), 0),
        row_of_(row_of.data(), row_of.data() + row_of.shape(0)), hierarchies(stacked(ladders)),
        combinations{leaves_.data(), counted(times), leaves.shape(0), leaves.shape(1)},
        covering(hierarchies, combinations, row_of_.data()) {}
  RecodingTable(const RecodingTable&) = delete;
  RecodingTable& operator=(const RecodingTable&) = delete;

  std::size_t records() const { return row_of_.size(); }
  const std::int32_t* rows() const { return row_of_.data(); }  // combination of each record

 private:
  Hierarchies stacked(const std::vector<Ladder>& ladders) {
    std::vector<std::int32_t> sizes, heights;
    for (const auto& [labels, losses] : ladders) {
      heights.push_back(static_cast<std::int32_t>(labels.shape(0)) - 1);
      sizes.push_back(static_cast<std::int32_t>(labels.shape(1)));
      labels_.insert(labels_.end(), labels.data(), labels.data() + labels.size());
      losses_.insert(losses_.end(), losses.data(), losses.data() + losses.size());
    }
    return {sizes.data(), heights.data(), ladders.size(), labels_.data(), losses_.data()};
  }

  const std::int64_t* counted(const std::optional<Longs>& times) {
    for (std::size_t i = 0; i < row_of_.size(); ++i) counts_[static_cast<std::size_t>(row_of_[i])] += times ? times->data()[i] : 1;
    return counts_.data();
  }

  std::vector<std::int32_t> labels_;
  std::vector<double> losses_;
  std::vector<std::int32_t> leaves_;
  std::vector<std::int64_t> counts_;
  std::vector<std::int32_t> row_of_;

 public:
  const Hierarchies hierarchies;
  const Combinations combinations;
  const Covering covering;
};

}  // namespace shoal

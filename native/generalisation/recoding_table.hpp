// A table for generalisation as it comes from Python: hierarchies, distinct combinations, and the records' rows.
#pragma once
#include "core/kernels.hpp"
#include "generalisation/covers.hpp"

namespace shoal {

class RecodingTable {
 public:
  RecodingTable(Ints sizes, Ints heights, Ints labels, Vector losses, IntMatrix leaves, Longs counts, Ints row_of)
      : labels_(labels.data(), labels.data() + labels.shape(0)), losses_(losses.data(), losses.data() + losses.shape(0)),
        leaves_(leaves.data(), leaves.data() + leaves.shape(0) * leaves.shape(1)), counts_(counts.data(), counts.data() + counts.shape(0)),
        row_of_(row_of.data(), row_of.data() + row_of.shape(0)),
        hierarchies(sizes.data(), heights.data(), sizes.shape(0), labels_.data(), losses_.data()),
        combinations{leaves_.data(), counts_.data(), leaves.shape(0), leaves.shape(1)},
        covering(hierarchies, combinations, row_of_.data()) {}
  RecodingTable(const RecodingTable&) = delete;
  RecodingTable& operator=(const RecodingTable&) = delete;

  std::size_t records() const { return row_of_.size(); }
  const std::int32_t* rows() const { return row_of_.data(); }  // combination of each record

 private:
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

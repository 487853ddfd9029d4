// Classes of rows at a node: which rows share all labels, by hashing.
//
// Every label of every column at every level gets 64 random bits; a row's key is their sum over the columns, and rows
// of one key are one class. Two classes fall together by accident with a probability of 2^-64 a pair; what is built on
// classes stays right even then, for the labels that are released are found from the records of each class, not from
// its key, and counts only become larger.
#pragma once
#include "generalisation/hierarchies.hpp"
#include "core/random.hpp"

namespace shoal {

class Classing {
 public:
  Classing(const Hierarchies& hierarchies, const Combinations& table) : table_(table), keys_(table.q) {
    Random random(0x67656e6572616cull);  // any fixed seed: results do not depend on it
    for (std::size_t j = 0; j < table.q; ++j) {
      const auto leaves = static_cast<std::size_t>(hierarchies.leaves(j));
      for (std::int32_t level = 0; level <= hierarchies.height(j); ++level) {
        std::vector<std::uint64_t> of_label;
        std::vector<std::uint64_t> of_leaf(leaves);
        for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
          const auto label = static_cast<std::size_t>(hierarchies.label(j, level, static_cast<std::int32_t>(leaf)));
          while (of_label.size() <= label) of_label.push_back(random.bits());
          of_leaf[leaf] = of_label[label];
        }
        keys_[j].push_back(std::move(of_leaf));
      }
    }
  }

  // Number the classes of some rows at a node from 0 by first appearance; `sizes` becomes the records of each.
  void classes(const Levels& node, const std::vector<std::int32_t>& rows, std::vector<std::int32_t>& ids,
               std::vector<std::int64_t>& sizes) {
    reserve(rows.size());
    columns_.clear();
    for (std::size_t j = 0; j < node.size(); ++j) columns_.push_back(keys_[j][static_cast<std::size_t>(node[j])].data());
    ids.resize(rows.size());
    sizes.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int32_t* leaves = table_.row(static_cast<std::size_t>(rows[i]));
      std::uint64_t key = 0;
      for (std::size_t j = 0; j < columns_.size(); ++j) key += columns_[j][leaves[j]];
      ids[i] = number_of(key, sizes);
      sizes[static_cast<std::size_t>(ids[i])] += table_.counts[rows[i]];
    }
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::int32_t number = -1;
    std::uint32_t round = 0;  // a slot of an earlier round is free
  };

  void reserve(std::size_t rows) {
    std::size_t capacity = 64;
    while (capacity < 2 * rows) capacity *= 2;
    if (capacity > slots_.size()) slots_.assign(capacity, Slot{}), round_ = 0;
    mask_ = capacity - 1;
    ++round_;
  }

  std::int32_t number_of(std::uint64_t key, std::vector<std::int64_t>& sizes) {
    std::size_t at = (key ^ (key >> 32)) & mask_;
    while (slots_[at].round == round_ && slots_[at].key != key) at = (at + 1) & mask_;
    if (slots_[at].round != round_) {
      slots_[at] = {key, static_cast<std::int32_t>(sizes.size()), round_};
      sizes.push_back(0);
    }
    return slots_[at].number;
  }

  const Combinations& table_;
  std::vector<std::vector<std::vector<std::uint64_t>>> keys_;  // column, level, leaf
  std::vector<const std::uint64_t*> columns_;
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::uint32_t round_ = 0;
};

}  // namespace shoal

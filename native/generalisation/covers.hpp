// Classes of records and what their labels lose.
//
// The cover of a class is its nearest common ancestor in every column: the lowest level at which all of its records
// have one label. A class of c records loses c times the sum of its labels' losses; a class without common label in some
// column loses infinitely much and is never made. Records are known by their row among the distinct combinations.
#pragma once
#include <limits>

#include "generalisation/hierarchies.hpp"

namespace shoal {

using Members = std::vector<std::int32_t>;

class Covering {
 public:
  // `row_of[i]` is the combination of record i.
  Covering(const Hierarchies& hierarchies, const Combinations& table, const std::int32_t* row_of)
      : hierarchies_(hierarchies), table_(table), row_of_(row_of) {}

  std::size_t columns() const { return table_.q; }
  const Hierarchies& hierarchies() const { return hierarchies_; }
  const std::int32_t* leaves(std::int32_t record) const { return table_.row(static_cast<std::size_t>(row_of_[record])); }
  std::int32_t row(std::int32_t record) const { return row_of_[record]; }

  // Raise levels, those of a cover of records like `first`, so that they cover `other` as well.
  void widen(Levels& levels, const std::int32_t* first, const std::int32_t* other) const {
    for (std::size_t j = 0; j < levels.size(); ++j) levels[j] = hierarchies_.meet(j, levels[j], first[j], other[j]);
  }

  // The cover of some records, none of its levels above those of a cover known to hold them all.
  Levels cover(const Members& members, const Levels* known = nullptr) const {
    Levels levels(columns(), 0);
    const std::int32_t* const first = leaves(members.front());
    for (std::size_t j = 0; j < levels.size(); ++j) {
      const std::int32_t most = known != nullptr ? (*known)[j] : hierarchies_.highest(j);
      levels[j] = level_of(j, members, first[j], most);
    }
    return levels;
  }

  // What a record loses under a cover of records like `first` that is raised to cover it as well.
  double loss_beside(const Levels& levels, const std::int32_t* first, const std::int32_t* other) const {
    double sum = 0;
    for (std::size_t j = 0; j < levels.size(); ++j) {
      const std::int32_t level = hierarchies_.meet(j, levels[j], first[j], other[j]);
      if (level > hierarchies_.height(j)) return std::numeric_limits<double>::infinity();
      sum += hierarchies_.loss(j, level, other[j]);
    }
    return sum;
  }

  // What one record loses under a cover.
  double loss(const Levels& levels, const std::int32_t* first) const {
    double sum = 0;
    for (std::size_t j = 0; j < levels.size(); ++j) {
      if (levels[j] > hierarchies_.height(j)) return std::numeric_limits<double>::infinity();
      sum += hierarchies_.loss(j, levels[j], first[j]);
    }
    return sum;
  }

 private:
  // The lowest level of a column at which all records have one label, if that is below `most`.
  std::int32_t level_of(std::size_t j, const Members& members, std::int32_t first, std::int32_t most) const {
    std::int32_t level = 0;
    const std::int32_t* labels = hierarchies_.labels(j, level);
    std::int32_t own = labels[first];
    for (auto i = members.begin(); i != members.end() && level < most; ++i) {
      const std::int32_t leaf = leaves(*i)[j];
      if (labels[leaf] == own) continue;
      level = hierarchies_.meet(j, level, first, leaf);
      if (level >= most) break;
      labels = hierarchies_.labels(j, level);
      own = labels[first];
    }
    return level;
  }

  const Hierarchies& hierarchies_;
  const Combinations& table_;
  const std::int32_t* row_of_;
};

// A class with its cover.
struct Covered {
  Members members;
  Levels levels;
  double loss = 0;  // of one record

  static Covered of(Members members, const Covering& covering, const Levels* known = nullptr) {
    Covered made{std::move(members), {}, 0};
    if (made.members.empty()) return made;
    made.levels = covering.cover(made.members, known);
    made.loss = covering.loss(made.levels, covering.leaves(made.members.front()));
    return made;
  }
  std::size_t size() const { return members.size(); }
  // What a record would lose after another one joined the class.
  double loss_with(std::int32_t record, const Covering& covering) const {
    return covering.loss_beside(levels, covering.leaves(members.front()), covering.leaves(record));
  }
  // The class with one more record.
  Covered with(std::int32_t record, const Covering& covering) && {
    if (members.empty()) return of({record}, covering);
    covering.widen(levels, covering.leaves(members.front()), covering.leaves(record));
    members.push_back(record);
    loss = covering.loss(levels, covering.leaves(record));
    return std::move(*this);
  }
  double total() const { return members.empty() ? 0 : loss * static_cast<double>(members.size()); }
};

}  // namespace shoal

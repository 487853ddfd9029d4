// Rows that are near each other in a lattice of generalisations: they share a class at one of some nodes.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "generalisation/classing.hpp"
#include "generalisation/covers.hpp"

namespace shoal {

constexpr std::size_t kCommon = 48;  // nodes that most records of the start are covered at

// Rows that share a class at one of several nodes.
class NearRows {
 public:
  NearRows(Classing& classing, const std::vector<Levels>& nodes, std::size_t rows) {
    std::vector<std::int32_t> all(rows);
    for (std::size_t r = 0; r < rows; ++r) all[r] = static_cast<std::int32_t>(r);
    std::vector<std::int64_t> sizes;
    for (const Levels& node : nodes) {
      Node made;
      made.levels = node;
      classing.classes(node, all, made.class_of, sizes);
      made.start.assign(sizes.size() + 1, 0);
      for (const std::int32_t c : made.class_of) ++made.start[static_cast<std::size_t>(c) + 1];
      for (std::size_t c = 0; c < sizes.size(); ++c) made.start[c + 1] += made.start[c];
      made.rows.resize(rows);
      std::vector<std::int32_t> next(made.start.begin(), made.start.end() - 1);
      for (const std::int32_t r : all) made.rows[static_cast<std::size_t>(next[static_cast<std::size_t>(made.class_of[static_cast<std::size_t>(r)])]++)] = r;
      nodes_.push_back(std::move(made));
    }
  }

  std::int32_t near(std::int32_t row, Random& random) const {
    const Node& node = nodes_[random.below(nodes_.size())];
    const auto c = static_cast<std::size_t>(node.class_of[static_cast<std::size_t>(row)]);
    const auto from = static_cast<std::uint64_t>(node.start[c]), to = static_cast<std::uint64_t>(node.start[c + 1]);
    return node.rows[from + random.below(to - from)];
  }

  // The rows that share a class with a row at one of the nodes.
  struct Cell {
    const Levels& levels;
    const std::int32_t *begin, *end;
  };
  Cell cell(std::int32_t row, Random& random) const {
    const Node& node = nodes_[random.below(nodes_.size())];
    const auto c = static_cast<std::size_t>(node.class_of[static_cast<std::size_t>(row)]);
    return {node.levels, node.rows.data() + node.start[c], node.rows.data() + node.start[c + 1]};
  }

 private:
  struct Node {
    Levels levels;
    std::vector<std::int32_t> class_of, start, rows;
  };
  std::vector<Node> nodes_;
};

// All columns at their lowest level but one or two at the top, and the covers of most records.
inline std::vector<Levels> near_nodes(const Hierarchies& hierarchies, const Covering& covering, const std::vector<std::int32_t>& labels) {
  const std::size_t q = hierarchies.columns();
  std::vector<Levels> nodes;
  for (std::size_t a = 0; a < q; ++a)
    for (std::size_t b = a; b < q; ++b) {
      Levels node(q, 0);
      node[a] = hierarchies.height(a);
      node[b] = hierarchies.height(b);
      nodes.push_back(std::move(node));
    }
  std::vector<Members> members;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0) continue;
    if (static_cast<std::size_t>(labels[i]) >= members.size()) members.resize(static_cast<std::size_t>(labels[i]) + 1);
    members[static_cast<std::size_t>(labels[i])].push_back(static_cast<std::int32_t>(i));
  }
  std::map<Levels, std::size_t> covered;
  for (const Members& list : members)
    if (!list.empty()) covered[covering.cover(list)] += list.size();
  std::vector<std::pair<std::size_t, Levels>> common;
  for (const auto& [levels, count] : covered) common.emplace_back(count, levels);
  std::sort(common.begin(), common.end(), std::greater<>());
  for (std::size_t c = 0; c < std::min(kCommon, common.size()); ++c) nodes.push_back(common[c].second);
  return nodes;
}

}  // namespace shoal

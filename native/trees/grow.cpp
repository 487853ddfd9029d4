// Classification and regression trees (Breiman, Friedman, Olshen & Stone 1984), grown for synthesis: what matters is
// which records share a leaf, for a synthetic value is drawn from the records of its leaf (Reiter 2005).
//
// A node is split where the squared error falls most (numbers), or the Gini impurity times the size (classes). Both
// are "sum of a side's score", with score = sum^2 / n of the numbers, or sum over classes of count^2 / n, so one scan
// serves both: cases move one by one from the right side to the left, and every boundary between different values is
// a candidate. Every ordered feature keeps its cases in ascending order, node by node: a split parts these lists
// stably, so nothing is sorted twice and a level of the tree costs O(n d).
//
// - Missing numbers stand at the end of their feature's list. They go to either side as a block, whichever is better,
//   or make a side of their own.
// - The categories of a nominal feature are put in an order and scanned like numbers: by their mean, which finds the
//   best of all 2^(c-1) divisions (Fisher 1958); with more than two classes by their share of one class, tried for the
//   kOrders most frequent classes of the node.
// - A side has at least min_leaf cases, and the score must rise by `complexity` times the root's impurity.
// - With `features` below the number of features each node looks at so many of them, drawn anew (random forests,
//   Breiman 2001).
//
// Cells are read all over the table while nodes are large. Those of a node of kNear cases, which a near or nearest cache
// holds, are copied side by side, and what lies below it is grown on the copy.
//
// Sums run over the cases in list order and ties go to the feature and boundary that come first, so that the tree is
// the same on every machine.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/kernels.hpp"
#include "core/random.hpp"
#include "core/progress.hpp"
#include "trees/sides.hpp"

namespace shoal {
namespace {

constexpr int kDeepest = 30;
constexpr std::size_t kNear[] = {131072, 8192};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Split {
  double score = -kInfinity;
  int feature = -1;
  double threshold = 0;               // ordered: x <= threshold goes left
  bool missing_left = false;          // ordered: where missing numbers go
  std::vector<std::uint8_t> to_left;  // nominal: by category
};

struct Tree {
  std::vector<std::int32_t> feature, left, right, leaf, mask;
  std::vector<double> threshold;
  std::vector<std::uint8_t> missing_left, masks;
  std::int32_t leaves = 0;

  std::int32_t add() {
    for (auto* list : {&feature, &left, &right, &leaf, &mask}) list->push_back(-1);
    threshold.push_back(0);
    missing_left.push_back(0);
    return static_cast<std::int32_t>(feature.size()) - 1;
  }
};

struct Table {
  const double* x;              // (d, n): categories as codes from 0
  const std::int32_t* levels;   // (d,): categories of a nominal feature, 0 for an ordered one
  std::size_t d, n;
  double at(std::size_t f, Case i) const { return x[f * n + static_cast<std::size_t>(i)]; }
};

struct Limits {
  std::int64_t min_leaf;
  double complexity;
  std::size_t features;
};

template <class Side, class Response>
class Grower {
 public:
  Grower(Table table, const std::int32_t* orders, const Response* y, std::size_t classes, Limits limits,
         std::uint64_t seed)
      : table_(table), y_(y), classes_(classes), limits_(limits), random_(seed), lists_(table.d + 1),
        left_(classes), right_(classes), goes_left_(table.n), leaf_of_(table.n) {
    for (std::size_t f = 0; f < table_.d; ++f)
      if (table_.levels[f] == 0) lists_[f].assign(orders + f * table_.n, orders + (f + 1) * table_.n);
    lists_[table_.d].resize(table_.n);
    std::iota(lists_[table_.d].begin(), lists_[table_.d].end(), 0);
  }

  std::pair<Tree, std::vector<std::int32_t>> grow(Progress& progress) {
    grow_below({tree_.add(), 0, table_.n, 0}, progress);
    return {std::move(tree_), std::move(leaf_of_)};
  }

 private:
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  const std::vector<Case>& rows() const { return lists_[table_.d]; }

  struct Task { std::int32_t node; std::size_t begin, end; int depth; };

  void grow_below(const Task& top, Progress& progress) {
    std::vector<Task> open{top};
    while (!open.empty()) {
      const Task task = open.back();
      open.pop_back();
      if (worth_a_copy(task.end - task.begin)) {
        grow_near(task, progress);
        continue;
      }
      Split split;
      if (task.depth < kDeepest) split = best(task.begin, task.end);
      if (split.feature < 0) {
        close(task.node, task.begin, task.end);
        progress.look(static_cast<double>(done_) / static_cast<double>(leaf_of_.size()));
        continue;
      }
      const std::size_t middle = part(split, task.begin, task.end);
      write(task.node, split);
      const auto left = tree_.add(), right = tree_.add();
      tree_.left[index(task.node)] = left;
      tree_.right[index(task.node)] = right;
      open.push_back({right, middle, task.end, task.depth + 1});
      open.push_back({left, task.begin, middle, task.depth + 1});
    }
  }

  bool worth_a_copy(std::size_t cases) const {
    for (const std::size_t near : kNear)
      if (cases <= near && table_.n > 2 * near) return true;
    return false;
  }

  // The same on a table of the node's cases alone.
  void grow_near(const Task& task, Progress& progress) {
    const std::size_t m = task.end - task.begin;
    const Case* const cases = rows().data() + task.begin;
    place_of_.resize(table_.n);
    for (std::size_t i = 0; i < m; ++i) place_of_[index(cases[i])] = static_cast<Case>(i);
    std::vector<double> x(table_.d * m);
    std::vector<Response> y(m);
    for (std::size_t f = 0; f < table_.d; ++f)
      for (std::size_t i = 0; i < m; ++i) x[f * m + i] = table_.at(f, cases[i]);
    for (std::size_t i = 0; i < m; ++i) y[i] = y_[cases[i]];
    std::vector<Case> near(m);
    for (std::size_t i = 0; i < m; ++i) near[i] = original(cases[i]);
    std::vector<std::vector<Case>> lists(lists_.size());
    for (std::size_t f = 0; f < lists_.size(); ++f)
      for (std::size_t i = task.begin; i < task.end && !lists_[f].empty(); ++i)
        lists[f].push_back(place_of_[index(lists_[f][i])]);
    const Table whole = std::exchange(table_, {x.data(), table_.levels, table_.d, m});
    const Response* const all = y_;
    std::swap(lists_, lists);
    std::swap(near_, near);
    y_ = y.data();
    grow_below({task.node, 0, m, task.depth}, progress);
    y_ = all;
    std::swap(near_, near);
    std::swap(lists_, lists);
    table_ = whole;
  }

  // The case of the table that came in.
  Case original(Case i) const { return near_.empty() ? i : near_[index(i)]; }

  Split best(std::size_t begin, std::size_t end) {
    Split winner;
    if (static_cast<std::int64_t>(end - begin) < 2 * limits_.min_leaf) return winner;
    right_.clear();
    double alone = 0;  // the score if every case were by itself: what is left of it without the node's is its impurity
    for (std::size_t i = begin; i < end; ++i) {
      const Response y = y_[rows()[i]];
      right_.add(y);
      alone += classes_ ? 1.0 : static_cast<double>(y) * static_cast<double>(y);
    }
    const double now = right_.score(), impurity = alone - now;
    if (root_ < 0) root_ = impurity;
    for (const std::size_t f : looked_at()) {
      if (table_.levels[f] == 0)
        scan_numbers(f, begin, end, winner);
      else
        scan_categories(f, begin, end, winner);
    }
    const double gain = winner.score - now;
    if (!(gain > 1e-12 * root_) || gain < limits_.complexity * root_) winner.feature = -1;
    return winner;
  }

  std::vector<std::size_t> looked_at() {
    std::vector<std::size_t> all(table_.d);
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (limits_.features >= table_.d) return all;
    for (std::size_t i = 0; i < limits_.features; ++i)
      std::swap(all[i], all[i + static_cast<std::size_t>(random_.below(table_.d - i))]);
    all.resize(limits_.features);
    return all;
  }

  bool improves(const Split& winner) const {
    return left_.size() >= limits_.min_leaf && right_.size() >= limits_.min_leaf &&
           left_.score() + right_.score() > winner.score;
  }

  void scan_numbers(std::size_t f, std::size_t begin, std::size_t end, Split& winner) {
    const std::size_t m = end - begin;
    const Case* list = lists_[f].data() + begin;
    x_in_order_.resize(m), y_in_order_.resize(m);  // read all over the table once
    for (std::size_t i = 0; i < m; ++i) x_in_order_[i] = table_.at(f, list[i]), y_in_order_[i] = y_[list[i]];
    const double* x = x_in_order_.data();
    const Response* y = y_in_order_.data();
    std::size_t known = m;
    while (known > 0 && std::isnan(x[known - 1])) --known;
    for (const bool missing_left : {false, true}) {
      if (missing_left && known == m) break;
      left_.clear(), right_.clear();
      for (std::size_t i = 0; i < m; ++i) (missing_left && i >= known ? left_ : right_).add(y[i]);
      for (std::size_t i = 0; i < known; ++i) {
        left_.add(y[i]), right_.drop(y[i]);
        const double next = i + 1 < known ? x[i + 1] : kInfinity;
        if (x[i] == next || (i + 1 == known && missing_left) || !improves(winner)) continue;
        winner = Split{left_.score() + right_.score(), static_cast<int>(f), i + 1 < known ? x[i] : kInfinity,
                      missing_left, {}};
      }
    }
  }

  void scan_categories(std::size_t f, std::size_t begin, std::size_t end, Split& winner) {
    const auto count = static_cast<std::size_t>(table_.levels[f]);
    starts_.assign(count + 1, 0);
    for (std::size_t i = begin; i < end; ++i) ++starts_[category(f, rows()[i]) + 1];
    for (std::size_t c = 0; c < count; ++c) starts_[c + 1] += starts_[c];
    members_.resize(end - begin);
    auto next = starts_;
    for (std::size_t i = begin; i < end; ++i) members_[next[category(f, rows()[i])]++] = rows()[i];
    std::vector<std::size_t> present;
    for (std::size_t c = 0; c < count; ++c)
      if (starts_[c + 1] > starts_[c]) present.push_back(c);
    if (present.size() < 2) return;
    const auto chosen = leading(begin, end);
    for (const Response target : chosen) {
      const auto keys = means(present, target);
      std::vector<std::size_t> sequence(present.size());
      std::iota(sequence.begin(), sequence.end(), std::size_t{0});
      std::stable_sort(sequence.begin(), sequence.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
      scan_sequence(f, present, sequence, winner);
    }
  }

  void scan_sequence(std::size_t f, const std::vector<std::size_t>& present, const std::vector<std::size_t>& sequence,
                     Split& winner) {
    left_.clear(), right_.clear();
    for (const Case i : members_) right_.add(y_[i]);
    for (std::size_t s = 0; s + 1 < sequence.size(); ++s) {
      const std::size_t c = present[sequence[s]];
      for (std::size_t i = starts_[c]; i < starts_[c + 1]; ++i) left_.add(y_[members_[i]]), right_.drop(y_[members_[i]]);
      if (!improves(winner)) continue;
      winner = Split{left_.score() + right_.score(), static_cast<int>(f), 0, false, {}};
      winner.to_left.assign(static_cast<std::size_t>(table_.levels[f]), 0);
      for (std::size_t before = 0; before <= s; ++before) winner.to_left[present[sequence[before]]] = 1;
      // categories that the node lacks go where more cases are
      if (left_.size() > right_.size())
        for (std::size_t other = 0; other < winner.to_left.size(); ++other)
          if (starts_[other + 1] == starts_[other]) winner.to_left[other] = 1;
    }
  }

  std::size_t category(std::size_t f, Case i) const { return static_cast<std::size_t>(table_.at(f, i)); }

  // What categories are ordered by: nothing in particular for numbers, the node's most frequent classes otherwise.
  std::vector<Response> leading(std::size_t begin, std::size_t end) {
    if (!classes_) return {Response{}};
    if (classes_ == 2) return {static_cast<Response>(1)};
    std::vector<std::int64_t> count(classes_);
    for (std::size_t i = begin; i < end; ++i) ++count[static_cast<std::size_t>(y_[rows()[i]])];
    std::vector<Response> order(classes_);
    std::iota(order.begin(), order.end(), Response{});
    std::stable_sort(order.begin(), order.end(), [&](Response a, Response b) {
      return count[static_cast<std::size_t>(a)] > count[static_cast<std::size_t>(b)];
    });
    order.resize(orders_of(y_, classes_));
    return order;
  }

  // Each present category's mean, or its share of the target class.
  std::vector<double> means(const std::vector<std::size_t>& present, Response target) const {
    std::vector<double> keys;
    for (const std::size_t c : present) {
      double sum = 0;
      for (std::size_t i = starts_[c]; i < starts_[c + 1]; ++i) {
        const Response y = y_[members_[i]];
        sum += classes_ ? (y == target ? 1.0 : 0.0) : static_cast<double>(y);
      }
      keys.push_back(sum / static_cast<double>(starts_[c + 1] - starts_[c]));
    }
    return keys;
  }

  std::size_t part(const Split& split, std::size_t begin, std::size_t end) {
    const auto f = static_cast<std::size_t>(split.feature);
    for (std::size_t i = begin; i < end; ++i) {
      const Case row = rows()[i];
      const double value = table_.at(f, row);
      goes_left_[index(row)] = table_.levels[f] ? split.to_left[static_cast<std::size_t>(value)]
                               : std::isnan(value) ? split.missing_left
                                                   : value <= split.threshold;
    }
    std::size_t middle = begin;
    spare_.resize(end - begin);
    for (auto& list : lists_) {
      if (list.empty()) continue;
      std::size_t to = begin;
      for (std::size_t i = begin; i < end; ++i) {  // without a branch, for which side comes next is not to be foreseen
        const Case row = list[i];
        list[to] = spare_[i - to] = row;
        to += goes_left_[index(row)];
      }
      std::copy_n(spare_.begin(), end - to, list.begin() + static_cast<std::ptrdiff_t>(to));
      middle = to;
    }
    return middle;
  }

  void write(std::int32_t node, const Split& split) {
    tree_.feature[index(node)] = split.feature;
    tree_.threshold[index(node)] = split.threshold;
    tree_.missing_left[index(node)] = split.missing_left;
    if (split.to_left.empty()) return;
    tree_.mask[index(node)] = static_cast<std::int32_t>(tree_.masks.size());
    tree_.masks.insert(tree_.masks.end(), split.to_left.begin(), split.to_left.end());
  }

  void close(std::int32_t node, std::size_t begin, std::size_t end) {
    tree_.leaf[index(node)] = tree_.leaves;
    for (std::size_t i = begin; i < end; ++i) leaf_of_[index(original(rows()[i]))] = tree_.leaves;
    ++tree_.leaves;
    done_ += end - begin;
  }

  Table table_;
  const Response* y_;
  std::size_t classes_;
  Limits limits_;
  Random random_;
  std::vector<std::vector<Case>> lists_;  // by feature: a node's cases in order; the last: in row order
  Side left_, right_;
  std::vector<std::uint8_t> goes_left_;
  std::vector<std::int32_t> leaf_of_;
  std::vector<double> x_in_order_;        // of a node's cases, in the order of a feature
  std::vector<Response> y_in_order_;
  std::vector<std::size_t> starts_;
  std::vector<Case> members_, spare_;
  std::vector<Case> near_, place_of_;  // cases of the node whose copy is grown on, and where each stands in it
  Tree tree_;
  double root_ = -1;
  std::size_t done_ = 0;
};

auto as_arrays(std::pair<Tree, std::vector<std::int32_t>>&& grown) {
  Tree& tree = grown.first;
  auto nodes = std::make_tuple(to_numpy(std::move(tree.feature)), to_numpy(std::move(tree.threshold)),
                               to_numpy(std::move(tree.missing_left)), to_numpy(std::move(tree.mask)),
                               to_numpy(std::move(tree.left)), to_numpy(std::move(tree.right)),
                               to_numpy(std::move(tree.leaf)), to_numpy(std::move(tree.masks)));
  return std::pair(std::move(nodes), to_numpy(std::move(grown.second)));
}

template <class Side, class Response, class Array>
auto grown(Matrix x, Ints levels, IntMatrix orders, Array y, std::size_t classes, const Limits& limits,
           std::uint64_t seed, Listener listener) {
  Progress progress(listener);
  std::pair<Tree, std::vector<std::int32_t>> result;
  {
    nb::gil_scoped_release free_lock;
    const Table table{x.data(), levels.data(), x.shape(0), x.shape(1)};
    Grower<Side, Response> grower(table, orders.data(), y.data(), classes, limits, seed);
    result = grower.grow(progress);
  }
  return as_arrays(std::move(result));
}

auto grow_numbers(Matrix x, Ints levels, IntMatrix orders, Vector y, std::int64_t min_leaf, double complexity,
                  std::size_t features, std::uint64_t seed, Listener listener) {
  return grown<NumberSide, double>(x, levels, orders, y, 0, {min_leaf, complexity, features}, seed, listener);
}

auto grow_classes(Matrix x, Ints levels, IntMatrix orders, Ints y, std::size_t classes, std::int64_t min_leaf,
                  double complexity, std::size_t features, std::uint64_t seed, Listener listener) {
  return grown<ClassSide, std::int32_t>(x, levels, orders, y, classes, {min_leaf, complexity, features}, seed, listener);
}

const Kernel grow_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("grow_numbers", &grow_numbers, "x"_a, "levels"_a, "orders"_a, "y"_a, "min_leaf"_a, "complexity"_a, "features"_a,
        "seed"_a, "progress"_a.none() = nb::none(),
        "Grow a tree for numbers, scaled and centred: its nodes, as `tree_leaves` takes them, and the leaf of each case.");
  m.def("grow_classes", &grow_classes, "x"_a, "levels"_a, "orders"_a, "y"_a, "classes"_a, "min_leaf"_a, "complexity"_a,
        "features"_a, "seed"_a, "progress"_a.none() = nb::none(), "As `grow_numbers`, for classes from 0 to classes - 1.");
});

}  // namespace
}  // namespace shoal

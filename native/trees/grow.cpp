// Classification and regression trees (Breiman, Friedman, Olshen & Stone 1984), grown for synthesis: what matters is
// which records share a leaf, for a synthetic value is drawn from the records of its leaf (Reiter 2005).
//
// A node is split where the squared error falls most (numbers), or the Gini impurity times the size (classes). Both
// are "sum of a side's score", with score = sum^2 / n of the numbers, or sum over classes of count^2 / n, so one scan
// serves both: cases move one by one from the right side to the left, and every boundary between different values is
// a candidate. Every ordered feature keeps its cases in ascending order, node by node (cases.hpp): a split parts these
// lists stably, so nothing is sorted twice and a level of the tree costs O(n d). Below the last split none are parted.
// A case may count several times, as those that are drawn repeatedly do.
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
#include "trees/cases.hpp"
#include "trees/nodes.hpp"

namespace shoal {
namespace {

constexpr int kDeepest = 30;
constexpr std::size_t kNear[] = {131072, 8192};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Split {
  double score = -kInfinity;
  int feature = -1;
  std::size_t count = 0;              // ordered: the first so many cases of the list go left
  bool missing_left = false;          // ordered: where missing numbers go
  bool known_left = false;            // ordered: whether all others do
  std::vector<std::uint8_t> to_left;  // nominal: by category
};

struct Limits {
  std::int64_t min_leaf;
  double complexity;
  std::size_t features;
};

template <class Side, class Response>
class Grower {
 public:
  Grower(const TreeTable& table, const Response* y, std::size_t classes, Limits limits, std::uint64_t seed)
      : table_(table), classes_(classes), limits_(limits), random_(seed), cases_(Cases<Response>::of(table, y)),
        left_counts_(classes), right_counts_(classes), goes_left_(cases_.size()) {
    root_ = 0;  // the impurity: what the score lacks of that of every case by itself
    Side all(right_counts_);
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      root_ += Side::alone(cases_.y[i], cases_.times[i]);
      all.add(cases_.y[i], cases_.times[i]);
    }
    root_ -= score(all);
    cases_in_all_ = all.size();
  }

  Tree grow(Progress& progress) {
    grow_below({tree_.add(), 0, cases_.size(), 0, cases_in_all_}, progress);
    return std::move(tree_);
  }

 private:
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  const std::vector<Case>& rows() const { return cases_.rows(); }

  // A node, its range of the lists, and how many cases that is if each counts as often as it does.
  struct Task { std::int32_t node; std::size_t begin, end; int depth; std::int64_t size; };

  bool open(const Task& task) const { return task.depth < kDeepest && task.size >= 2 * limits_.min_leaf; }

  void grow_below(const Task& top, Progress& progress) {
    std::vector<Task> tasks{top};
    while (!tasks.empty()) {
      const Task task = tasks.back();
      tasks.pop_back();
      if (worth_a_copy(task.end - task.begin)) {
        grow_near(task, progress);
        continue;
      }
      Split split;
      if (open(task)) split = best(task.begin, task.end);
      if (split.feature < 0) {
        close(task);
        progress.tick(static_cast<double>(tree_.members.size()) / static_cast<double>(cases_in_all_));
        continue;
      }
      write(task, split);
      const auto left = tree_.add(), right = tree_.add();
      tree_.left[index(task.node)] = left;
      tree_.right[index(task.node)] = right;
      const auto [middle, size] = send(split, task.begin, task.end);
      const Task lower{left, task.begin, middle, task.depth + 1, size};
      const Task upper{right, middle, task.end, task.depth + 1, task.size - size};
      part(cases_.lists.back(), task.begin, task.end);
      if (open(lower) || open(upper)) part_features(split, task.begin, task.end);
      tasks.push_back(upper);
      tasks.push_back(lower);
    }
  }

  bool worth_a_copy(std::size_t cases) const {
    for (const std::size_t near : kNear)
      if (cases <= near && cases_.size() > 2 * near) return true;
    return false;
  }

  // The same on a table of the node's cases alone.
  void grow_near(const Task& task, Progress& progress) {
    place_of_.resize(std::max(place_of_.size(), cases_.size()));
    Cases<Response> all = cases_.part(task.begin, task.end, place_of_);
    std::swap(cases_, all);
    grow_below({task.node, 0, cases_.size(), task.depth, task.size}, progress);
    std::swap(cases_, all);
  }

  Split best(std::size_t begin, std::size_t end) {
    Split winner;
    now_ = 0;
    look();
    for (const std::size_t f : looked_at_) {
      if (table_.levels[f] == 0)
        scan_numbers(f, begin, end, winner);
      else
        scan_categories(f, begin, end, winner);
    }
    const double gain = winner.score - now_;
    if (!(gain > 1e-12 * root_) || gain < limits_.complexity * root_) winner.feature = -1;
    return winner;
  }

  // Choose the features that a node looks at.
  void look() {
    looked_at_.resize(table_.d);
    std::iota(looked_at_.begin(), looked_at_.end(), std::size_t{0});
    if (limits_.features >= table_.d) return;
    for (std::size_t i = 0; i < limits_.features; ++i)
      std::swap(looked_at_[i], looked_at_[i + static_cast<std::size_t>(random_.below(table_.d - i))]);
    looked_at_.resize(limits_.features);
  }

  void scan_numbers(std::size_t f, std::size_t begin, std::size_t end, Split& winner) {
    const std::size_t m = end - begin;
    const Case* list = cases_.lists[f].data() + begin;
    const std::int32_t* codes = cases_.codes[f].data();
    codes_in_order_.resize(m + 1), in_order_.resize(m);  // read all over the table once
    Side all(right_counts_);
    std::size_t known = m;
    for (std::size_t i = 0; i < m; ++i) {
      const std::size_t row = index(list[i]);
      codes_in_order_[i] = codes[row];
      in_order_[i] = {cases_.y[row], cases_.times[row]};
      all.add(in_order_[i].y, in_order_[i].times);
    }
    codes_in_order_[m] = -1;
    while (known > 0 && codes_in_order_[known - 1] == kMissing) --known;
    now_ = score(all);
    scan_known(f, known, all, Side(left_counts_), false, winner);
    if (known == m) return;
    Side left(left_counts_), right(right_counts_);
    for (std::size_t i = 0; i < m; ++i) (i < known ? right : left).add(in_order_[i].y, in_order_[i].times);
    scan_known(f, known, right, left, true, winner);
  }

  // Let known numbers go from the right to the left one by one.
  void scan_known(std::size_t f, std::size_t known, Side right, Side left, bool missing_left, Split& winner) {
    for (std::size_t i = 0; i < known; ++i) {
      left.add(in_order_[i].y, in_order_[i].times), right.drop(in_order_[i].y, in_order_[i].times);
      if (codes_in_order_[i] == codes_in_order_[i + 1] || !better(left, right, limits_.min_leaf, winner.score)) continue;
      winner = Split{score(left) + score(right), static_cast<int>(f), i + 1, missing_left, i + 1 == known, {}};
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
    Side left(left_counts_), right(right_counts_);
    for (const Case i : members_) right.add(cases_.y[index(i)], cases_.times[index(i)]);
    now_ = score(right);
    for (std::size_t s = 0; s + 1 < sequence.size(); ++s) {
      const std::size_t c = present[sequence[s]];
      for (std::size_t i = starts_[c]; i < starts_[c + 1]; ++i) {
        const std::size_t row = index(members_[i]);
        left.add(cases_.y[row], cases_.times[row]), right.drop(cases_.y[row], cases_.times[row]);
      }
      if (!better(left, right, limits_.min_leaf, winner.score)) continue;
      winner = Split{score(left) + score(right), static_cast<int>(f), 0, false, false, {}};
      winner.to_left.assign(static_cast<std::size_t>(table_.levels[f]), 0);
      for (std::size_t before = 0; before <= s; ++before) winner.to_left[present[sequence[before]]] = 1;
      // categories that the node lacks go where more cases are
      if (left.size() > right.size())
        for (std::size_t other = 0; other < winner.to_left.size(); ++other)
          if (starts_[other + 1] == starts_[other]) winner.to_left[other] = 1;
    }
  }

  std::size_t category(std::size_t f, Case i) const { return index(cases_.codes[f][index(i)]); }

  // What categories are ordered by: nothing in particular for numbers, the node's most frequent classes otherwise.
  std::vector<Response> leading(std::size_t begin, std::size_t end) {
    if (!classes_) return {Response{}};
    if (classes_ == 2) return {static_cast<Response>(1)};
    std::vector<std::int64_t> count(classes_);
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t row = index(rows()[i]);
      count[static_cast<std::size_t>(cases_.y[row])] += cases_.times[row];
    }
    std::vector<Response> order(classes_);
    std::iota(order.begin(), order.end(), Response{});
    std::stable_sort(order.begin(), order.end(), [&](Response a, Response b) {
      return count[static_cast<std::size_t>(a)] > count[static_cast<std::size_t>(b)];
    });
    order.resize(orders_of(cases_.y.data(), classes_));
    return order;
  }

  // Each present category's mean, or its share of the target class.
  std::vector<double> means(const std::vector<std::size_t>& present, Response target) const {
    std::vector<double> keys;
    for (const std::size_t c : present) {
      double sum = 0;
      std::int64_t size = 0;
      for (std::size_t i = starts_[c]; i < starts_[c + 1]; ++i) {
        const std::size_t row = index(members_[i]);
        sum += !classes_ ? static_cast<double>(cases_.y[row]) : cases_.y[row] == target ? cases_.times[row] : 0;
        size += cases_.times[row];
      }
      keys.push_back(sum / static_cast<double>(size));
    }
    return keys;
  }

  // Note for every case of a node on which side it goes; where the right side begins, and how many the left one's are if
  // each counts as often as it does.
  std::pair<std::size_t, std::int64_t> send(const Split& split, std::size_t begin, std::size_t end) {
    const auto f = static_cast<std::size_t>(split.feature);
    const std::vector<Case>& list = table_.levels[f] ? rows() : cases_.lists[f];
    const std::int32_t* codes = cases_.codes[f].data();
    std::size_t middle = begin;
    std::int64_t size = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t row = index(list[i]);
      const bool left = table_.levels[f]                               ? split.to_left[index(codes[row])]
                        : i >= begin + split.count && split.missing_left ? codes[row] == kMissing
                                                                       : i < begin + split.count;
      goes_left_[row] = left;
      middle += left;
      size += left ? cases_.times[row] : 0;
    }
    return {middle, size};
  }

  void part_features(const Split& split, std::size_t begin, std::size_t end) {
    for (std::size_t f = 0; f < table_.d; ++f) {
      const bool parted = static_cast<int>(f) == split.feature && !split.missing_left;
      if (table_.levels[f] == 0 && !parted) part(cases_.lists[f], begin, end);
    }
  }

  // Bring the left side's cases of a list to the front.
  void part(std::vector<Case>& list, std::size_t begin, std::size_t end) {
    spare_.resize(std::max(spare_.size(), end - begin));
    Case *const own = list.data(), *const spare = spare_.data();
    std::size_t to = begin;
    for (std::size_t i = begin; i < end; ++i) {  // without a branch, for which side comes next is not to be foreseen
      const Case row = own[i];
      own[to] = spare[i - to] = row;
      to += goes_left_[index(row)];
    }
    std::copy_n(spare, end - to, own + to);
  }

  void write(const Task& task, const Split& split) {
    const std::size_t node = index(task.node), f = static_cast<std::size_t>(split.feature);
    tree_.feature[node] = split.feature;
    tree_.missing_left[node] = split.missing_left;
    if (!split.to_left.empty()) {
      tree_.mask[node] = static_cast<std::int32_t>(tree_.masks.size());
      tree_.masks.insert(tree_.masks.end(), split.to_left.begin(), split.to_left.end());
    } else if (split.known_left) {
      tree_.threshold[node] = kInfinity;
    } else {
      tree_.threshold[node] = table_.at(f, cases_.original[index(cases_.lists[f][task.begin + split.count - 1])]);
    }
  }

  void close(const Task& task) {
    tree_.leaf[index(task.node)] = static_cast<std::int32_t>(tree_.sizes.size());
    tree_.sizes.push_back(static_cast<std::int32_t>(task.size));
    for (std::size_t i = task.begin; i < task.end; ++i) {
      const std::size_t row = index(rows()[i]);
      tree_.members.insert(tree_.members.end(), index(cases_.times[row]), cases_.original[row]);
    }
  }

  struct Counted { Response y; std::int32_t times; };

  const TreeTable table_;
  std::size_t classes_;
  Limits limits_;
  Random random_;
  Cases<Response> cases_;
  Counts left_counts_, right_counts_;
  std::vector<std::uint8_t> goes_left_;
  std::vector<std::int32_t> codes_in_order_;  // of a node's cases, in the order of a feature
  std::vector<Counted> in_order_;
  std::vector<std::size_t> looked_at_, starts_;
  std::vector<Case> members_, spare_, place_of_;
  Tree tree_;
  double root_, now_ = 0;
  std::int64_t cases_in_all_;
};

auto as_arrays(Tree&& tree) {
  auto nodes = std::make_tuple(to_numpy(std::move(tree.feature)), to_numpy(std::move(tree.threshold)),
                               to_numpy(std::move(tree.missing_left)), to_numpy(std::move(tree.mask)),
                               to_numpy(std::move(tree.left)), to_numpy(std::move(tree.right)),
                               to_numpy(std::move(tree.leaf)), to_numpy(std::move(tree.masks)));
  return std::make_tuple(std::move(nodes), to_numpy(std::move(tree.members)), to_numpy(std::move(tree.sizes)));
}

template <class Side, class Response, class Array>
auto grown(Matrix x, Ints levels, IntMatrix orders, Array y, Ints times, std::size_t classes, const Limits& limits,
           std::uint64_t seed, Listener listener) {
  Progress progress(listener);
  Tree tree;
  {
    nb::gil_scoped_release free_lock;
    const TreeTable table{x.data(), levels.data(), orders.data(), times.data(), x.shape(0), x.shape(1)};
    tree = Grower<Side, Response>(table, y.data(), classes, limits, seed).grow(progress);
  }
  return as_arrays(std::move(tree));
}

auto grow_numbers(Matrix x, Ints levels, IntMatrix orders, Vector y, Ints times, std::int64_t min_leaf, double complexity,
                  std::size_t features, std::uint64_t seed, Listener listener) {
  return grown<NumberSide, double>(x, levels, orders, y, times, 0, {min_leaf, complexity, features}, seed, listener);
}

auto grow_classes(Matrix x, Ints levels, IntMatrix orders, Ints y, Ints times, std::size_t classes, std::int64_t min_leaf,
                  double complexity, std::size_t features, std::uint64_t seed, Listener listener) {
  const Limits limits{min_leaf, complexity, features};
  return grown<ClassSide, std::int32_t>(x, levels, orders, y, times, classes, limits, seed, listener);
}

const Kernel grow_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("grow_numbers", &grow_numbers, "x"_a, "levels"_a, "orders"_a, "y"_a, "times"_a, "min_leaf"_a, "complexity"_a,
        "features"_a, "seed"_a, "progress"_a.none() = nb::none(),
        "Grow a tree for numbers, scaled and centred, each times how often its case counts: its nodes, as `tree_leaves` "
        "takes them, its cases leaf by leaf, as often as they count, and how many each leaf has.");
  m.def("grow_classes", &grow_classes, "x"_a, "levels"_a, "orders"_a, "y"_a, "times"_a, "classes"_a, "min_leaf"_a,
        "complexity"_a, "features"_a, "seed"_a, "progress"_a.none() = nb::none(),
        "As `grow_numbers`, for classes from 0 to classes - 1.");
});

}  // namespace
}  // namespace shoal

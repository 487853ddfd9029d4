// mu-Approx (Domingo-Ferrer, Sebe & Solanas 2008): a forest of nearest neighbours, cut into groups.
//
// Forest (Aggarwal et al. 2005). Every record begins as a tree of its own. While a tree holds fewer than k
// records, its root (the one record without an outgoing edge) is joined to the nearest record outside of the
// tree. At most k - 2 others of the tree can be nearer, so every edge leads to one of the k - 1 nearest others
// of the record it leaves. Any group of k or more that holds the record has a member at least that far away:
// this is the whole of the guarantee. The tree of the first row grows until it holds k, then that of the second
// row, and so on. A record asks at most once, for at most k neighbours, and the search by the tree of shrinking
// boxes (tree.hpp) answers exactly, ties going to the lowest row.
//
// Decomposition. A tree of s > max(2k - 1, 3k - 5) records is rooted at a record u whose child subtrees hold at
// most s / 2 each; subtrees of k or more are cut off as long as k records stay behind. If every subtree left is
// smaller, one of k - 1 makes a group with u itself, and otherwise subtrees are gathered until they hold k (or
// k - 1, and take u). The place of u, once it is given away, is held by a Steiner vertex that counts for
// nothing and only keeps the other subtrees together. All cuts at one u are made in one pass, the largest part
// is half of the tree, so the whole takes O(n log n) even for a star.
//
// A real u always yields a cut: with subtrees of at most k - 2, those gathered hold at most 2k - 4, of 3k - 4 or
// more. A Steiner u may not (subtrees k - 1, k - 1, k - 1), but then at most 3k - 3 records are left on it.
#include "core/progress.hpp"
#include "core/words.hpp"
#include "search/brute.hpp"
#include "search/coded_points.hpp"

namespace shoal {
namespace {

// ---- Forest ----------------------------------------------------------------------------------------------

// Which records hang together, how many, and which of them is the root (union by size, path halving).
class Components {
 public:
  explicit Components(std::size_t n) : parent_(n), root_(n), size_(n, 1) {
    std::iota(parent_.begin(), parent_.end(), 0);
    root_ = parent_;
  }
  std::int32_t of(std::int32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  std::size_t size(std::int32_t i) { return size_[of(i)]; }
  std::int32_t root(std::int32_t i) { return root_[of(i)]; }
  // The tree of `a` is joined to that of `b`, whose root stays the root.
  void join(std::int32_t a, std::int32_t b) {
    const std::int32_t stays = root(b);
    a = of(a);
    b = of(b);
    if (size_[a] < size_[b]) std::swap(a, b);
    parent_[b] = a;
    size_[a] += size_[b];
    root_[a] = stays;
  }

 private:
  std::vector<std::int32_t> parent_, root_;
  std::vector<std::size_t> size_;
};

// For every record the other end of its outgoing edge, -1 for roots. There must be k records or more.
template <class Engine, class Points>
std::vector<std::int32_t> grow(const Points& table, std::size_t k, bool simd, Progress& progress) {
  std::vector<std::int32_t> edge(table.n, -1);
  Engine engine(table, all_rows(table.n), scans_for(table, simd));
  Components trees(table.n);
  std::vector<Neighbour> near;
  std::size_t edges = 0;
  for (std::int32_t row = 0; row < static_cast<std::int32_t>(table.n); ++row)
    while (trees.size(row) < k) {
      const std::int32_t u = trees.root(row);
      engine.nearest(table.row(u), u, trees.size(u) + 1, near);
      edge[u] = std::find_if(near.begin(), near.end(), [&](const Neighbour& v) {
                  return trees.of(v.row) != trees.of(u);
                })->row;
      trees.join(u, edge[u]);
      progress.tick(static_cast<double>(++edges) / static_cast<double>(table.n));
    }
  return edge;
}

// ---- Decomposition ---------------------------------------------------------------------------------------

constexpr std::int32_t kSteiner = -1;

// A tree: its vertices' rows (kSteiner for none) and, for all but the first, the place of their parent, which
// comes before them.
struct Shoot {
  std::vector<std::int32_t> row;
  std::vector<std::size_t> parent;
  std::size_t records() const {
    return row.size() - static_cast<std::size_t>(std::count(row.begin(), row.end(), kSteiner));
  }
  void add(std::int32_t r, std::size_t p) {
    row.push_back(r);
    parent.push_back(p);
  }
};

// A tree seen from the vertex whose subtrees hold at most half of the records each.
class Balanced {
 public:
  explicit Balanced(const Shoot& tree) : tree_(tree), count_(tree.row.size()), start_(tree.row.size() + 1, 0) {
    for (std::size_t v = 1; v < tree.row.size(); ++v) {
      ++start_[v + 1];
      ++start_[tree.parent[v] + 1];
    }
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    beside_.resize(start_.back());
    auto next = start_;
    for (std::size_t v = 1; v < tree.row.size(); ++v) {
      beside_[next[v]++] = tree.parent[v];
      beside_[next[tree.parent[v]]++] = v;
    }
    for (std::size_t v = tree.row.size(); v-- > 0;) {
      count_[v] += tree.row[v] != kSteiner;
      if (v > 0) count_[tree.parent[v]] += count_[v];
    }
    root_ = centre();
    for (std::size_t e = start_[root_]; e < start_[root_ + 1]; ++e)
      children_.push_back({records_at(beside_[e]), beside_[e]});
    std::stable_sort(children_.begin(), children_.end(),
                     [](const Child& a, const Child& b) { return a.records > b.records; });
  }

  struct Child {
    std::size_t records, vertex;
  };
  const std::vector<Child>& children() const { return children_; }
  std::int32_t root() const { return tree_.row[root_]; }

  // Append the subtree of a child of the root below vertex `below` of another tree, or as its beginning.
  void copy(std::size_t child, Shoot& to, std::size_t below) {
    walk_.assign(1, {child, root_, below});
    for (std::size_t at = 0; at < walk_.size(); ++at) {
      const Visit visit = walk_[at];
      const std::size_t self = to.row.size();
      to.add(tree_.row[visit.vertex], visit.below);
      for (std::size_t e = start_[visit.vertex]; e < start_[visit.vertex + 1]; ++e)
        if (beside_[e] != visit.from) walk_.push_back({beside_[e], visit.vertex, self});
    }
  }

 private:
  struct Visit {
    std::size_t vertex, from, below;
  };

  // From the first vertex into the subtree that holds more than half, as long as there is one.
  std::size_t centre() const {
    for (std::size_t v = 0;;) {
      std::size_t heavy = v;
      for (std::size_t e = start_[v]; e < start_[v + 1]; ++e)
        if ((v == 0 || beside_[e] != tree_.parent[v]) && 2 * count_[beside_[e]] > count_[0]) heavy = beside_[e];
      if (heavy == v) return v;
      v = heavy;
    }
  }

  // Records of the subtree at a vertex beside the root, seen from the root.
  std::size_t records_at(std::size_t v) const {
    const bool above = root_ > 0 && tree_.parent[root_] == v;
    return above ? count_[0] - count_[root_] : count_[v];
  }

  const Shoot& tree_;
  std::size_t root_ = 0;
  std::vector<std::size_t> count_, start_, beside_;  // records below each vertex; neighbours, vertex by vertex
  std::vector<Child> children_;                      // largest first
  std::vector<Visit> walk_;
};

class Decomposer {
 public:
  Decomposer(std::size_t n, std::size_t k)
      : k_(k), limit_(std::max(2 * k - 1, 3 * k < 5 ? std::size_t{0} : 3 * k - 5)), labels_(n, 0) {}

  void add(Shoot tree) {
    pending_.push_back(std::move(tree));
    while (!pending_.empty()) {
      const Shoot next = std::move(pending_.back());
      pending_.pop_back();
      next.records() > limit_ ? split(next) : finish(next);
    }
  }

  std::vector<std::int32_t> labels() { return std::move(labels_); }

 private:
  void finish(const Shoot& tree) {
    for (const std::int32_t row : tree.row)
      if (row != kSteiner) labels_[static_cast<std::size_t>(row)] = groups_;
    ++groups_;
  }

  void split(const Shoot& tree) {
    Balanced seen(tree);
    std::size_t left = tree.records();
    std::vector<Balanced::Child> small;
    bool large_stays = false;
    for (const auto& child : seen.children()) {
      const bool large = child.records >= k_;
      if (large && left >= child.records + k_) {
        pending_.emplace_back();
        seen.copy(child.vertex, pending_.back(), 0);
        left -= child.records;
      } else {
        large_stays |= large;
        small.push_back(child);
      }
    }
    large_stays ? pending_.push_back(remainder(seen, small, 0, seen.root())) : gather(seen, small, left);
  }

  // Every subtree holds k - 1 or less; `left` records in all.
  void gather(Balanced& seen, const std::vector<Balanced::Child>& small, std::size_t left) {
    std::int32_t root = seen.root();
    std::size_t first = 0;
    while (left > limit_) {
      const std::size_t enough = root == kSteiner ? k_ : k_ - 1;
      std::size_t last = first, gathered = 0;
      while (gathered < enough) gathered += small[last++].records;
      const bool takes_root = gathered == k_ - 1;
      if (left < gathered + takes_root + k_) break;
      Shoot group;
      group.add(takes_root ? root : kSteiner, 0);
      for (std::size_t c = first; c < last; ++c) seen.copy(small[c].vertex, group, 0);
      pending_.push_back(std::move(group));
      if (takes_root) root = kSteiner;
      left -= gathered + takes_root;
      first = last;
    }
    const bool stuck = left > limit_;
    Shoot rest = remainder(seen, small, first, root);
    stuck ? finish(rest) : pending_.push_back(std::move(rest));
  }

  // The root and the subtrees from the `first` on.
  static Shoot remainder(Balanced& seen, const std::vector<Balanced::Child>& small, std::size_t first,
                         std::int32_t root) {
    Shoot rest;
    rest.add(root, 0);
    for (std::size_t c = first; c < small.size(); ++c) seen.copy(small[c].vertex, rest, 0);
    return rest;
  }

  std::size_t k_, limit_;
  std::vector<std::int32_t> labels_;
  std::vector<Shoot> pending_;
  std::int32_t groups_ = 0;
};

// The trees of a forest, each from its root downwards, lowest root first.
std::vector<std::int32_t> decompose_all(const std::int32_t* edge, std::size_t n, std::size_t k, Progress& progress) {
  std::vector<std::size_t> start(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i)
    if (edge[i] >= 0) ++start[static_cast<std::size_t>(edge[i]) + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::int32_t> below(start.back());
  auto next = start;
  for (std::size_t i = 0; i < n; ++i)
    if (edge[i] >= 0) below[next[static_cast<std::size_t>(edge[i])]++] = static_cast<std::int32_t>(i);
  Decomposer decomposer(n, k);
  for (std::size_t r = 0; r < n; ++r) {
    if (edge[r] >= 0) continue;
    Shoot tree;
    tree.add(static_cast<std::int32_t>(r), 0);
    for (std::size_t at = 0; at < tree.row.size(); ++at) {
      const auto v = static_cast<std::size_t>(tree.row[at]);
      for (std::size_t e = start[v]; e < start[v + 1]; ++e) tree.add(below[e], at);
    }
    decomposer.add(std::move(tree));
    progress.tick(static_cast<double>(r) / static_cast<double>(n));
  }
  return decomposer.labels();
}

// A search costs more to prepare in the tree than by looking at everything once, for tiny tables only.
constexpr std::size_t kSmallTable = 300;

constexpr const char* kForest = R"(Join records to near ones until every tree has k of them.

Parameters
----------
x
    Shape (n, d), finite, standardised, n >= k.
k
    Smallest tree, at least 1.
coding, engine, simd, progress
    As for `mdav`.

Returns
-------
Shape (n,); the record at the other end of each record's outgoing edge, -1 for the root of a tree.

Notes
-----
Aggarwal et al. (2005). Row after row, while the tree of a row holds fewer than k records, the tree's root is joined to
the nearest record outside of the tree, the lowest row among equals. Every edge leads to one of the k - 1 nearest others
of the record it leaves. Distances are those of `mdav`.)";

Output<std::int32_t> forest(Matrix x, std::size_t k, Coding coding, Word<SearchEngine> engine, bool simd, Listener listener) {
  std::vector<std::int32_t> edge;
  Progress progress(listener);
  {
    nb::gil_scoped_release unlock;
    if (!coding && exhaustive(engine, x.shape(0) < kSmallTable))
      edge = grow<Brute>(Table(x.data(), x.shape(0), x.shape(1)), k, simd, progress);
    else
      with_points(x, coding, [&](const auto& table) { edge = grow<EngineOf<decltype(table)>>(table, k, simd, progress); });
  }
  return to_numpy(std::move(edge));
}

constexpr const char* kDecompose = R"(Cut large trees of a forest where both sides keep k records.

Parameters
----------
edge
    Shape (n,); as `forest` returns it.

Returns
-------
Shape (n,); group number of each record. A tree of up to max(2k - 1, 3k - 5) records stays whole; so does the rest of
one, of up to 3k - 3 records, whose parts only a Steiner vertex holds together and that cannot be divided into two of k
or more.)";

Output<std::int32_t> decompose(Ints edge, std::size_t k) {
  std::vector<std::int32_t> labels;
  Progress progress;
  {
    nb::gil_scoped_release unlock;
    labels = decompose_all(edge.data(), edge.shape(0), k, progress);
  }
  return to_numpy(std::move(labels));
}

const Kernel mu_approx_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("forest", &forest, "x"_a, "k"_a, nb::kw_only(), "coding"_a.none() = nb::none(), "engine"_a = "auto", "simd"_a = true,
        "progress"_a.none() = nb::none(), kForest);
  m.def("decompose", &decompose, "edge"_a, "k"_a, kDecompose);
});

}  // namespace
}  // namespace shoal

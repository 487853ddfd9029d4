// mu-Approx: microaggregation with a proven factor (Domingo-Ferrer, Sebe & Solanas 2008, after Aggarwal et al. 2005).
//
// (a) A forest whose trees have k vertices or more. Every record gets at most one edge, to a neighbour: while the
//     tree of row i (rows in order) has fewer than k vertices, its root, the one vertex without an edge of its
//     own, is joined to the root's nearest record outside the tree. A tree of fewer than k holds at most k - 2
//     others, so that record is among the root's k - 1 nearest, and lists from a kd-tree suffice: O(nk) here.
// (b) Trees with more than max(2k - 1, 3k - 5) vertices are decomposed. Let u be a vertex and phi the size of the
//     largest tree that is left when u goes. Differs from the paper in the choice of u: the centroid, for which
//     phi <= s/2, so that the work is s log s and the paper's case s - phi = k - 1 does not occur.
//       phi >= k:     cut the edge to that tree; both parts have k or more.
//       phi = k - 1:  that tree and u are a group; u stays as a Steiner vertex (it counts for nothing) so that
//                     the others hang together.
//       phi < k - 1:  gather trees until they have k - 1 (then u joins them, as above) or more; at most 2k - 4,
//                     which leaves k or more. If u is a Steiner vertex already and cannot join, one more tree is
//                     gathered; where that would leave fewer than k, the tree is left to (c).
// (c) Groups of 2k or more give off the record farthest from their mean with its k - 1 nearest.
//
// So every group has k to 2k - 1 records, whatever the data.
#include <numeric>

#include "groups.hpp"
#include "kernels.hpp"
#include "watch.hpp"

namespace shoal {
namespace {

// (a) Shape (n,); the record that each one's own edge leads to, -1 for the root of a tree.
std::vector<Record> forest(NeighbourLists near, std::size_t n, std::size_t k) {
  std::vector<Record> edge(n, -1), tree(n);
  std::iota(tree.begin(), tree.end(), 0);
  std::vector<std::size_t> size(n, 1);
  const auto root = [&](Record i) {  // merging hangs a root below another tree's vertex: roots are the trees' names
    while (tree[static_cast<std::size_t>(i)] != i) {
      auto& up = tree[static_cast<std::size_t>(i)];
      up = tree[static_cast<std::size_t>(up)];
      i = up;
    }
    return i;
  };
  for (Record i = 0; i < static_cast<Record>(n); ++i) {
    for (Record u = root(i); size[static_cast<std::size_t>(u)] < k; u = root(i)) {
      std::size_t rank = 0;
      while (root(near.at(u, rank)) == u) ++rank;
      const Record v = near.at(u, rank), other = root(v);
      edge[static_cast<std::size_t>(u)] = v;
      tree[static_cast<std::size_t>(u)] = other;
      size[static_cast<std::size_t>(other)] += size[static_cast<std::size_t>(u)];
    }
  }
  return edge;
}

class Decomposition {
 public:
  Decomposition(const std::vector<Record>& edge, std::size_t k)
      : counts_(edge.size(), 1), links_(edge.size()), above_(edge.size(), -1), below_(edge.size(), 0), k_(k) {
    for (std::size_t i = 0; i < edge.size(); ++i)
      if (edge[i] >= 0) {
        links_[i].push_back(edge[i]);
        links_[static_cast<std::size_t>(edge[i])].push_back(static_cast<Record>(i));
      }
  }

  // (b) The groups, for the trees that hold the vertices in `todo`.
  std::vector<std::vector<Record>> run(std::vector<Record> todo, Watch& watch) {
    while (!todo.empty()) {
      const Record start = todo.back();
      todo.pop_back();
      part(start, todo);
      watch.tick(0.5);
    }
    return std::move(groups_);
  }

 private:
  std::size_t at(Record i) const { return static_cast<std::size_t>(i); }

  // Vertices of the tree around `start` (not entering `closed`), parents first; sizes count real vertices.
  std::vector<Record> walk(Record start, Record closed) {
    std::vector<Record> order{start};
    above_[at(start)] = closed;
    for (std::size_t r = 0; r < order.size(); ++r)
      for (const Record next : links_[at(order[r])])
        if (next != above_[at(order[r])]) above_[at(next)] = order[r], order.push_back(next);
    for (const Record i : order) below_[at(i)] = counts_[at(i)];
    for (std::size_t r = order.size(); r-- > 1;) below_[at(above_[at(order[r])])] += below_[at(order[r])];
    return order;
  }

  void emit(const std::vector<Record>& vertices) {
    groups_.emplace_back();
    for (const Record i : vertices)
      if (counts_[at(i)]) groups_.back().push_back(i);
  }

  void part(Record start, std::vector<Record>& todo) {
    const std::vector<Record> order = walk(start, -1);
    const std::size_t s = below_[at(start)];
    if (s <= std::max(2 * k_ - 1, k_ > 1 ? 3 * k_ - std::min<std::size_t>(5, 3 * k_) : 0)) return emit(order);
    const Record u = centroid(order, s);
    walk(u, -1);
    std::vector<Record> branches = links_[at(u)];
    std::stable_sort(branches.begin(), branches.end(), [&](Record a, Record b) {
      return below_[at(a)] != below_[at(b)] ? below_[at(a)] > below_[at(b)] : a < b;
    });
    if (below_[at(branches.front())] >= k_) {
      cut(u, branches.front());
      todo.push_back(u);
      todo.push_back(branches.front());
      return;
    }
    std::size_t taken = 0, gathered = 0;
    const std::size_t enough = counts_[at(u)] ? k_ - 1 : k_;
    while (gathered < enough) gathered += below_[at(branches[taken++])];
    const bool joins = gathered + 1 == k_;
    if (s - gathered - (joins ? 1 : 0) < k_) return emit(order);
    std::vector<Record> group;
    for (std::size_t b = 0; b < taken; ++b) {
      const std::vector<Record> branch = walk(branches[b], u);
      group.insert(group.end(), branch.begin(), branch.end());
      cut(u, branches[b]);
    }
    if (joins) group.push_back(u);
    emit(group);
    if (joins) counts_[at(u)] = 0;
    todo.push_back(u);
  }

  // The vertex whose removal leaves the smallest largest tree; the first one met among equals.
  Record centroid(const std::vector<Record>& order, std::size_t s) {
    std::vector<std::size_t>& largest = largest_;
    largest.assign(order.size(), 0);
    place_.resize(above_.size());
    for (std::size_t r = 0; r < order.size(); ++r) place_[at(order[r])] = r;
    for (std::size_t r = order.size(); r-- > 0;) {
      const std::size_t own = below_[at(order[r])];
      largest[r] = std::max(largest[r], s - own);
      if (r > 0) {
        std::size_t& up = largest[place_[at(above_[at(order[r])])]];
        up = std::max(up, own);
      }
    }
    return order[static_cast<std::size_t>(std::min_element(largest.begin(), largest.end()) - largest.begin())];
  }

  void cut(Record a, Record b) {
    const auto drop = [](std::vector<Record>& list, Record gone) {
      list.erase(std::find(list.begin(), list.end(), gone));
    };
    drop(links_[at(a)], b);
    drop(links_[at(b)], a);
  }

  std::vector<std::uint8_t> counts_;  // 0 once a vertex is a Steiner vertex
  std::vector<std::vector<Record>> links_;
  std::vector<Record> above_;
  std::vector<std::size_t> below_, largest_, place_;
  std::size_t k_;
  std::vector<std::vector<Record>> groups_;
};

// (c)
void split_large(const Cloud& cloud, std::vector<std::int32_t>& labels, std::size_t k) {
  Groups groups(cloud, labels);
  for (std::size_t slot = 0; slot < groups.slots(); ++slot) {
    const Group g = static_cast<Group>(slot);
    while (groups.size(g) >= 2 * k) {
      std::vector<Record> list = groups.members(g);
      std::sort(list.begin(), list.end());
      Record far = list.front();
      for (const Record i : list)
        if (groups.to_centre(i, g) > groups.to_centre(far, g)) far = i;
      std::stable_sort(list.begin(), list.end(), [&](Record a, Record b) {
        return a != b && (a == far || (b != far && cloud.distance(far, a) < cloud.distance(far, b)));
      });
      const Group fresh = groups.open();
      for (std::size_t r = 0; r < k; ++r) groups.relocate(list[r], fresh);
    }
  }
  labels = groups.labels();
}

auto mu_approx(Matrix x, IntMatrix near, std::int64_t least, nb::object progress) {
  Watch watch(progress);
  const std::size_t n = x.shape(0), k = static_cast<std::size_t>(least);
  std::vector<std::int32_t> labels(n), edges;
  {
    nb::gil_scoped_release free_lock;
    const Cloud cloud(x.data(), nullptr, n, x.shape(1));
    edges = forest({near.data(), near.shape(1)}, n, k);
    std::vector<Record> roots;
    for (std::size_t i = n; i-- > 0;)
      if (edges[i] < 0) roots.push_back(static_cast<Record>(i));
    const auto groups = Decomposition(edges, k).run(roots, watch);
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (const Record i : groups[g]) labels[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(g);
    split_large(cloud, labels, k);
  }
  return nb::make_tuple(to_numpy(std::move(labels)), to_numpy(std::move(edges)));
}

const Kernel kernel([](nb::module_& m) {
  m.def("mu_approx", &mu_approx, nb::arg("x"), nb::arg("near"), nb::arg("k"), nb::arg("progress").none());
});

}  // namespace
}  // namespace shoal

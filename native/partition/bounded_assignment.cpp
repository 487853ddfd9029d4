// Assign records to groups by score, every group to hold at least k: exact, by shortest augmenting paths.
//
// Maximise sum_i score[i, group of i] subject to every group's size >= k (G k <= n). It is a transport
// problem with lower bounds, so a best solution is integral. Begin with every record in its best group: that
// is optimal for the problem without bounds. Then, while a group is short, one record more must end up in
// it: along a path of groups g0 -> g1 -> ... -> short group, each step of which hands over the record that
// loses least, where g0 has more than k records. Taking the cheapest such path each time keeps the
// assignment optimal for the bounds met so far (successive shortest paths for minimum cost flow), because
// the graph of exchanges then never holds a cycle of negative cost. The graph has only G nodes, so
// Bellman-Ford is cheap, and there are at most G k augmentations.
//
// The cheapest record to hand from g to h comes from a heap per ordered pair. Each augmentation takes at
// most one record out of a group, so a heap starts with only the (shortage + 1) cheapest records; records
// that arrive later are pushed, those that have left are dropped when they reach the top. Ties: lowest row.
#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "core/kernels.hpp"
#include "core/progress.hpp"

namespace shoal {
namespace {

struct Offer {
  double loss;
  std::int32_t row;
  bool operator>(const Offer& o) const { return loss > o.loss || (loss == o.loss && row > o.row); }
  bool operator<(const Offer& o) const { return o > *this; }
};
using Offers = std::priority_queue<Offer, std::vector<Offer>, std::greater<Offer>>;

class Assignment {
 public:
  Assignment(const double* score, std::size_t n, std::size_t groups, std::size_t least)
      : score_(score), n_(n), groups_(groups), least_(least), label_(n), size_(groups, 0) {
    for (std::size_t i = 0; i < n; ++i) {
      const double* row = score + i * groups;
      label_[i] = static_cast<std::int32_t>(std::max_element(row, row + groups) - row);
      ++size_[static_cast<std::size_t>(label_[i])];
    }
  }

  std::vector<std::int32_t> run(Progress& progress) {
    const std::size_t shortage = missing();
    if (shortage > 0) fill_heaps(shortage + 1);
    for (std::size_t left = shortage; left > 0; --left) {
      augment();
      progress.tick(1.0 - static_cast<double>(left) / static_cast<double>(shortage));
    }
    return std::move(label_);
  }

 private:
  double loss(std::size_t row, std::size_t from, std::size_t to) const {
    return score_[row * groups_ + from] - score_[row * groups_ + to];
  }

  std::size_t missing() const {
    std::size_t sum = 0;
    for (std::size_t s : size_) sum += s < least_ ? least_ - s : 0;
    return sum;
  }

  void fill_heaps(std::size_t keep) {
    offers_.resize(groups_ * groups_);
    std::vector<std::vector<std::int32_t>> members(groups_);
    for (std::size_t i = 0; i < n_; ++i) members[static_cast<std::size_t>(label_[i])].push_back(static_cast<std::int32_t>(i));
    for (std::size_t g = 0; g < groups_; ++g)
      for (std::size_t h = 0; h < groups_; ++h) {
        if (g == h) continue;
        std::vector<Offer> all;
        all.reserve(members[g].size());
        for (std::int32_t i : members[g]) all.push_back({loss(static_cast<std::size_t>(i), g, h), i});
        if (all.size() > keep) {
          std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(keep), all.end());
          all.resize(keep);
        }
        offers_[g * groups_ + h] = Offers(std::greater<Offer>(), std::vector<Offer>(all));
      }
    losses_.assign(groups_ * groups_, HUGE_VAL);
    for (std::size_t g = 0; g < groups_; ++g) see_offers(g);
  }

  // What it costs at least to hand a record from g to each other group; infinite where g has none.
  void see_offers(std::size_t g) {
    for (std::size_t h = 0; h < groups_; ++h) {
      const Offer* offer = g == h ? nullptr : cheapest(g, h);
      losses_[g * groups_ + h] = offer ? offer->loss : HUGE_VAL;
    }
  }

  // The cheapest record that g can hand to h; null if g is empty.
  const Offer* cheapest(std::size_t g, std::size_t h) {
    Offers& o = offers_[g * groups_ + h];
    while (!o.empty() && label_[static_cast<std::size_t>(o.top().row)] != static_cast<std::int32_t>(g)) o.pop();
    return o.empty() ? nullptr : &o.top();
  }

  // Bellman-Ford from all groups that can spare a record; then move one record along each step. In a round only the
  // groups are looked at that have become nearer since they last were.
  void augment() {
    std::vector<double> distance(groups_, HUGE_VAL);
    std::vector<std::size_t> from(groups_, groups_);
    std::vector<bool> nearer(groups_, false);
    for (std::size_t g = 0; g < groups_; ++g)
      if (size_[g] > least_) distance[g] = 0.0, nearer[g] = true;
    bool shorter = true;
    for (std::size_t round = 0; shorter && round < groups_; ++round) {
      shorter = false;
      for (std::size_t g = 0; g < groups_; ++g) {
        if (!nearer[g]) continue;
        nearer[g] = false;
        const double* losses = &losses_[g * groups_];
        for (std::size_t h = 0; h < groups_; ++h) {
          if (!(distance[g] + losses[h] < distance[h]) || on_path(from, g, h)) continue;
          distance[h] = distance[g] + losses[h];
          from[h] = g;
          nearer[h] = shorter = true;
        }
      }
    }
    std::size_t target = groups_;
    for (std::size_t h = 0; h < groups_; ++h)
      if (size_[h] < least_ && from[h] < groups_ && (target == groups_ || distance[h] < distance[target])) target = h;
    move_along(from, target);
  }

  // Does the path to g already pass h? Rounding could otherwise close a cycle of length zero.
  static bool on_path(const std::vector<std::size_t>& from, std::size_t g, std::size_t h) {
    for (std::size_t node = g; node < from.size(); node = from[node])
      if (node == h) return true;
    return false;
  }

  void move_along(const std::vector<std::size_t>& from, std::size_t target) {
    std::vector<std::pair<std::int32_t, std::size_t>> moves;
    std::size_t first = target;
    for (std::size_t h = target; from[h] < groups_; h = from[h]) {
      moves.push_back({cheapest(from[h], h)->row, h});
      first = from[h];
    }
    for (const auto& [row, h] : moves) {
      label_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(h);
      for (std::size_t other = 0; other < groups_; ++other)
        if (other != h) offers_[h * groups_ + other].push({loss(static_cast<std::size_t>(row), h, other), row});
    }
    for (const auto& move : moves) see_offers(move.second);
    see_offers(first);
    ++size_[target];
    --size_[first];
  }

  const double* score_;
  std::size_t n_, groups_, least_;
  std::vector<std::int32_t> label_;
  std::vector<std::size_t> size_;
  std::vector<Offers> offers_;
  std::vector<double> losses_;  // of the cheapest offer of each group to each other
};

constexpr const char* kBoundedAssignment = R"(Assign records to groups with the greatest total score, at least `least` records to each.

Parameters
----------
score
    Shape (n, G), finite; what it is worth to have record i in group g.
least
    Smallest size of a group, least * G <= n.

Returns
-------
Shape (n,); group number of each record.

Notes
-----
Exact: successive shortest paths. Where no group is short, each record is in its best group (the first of equals).)";

Output<std::int32_t> bounded_assignment(const Matrix& score, std::size_t least, Listener listener) {
  std::vector<std::int32_t> labels;
  Progress progress(listener);
  {
    nb::gil_scoped_release release;
    labels = Assignment(score.data(), score.shape(0), score.shape(1), least).run(progress);
  }
  return to_numpy(std::move(labels));
}

const Kernel bounded_assignment_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("bounded_assignment", &bounded_assignment, "score"_a, "least"_a, "progress"_a.none() = nb::none(),
        kBoundedAssignment);
});

}  // namespace
}  // namespace shoal

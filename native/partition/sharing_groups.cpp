// Groups that keep much of what their members share.
//
// A member has pieces, each of some value, and a group keeps of each piece what the member has who has least of it:
// with sizes s and least values l, the groups keep the sum of s * sum(l). Groups are begun one after the other with the
// member who has most, and take the member whose shared value is nearest to that member's own, up to k. Whoever is left
// over joins where most is kept by it. Then members move to other groups, or change places with members of those that
// share most with them, as long as more is kept. All values are whole numbers, so no sum depends on its order; ties go
// to the lowest row.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/kernels.hpp"
#include "core/progress.hpp"

namespace shoal {
namespace {

using Value = std::int32_t;
using Sum = std::int64_t;
constexpr std::size_t kSparse = 8;  // One in so many pieces: a member who has fewer is looked at piece by piece

class SharingGroups {
 public:
  SharingGroups(const Value* values, std::size_t n, std::size_t d, std::size_t k, std::size_t near, Progress& progress)
      : values_(values), n_(n), d_(d), k_(k), near_(near), progress_(progress), labels_(n, 0), own_(n), ends_(1, 0) {
    for (std::size_t i = 0; i < n; ++i) {
      own_[i] = std::accumulate(row(i), row(i) + d, Sum{0});
      for (std::size_t j = 0; j < d; ++j)
        if (row(i)[j] != 0) pieces_.push_back(static_cast<std::uint32_t>(j));
      if ((pieces_.size() - ends_.back()) * kSparse > d) pieces_.resize(ends_.back());  // faster one after the other
      ends_.push_back(pieces_.size());
    }
  }

  std::vector<std::int32_t> run(std::int64_t rounds) {
    begin();
    bool better = members_.size() > 1;
    for (std::int64_t round = 0; better && round < rounds; ++round) {
      better = false;
      for (std::size_t i = 0; i < n_; ++i) {
        const double share = static_cast<double>(i) / static_cast<double>(n_);
        progress_.look((1.0 + static_cast<double>(round) + share) / static_cast<double>(1 + rounds));
        better |= moved(i) || exchanged(i);
      }
    }
    return std::move(labels_);
  }

 private:
  const Value* row(std::size_t i) const { return values_ + i * d_; }

  // What a member shares with some values; of one who has few pieces only these are looked at.
  Sum shared(const Value* a, std::size_t i) const {
    const Value* b = row(i);
    Sum sum = 0;
    if (ends_[i] == ends_[i + 1] && own_[i] != 0) {
      for (std::size_t j = 0; j < d_; ++j) sum += std::min(a[j], b[j]);
    } else {
      for (std::size_t p = ends_[i]; p < ends_[i + 1]; ++p) sum += std::min(a[pieces_[p]], b[pieces_[p]]);
    }
    return sum;
  }

  Sum kept(std::size_t g) const { return static_cast<Sum>(members_[g].size()) * sums_[g]; }

  void begin() {
    std::vector<std::size_t> left(n_);
    std::iota(left.begin(), left.end(), std::size_t{0});
    while (left.size() >= k_) {
      progress_.look(0.5 * static_cast<double>(n_ - left.size()) / static_cast<double>(n_));
      std::size_t place = 0;
      for (std::size_t p = 1; p < left.size(); ++p)
        if (own_[left[p]] > own_[left[place]]) place = p;
      std::vector<std::size_t> group;
      std::vector<Value> least(row(left[place]), row(left[place]) + d_);
      for (;;) {
        const std::size_t chosen = left[place];
        for (std::size_t j = 0; j < d_; ++j) least[j] = std::min(least[j], row(chosen)[j]);
        group.push_back(chosen);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(place));
        if (group.size() == k_) break;
        Sum best = std::numeric_limits<Sum>::min();
        for (std::size_t p = 0; p < left.size(); ++p) {
          const Sum score = 2 * shared(least.data(), left[p]) - own_[left[p]];
          if (score > best) best = score, place = p;
        }
      }
      for (const std::size_t i : group) labels_[i] = static_cast<std::int32_t>(members_.size());
      members_.push_back(std::move(group));
      least_.insert(least_.end(), least.begin(), least.end());
      sums_.push_back(std::accumulate(least.begin(), least.end(), Sum{0}));
    }
    for (const std::size_t i : left)
      if (!members_.empty()) join(i, best_group(i, members_.size()).first);
  }

  // The group that keeps most more when one joins it, but for one group, and how much more.
  std::pair<std::size_t, Sum> best_group(std::size_t i, std::size_t except) const {
    std::pair<std::size_t, Sum> best{0, std::numeric_limits<Sum>::min()};
    for (std::size_t g = 0; g < members_.size(); ++g) {
      if (g == except) continue;
      const Sum gain = static_cast<Sum>(members_[g].size() + 1) * shared(least(g), i) - kept(g);
      if (gain > best.second) best = {g, gain};
    }
    return best;
  }

  const Value* least(std::size_t g) const { return least_.data() + g * d_; }

  // The least of all members but one.
  void without(std::size_t g, std::size_t i, std::vector<Value>& rest) const {
    rest.assign(d_, std::numeric_limits<Value>::max());
    for (const std::size_t other : members_[g])
      if (other != i)
        for (std::size_t j = 0; j < d_; ++j) rest[j] = std::min(rest[j], row(other)[j]);
  }

  void anew(std::size_t g) {
    without(g, n_, rest_);
    std::copy(rest_.begin(), rest_.end(), least_.begin() + static_cast<std::ptrdiff_t>(g * d_));
    sums_[g] = std::accumulate(rest_.begin(), rest_.end(), Sum{0});
  }

  void join(std::size_t i, std::size_t g) {
    members_[g].push_back(i);
    labels_[i] = static_cast<std::int32_t>(g);
    anew(g);
  }

  void leave(std::size_t i) {
    auto& group = members_[static_cast<std::size_t>(labels_[i])];
    group.erase(std::find(group.begin(), group.end(), i));
  }

  bool moved(std::size_t i) {
    const auto g = static_cast<std::size_t>(labels_[i]);
    if (members_[g].size() <= k_) return false;
    without(g, i, rest_);
    const Sum left = static_cast<Sum>(members_[g].size() - 1) * std::accumulate(rest_.begin(), rest_.end(), Sum{0});
    const auto [target, gain] = best_group(i, g);
    if (gain + left <= kept(g)) return false;
    leave(i);
    anew(g);
    join(i, target);
    return true;
  }

  bool exchanged(std::size_t i) {
    const auto g = static_cast<std::size_t>(labels_[i]);
    const Sum size = static_cast<Sum>(members_[g].size());
    candidates_.clear();
    for (std::size_t h = 0; h < members_.size(); ++h)
      if (h != g) candidates_.emplace_back(-shared(least(h), i), h);
    const std::size_t some = std::min(near_, candidates_.size());
    std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(some), candidates_.end());
    without(g, i, mine_);
    Sum best = 0;
    std::size_t partner = n_;
    for (std::size_t c = 0; c < some; ++c) {
      const std::size_t h = candidates_[c].second;
      for (const std::size_t q : members_[h]) {
        without(h, q, rest_);
        const Sum here = size * shared(mine_.data(), q);
        const Sum there = static_cast<Sum>(members_[h].size()) * shared(rest_.data(), i);
        const Sum gain = here + there - kept(g) - kept(h);
        if (gain > best) best = gain, partner = q;
      }
    }
    if (partner == n_) return false;
    const auto h = static_cast<std::size_t>(labels_[partner]);
    leave(i);
    leave(partner);
    join(i, h);
    join(partner, g);
    return true;
  }

  const Value* values_;
  std::size_t n_, d_, k_, near_;
  Progress& progress_;
  std::vector<std::int32_t> labels_;
  std::vector<Sum> own_, sums_;
  std::vector<std::uint32_t> pieces_;  // those that a member has, where they are few
  std::vector<std::size_t> ends_;
  std::vector<std::vector<std::size_t>> members_;
  std::vector<Value> least_, rest_, mine_;
  std::vector<std::pair<Sum, std::size_t>> candidates_;
};

constexpr const char* kSharingGroups = R"(Groups of k members or more that keep much of what their members share.

Parameters
----------
values
    Shape (n, d), 0 or more; the value of each piece that each member has. A group keeps of each piece the least that a
    member has, once for each member.
k
    Smallest group size, at least 1. Fewer than k members make one group.
rounds
    Most looks at each member, to move it to another group or exchange it for a member of one.
near
    Groups with whose members one may be exchanged: those that share most with it.

Returns
-------
Shape (n,); group number of each member, from 0.

Notes
-----
Begun greedily, as k-member clustering (Byun et al. 2007), and improved until no move or exchange keeps more, or no
rounds are left. The value shared is a histogram intersection (Swain & Ballard 1991).)";

Output<std::int32_t> sharing_groups(IntMatrix values, std::int64_t k, std::int64_t rounds, std::int64_t near,
                                    Listener listener) {
  Progress progress(listener);
  std::vector<std::int32_t> labels;
  {
    nb::gil_scoped_release free_lock;
    SharingGroups groups(values.data(), values.shape(0), values.shape(1), static_cast<std::size_t>(k),
                         static_cast<std::size_t>(near), progress);
    labels = groups.run(rounds);
  }
  return to_numpy(std::move(labels));
}

const Kernel sharing_groups_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("sharing_groups", &sharing_groups, "values"_a, "k"_a, nb::kw_only(), "rounds"_a = 10, "near"_a = 8,
        "progress"_a.none() = nb::none(), kSharingGroups);
});

}  // namespace
}  // namespace shoal

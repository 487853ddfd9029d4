// Merging groups until every one satisfies what is required of it.
//
// Soria-Comas et al. (2015), Algorithm 1, after the microaggregation: the group that is furthest from
// satisfying the requirement is merged with the group whose centroid is nearest, until none is over. As the
// union of two groups is no worse than the worse of the two, and the whole table usually satisfies what is
// asked of its parts, this ends in a partition that holds, or in one single group. Groups under k records are
// merged first, so that any partition may be the start.
//
// Neighbours in the quasi-identifiers tend to share confidential values, so a union with the nearest may settle
// nothing and the group goes on growing. Two other partners are offered. The cheapest one costs least for what
// it settles: the rise of the loss, |g| |h| / (|g| + |h|) times the squared distance of the centroids, over the
// fall of the sum of size times excess (0 for a group that holds). The fall is at most what the two bring in,
// which spares most unions their account. The farthest one is what its name says. A group that is only too
// small is merged with the nearest under every rule, and so is one for which no union settles anything.
//
// The groups over the limit wait in a heap; an entry whose group has changed since is skipped. Partners are
// found by a scan of the live groups' centroids, kept side by side in memory; the nearest of many by a tree over them
// (nearest_centre.hpp).
#include <limits>
#include <queue>
#include <tuple>

#include "core/progress.hpp"
#include "core/words.hpp"
#include "requirement/nearest_centre.hpp"
#include "requirement/requirement_check.hpp"

namespace shoal {

enum class Partner { kNearest, kCheapest, kFarthest };

template <> struct Words<Partner> {
  static constexpr auto name = nb::detail::const_name("Partner");
  static constexpr const char* words[] = {"nearest", "cheapest", "farthest"};
};

namespace {

class Merger {
 public:
  Merger(const Matrix& x, const Coding& coding, const Ints& labels, RequirementCheck& check, std::size_t k, Partner partner)
      : k_(k), partner_(partner), check_(check), members_(members_of(labels)), centres_(x, coding, members_) {
    for (std::size_t g = 0; g < members_.size(); ++g) {
      group_states_.push_back(check_.open(members_[g]));
      version_.push_back(0);
      enlist(g);
    }
  }

  std::int64_t run(Progress& progress) {
    std::int64_t merges = 0;
    const double start = static_cast<double>(members_.size());
    while (!waiting_.empty() && members_.size() > 1) {
      const auto [excess, minus, version] = waiting_.top();
      waiting_.pop();
      // A group that moved or changed has a newer entry of its own.
      const std::size_t g = find(static_cast<std::size_t>(-minus));
      if (g == kGone || version_[g] != version) continue;
      unite(g, partner(g));
      progress.tick(static_cast<double>(++merges) / start);
    }
    return merges;
  }

  std::vector<std::int32_t> labels(std::size_t n) const {
    std::vector<std::int32_t> out(n, 0);
    for (std::size_t g = 0; g < members_.size(); ++g)
      for (const Record i : members_[g]) out[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(g);
    return out;
  }

 private:
  static constexpr double kSmall = 1e9;      // groups under k come before all others
  static constexpr double kNothing = 1e-12;  // a smaller share settled is a rounding error
  static constexpr std::size_t kGone = NearestCentre::kGone;

  static std::vector<std::vector<Record>> members_of(const Ints& labels) {
    std::vector<std::vector<Record>> members;
    for (std::size_t i = 0; i < labels.shape(0); ++i) {
      const auto g = static_cast<std::size_t>(labels.data()[i]);
      if (g >= members.size()) members.resize(g + 1);
      members[g].push_back(static_cast<Record>(i));
    }
    return members;
  }

  // Groups keep a name for life; their place among the live ones changes.
  std::size_t find(std::size_t name) const { return place_[name]; }

  void enlist(std::size_t g) {
    if (name_.size() <= g) {
      name_.push_back(g);
      place_.push_back(g);
    }
    const double size = static_cast<double>(members_[g].size()), k = static_cast<double>(k_);
    const double need = size < k ? kSmall + k - size : group_states_[g].excess;
    if (need > 0) waiting_.emplace(need, -static_cast<std::int64_t>(name_[g]), version_[g]);
  }

  std::size_t partner(std::size_t g) {
    return centres_.from(g, [&](auto apart) {
      if (partner_ == Partner::kNearest || group_states_[g].excess <= 0) return nearest(g, apart);
      if (partner_ == Partner::kFarthest) return least(g, [&](std::size_t h) { return -apart(h); });
      return cheapest(g, apart);
    });
  }

  // The other group of least `cost`, the lowest name among equals.
  template <class Cost>
  std::size_t least(std::size_t g, Cost cost) const {
    std::size_t best = kGone;
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t h = 0; h < members_.size(); ++h) {
      if (h == g) continue;
      const double now = cost(h);
      if (now < lowest || best == kGone || (now == lowest && name_[h] < name_[best])) lowest = now, best = h;
    }
    return best;
  }

  template <class Apart>
  std::size_t nearest(std::size_t g, const Apart& apart) {
    if (centres_.coded() || members_.size() < NearestCentre::kFewest) return least(g, apart);
    if (tree_.worn()) tree_.build(centres_, name_);
    const std::size_t best = tree_.nearest(g, centres_, place_, apart);
    return best == kGone ? least(g, apart) : best;
  }

  template <class Apart>
  std::size_t cheapest(std::size_t g, const Apart& apart) const {
    double lowest = std::numeric_limits<double>::infinity();
    const std::size_t best = least(g, [&](std::size_t h) {
      const double a = size(g), b = size(h), cost = a * b / (a + b) * apart(h);
      const double brought = owed(group_states_[g]) + owed(group_states_[h]);
      if (cost > lowest * brought) return std::numeric_limits<double>::infinity();
      const double settled = brought - owed(check_.united(group_states_[g], group_states_[h]));
      const double price = settled > kNothing * brought ? cost / settled : std::numeric_limits<double>::infinity();
      lowest = std::min(lowest, price);
      return price;
    });
    return std::isfinite(lowest) ? best : least(g, apart);
  }

  double size(std::size_t g) const { return static_cast<double>(members_[g].size()); }
  static double owed(const GroupState& group) { return static_cast<double>(group.size()) * std::max(group.excess, 0.0); }

  void unite(std::size_t g, std::size_t h) {
    centres_.unite(g, h);
    members_[g].insert(members_[g].end(), members_[h].begin(), members_[h].end());
    group_states_[g] = check_.united(group_states_[g], group_states_[h]);
    ++version_[g];
    tree_.change(name_[g]);
    tree_.drop(name_[h]);
    enlist(g);
    remove(h);
  }

  void remove(std::size_t h) {
    const std::size_t last = members_.size() - 1;
    place_[name_[h]] = kGone;
    centres_.remove(h);
    if (h != last) {
      members_[h] = std::move(members_[last]);
      group_states_[h] = std::move(group_states_[last]);
      version_[h] = version_[last];
      name_[h] = name_[last];
      place_[name_[h]] = h;
    }
    members_.pop_back();
    group_states_.pop_back();
    version_.pop_back();
    name_.pop_back();
  }

  std::size_t k_;
  Partner partner_;
  RequirementCheck& check_;
  std::vector<std::vector<Record>> members_;
  Centres centres_;
  NearestCentre tree_;
  std::vector<GroupState> group_states_;
  std::vector<std::uint32_t> version_;
  std::vector<std::size_t> name_, place_;
  std::priority_queue<std::tuple<double, std::int64_t, std::uint32_t>> waiting_;
};

constexpr const char* kMergeGroups = R"(Merge groups until each has `k` records and no excess, or a single one is left.

Parameters
----------
x
    Shape (n, d), finite.
check
    What every group must satisfy: bins of the records in each column, shape (columns, n), and a requirement a column.
labels
    Shape (n,); the partition to start from.
partner
    The group that one with an excess is merged with: that of the nearest centroid; the one that costs least within-group
    sum of squares for the excess it settles; or that of the farthest centroid.
coding
    As for `mdav`, but distances of centroids are rounded otherwise, which may decide among equal ones.

Returns
-------
Group of each record, shape (n,), and the number of merges.

Notes
-----
Soria-Comas et al. (2015), Algorithm 1: the group with the greatest excess and the one whose centroid is nearest. Ties go
to the lowest group number.)";

auto merge_groups(Matrix x, const Check& required, Ints labels, std::size_t k, Listener listener, Word<Partner> partner,
                  Coding coding) {
  Progress progress(listener);
  std::vector<std::int32_t> out;
  std::int64_t merges = 0;
  {
    nb::gil_scoped_release unlocked;
    RequirementCheck check(required);
    Merger merger(x, coding, labels, check, k, partner);
    merges = merger.run(progress);
    out = merger.labels(x.shape(0));
  }
  return std::make_pair(to_numpy(std::move(out)), merges);
}

}  // namespace

static const Kernel merge_groups_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("merge_groups", &merge_groups, "x"_a, "check"_a, "labels"_a, "k"_a, "progress"_a.none() = nb::none(), nb::kw_only(),
        "partner"_a = "nearest", "coding"_a.none() = nb::none(), kMergeGroups);
});

}  // namespace shoal

// Refinement of a microaggregation: from any partition to one that is near the best there is.
//
// Three stages, each of which keeps every group at k records or more:
//
// 1. Groups of 2k or more are split (the record farthest from the centre takes its k - 1 nearest with it):
//    a group's loss is never less than that of its parts.
// 2. Descent. For each record the relocations to the groups of its neighbours and the exchanges with their
//    members are priced (groups.hpp), the best is made if it lowers the loss, until a sweep finds none.
// 3. Annealing (Metropolis, geometric cooling). A draw picks a record i and a neighbour j in another group.
//    If i's group can spare it and j's has room below 2k, i is proposed to move; else an exchange of i with a
//    random member of j's group. Now and then a group is dissolved into the groups of its members'
//    neighbours, or a new one is formed around a record from records that their groups can spare: the number
//    of groups is part of what is searched. The best partition seen is kept, and descended from at the end.
//
// Why it beats constructive heuristics: MDAV and its kin fix each group once; here every record is
// reconsidered thousands of times, at about a tenth of a microsecond a proposal.
//
// The temperatures bracket what was measured on Census, Tarragona and EIA (bench/refined.py): at kHot times
// the mean loss of a record nearly everything moves, at kCold only ties do. Skewed tables need the whole
// range, since their groups differ in loss by orders of magnitude; between a third and three times these
// values results change by less than they do between seeds.
#include <limits>
#include <nanobind/stl/optional.h>
#include <unordered_set>

#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "partition/groups.hpp"

namespace shoal {
namespace {

constexpr double kHot = 10.0;       // first temperature, in units of the mean loss of a record
constexpr double kCold = 0.004;     // last temperature, same units
constexpr double kCompound = 0.02;  // share of proposals that dissolve a group, and of those that form one
constexpr double kNoise = 1e-12;    // changes below this share of a record's mean loss are not worth a step

// The distinct groups met, as sorted lists of members: candidates for an exact set partition.
class Collection {
 public:
  explicit Collection(std::size_t most) : most_(most) {}
  void add(const Groups& groups) {
    for (std::size_t g = 0; g < groups.slots() && ends.size() < most_; ++g) add(groups.members(static_cast<Group>(g)));
  }
  std::vector<std::int32_t> members;
  std::vector<std::int64_t> ends;

 private:
  void add(std::vector<Record> list) {
    if (list.empty()) return;
    std::sort(list.begin(), list.end());
    std::uint64_t key = 0;
    for (const Record i : list) key = Random(key ^ static_cast<std::uint64_t>(i)).bits();
    if (!seen_.insert(key).second) return;
    members.insert(members.end(), list.begin(), list.end());
    ends.push_back(static_cast<std::int64_t>(members.size()));
  }
  std::size_t most_;
  std::unordered_set<std::uint64_t> seen_;
};

class Refiner {
 public:
  Refiner(const Cloud& cloud, Groups& groups, NeighbourLists near, std::size_t k, std::uint64_t seed, Progress& progress)
      : cloud_(cloud), groups_(groups), near_(near), journal_(groups), k_(k), random_(seed), progress_(progress) {}

  void split_large() {
    for (std::size_t g = 0; g < groups_.slots(); ++g)
      while (groups_.size(static_cast<Group>(g)) >= 2 * k_) split(static_cast<Group>(g));
  }

  // Best improving step for each record in turn, until a sweep finds none. A sweep must lower
  // the recomputed loss, so rounding errors cannot make it go round in circles.
  void descend() {
    double before = std::numeric_limits<double>::infinity(), now = groups_.loss();
    while (now < before) {
      const double least = kNoise * now / static_cast<double>(cloud_.n());
      bool improved = false;
      for (Record i = 0; i < static_cast<Record>(cloud_.n()); ++i) {
        if ((i & 255) == 0) progress_.tick(0.0);
        improved |= improve(i, least);
      }
      if (!improved) return;
      before = std::exchange(now, groups_.loss());
    }
  }

  // Returns the number of proposals made.
  std::int64_t anneal(std::int64_t moves, Collection& collection) {
    double now = groups_.loss(), best = now;
    if (now <= 0) return 0;
    const double unit = now / static_cast<double>(cloud_.n());
    Cooling cooling(kHot * unit, kCold * unit);
    std::vector<std::int32_t> kept = groups_.labels();
    std::int64_t made = 0, sweep = static_cast<std::int64_t>(cloud_.n());
    const auto keep_best = [&] {
      if (now < best) best = now, kept = groups_.labels();
    };
    for (double done = 0.0; made < moves; ++made) {
      if (made % 256 == 0) {
        done = static_cast<double>(made) / static_cast<double>(moves);
        cooling.at(done);
        progress_.tick(done);
      }
      if (made % sweep == 0) {
        keep_best();
        now = groups_.loss();  // drift ends here
        if (done > 0.5 && (made / sweep) % 16 == 0) collection.add(groups_);
      }
      now += propose(cooling.allowance(random_));
    }
    now = groups_.loss();
    keep_best();
    groups_.reset(kept);
    collection.add(groups_);
    return made;
  }

 private:
  // Make one proposal if its change is at most `allowed`; returns the change made.
  double propose(double allowed) {
    const Record i = static_cast<Record>(random_.below(cloud_.n()));
    const double kind = random_.uniform(), compound = kCompound * std::min(1.0, 10.0 / static_cast<double>(k_));
    if (kind < compound) return dissolve(groups_.of(i), allowed);
    if (kind < 2 * compound) return form(i, allowed);
    const Record j = near_.draw(i, random_);
    const Group a = groups_.of(i), b = groups_.of(j);
    if (a == b) return 0;
    if (groups_.size(a) > k_ && groups_.size(b) + 1 < 2 * k_) {
      const double change = groups_.relocate_change(i, b);
      if (change > allowed) return 0;
      groups_.relocate(i, b);
      return change;
    }
    const Record other = groups_.members(b)[random_.below(groups_.size(b))];
    const double change = groups_.exchange_change(i, other);
    if (change > allowed) return 0;
    groups_.exchange(i, other);
    return change;
  }

  // Send each member of `a` to the cheapest group, with room, among those of its neighbours.
  double dissolve(Group a, double allowed) {
    journal_.start();
    double change = 0;
    leaving_ = groups_.members(a);
    for (const Record i : leaving_) {
      Group best = -1;
      double least = std::numeric_limits<double>::infinity();
      new_round();
      for (std::size_t r = 0; r < near_.width; ++r) {
        const Group b = groups_.of(near_.at(i, r));
        if (b == a || !first_time(b) || groups_.size(b) + 1 >= 2 * k_) continue;
        const double cost = groups_.join_change(i, b);
        if (cost < least) least = cost, best = b;
      }
      if (best < 0) return give_up();
      change += journal_.relocate(i, best);
    }
    return change <= allowed ? change : give_up();
  }

  // A new group of `i` and its nearest neighbours among the records that their groups can spare.
  double form(Record i, double allowed) {
    if (groups_.size(groups_.of(i)) <= k_) return 0;
    journal_.start();
    const Group fresh = groups_.open();
    double change = journal_.relocate(i, fresh);
    for (std::size_t r = 0; r < near_.width && groups_.size(fresh) < k_; ++r) {
      const Record j = near_.at(i, r);
      if (groups_.of(j) != fresh && groups_.size(groups_.of(j)) > k_) change += journal_.relocate(j, fresh);
    }
    return groups_.size(fresh) == k_ && change <= allowed ? change : give_up();
  }

  double give_up() {
    journal_.undo();
    return 0;
  }

  bool improve(Record i, double least) {
    const Group a = groups_.of(i);
    double best = -least;
    Record partner = -1;
    Group target = -1;
    new_round();
    for (std::size_t r = 0; r < near_.width; ++r) {
      const Group b = groups_.of(near_.at(i, r));
      if (b == a || !first_time(b)) continue;
      if (groups_.size(a) > k_) {
        const double change = groups_.relocate_change(i, b);
        if (change < best) best = change, target = b, partner = -1;
      }
      for (const Record j : groups_.members(b)) {
        const double change = groups_.exchange_change(i, j);
        if (change < best) best = change, partner = j;
      }
    }
    if (partner >= 0) groups_.exchange(i, partner);
    else if (target >= 0) move_and_split(i, target);
    return partner >= 0 || target >= 0;
  }

  void move_and_split(Record i, Group target) {
    groups_.relocate(i, target);
    if (groups_.size(target) >= 2 * k_) split(target);
  }

  void split(Group g) {
    const std::vector<Record> list = groups_.members(g);
    Record far = list.front();
    for (const Record i : list)
      if (groups_.to_centre(i, g) > groups_.to_centre(far, g)) far = i;
    std::vector<std::pair<double, Record>> order;
    for (const Record i : list) order.emplace_back(cloud_.distance(far, i), i);
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k_ - 1), order.end());
    const Group fresh = groups_.open();
    for (std::size_t r = 0; r < k_; ++r) groups_.relocate(order[r].second, fresh);
  }

  // Each group once a round, without a set.
  void new_round() { ++round_; }
  bool first_time(Group g) {
    const auto at = static_cast<std::size_t>(g);
    if (at >= met_.size()) met_.resize(groups_.slots() + 1, 0);
    return std::exchange(met_[at], round_) != round_;
  }

  const Cloud& cloud_;
  Groups& groups_;
  NeighbourLists near_;
  Journal journal_;
  std::size_t k_;
  Random random_;
  Progress& progress_;
  std::vector<Record> leaving_;
  std::vector<std::uint64_t> met_;
  std::uint64_t round_ = 0;
};

using Weights = std::optional<Vector>;  // none: every record counts once

Cloud cloud_of(const Matrix& x, const Weights& weights) {
  return {x.data(), weights ? weights->data() : nullptr, x.shape(0), x.shape(1)};
}

struct Refinement {
  Output<std::int32_t> labels;
  double start, descended, loss;
  std::int64_t moves;
  Output<std::int32_t> members;
  Output<std::int64_t> ends;
};

constexpr const char* kRefine = R"(Lower the within-group sum of squares of a partition into groups of `k` or more.

Parameters
----------
x
    Shape (n, d), finite, d >= 1, n >= 2.
weights
    Shape (n,), at least 0; None counts every record once.
labels
    Shape (n,); the partition to start from, every group of `k` or more.
near
    Shape (n, m), m >= 1; candidates (`shoal.kernels.search.neighbours.candidates`).
seed
    Of the proposals.
moves
    Proposals to make while annealing.
keep
    Largest number of distinct groups to collect on the way.)";

auto refine(Matrix x, Weights weights, Ints labels, IntMatrix near, std::int64_t k, std::uint64_t seed, std::int64_t moves,
            std::int64_t keep, Listener listener) {
  Progress progress(listener);
  Collection collection(static_cast<std::size_t>(keep));
  std::vector<std::int32_t> refined;
  double start = 0, descended = 0, loss = 0;
  std::int64_t made = 0;
  {
    nb::gil_scoped_release free_lock;
    const Cloud cloud = cloud_of(x, weights);
    Groups groups(cloud, {labels.data(), labels.data() + labels.shape(0)});
    Refiner refiner(cloud, groups, {near.data(), near.shape(1)}, static_cast<std::size_t>(k), seed, progress);
    start = cloud.in_units(groups.loss());
    refiner.split_large();
    refiner.descend();
    descended = cloud.in_units(groups.loss());
    made = refiner.anneal(moves, collection);
    refiner.split_large();
    refiner.descend();
    collection.add(groups);
    loss = cloud.in_units(groups.loss());
    refined = groups.labels();
  }
  return Refinement{to_numpy(std::move(refined)), start, descended, loss, made, to_numpy(std::move(collection.members)),
                    to_numpy(std::move(collection.ends))};
}

double partition_loss(Matrix x, Weights weights, Ints labels) {
  if (x.size() == 0) return 0.0;
  nb::gil_scoped_release free_lock;
  const Cloud cloud = cloud_of(x, weights);
  return cloud.in_units(Groups(cloud, {labels.data(), labels.data() + labels.shape(0)}).loss());
}

const Kernel refine_kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Refinement>(m, "Refinement", "Outcome of `refine`.")
      .def_ro("labels", &Refinement::labels, "Shape (n,); group numbers, with gaps.")
      .def_ro("start", &Refinement::start, "Within-group sum of squares at the start.")
      .def_ro("descended", &Refinement::descended, "Within-group sum of squares after the first descent.")
      .def_ro("loss", &Refinement::loss, "Within-group sum of squares at the end.")
      .def_ro("moves", &Refinement::moves, "Proposals made while annealing.")
      .def_ro("members", &Refinement::members,
              "Distinct groups met, one after the other: group g is `members[ends[g - 1]:ends[g]]`, ascending.")
      .def_ro("ends", &Refinement::ends, "Where each of those groups ends.");
  m.def("refine", &refine, "x"_a, "weights"_a.none(), "labels"_a, "near"_a, "k"_a, nb::kw_only(), "seed"_a, "moves"_a,
        "keep"_a = 0, "progress"_a.none() = nb::none(), kRefine);
  m.def("partition_loss", &partition_loss, "x"_a, "weights"_a.none(), "labels"_a,
        "Within-group sum of squares, about exact means, in a compensated sum over groups; as for `refine`.");
});

}  // namespace
}  // namespace shoal

// Refinement of a local recoding by simulated annealing on the sum of ancestor losses.
//
// The walk (walk.cpp) never takes back what it released. Here classes are rearranged, each proposal between the class
// of a record and that of a near one:
//
// - a record moves to the other class, or two records change places;
// - the part of a class that shares a label one level further down in some column moves, becomes a class of its own,
//   or pulls the like part of the other class over to it;
// - two classes are united;
// - where records may be suppressed, a class, the part of one or a record is, and a suppressed record joins a class;
// - a new class is gathered of records that share labels at some node, those first that lose most where they are, as many
//   of each class as it can spare;
// - a class is dissolved, every record going to the class of some near record that it costs least to join.
//
// Near records are those that share a class with a record at one of some nodes of the lattice: all columns but one or two
// at their lowest level and these at the top, and the nodes at which most records of the start are covered. A proposal is priced by the change of
// the loss of the classes that it touches and accepted with probability exp(-change / temperature); the temperature falls
// geometrically, and in the last part only improvements count. Classes of fewer than k records, or that do
// not satisfy the requirement, are never made. The result is never worse than the start.
#pragma once
#include <cmath>
#include <map>

#include "core/elementary.hpp"
#include "core/progress.hpp"
#include "generalisation/near_rows.hpp"
#include "generalisation/recoding_table.hpp"
#include "requirement/requirement_check.hpp"

namespace shoal {

constexpr double kHot = 0.05;      // first temperature, in mean losses of a record
constexpr double kCold = 0.002;    // last temperature, same unit
constexpr double kQuench = 0.9;    // from this share of the proposals on only improvements count
constexpr double kPart = 0.9;      // share of proposals that move a part of a class
constexpr double kDissolve = 0.01;
constexpr double kGather = 0.01;
constexpr double kUnite = 0.05;
constexpr double kSuppress = 0.02;  // where records may be suppressed
constexpr std::size_t kLargest = 4096;  // records of classes that are taken apart or united

class Annealing {
 public:
  Annealing(const Covering& covering, const NearRows& near, const std::vector<std::int32_t>& labels, std::size_t rows, std::size_t k,
            const RequirementCheck& check, const double* suppressed, std::int64_t most, std::uint64_t seed)
      : covering_(covering), near_(near), check_(check), k_(k), suppressed_(suppressed), most_suppressed_(most), random_(seed), of_(labels),
        records_(rows) {
    std::vector<Members> members;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      records_[static_cast<std::size_t>(covering.row(static_cast<std::int32_t>(i)))].push_back(static_cast<std::int32_t>(i));
      if (labels[i] < 0) {
        ++dropped_;
        continue;
      }
      const auto g = static_cast<std::size_t>(labels[i]);
      if (g >= members.size()) members.resize(g + 1);
      members[g].push_back(static_cast<std::int32_t>(i));
    }
    for (Members& list : members) classes_.push_back(Covered::of(std::move(list), covering));
  }

  double total() const {
    double sum = 0;
    for (std::size_t i = 0; i < of_.size(); ++i)
      if (of_[i] < 0) sum += suppressed(static_cast<std::int32_t>(i));
    for (const Covered& c : classes_) sum += c.total();
    return sum;
  }

  void run(std::int64_t proposals, Progress& progress) {
    if (classes_.empty()) return;
    const double unit = total() / static_cast<double>(of_.size());
    const double cooling = logarithm(kCold / kHot) / (kQuench * static_cast<double>(proposals));
    for (std::int64_t p = 0; p < proposals; ++p) {
      const double done = static_cast<double>(p) / static_cast<double>(proposals);
      temperature_ = done < kQuench ? unit * kHot * exponential(cooling * static_cast<double>(p)) : 0.0;
      propose();
      progress.tick(done);
    }
  }

  std::vector<std::int32_t> labels() && { return std::move(of_); }

 private:
  void propose() {
    const auto i = static_cast<std::int32_t>(random_.below(of_.size()));
    if (of_[static_cast<std::size_t>(i)] < 0) return take_back(i);
    if (dropped_ < most_suppressed_ && random_.uniform() < kSuppress) return suppress(i, of_[static_cast<std::size_t>(i)]);
    const double kind = random_.uniform();
    if (kind < kDissolve) return dissolve(of_[static_cast<std::size_t>(i)]);
    if (kind < kDissolve + kGather) return gather(i);
    const std::int32_t other = near(i);
    const std::int32_t a = of_[static_cast<std::size_t>(i)], b = other < 0 ? -1 : of_[static_cast<std::size_t>(other)];
    if (kind < kDissolve + kGather + kPart) return move_part(i, a);
    if (b < 0 || a == b) return;
    if (kind < kDissolve + kGather + kPart + kUnite) return unite(a, b);
    if (random_.uniform() < 0.5) return move_record(i, a, b);
    const Members& list = at(b).members;
    exchange(i, list[random_.below(list.size())], a, b);
  }

  void take_back(std::int32_t i) {
    const std::int32_t other = near(i);
    if (other < 0) return;
    const std::int32_t b = of_[static_cast<std::size_t>(other)];
    Covered more = with(at(b), i);
    if (!accept(more.total() - at(b).total() - suppressed(i)) || !allowed(more.members)) return;
    put(b, std::move(more));
    --dropped_;
  }

  // Suppress a class, or those of its records that keep it from a lower label, or one record.
  void suppress(std::int32_t i, std::int32_t a) {
    Members part, rest;
    const double kind = random_.uniform();
    if (kind < 1.0 / 3) {
      if (!part_of(i, at(a), rest, part)) return;
    } else {
      part = kind < 2.0 / 3 ? at(a).members : Members{i};
      if (part.size() == 1)
        for (const std::int32_t m : at(a).members)
          if (m != i) rest.push_back(m);
    }
    if (part.empty() || dropped_ + static_cast<std::int64_t>(part.size()) > most_suppressed_ || (!rest.empty() && rest.size() < k_)) return;
    Covered less = Covered::of(std::move(rest), covering_, &at(a).levels);
    double loss = less.total();
    for (const std::int32_t m : part) loss += suppressed(m);
    if (!accept(loss - at(a).total()) || !allowed(less.members)) return;
    put(a, std::move(less));
    for (const std::int32_t m : part) of_[static_cast<std::size_t>(m)] = -1;
    dropped_ += static_cast<std::int64_t>(part.size());
  }

  // A record that shares a class with another at some node, -1 if that one is suppressed.
  std::int32_t near(std::int32_t i) {
    const Members& list = records_[static_cast<std::size_t>(near_.near(covering_.row(i), random_))];
    const std::int32_t other = list[random_.below(list.size())];
    return of_[static_cast<std::size_t>(other)] < 0 ? -1 : other;
  }

  double loss_with(const Covered& c, std::int32_t record) const { return c.loss_with(record, covering_); }
  Covered with(Covered c, std::int32_t record) const { return std::move(c).with(record, covering_); }
  // What a record loses if it is suppressed.
  double suppressed(std::int32_t record) const { return suppressed_[covering_.row(record)]; }
  Covered& at(std::int32_t g) { return classes_[static_cast<std::size_t>(g)]; }

  bool accept(double change) {
    if (change <= 0) return true;
    return temperature_ > 0 && std::isfinite(change) && random_.uniform() < exponential(-change / temperature_);
  }

  bool allowed(const Members& members) const {
    return members.empty() || (members.size() >= k_ && (check_.columns() == 0 || check_.open(members).excess <= 0));
  }

  // Cover of a class without one of its records.
  Covered without(const Covered& c, std::int32_t record) const {
    Covered less;
    less.members.reserve(c.size());
    for (const std::int32_t i : c.members)
      if (i != record) less.members.push_back(i);
    less = Covered::of(std::move(less.members), covering_, &c.levels);
    return less;
  }

  void move_record(std::int32_t i, std::int32_t a, std::int32_t b) {
    if (at(a).size() <= k_) return;
    const double gained = loss_with(at(b), i) * static_cast<double>(at(b).size() + 1) - at(b).total();
    if (gained - at(a).total() > 12 * temperature_) return;  // whatever the other class gains, it is too much
    Covered less = without(at(a), i);
    if (!accept(gained + less.total() - at(a).total())) return;
    Covered more = with(at(b), i);
    settle(a, std::move(less), b, std::move(more));
  }

  void exchange(std::int32_t i, std::int32_t j, std::int32_t a, std::int32_t b) {
    if (covering_.row(i) == covering_.row(j) && check_.columns() == 0) return;
    Covered first = with(without(at(a), i), j), second = with(without(at(b), j), i);
    if (accept(first.total() + second.total() - at(a).total() - at(b).total()))
      settle(a, std::move(first), b, std::move(second));
  }

  // The part of the class of `i` that shares its label one level further down in a column that is not at its lowest.
  bool part_of(std::int32_t i, const Covered& c, Members& part, Members& rest) {
    std::vector<std::size_t> raised;
    for (std::size_t j = 0; j < c.levels.size(); ++j)
      if (c.levels[j] > 0) raised.push_back(j);
    if (raised.empty() || c.size() > kLargest) return false;
    const std::size_t j = raised[random_.below(raised.size())];
    const Hierarchies& h = covering_.hierarchies();
    const std::int32_t level = static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(c.levels[j])));
    const std::int32_t* const labels = h.labels(j, level);
    const std::int32_t label = labels[covering_.leaves(i)[j]];
    for (const std::int32_t m : c.members) (labels[covering_.leaves(m)[j]] == label ? part : rest).push_back(m);
    return true;
  }

  void move_part(std::int32_t i, std::int32_t a) {
    Members part, rest;
    if (!part_of(i, at(a), part, rest)) return;
    if (random_.uniform() < 0.5 && !rest.empty()) std::swap(part, rest);
    const std::int32_t other_record = near(part[random_.below(part.size())]);
    const std::int32_t b = other_record < 0 ? -1 : of_[static_cast<std::size_t>(other_record)];
    if (part.size() >= k_ && rest.size() >= k_ && (b < 0 || a == b || random_.uniform() < 0.5)) return split(a, std::move(part), std::move(rest));
    if (b < 0 || a == b || at(b).size() > kLargest) return;
    Members other = at(b).members;
    if (part.size() < k_ && rest.size() >= k_ && other.size() + part.size() >= 2 * k_ && random_.uniform() < 0.5) {
      fill(part, other);  // the part becomes a class of its own
      return rearrange(a, b, std::move(rest), std::move(other), std::move(part));
    }
    fill(rest, other);
    other.insert(other.end(), part.begin(), part.end());
    if (rest.size() < k_ || other.size() < k_) return;
    rearrange(a, b, std::move(rest), std::move(other), {});
  }

  // Bring a group to k records by those of another that cost it least.
  void fill(Members& group, Members& from) {
    if (group.size() >= k_) return;
    const std::size_t lack = k_ - group.size();
    if (group.empty() || from.size() <= lack) return;
    const Covered c = Covered::of(group, covering_);
    std::vector<std::pair<double, std::int32_t>> order;
    for (const std::int32_t i : from) order.emplace_back(loss_with(c, i), i);
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(lack), order.end());
    from.clear();
    for (std::size_t p = 0; p < order.size(); ++p) (p < lack ? group : from).push_back(order[p].second);
  }

  // Give two classes other records and make a third of those that are named, none where there are none.
  void rearrange(std::int32_t a, std::int32_t b, Members first, Members second, Members third) {
    Covered one = Covered::of(std::move(first), covering_), two = Covered::of(std::move(second), covering_), three = Covered::of(std::move(third), covering_);
    if (!accept(one.total() + two.total() + three.total() - at(a).total() - at(b).total())) return;
    if (!allowed(one.members) || !allowed(two.members) || !allowed(three.members)) return;
    if (three.size() > 0) put(open(), std::move(three));
    put(a, std::move(one));
    put(b, std::move(two));
  }

  void split(std::int32_t a, Members part, Members rest) {
    Covered one = Covered::of(std::move(part), covering_, &at(a).levels), two = Covered::of(std::move(rest), covering_, &at(a).levels);
    if (!accept(one.total() + two.total() - at(a).total()) || !allowed(one.members) || !allowed(two.members)) return;
    const std::int32_t fresh = open();
    put(a, std::move(one));
    put(fresh, std::move(two));
  }

  // A new class of the records that share labels with `i` at some node and that their own classes can spare, those first
  // that lose most in theirs.
  void gather(std::int32_t i) {
    const NearRows::Cell cell = near_.cell(covering_.row(i), random_);
    const double loss = covering_.loss(cell.levels, covering_.leaves(i));
    std::vector<std::pair<double, std::int32_t>> order;
    std::size_t seen = 0;
    for (const std::int32_t* row = cell.begin; row != cell.end; ++row) {
      if ((seen += records_[static_cast<std::size_t>(*row)].size()) > kLargest) return;
      for (const std::int32_t m : records_[static_cast<std::size_t>(*row)]) {
        const std::int32_t g = of_[static_cast<std::size_t>(m)];
        if (g >= 0 && at(g).size() > k_) order.emplace_back(loss - at(g).loss, m);
      }
    }
    std::map<std::int32_t, std::size_t> taken;
    Members chosen = spared(order, taken);
    if (chosen.size() < k_) return;
    std::vector<std::int32_t> sorted = chosen;
    std::sort(sorted.begin(), sorted.end());
    std::map<std::int32_t, Covered> changed;
    Covered made = Covered::of(std::move(chosen), covering_);
    double change = made.total();
    for (const auto& [g, count] : taken) {
      Members rest;
      for (const std::int32_t m : at(g).members)
        if (!std::binary_search(sorted.begin(), sorted.end(), m)) rest.push_back(m);
      Covered less = Covered::of(std::move(rest), covering_, &at(g).levels);
      change += less.total() - at(g).total();
      changed.emplace(g, std::move(less));
    }
    if (!accept(change) || !allowed(made.members)) return;
    for (const auto& [g, c] : changed)
      if (!allowed(c.members)) return;
    put(open(), std::move(made));
    for (auto& [g, c] : changed) put(g, std::move(c));
  }

  // Of records in the order of what a new class adds to their loss those that gain, and others up to k in all, as many of
  // each class as it can spare; how many of each are `taken`.
  Members spared(std::vector<std::pair<double, std::int32_t>>& order, std::map<std::int32_t, std::size_t>& taken) {
    if (order.size() < k_) return {};
    std::sort(order.begin(), order.end());
    Members chosen;
    for (const auto& [added, m] : order) {
      if (added >= 0 && chosen.size() >= k_) break;
      const std::int32_t g = of_[static_cast<std::size_t>(m)];
      const auto place = taken.find(g);
      if (at(g).size() <= k_ + (place == taken.end() ? 0 : place->second)) continue;
      ++taken[g];
      chosen.push_back(m);
    }
    return chosen;
  }

  void unite(std::int32_t a, std::int32_t b) {
    if (at(a).size() + at(b).size() > kLargest) return;
    Members both = at(a).members;
    both.insert(both.end(), at(b).members.begin(), at(b).members.end());
    Covered made = Covered::of(std::move(both), covering_);
    if (!accept(made.total() - at(a).total() - at(b).total())) return;
    settle(b, Covered{}, a, std::move(made));
  }

  // Every record of a class to the near class that it adds least to.
  void dissolve(std::int32_t a) {
    if (at(a).size() > 4 * k_) return;
    std::map<std::int32_t, Covered> changed;
    double change = -at(a).total();
    for (const std::int32_t i : at(a).members) {
      double least = std::numeric_limits<double>::infinity();
      std::int32_t best = -1;
      for (int tries = 0; tries < 8; ++tries) {
        const std::int32_t other = near(i);
        const std::int32_t b = other < 0 ? a : of_[static_cast<std::size_t>(other)];
        if (b == a) continue;
        const Covered& c = changed.count(b) ? changed[b] : at(b);
        const double added = loss_with(c, i) * static_cast<double>(c.size() + 1) - c.total();
        if (added < least) least = added, best = b;
      }
      if (best < 0) return;
      const auto place = changed.try_emplace(best, at(best)).first;
      place->second = with(std::move(place->second), i);
      change += least;
    }
    if (!accept(change)) return;
    for (const auto& [g, c] : changed)
      if (!allowed(c.members)) return;
    put(a, Covered{});
    for (auto& [g, c] : changed) put(g, std::move(c));
  }

  void settle(std::int32_t a, Covered first, std::int32_t b, Covered second) {
    if (!allowed(first.members) || !allowed(second.members)) return;
    put(a, std::move(first));
    put(b, std::move(second));
  }

  void put(std::int32_t g, Covered c) {
    for (const std::int32_t i : c.members) of_[static_cast<std::size_t>(i)] = g;
    if (c.members.empty()) free_.push_back(g);
    at(g) = std::move(c);
  }

  std::int32_t open() {
    if (free_.empty()) {
      classes_.emplace_back();
      return static_cast<std::int32_t>(classes_.size()) - 1;
    }
    const std::int32_t g = free_.back();
    free_.pop_back();
    return g;
  }

  const Covering& covering_;
  const NearRows& near_;
  const RequirementCheck& check_;
  std::size_t k_;
  const double* suppressed_;           // what a suppressed record of each combination loses
  std::int64_t most_suppressed_;       // records that may be suppressed
  std::int64_t dropped_ = 0;   // records that are
  Random random_;
  std::vector<std::int32_t> of_;   // class of each record, -1 for those that are suppressed
  std::vector<Members> records_;   // of each combination
  std::vector<Covered> classes_;
  std::vector<std::int32_t> free_; // numbers without a class
  double temperature_ = 0;
};

}  // namespace shoal

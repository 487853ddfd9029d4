// A partition that changes record by record, and what each change does to the loss.
//
// The loss is the (weighted) within-group sum of squares, sum over groups of sum_i w_i |x_i - c|^2 with c the
// group's weighted mean. With W the group's weight and d(.) a squared distance, the textbook updates hold
// exactly and subtract no large sums from each other:
//
//   i leaves            - w_i W / (W - w_i) d(i, c)
//   i joins             + w_i W / (W + w_i) d(i, c)
//   i is replaced by j  both, j measured to the centre that i leaves behind,
//                       d(j, c') = (1 + a) d(j, c) + (a + a^2) d(i, c) - a d(i, j),  a = w_i / (W - w_i)
//
// so a change costs one distance to each centre (and one between the records for an exchange), whatever the
// size of the groups. Centres of small groups are recomputed from their members after every change; those of
// large groups are updated and recomputed every `size` changes: rounding errors cannot pile up.
//
// Shared by every kernel that improves a partition (refine.cpp, refine_tcloseness.cpp): Cloud, Groups,
// NeighbourLists, Journal (undo), Cooling (the annealing schedule).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/elementary.hpp"
#include "core/random.hpp"
#include "partition/compositions.hpp"

namespace shoal {

using Record = std::int32_t;
using Group = std::int32_t;

// A copy of the records about their mean, scaled by a power of two so that no square overflows or vanishes,
// rows padded with zeros to a multiple of four values; columns of codes apart. Records have weights only where there are
// no codes: the compositions of groups (compositions.hpp) count records.
class Cloud {
 public:
  // Numbers alone. `weights` may be null: every record then counts once.
  Cloud(const double* x, const double* weights, std::size_t n, std::size_t d) : Cloud(x, n, d, nullptr, nullptr) {
    if (weights != nullptr) weight_.assign(weights, weights + n);
  }
  // `sizes` and `sides` tell the columns of codes, as for `mdav`; both may be null: all are numbers.
  Cloud(const double* x, std::size_t n, std::size_t d, const std::int64_t* sizes, const double* sides)
      : n_(n), weight_(n, 1.0) {
    std::vector<std::size_t> numbers;
    for (std::size_t j = 0; j < d; ++j)
      if (sizes == nullptr || sizes[j] == 0) numbers.push_back(j);
    width_ = (numbers.size() + 3) / 4 * 4;
    x_.assign(n * width_, 0.0);
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (const std::size_t j : numbers) largest = std::max(largest, std::abs(x[i * d + j]));
    for (std::size_t j = 0; j < d && numbers.size() < d; ++j) largest = std::max(largest, sides[j]);
    std::frexp(largest, &exponent_);
    std::vector<double> mean(numbers.size(), 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < numbers.size(); ++j)
        mean[j] += (std::ldexp(x[i * d + numbers[j]], -exponent_) - mean[j]) / static_cast<double>(i + 1);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < numbers.size(); ++j)
        x_[i * width_ + j] = std::ldexp(x[i * d + numbers[j]], -exponent_) - mean[j];
    if (numbers.size() < d) categories_ = Categories(x, n, d, sizes, sides, exponent_);
  }

  // A squared distance, or a loss, in the units that the records came in.
  double in_units(double square) const { return std::ldexp(square, 2 * exponent_); }
  std::size_t n() const { return n_; }
  std::size_t width() const { return width_; }
  const double* row(Record i) const { return x_.data() + static_cast<std::size_t>(i) * width_; }
  double weight(Record i) const { return weight_[static_cast<std::size_t>(i)]; }

  // Four running sums in a fixed order: vector code without reordering by the compiler.
  double distance(const double* a, const double* b) const {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (std::size_t j = 0; j < width_; j += 4) {
      const double e0 = a[j] - b[j], e1 = a[j + 1] - b[j + 1];
      const double e2 = a[j + 2] - b[j + 2], e3 = a[j + 3] - b[j + 3];
      s0 += e0 * e0;
      s1 += e1 * e1;
      s2 += e2 * e2;
      s3 += e3 * e3;
    }
    return (s0 + s2) + (s1 + s3);
  }
  double distance(Record i, Record j) const {
    const double numbers = distance(row(i), row(j));
    return coded() ? numbers + categories_.apart(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) : numbers;
  }
  bool coded() const { return categories_.columns() > 0; }
  const Categories& categories() const { return categories_; }

 private:
  std::size_t n_, width_ = 0;
  int exponent_ = 0;
  std::vector<double> x_, weight_;
  Categories categories_;
};

class Groups {
 public:
  Groups(const Cloud& cloud, const std::vector<std::int32_t>& labels) : cloud_(cloud) { reset(labels); }

  // Start again from other labels; a number that no record bears is an empty slot.
  void reset(std::vector<std::int32_t> labels) {
    label_ = std::move(labels);
    const auto count = static_cast<std::size_t>(*std::max_element(label_.begin(), label_.end())) + 1;
    slot_.assign(label_.size(), 0);
    members_.assign(count, {});
    weight_.assign(count, 0.0);
    stale_.assign(count, 0);
    centre_.assign(count * cloud_.width(), 0.0);
    if (cloud_.coded()) compositions_.assign(count, {});
    free_.clear();
    for (std::size_t i = 0; i < label_.size(); ++i) append(static_cast<Record>(i), label_[i]);
    for (std::size_t g = 0; g < count; ++g) {
      if (members_[g].empty()) free_.push_back(static_cast<Group>(g));
      recentre(static_cast<Group>(g));
    }
  }

  // Numbers in use run from 0 to slots() - 1; a dissolved group is an empty slot until open() hands it out.
  std::size_t slots() const { return members_.size(); }
  Group of(Record i) const { return label_[static_cast<std::size_t>(i)]; }
  const std::vector<std::int32_t>& labels() const { return label_; }
  const std::vector<Record>& members(Group g) const { return members_[static_cast<std::size_t>(g)]; }
  std::size_t size(Group g) const { return members(g).size(); }
  double weight(Group g) const { return weight_[static_cast<std::size_t>(g)]; }
  const double* centre(Group g) const { return centre_.data() + static_cast<std::size_t>(g) * cloud_.width(); }
  double to_centre(Record i, Group g) const {
    const double numbers = cloud_.distance(cloud_.row(i), centre(g));
    if (!cloud_.coded()) return numbers;
    return numbers + cloud_.categories().from(static_cast<std::size_t>(i), compositions_[static_cast<std::size_t>(g)], mass(g));
  }

  // Squared distance of the centres of two groups.
  double apart(Group g, Group h) const {
    const double numbers = cloud_.distance(centre(g), centre(h)), a = mass(g), b = mass(h);
    if (!cloud_.coded()) return numbers;
    const Composition &first = compositions_[static_cast<std::size_t>(g)], &second = compositions_[static_cast<std::size_t>(h)];
    double shared = 0.0;
    for (const auto& [c, weight] : first.weights()) shared += cloud_.categories().square_of(c) * weight * second.of(c);
    return numbers + std::max(first.squares() / (a * a) + second.squares() / (b * b) - 2.0 * shared / (a * b), 0.0);
  }

  // Change of the loss when `i` leaves its group (never positive).
  double leave_change(Record i) const {
    const double w = cloud_.weight(i), rest = weight(of(i)) - w;
    return size(of(i)) > 1 && rest > 0 ? -w * (weight(of(i)) / rest) * to_centre(i, of(i)) : 0.0;
  }

  // Change of the loss when `i`, from elsewhere, joins group `g` (never negative).
  double join_change(Record i, Group g) const {
    const double w = cloud_.weight(i), total = weight(g);
    return w > 0 && total > 0 ? w * (total / (total + w)) * to_centre(i, g) : 0.0;
  }

  double relocate_change(Record i, Group to) const { return leave_change(i) + join_change(i, to); }

  // Change of the loss of `i`'s group when `j` takes the place of `i`; `apart` is their squared distance.
  double replace_change(Record i, Record j, double apart) const {
    const Group g = of(i);
    const double total = weight(g), w = cloud_.weight(i), v = cloud_.weight(j), rest = total - w;
    if (size(g) == 1 || rest <= 0) return 0.0;
    const double a = w / rest, from_i = to_centre(i, g), from_j = to_centre(j, g);
    const double left_behind = (1 + a) * from_j + (a + a * a) * from_i - a * apart;
    return v * (rest / (rest + v)) * left_behind - w * (total / rest) * from_i;
  }

  double exchange_change(Record i, Record j) const {
    const double apart = cloud_.distance(i, j);
    return replace_change(i, j, apart) + replace_change(j, i, apart);
  }

  void relocate(Record i, Group to) {
    const Group from = of(i);
    if (!free_.empty() && free_.back() == to) free_.pop_back();
    remove(i);
    append(i, to);
    label_[static_cast<std::size_t>(i)] = to;
    if (members_[static_cast<std::size_t>(from)].empty()) free_.push_back(from);
    shift(from, i, -1.0);
    shift(to, i, 1.0);
  }

  void exchange(Record i, Record j) {
    const Group a = of(i), b = of(j);
    std::swap(slot_[static_cast<std::size_t>(i)], slot_[static_cast<std::size_t>(j)]);
    std::swap(label_[static_cast<std::size_t>(i)], label_[static_cast<std::size_t>(j)]);
    members_[static_cast<std::size_t>(b)][slot_[static_cast<std::size_t>(i)]] = i;
    members_[static_cast<std::size_t>(a)][slot_[static_cast<std::size_t>(j)]] = j;
    weight_[static_cast<std::size_t>(a)] += cloud_.weight(j) - cloud_.weight(i);
    weight_[static_cast<std::size_t>(b)] += cloud_.weight(i) - cloud_.weight(j);
    recentre_after_exchange(a, i, j);
    recentre_after_exchange(b, j, i);
  }

  // An empty group. It stays on offer until a record is relocated into it.
  Group open() {
    while (!free_.empty() && !members_[static_cast<std::size_t>(free_.back())].empty()) free_.pop_back();
    if (free_.empty()) {
      free_.push_back(static_cast<Group>(members_.size()));
      members_.emplace_back();
      weight_.push_back(0.0);
      stale_.push_back(0);
      if (cloud_.coded()) compositions_.emplace_back();
      centre_.resize(centre_.size() + cloud_.width(), 0.0);
    }
    return free_.back();
  }

  // Loss of one group, and of all, recomputed from the records.
  double loss(Group g) {
    recentre(g);
    double sum = 0;
    for (const Record i : members(g)) sum += cloud_.weight(i) * to_centre(i, g);
    return sum;
  }
  double loss() {
    double sum = 0, lost = 0;  // Neumaier's compensated sum
    for (std::size_t g = 0; g < slots(); ++g) {
      const double term = loss(static_cast<Group>(g)), next = sum + term;
      lost += std::abs(sum) >= std::abs(term) ? (sum - next) + term : (term - next) + sum;
      sum = next;
    }
    return sum + lost;
  }

 private:
  static constexpr std::size_t kSmall = 12;  // below, recomputing a centre is as cheap as updating it

  void append(Record i, Group g) {
    auto& list = members_[static_cast<std::size_t>(g)];
    slot_[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(list.size());
    list.push_back(i);
    weight_[static_cast<std::size_t>(g)] += cloud_.weight(i);
  }

  void remove(Record i) {
    auto& list = members_[static_cast<std::size_t>(of(i))];
    const std::uint32_t slot = slot_[static_cast<std::size_t>(i)];
    list[slot] = list.back();
    slot_[static_cast<std::size_t>(list[slot])] = slot;
    list.pop_back();
    weight_[static_cast<std::size_t>(of(i))] -= cloud_.weight(i);
  }

  // The weighted mean of the members; the plain mean where no member has weight.
  void recentre(Group g) {
    const auto& list = members(g);
    double* c = centre_.data() + static_cast<std::size_t>(g) * cloud_.width();
    std::fill(c, c + cloud_.width(), 0.0);
    double total = 0;
    for (const Record i : list) total += cloud_.weight(i);
    const double share = total > 0 ? total : static_cast<double>(list.size());
    for (const Record i : list) {
      const double* row = cloud_.row(i);
      const double w = total > 0 ? cloud_.weight(i) : 1.0;
      for (std::size_t j = 0; j < cloud_.width(); ++j) c[j] += w * row[j];
    }
    if (!list.empty())
      for (std::size_t j = 0; j < cloud_.width(); ++j) c[j] /= share;
    weight_[static_cast<std::size_t>(g)] = total;
    stale_[static_cast<std::size_t>(g)] = 0;
    if (!cloud_.coded()) return;
    compositions_[static_cast<std::size_t>(g)].clear();
    for (const Record i : list) book(g, i, 1.0);
  }

  // Count a record's categories in a group, or no longer (-1).
  void book(Group g, Record i, double sign) {
    if (cloud_.coded()) cloud_.categories().book(static_cast<std::size_t>(i), sign, compositions_[static_cast<std::size_t>(g)]);
  }

  // What the counts of a group's categories are shares of.
  double mass(Group g) const { return std::max(static_cast<double>(size(g)), 1.0); }

  bool must_recentre(Group g) {
    return size(g) <= kSmall || weight(g) <= 0 || ++stale_[static_cast<std::size_t>(g)] >= size(g);
  }

  // `i` has just joined (sign 1) or left (sign -1) group `g`; its weight is booked, the centre is not.
  void shift(Group g, Record i, double sign) {
    if (must_recentre(g)) return recentre(g);
    double* c = centre_.data() + static_cast<std::size_t>(g) * cloud_.width();
    const double* row = cloud_.row(i);
    const double step = sign * cloud_.weight(i) / weight(g);
    for (std::size_t j = 0; j < cloud_.width(); ++j) c[j] += step * (row[j] - c[j]);
    book(g, i, sign);
  }

  void recentre_after_exchange(Group g, Record out, Record in) {
    if (must_recentre(g)) return recentre(g);
    double* c = centre_.data() + static_cast<std::size_t>(g) * cloud_.width();
    const double *leaving = cloud_.row(out), *coming = cloud_.row(in);
    const double w = cloud_.weight(out), v = cloud_.weight(in);
    for (std::size_t j = 0; j < cloud_.width(); ++j)
      c[j] += (v * (coming[j] - c[j]) - w * (leaving[j] - c[j])) / weight(g);
    book(g, out, -1.0);
    book(g, in, 1.0);
  }

  const Cloud& cloud_;
  std::vector<std::int32_t> label_;
  std::vector<std::uint32_t> slot_;  // place of a record in its group's list
  std::vector<std::vector<Record>> members_;
  std::vector<double> weight_;
  std::vector<std::uint32_t> stale_;  // updates of a centre since it was last recomputed
  std::vector<double> centre_;
  std::vector<Composition> compositions_;  // where the cloud has categories
  std::vector<Group> free_;
};

// For each record the numbers of its nearest others, nearest first (row-major, `width` a record).
struct NeighbourLists {
  const std::int32_t* near;
  std::size_t width;
  Record at(Record i, std::size_t rank) const { return near[static_cast<std::size_t>(i) * width + rank]; }
  // The nearer the likelier: rank u^2 of the way down the list, u uniform.
  Record draw(Record i, Random& random) const {
    const double u = random.uniform();
    return at(i, static_cast<std::size_t>(u * u * static_cast<double>(width)));
  }
};

// Relocations that can be taken back: a compound move is tried by making it, and undone if refused.
class Journal {
 public:
  explicit Journal(Groups& groups) : groups_(groups) {}
  void start() { moved_.clear(); }
  double relocate(Record i, Group to) {
    const double change = groups_.relocate_change(i, to);
    moved_.emplace_back(i, groups_.of(i));
    groups_.relocate(i, to);
    return change;
  }
  void undo() {
    for (; !moved_.empty(); moved_.pop_back()) groups_.relocate(moved_.back().first, moved_.back().second);
  }

 private:
  Groups& groups_;
  std::vector<std::pair<Record, Group>> moved_;
};

// Metropolis acceptance under geometric cooling from `hot` to `cold` (Kirkpatrick, Gelatt & Vecchi 1983).
class Cooling {
 public:
  Cooling(double hot, double cold) : hot_(hot), cold_(cold), now_(hot) {}
  // `done` in [0, 1].
  void at(double done) { now_ = hot_ * power(cold_ / hot_, done); }
  double temperature() const { return now_; }
  // The largest change that this draw accepts: change <= allowance() has probability min(1, exp(-change / T)).
  double allowance(Random& random) const { return -now_ * logarithm(1.0 - random.uniform()); }

 private:
  double hot_, cold_, now_;
};

}  // namespace shoal

// The walk over the tree of numbers and codes (coded_tree.hpp).
#include "search/coded_tree.hpp"

namespace shoal {
inline namespace search {

constexpr std::int32_t kNoRow = std::numeric_limits<std::int32_t>::max();

CodedTree::CodedTree(const CodedTable& table, const std::vector<std::int32_t>& rows, const Scans& scans)
    : table_(table), points_(table.packed, rows), blocks_(table, scans), live_(rows.size()), centre_(table.width),
      parts_(table.width), seed_(table.d) {
  std::vector<std::int32_t> ids(points_.size());
  std::iota(ids.begin(), ids.end(), 0);
  if (ids.empty()) return;
  blocks_.build(points_, ids);
  points_.reorder(ids);
  blocks_.renumber();
  find_lowest();
}

std::int32_t CodedTree::farthest_from_mean(const double* q) {
  centre_.assign(q, q + table_.width);
  prepare_parts();
  farthest_ = {-1.0, -1};
  heap_.search(
      centre_, blocks_.leaves(), [this](std::size_t leaf) { return scan_from_mean(leaf); },
      [this] { return std::sqrt(std::max(farthest_.d2 * (1.0 - gamma()), 0.0)); });
  return farthest_.row;
}

std::int32_t CodedTree::farthest(const double* q) {
  seed_.assign(q, q + table_.d);
  return farthest();
}

void CodedTree::nearest(const double* q, std::int32_t seed, std::size_t count, std::vector<Neighbour>& out) {
  seed_.assign(q, q + table_.d);
  out.clear();
  if (seed >= 0) out.push_back({0.0, seed});
  nearest_.clear();
  if (count > out.size()) nearest(seed, count - out.size());
  out.insert(out.end(), nearest_.begin(), nearest_.end());
}

std::int32_t CodedTree::take(std::int32_t seed, std::size_t k, std::vector<std::int32_t>& rows, bool farthest_next) {
  const double* const values = points_.values(points_.of_row(seed));
  seed_.assign(values, values + table_.d);
  rows.assign(1, seed);
  if (k > 1) {
    nearest(seed, k - 1);
    for (const auto& f : nearest_) rows.push_back(f.row);
  }
  remove(rows);
  return farthest_next ? farthest() : -1;
}

void CodedTree::remove(const std::vector<std::int32_t>& rows) {
  for (std::int32_t row : rows) {
    const std::int32_t id = points_.of_row(row);
    const std::size_t leaf = blocks_.leaf_of(id);
    points_.remove(row);
    if (points_.empty(id)) blocks_.remove(id);
    if (row == lowest_.back()[leaf]) find_lowest(leaf);
  }
  live_ -= rows.size();
  blocks_.shrink();
  if (blocks_.live() > 0 && 2 * blocks_.live() < blocks_.slots() && blocks_.slots() > 2 * kBlock) rebuild();
}

void CodedTree::prepare_parts() {
  slack_ = 0.0;
  for (std::size_t j = 0; j < table_.d; ++j) {
    if (!table_.coded(j)) continue;
    const std::size_t first = table_.first[j], end = first + table_.categories[j];
    double squares = 0.0;
    for (std::size_t i = first; i < end; ++i) squares += centre_[i] * centre_[i];
    for (std::size_t i = first; i < end; ++i)
      parts_[i] = squares + table_.side[j] * (table_.side[j] - 2.0 * centre_[i]);
    slack_ += 4.0 * table_.side[j] * table_.side[j];
  }
  slack_ *= gamma();
}

double CodedTree::scan_from_mean(std::size_t leaf) {
  alignas(32) double d2[kBlock];
  const std::size_t count = blocks_.count(leaf);
  if (count == 0) return -1.0;
  blocks_.nearly_from(leaf, centre_.data(), parts_.data(), d2);
  const std::size_t most = static_cast<std::size_t>(std::max_element(d2, d2 + count) - d2);
  consider_from_mean(blocks_.ids(leaf)[most], d2[most]);
  for (std::size_t i = 0; i < count; ++i)
    if (i != most) consider_from_mean(blocks_.ids(leaf)[i], d2[i]);
  return std::sqrt(at_most(d2[most])) * (1.0 + 0x1p-40);
}

void CodedTree::consider_from_mean(std::int32_t id, double nearly) {
  if (at_most(nearly) < farthest_.d2) return;
  consider(id, table_.squared_distance_to_point(points_.values(id), centre_.data()));
}

void CodedTree::consider(std::int32_t id, double d2) {
  const std::int32_t row = *points_.begin(id);
  if (d2 > farthest_.d2 || (d2 == farthest_.d2 && row < farthest_.row)) farthest_ = {d2, row};
}

std::int32_t CodedTree::farthest() {
  farthest_ = {-1.0, -1};
  const auto open = [this](double bound, std::int32_t lowest) {
    return bound > farthest_.d2 || (bound == farthest_.d2 && lowest < farthest_.row);
  };
  Stack stack;
  std::size_t top = 0;
  stack[top++] = {std::numeric_limits<double>::infinity(), -1, 0, 0};
  while (top > 0) {
    const Stop stop = stack[--top];
    if (!open(stop.bound, stop.lowest)) continue;
    if (stop.level == blocks_.height()) {
      scan(stop.node, [this](double d2, std::int32_t id) {
        if (d2 >= farthest_.d2) consider(id, d2);
      });
      continue;
    }
    alignas(32) double bounds[kFan];
    blocks_.far_bounds(stop.level, stop.node, seed_.data(), bounds);
    top = push(stack, top, stop, bounds, open, std::greater<>());
  }
  return farthest_.row;
}

void CodedTree::nearest(std::int32_t seed, std::size_t count) {
  nearest_.clear();
  const auto open = [&](double bound, std::int32_t lowest) {
    return nearest_.size() < count ? std::isfinite(bound) : Neighbour{bound, lowest} < nearest_.front();
  };
  Stack stack;
  std::size_t top = 0;
  stack[top++] = {0.0, -1, 0, 0};
  while (top > 0) {
    const Stop stop = stack[--top];
    if (!open(stop.bound, stop.lowest)) continue;
    if (stop.level == blocks_.height()) {
      scan(stop.node, [&](double d2, std::int32_t id) {
        if (d2 <= limit(count)) offer(d2, id, seed, count);
      });
      continue;
    }
    alignas(32) double bounds[kFan];
    blocks_.near_bounds(stop.level, stop.node, seed_.data(), bounds);
    top = push(stack, top, stop, bounds, open, std::less<>());
  }
  std::sort_heap(nearest_.begin(), nearest_.end());
}

void CodedTree::offer(double d2, std::int32_t id, std::int32_t seed, std::size_t count) {
  std::size_t remaining = count + 1;  // of which one may be the seed
  for (auto row = points_.begin(id); row != points_.end(id) && remaining > 0; ++row, --remaining) {
    if (*row == seed) continue;
    const Neighbour candidate{d2, *row};
    if (nearest_.size() == count) {
      if (!(candidate < nearest_.front())) return;
      std::pop_heap(nearest_.begin(), nearest_.end());
      nearest_.pop_back();
    }
    nearest_.push_back(candidate);
    std::push_heap(nearest_.begin(), nearest_.end());
  }
}

template <class Open, class Before>
std::size_t CodedTree::push(Stack& stack, std::size_t top, const Stop& parent, const double* bounds, Open open,
                            Before before) const {
  const std::size_t base = top, first = parent.node * kFan;
  for (std::size_t c = 0; c < kFan; ++c) {
    if (first + c >= lowest_[parent.level].size()) break;
    const std::int32_t lowest = lowest_[parent.level][first + c];
    if (!open(bounds[c], lowest)) continue;
    std::size_t at = top++;
    for (; at > base; --at) {
      const Stop& other = stack[at - 1];
      if (!before(other.bound, bounds[c]) && (before(bounds[c], other.bound) || lowest < other.lowest)) break;
      stack[at] = other;
    }
    stack[at] = {bounds[c], lowest, parent.level + 1, static_cast<std::uint32_t>(first + c)};
  }
  return top;
}

void CodedTree::find_lowest() {
  lowest_.assign(blocks_.height(), {});
  std::size_t width = blocks_.leaves();
  for (std::size_t level = blocks_.height(); level-- > 0; width = (width + kFan - 1) / kFan)
    lowest_[level].assign(width, kNoRow);
  for (std::size_t leaf = 0; leaf < blocks_.leaves(); ++leaf) find_lowest(leaf);
}

void CodedTree::find_lowest(std::size_t leaf) {
  std::int32_t lowest = kNoRow;
  for (std::size_t i = 0; i < blocks_.count(leaf); ++i)
    lowest = std::min(lowest, *points_.begin(blocks_.ids(leaf)[i]));
  std::size_t place = leaf;
  for (std::size_t level = blocks_.height(); level-- > 0; place /= kFan) {
    std::vector<std::int32_t>& here = lowest_[level];
    if (here[place] == lowest) return;
    here[place] = lowest;
    const auto first = here.begin() + static_cast<std::ptrdiff_t>(place / kFan * kFan);
    lowest = *std::min_element(first, first + std::min<std::ptrdiff_t>(kFan, here.end() - first));
  }
}

template <class Take>
void CodedTree::scan(std::size_t leaf, Take take) {
  alignas(32) double d2[kBlock];
  blocks_.distances(leaf, seed_.data(), d2);
  for (std::size_t i = 0; i < blocks_.count(leaf); ++i) take(d2[i], blocks_.ids(leaf)[i]);
}

void CodedTree::rebuild() {
  std::vector<std::int32_t> ids;
  ids.reserve(blocks_.live());
  for (std::size_t leaf = 0; leaf < blocks_.leaves(); ++leaf)
    ids.insert(ids.end(), blocks_.ids(leaf), blocks_.ids(leaf) + blocks_.count(leaf));
  blocks_.build(points_, ids);
  heap_.reset();
  find_lowest();
}

}  // namespace search
}  // namespace shoal

// The walk over the tree of shrinking boxes (tree.hpp).
#include "search/tree.hpp"
#include "core/bits.hpp"

namespace shoal {
inline namespace search {

Tree::Tree(const Table& table, const std::vector<std::int32_t>& rows, const Scans& scans)
    : scans_(scans), points_(table, rows), blocks_(scans), near_(points_), far_(points_),
      live_(rows.size()), frame_(table.d), copy_(table.d), toward_(table.d), antipode_(table.d), seed_(table.d) {
  std::vector<std::int32_t> ids(points_.size());
  std::iota(ids.begin(), ids.end(), 0);
  if (ids.empty()) return;
  arrange(ids);
  points_.reorder(ids);
  blocks_.renumber();
}

std::int32_t Tree::farthest_from_mean(const double* q) {
  aim(q);
  if (blocks_.live() < kAnchorShare * static_cast<double>(anchored_)) {
    blocks_.move_anchor(copy_.data());
    anchored_ = blocks_.live();
  }
  far_.begin(q, norm_, blocks_.radius());
  if (beyond())
    consider_all(far_);
  else
    heap_.search(
        frame_, blocks_.leaves(), [this](std::size_t leaf) { return scan_from_mean(leaf); },
        [this] { return far_.reach(); });
  return far_.finish();
}

std::int32_t Tree::farthest(const double* q) {
  aim(q);
  begin_far(q);
  if (beyond())
    consider_all(far_);
  else
    search_far();
  return far_.finish();
}

void Tree::nearest(const double* q, std::int32_t seed, std::size_t count, std::vector<Neighbour>& out) {
  aim(q);
  near_.begin(q, seed, count, norm_);
  if (beyond())
    consider_all(near_);
  else
    search_near();
  near_.finish(out);
}

std::int32_t Tree::take(std::int32_t seed, std::size_t k, std::vector<std::int32_t>& rows, bool farthest_next) {
  const std::int32_t id = points_.of_row(seed);
  seed_.assign(points_.values(id), points_.values(id) + points_.d);
  const bool fused = walking_ && farthest_next;
  aim(seed_.data());
  near_.begin(seed_.data(), seed, k, norm_);
  if (fused) begin_far(seed_.data());
  walking_ ? walk(blocks_.leaf_of(id), fused) : search_near();
  near_.finish(neighbours_);
  rows.clear();
  for (const auto& f : neighbours_) rows.push_back(f.row);
  remove(rows);
  if (!farthest_next) return -1;
  weigh();
  return fused && far_.intact() ? far_.finish() : farthest(seed_.data());
}

void Tree::remove(const std::vector<std::int32_t>& rows) {
  for (std::int32_t row : rows) {
    const std::int32_t id = points_.of_row(row);
    points_.remove(row);
    if (points_.empty(id)) blocks_.remove(id);
  }
  live_ -= rows.size();
  blocks_.refresh();
  const bool sparse = 2 * blocks_.live() < blocks_.slots() && blocks_.slots() > 2 * kBlock;
  const bool shrunk = blocks_.radius() < kShrunk * built_radius_;
  if (blocks_.live() > 0 && (sparse || shrunk)) rebuild();
}

void Tree::rebuild() {
  std::vector<std::int32_t> ids;
  ids.reserve(blocks_.live());
  for (std::size_t leaf = 0; leaf < blocks_.leaves(); ++leaf)
    ids.insert(ids.end(), blocks_.ids(leaf), blocks_.ids(leaf) + blocks_.count(leaf));
  arrange(ids);
}

void Tree::arrange(std::vector<std::int32_t>& ids) {
  blocks_.build(points_, ids);
  heap_.reset();
  built_radius_ = blocks_.radius();
  anchored_ = std::numeric_limits<std::size_t>::max();
}

void Tree::aim(const double* q) {
  blocks_.to_frame(q, frame_.data());
  double sum = 0.0;
  for (std::size_t j = 0; j < frame_.size(); ++j) {
    sum += frame_[j] * frame_[j];
    copy_[j] = static_cast<float>(frame_[j]);
  }
  norm_ = std::sqrt(sum);
  rests_.resize(blocks_.chunks());
  enough_.resize(blocks_.chunks());
  blocks_.rests_of([this](std::size_t j) { return copy_[j]; }, rests_.data());
}

template <class Candidates>
void Tree::consider_all(Candidates& candidates) {
  for (std::size_t leaf = 0; leaf < blocks_.leaves(); ++leaf)
    for (std::size_t i = 0; i < blocks_.count(leaf); ++i) candidates.consider(blocks_.ids(leaf)[i]);
}

void Tree::begin_far(const double* q) {
  const std::size_t d = frame_.size();
  const float* const anchor = blocks_.anchor();
  double rho2 = 0.0, anchor2 = 0.0;
  for (std::size_t j = 0; j < d; ++j) {
    toward_[j] = copy_[j] - anchor[j];
    rho2 += static_cast<double>(toward_[j]) * toward_[j];
    anchor2 += static_cast<double>(anchor[j]) * anchor[j];
  }
  const double radius = blocks_.anchor_radius();
  const double nu = radius > 0.0 ? std::fmax(std::sqrt(rho2) / radius, 1e-3) : 1.0;  // any nu > 0 is valid
  for (std::size_t j = 0; j < d; ++j) antipode_[j] = anchor[j] - static_cast<float>(toward_[j] / nu);
  const double size = norm_ + std::sqrt(anchor2) + radius;
  const double columns = static_cast<double>(d);
  const double slack = (8.0 * columns + 80.0) * (1.0 + std::sqrt(columns) / 16.0) * kUnit * 4.0 * size * size;
  query_ = {copy_.data(), toward_.data(), antipode_.data(), anchor, static_cast<float>(rho2),
            static_cast<float>(nu), static_cast<float>(slack), static_cast<float>(1.0 + filter_gamma(d))};
  far_.begin(q, norm_, blocks_.radius());
}

void Tree::search_near() {
  Stack stack;
  std::size_t top = 0;
  stack[top++] = {0.0f, 0, 0};
  while (top > 0) {
    const Stop stop = stack[--top];
    if (stop.bound > near_.limit()) continue;
    if (stop.level == blocks_.height()) {
      scan<true, false>(stop.node);
      continue;
    }
    alignas(32) float bounds[kFan];
    scans_.near_bounds(blocks_.boxes(stop.level, stop.node), copy_.data(), copy_.size(), bounds);
    const std::uint32_t open = scans_.at_most(bounds, kFan, std::fmin(near_.limit(), kBeyond));
    top = push(stack, top, stop, bounds, open, [](float a, float b) { return a > b; });
  }
}

void Tree::search_far() {
  Stack stack;
  std::size_t top = 0;
  stack[top++] = {std::numeric_limits<float>::infinity(), 0, 0};
  while (top > 0) {
    const Stop stop = stack[--top];
    if (stop.bound < far_.limit()) continue;
    if (stop.level == blocks_.height()) {
      scan<false, true>(stop.node);
      continue;
    }
    alignas(32) float bounds[kFan];
    scans_.far_bounds(blocks_.boxes(stop.level, stop.node), query_, copy_.size(), bounds);
    const std::uint32_t open = scans_.at_least(bounds, kFan, std::fmax(far_.limit(), 0.0f));
    top = push(stack, top, stop, bounds, open, [](float a, float b) { return a < b; });
  }
}

template <class After>
std::size_t Tree::push(Stack& stack, std::size_t top, const Stop& parent, const float* bounds,
                        std::uint32_t open, After after) {
  const std::size_t base = top;
  for (; open; open &= open - 1) {
    const auto c = lowest_bit(open);
    std::size_t at = top++;
    for (; at > base && after(bounds[c], stack[at - 1].bound); --at) stack[at] = stack[at - 1];
    stack[at] = {bounds[c], parent.level + 1, parent.node * static_cast<std::uint32_t>(kFan) + c};
  }
  return top;
}

void Tree::walk(std::size_t seed_leaf, bool fused) {
  const std::size_t home = seed_leaf / kFan, nodes = (blocks_.leaves() + kFan - 1) / kFan;
  walk_node(home, fused);
  for (std::size_t node = 0; node < nodes; ++node)
    if (node != home) walk_node(node, fused);
}

void Tree::walk_node(std::size_t node, bool fused) {
  alignas(32) float bounds[kFan];
  const float* const boxes = blocks_.boxes(blocks_.height() - 1, node);
  scans_.near_bounds(boxes, copy_.data(), copy_.size(), bounds);
  const std::uint32_t near_open = scans_.at_most(bounds, kFan, std::fmin(near_.limit(), kBeyond));
  std::uint32_t far_open = 0;
  if (fused) {
    scans_.far_bounds(boxes, query_, copy_.size(), bounds);
    far_open = scans_.at_least(bounds, kFan, std::fmax(far_.limit(), 0.0f));
  }
  for (std::uint32_t open = near_open | far_open; open; open &= open - 1) {
    const auto c = lowest_bit(open);
    const std::size_t leaf = node * kFan + c;
    const bool is_near = near_open >> c & 1, is_far = far_open >> c & 1;
    if (is_near && is_far)
      scan<true, true>(leaf);
    else if (is_near)
      scan<true, false>(leaf);
    else
      scan<false, true>(leaf);
  }
}

template <bool Near, bool Far>
void Tree::scan(std::size_t leaf) {
  alignas(32) float d2[kBlock];
  const std::size_t count = blocks_.count(leaf);
  const std::int32_t* const ids = blocks_.ids(leaf);
  near_leaves_ += Near;
  far_leaves_ += Far;
  if (Far)
    bound_squares(leaf);
  else
    std::fill(enough_.begin(), enough_.end(), kBeyond);
  if (!scans_.distances_until(blocks_.block(leaf), copy_.data(), copy_.size(), count, Near ? near_.limit() : -1.0f,
                              enough_.data(), d2))
    return;
  if (Near) {
    std::uint32_t bits = scans_.at_most(d2, count, near_.limit());
    const bool any = bits != 0;
    for (; bits; bits &= bits - 1) near_.offer(d2[lowest_bit(bits)], ids[lowest_bit(bits)]);
    if (any) near_.settle();
  }
  if (Far) {
    std::uint32_t bits = scans_.at_least(d2, count, far_.limit());
    const bool any = bits != 0;
    for (; bits; bits &= bits - 1) far_.offer(d2[lowest_bit(bits)], ids[lowest_bit(bits)]);
    if (any) far_.settle();
  }
}

void Tree::bound_squares(std::size_t leaf) {
  const float* const rests = blocks_.rests(leaf);
  const double limit = far_.limit() * (1.0 - 3.0 * filter_gamma(blocks_.d()));
  for (std::size_t c = 0; c < enough_.size(); ++c) {
    const double rest = static_cast<double>(rests[c]) + rests_[c];
    enough_[c] = static_cast<float>(limit - rest * rest);
  }
}

double Tree::scan_from_mean(std::size_t leaf) {
  alignas(32) float d2[kBlock];
  const std::size_t count = blocks_.count(leaf);
  if (count == 0) return -1.0;
  scans_.distances(blocks_.block(leaf), copy_.data(), copy_.size(), count, d2);
  for (std::uint32_t bits = scans_.at_least(d2, count, far_.limit()); bits; bits &= bits - 1)
    far_.offer(d2[lowest_bit(bits)], blocks_.ids(leaf)[lowest_bit(bits)]);
  far_.settle();
  const double largest = *std::max_element(d2, d2 + count);
  return std::sqrt(largest * (1.0 + filter_gamma(blocks_.d()))) + far_.error();
}

void Tree::weigh() {
  share_ += static_cast<double>(blocks_.live_leaves());
  if (++weighed_ < kWeighEvery) return;
  // Between two calls there are two searches for the nearest and one for the farthest.
  walking_ = static_cast<double>(near_leaves_) > 2.0 * kWalkShare * share_ &&
             static_cast<double>(far_leaves_) > kWalkShare * share_;
  weighed_ = near_leaves_ = far_leaves_ = 0;
  share_ = 0.0;
}

}  // namespace search
}  // namespace shoal

// The group of the nearest centroid among many that are merged one by one.
//
// A tree of boxes (search/box_tree.hpp) stands over the centroids as they were when it was built. Groups that changed since
// are looked at one by one, and those that have gone are passed over; when one in kWorn has changed, the tree is built again.
// What is found is what a look at all groups finds, the lowest name among equals.
#pragma once
#include <limits>
#include <memory>
#include <vector>

#include "requirement/centres.hpp"
#include "search/box_tree.hpp"

namespace shoal {

class NearestCentre {
 public:
  static constexpr std::size_t kFewest = 512;  // groups from which on a tree is worth its while
  static constexpr std::size_t kWorn = 32;
  static constexpr std::size_t kGone = std::numeric_limits<std::size_t>::max();

  // Begin to look among the groups at all places of `centres`, by name.
  void build(const Centres& centres, const std::vector<std::size_t>& names) {
    names_ = names;
    current_.assign(*std::max_element(names.begin(), names.end()) + 1, false);
    for (const std::size_t name : names) current_[name] = true;
    changed_.clear();
    tree_ = std::make_unique<BoxTree>(centres.numbers(0), names.size(), centres.width(), centres.width());
  }

  bool worn() const { return tree_ == nullptr || changed_.size() > names_.size() / kWorn; }

  void change(std::size_t name) {
    if (tree_ == nullptr) return;
    if (current_[name]) changed_.push_back(name);
    current_[name] = false;
  }
  void drop(std::size_t name) {
    if (tree_ != nullptr) current_[name] = false;
  }

  // The place of the nearest group to that at place `g`; kGone where none is at a finite distance. `place`: of each name,
  // kGone for groups that have gone; `apart(h)`: squared distance of the group at place h.
  template <class Apart>
  std::size_t nearest(std::size_t g, const Centres& centres, const std::vector<std::size_t>& place, const Apart& apart) {
    std::size_t best = kGone, best_name = kGone;
    double lowest = std::numeric_limits<double>::infinity(), limit = lowest;
    const auto offer = [&](std::size_t name) {
      const std::size_t h = place[name];
      if (h == kGone || h == g) return;
      const double now = apart(h);
      if (now > lowest || (now == lowest && name > best_name) || !(now < std::numeric_limits<double>::infinity())) return;
      lowest = now, best = h, best_name = name;
      limit = lowest * (1 + 1e-9) + std::numeric_limits<double>::min();  // equals are to be found, too
    };
    for (const std::size_t name : changed_) offer(name);
    tree_->search(centres.numbers(g), limit, [&](std::size_t at, double) {
      const std::size_t name = names_[static_cast<std::size_t>(tree_->order()[at])];
      if (current_[name]) offer(name);
    });
    return best;
  }

 private:
  std::unique_ptr<BoxTree> tree_;
  std::vector<std::size_t> names_;    // of the points of the tree
  std::vector<bool> current_;         // by name: whether its point in the tree is its centroid still
  std::vector<std::size_t> changed_;  // names that have another
};

}  // namespace shoal

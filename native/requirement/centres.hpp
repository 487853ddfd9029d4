// The centroids of groups that are merged, numbers side by side in memory and categories as compositions.
#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/table.hpp"
#include "partition/compositions.hpp"
#include "search/coded_points.hpp"

namespace shoal {

class Centres {
 public:
  using Rows = std::vector<std::int32_t>;

  Centres(const Matrix& x, const Coding& coding, const std::vector<Rows>& groups)
      : x_(x.data()), columns_(x.shape(1)) {
    for (std::size_t j = 0; j < columns_; ++j)
      if (!coding || coding->first.data()[j] == 0) numbers_.push_back(j);
    if (numbers_.size() < columns_) {
      categories_ = Categories(x_, x.shape(0), columns_, coding->first.data(), coding->second.data(), 0);
      aimed_.assign(categories_.count(), 0.0);
    }
    d_ = numbers_.size();
    centre_.assign(groups.size() * d_, 0.0);
    compositions_.resize(coded() ? groups.size() : 0);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      size_.push_back(static_cast<double>(groups[g].size()));
      for (std::size_t r = 0; r < groups[g].size(); ++r) add(g, static_cast<std::size_t>(groups[g][r]), r);
    }
  }

  // Calls with(apart): apart(h) is the squared distance of the centroids of `g` and `h`.
  template <class With>
  auto from(std::size_t g, With with) {
    if (!coded()) return with([&](std::size_t h) { return numbers_apart(g, h); });
    for (const auto& [c, count] : compositions_[g].weights())
      aimed_[static_cast<std::size_t>(c)] = categories_.square_of(c) * count / size_[g];
    const auto result = with([&](std::size_t h) { return numbers_apart(g, h) + shares_apart(g, h); });
    for (const auto& [c, count] : compositions_[g].weights()) aimed_[static_cast<std::size_t>(c)] = 0.0;
    return result;
  }

  bool coded() const { return categories_.columns() > 0; }
  // The numbers of a centroid, and how many there are; those of the next one follow.
  const double* numbers(std::size_t g) const { return centre_.data() + g * d_; }
  std::size_t width() const { return d_; }

  // `g` takes the records of `h`, which is to be removed.
  void unite(std::size_t g, std::size_t h) {
    const double share = size_[h] / (size_[g] + size_[h]);
    for (std::size_t j = 0; j < d_; ++j) centre_[g * d_ + j] += share * (centre_[h * d_ + j] - centre_[g * d_ + j]);
    if (coded())
      for (const auto& [c, count] : compositions_[h].weights()) compositions_[g].add(c, count, categories_.square_of(c));
    size_[g] += size_[h];
  }

  // The last group takes the place of `h`.
  void remove(std::size_t h) {
    const std::size_t last = size_.size() - 1;
    if (h != last) {
      const auto begin = centre_.begin();
      std::copy_n(begin + static_cast<std::ptrdiff_t>(last * d_), d_, begin + static_cast<std::ptrdiff_t>(h * d_));
      size_[h] = size_[last];
      if (coded()) compositions_[h] = std::move(compositions_[last]);
    }
    size_.pop_back();
    if (coded()) compositions_.pop_back();
  }

 private:
  void add(std::size_t g, std::size_t row, std::size_t before) {
    for (std::size_t j = 0; j < d_; ++j)
      centre_[g * d_ + j] += (x_[row * columns_ + numbers_[j]] - centre_[g * d_ + j]) / static_cast<double>(before + 1);
    if (coded()) categories_.book(row, 1.0, compositions_[g]);
  }

  double numbers_apart(std::size_t g, std::size_t h) const {
    return squared_distance(centre_.data() + h * d_, centre_.data() + g * d_, d_);
  }

  double shares_apart(std::size_t g, std::size_t h) const {
    double shared = 0.0;
    for (const auto& [c, count] : compositions_[h].weights()) shared += aimed_[static_cast<std::size_t>(c)] * count;
    const double own = compositions_[g].squares() / (size_[g] * size_[g]), other = compositions_[h].squares() / (size_[h] * size_[h]);
    return std::max(own + other - 2.0 * (shared / size_[h]), 0.0);
  }

  const double* x_;
  std::size_t columns_, d_ = 0;
  std::vector<std::size_t> numbers_;
  Categories categories_;
  std::vector<double> centre_, size_;
  std::vector<Composition> compositions_;
  std::vector<double> aimed_;  // by category: its share in the group that distances are asked from, weighted
};

}  // namespace shoal

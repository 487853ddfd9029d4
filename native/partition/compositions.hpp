// How many records (or how much weight) of each category groups hold: the centroids of groups whose categories stand as
// codes (core/coded_table.hpp), without a coordinate for every category.
//
// A category is one number over all columns of codes. With side s, W_c the group's weight of category c and W that of
// the group, the squared distance of a record's point from the centroid is s^2 (1 - 2 W_c / W + sum_b W_b^2 / W^2), the
// sum over the categories of its column; that of two centroids is the same with both sums. Weights of 1 add up exactly;
// squared sides and shares are rounded, in the order in which records came, so that centroids at one distance may differ
// in their last bits from each other and from those of points with a coordinate for every category.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace shoal {

using Category = std::int32_t;

// One group's weight of each category that it holds, by category.
class Composition {
 public:
  // `square`: the squared side of the category's column.
  void add(Category c, double weight, double square) {
    const auto at = std::lower_bound(weights_.begin(), weights_.end(), c, [](const auto& e, Category b) { return e.first < b; });
    const double before = at != weights_.end() && at->first == c ? at->second : 0.0, now = before + weight;
    squares_ += square * (now * now - before * before);
    if (at == weights_.end() || at->first != c)
      weights_.insert(at, {c, now});
    else if (now != 0.0)
      at->second = now;
    else
      weights_.erase(at);
  }

  double of(Category c) const {
    const auto at = std::lower_bound(weights_.begin(), weights_.end(), c, [](const auto& e, Category b) { return e.first < b; });
    return at != weights_.end() && at->first == c ? at->second : 0.0;
  }

  // Sum over categories of the squared side times the squared weight.
  double squares() const { return squares_; }

  const std::vector<std::pair<Category, double>>& weights() const { return weights_; }

  void clear() {
    weights_.clear();
    squares_ = 0.0;
  }

 private:
  std::vector<std::pair<Category, double>> weights_;
  double squares_ = 0.0;
};

// The categories of records, and the squared side of each column of them.
class Categories {
 public:
  Categories() = default;

  // Row i has its codes at x + i * d, in the columns with categories; sides are in the scale of 2^-exponent.
  Categories(const double* x, std::size_t n, std::size_t d, const std::int64_t* sizes, const double* sides, int exponent) {
    std::vector<std::size_t> columns;
    std::vector<Category> first;
    for (std::size_t j = 0; j < d; ++j) {
      if (sizes[j] == 0) continue;
      const double side = std::ldexp(sides[j], -exponent);
      columns.push_back(j);
      first.push_back(static_cast<Category>(square_of_.size()));
      square_.push_back(side * side);
      all_ += side * side;
      square_of_.insert(square_of_.end(), static_cast<std::size_t>(sizes[j]), side * side);
    }
    codes_.reserve(n * columns.size());
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t q = 0; q < columns.size(); ++q)
        codes_.push_back(first[q] + static_cast<Category>(x[i * d + columns[q]]));
  }

  std::size_t columns() const { return square_.size(); }
  std::size_t count() const { return square_of_.size(); }
  const Category* of(std::size_t i) const { return codes_.data() + i * columns(); }
  double square(std::size_t q) const { return square_[q]; }
  double square_of(Category c) const { return square_of_[static_cast<std::size_t>(c)]; }

  // Squared distance of two records' points.
  double apart(std::size_t i, std::size_t j) const {
    double sum = 0.0;
    for (std::size_t q = 0; q < columns(); ++q) sum += of(i)[q] == of(j)[q] ? 0.0 : 2.0 * square_[q];
    return sum;
  }

  // Squared distance of a record's point from the centroid of a group of this weight.
  double from(std::size_t i, const Composition& group, double weight) const {
    double shared = 0.0;
    for (std::size_t q = 0; q < columns(); ++q) shared += square_[q] * group.of(of(i)[q]);
    return std::max(all_ - 2.0 * (shared / weight) + group.squares() / (weight * weight), 0.0);
  }

  // Book a record's categories in a group, or take them out with a negative weight.
  void book(std::size_t i, double weight, Composition& group) const {
    for (std::size_t q = 0; q < columns(); ++q) group.add(of(i)[q], weight, square_[q]);
  }

 private:
  std::vector<Category> codes_;  // n rows
  std::vector<double> square_, square_of_;
  double all_ = 0.0;  // sum of the squared sides
};

}  // namespace shoal

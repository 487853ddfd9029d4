// A lower bound on the loss of every recoding with classes of k or more.
//
// Whatever class a record is put into, its labels name a node of the lattice at which the record shares all labels with
// the k records of that class at least. So it loses no less than at the cheapest node at which its class, in the whole
// table, holds k records. The sum of these over the records bounds the loss of any recoding, local or of the full domain,
// with any requirement on top; a suppressed record loses more than any label does.
//
// The cheapest node of every record is found by depth-first search, column by column: rows that share their labels in
// the columns so far are divided by their labels in the next one, at each of its levels. A part of fewer than k records
// holds no such node below, nor does one whose labels already lose as much as each of its rows does at the best node found for
// it; both are left. Where this takes more steps than allowed, the search is made of one column, of two and so on, until all
// these together take as many: what the others lose is then taken to be nothing, which keeps the bound valid.
#include <limits>

#include "core/progress.hpp"
#include "generalisation/recoding_table.hpp"

namespace shoal {
namespace {

class CheapestNodes {
 public:
  // `best`: what each row loses at some node where it has company, to start from; infinite where none is known.
  CheapestNodes(const RecodingTable& table, std::int64_t k, std::vector<double> best, Progress& progress)
      : hierarchies_(table.hierarchies), rows_(table.combinations), k_(k), start_(std::move(best)), progress_(progress) {
    for (std::size_t j = 0; j < rows_.q; ++j) columns_.push_back(j);
    std::stable_sort(columns_.begin(), columns_.end(),
                     [&](std::size_t a, std::size_t b) { return hierarchies_.leaves(a) > hierarchies_.leaves(b); });
    std::size_t widest = 0;
    for (std::size_t j = 0; j < rows_.q; ++j) widest = std::max(widest, static_cast<std::size_t>(hierarchies_.leaves(j)));
    count_.assign(widest, 0);
  }

  // Shape (m,); the loss of a record of each row at its cheapest node.
  std::vector<double> search(std::int64_t most_steps) {
    steps_ = 0, most_ = most_steps;
    if (search_columns(columns_.size())) return best_;
    std::vector<double> last(rows_.m, 0.0);
    steps_ = 0;
    for (std::size_t columns = 1; columns < columns_.size() && search_columns(columns); ++columns) last = best_;
    return last;
  }

 private:
  struct Part {
    std::size_t from, to;
  };

  // Search the first so many columns; false if that took too long.
  bool search_columns(std::size_t columns) {
    depth_ = columns;
    best_ = start_;
    parts_.assign(depth_ + 1, {});
    for (std::size_t r = 0; r < rows_.m; ++r) parts_[0].push_back(static_cast<std::int32_t>(r));
    return divide(0, 0, parts_[0].size(), 0.0);
  }

  // Divide rows parts_[depth][from .. to) by the next column; false if that took too long.
  bool divide(std::size_t depth, std::size_t from, std::size_t to, double loss) {
    const std::size_t j = columns_[depth];
    std::vector<Part> children;
    for (std::int32_t level = 0; level <= hierarchies_.height(j); ++level) {
      if ((steps_ += static_cast<std::int64_t>(to - from)) > most_) return false;
      progress_.tick(0.0);
      group(depth, from, to, j, level, children);
      for (const Part& part : children) {
        auto& rows = parts_[depth + 1];
        const std::int32_t leaf = rows_.row(static_cast<std::size_t>(rows[part.from]))[j];
        if (!finish(depth + 1, part, loss + hierarchies_.loss(j, level, leaf))) return false;
      }
      parts_[depth + 1].clear();
    }
    return true;
  }

  bool finish(std::size_t depth, const Part& part, double loss) {
    const auto& rows = parts_[depth];
    std::int64_t records = 0;
    double worst = 0;
    for (std::size_t i = part.from; i < part.to; ++i) {
      records += rows_.counts[rows[i]];
      worst = std::max(worst, best_[static_cast<std::size_t>(rows[i])]);
    }
    if (records < k_ || loss >= worst) return true;
    if (depth < depth_) return divide(depth, part.from, part.to, loss);
    for (std::size_t i = part.from; i < part.to; ++i) {
      double& best = best_[static_cast<std::size_t>(rows[i])];
      best = std::min(best, loss);
    }
    return true;
  }

  // Order rows by their label of a column into parts_[depth + 1], which deeper calls leave as it is.
  void group(std::size_t depth, std::size_t from, std::size_t to, std::size_t j, std::int32_t level, std::vector<Part>& children) {
    const auto& rows = parts_[depth];
    auto& ordered = parts_[depth + 1];
    ordered.resize(to - from);
    touched_.clear();
    children.clear();
    for (std::size_t i = from; i < to; ++i) {
      const std::int32_t label = label_of(rows[i], j, level);
      if (count_[static_cast<std::size_t>(label)]++ == 0) touched_.push_back(label);
    }
    std::size_t at = 0;
    for (const std::int32_t label : touched_) {
      std::size_t& count = count_[static_cast<std::size_t>(label)];
      children.push_back({at, at + count});
      at += count;
      count = children.back().from;
    }
    for (std::size_t i = from; i < to; ++i) ordered[count_[static_cast<std::size_t>(label_of(rows[i], j, level))]++] = rows[i];
    for (const std::int32_t label : touched_) count_[static_cast<std::size_t>(label)] = 0;
  }

  std::int32_t label_of(std::int32_t row, std::size_t j, std::int32_t level) const {
    return hierarchies_.label(j, level, rows_.row(static_cast<std::size_t>(row))[j]);
  }

  const Hierarchies& hierarchies_;
  const Combinations& rows_;
  std::int64_t k_;
  std::vector<double> start_, best_;
  Progress& progress_;
  std::vector<std::size_t> columns_;  // those of most leaves first
  std::size_t depth_ = 0;
  std::int64_t steps_ = 0, most_ = 0;
  std::vector<std::vector<std::int32_t>> parts_;  // by depth
  std::vector<std::size_t> count_;
  std::vector<std::int32_t> touched_;
};

constexpr std::int64_t kMostSteps = 2'000'000'000;  // rows that one search looks at, some ten seconds' worth

constexpr const char* kCheapestNodes = R"(What each record loses at least, shape (n,): at the cheapest node at which `k` records share its labels.

Parameters
----------
start
    Shape (n,); what the records lose in some recoding with classes of `k` or more, or infinity.
most_steps
    Rows to look at; where that is too few, some columns are taken to lose nothing, after as many again.)";

auto cheapest_nodes(const RecodingTable& table, std::int64_t k, Vector start, std::int64_t most_steps, Listener listener) {
  Progress progress(listener);
  std::vector<double> losses(table.records());
  {
    nb::gil_scoped_release unlocked;
    std::vector<double> least(table.combinations.m, std::numeric_limits<double>::infinity());
    const auto row = [&](std::size_t i) { return static_cast<std::size_t>(table.rows()[i]); };
    for (std::size_t i = 0; i < losses.size(); ++i) least[row(i)] = std::min(least[row(i)], start.data()[i]);
    least = CheapestNodes(table, k, std::move(least), progress).search(most_steps);
    for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = least[row(i)];
  }
  return to_numpy(std::move(losses));
}

constexpr const char* kRecodingTable = R"(Distinct combinations of leaves, and the records that have them.

Parameters
----------
ladders
    One a column: number of each leaf's label at each level, and what a cell loses whose label at that level is released,
    both of shape (levels, leaves).
leaves
    Shape (m, q), m >= 1; the distinct combinations.
rows
    Shape (n,); combination of each record.
times
    Shape (n,); how many records each entry of `rows` stands for; None for one each.)";

}  // namespace

static const Kernel bound_kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<RecodingTable>(m, "RecodingTable", kRecodingTable)
      .def(nb::init<const std::vector<Ladder>&, IntMatrix, Ints, const std::optional<Longs>&>(), "ladders"_a, "leaves"_a,
           "rows"_a, "times"_a.none() = nb::none());
  m.def("cheapest_nodes", &cheapest_nodes, "table"_a, "k"_a, "start"_a, nb::kw_only(), "most_steps"_a = kMostSteps,
        "progress"_a.none() = nb::none(), kCheapestNodes);
  m.attr("MOST_NODES") = kMostNodes;
});

}  // namespace shoal

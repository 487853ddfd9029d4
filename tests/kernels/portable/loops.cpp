// Prints the bits of what the inner loops give for fixed numbers.
#include <cinttypes>
#include <cstdio>
#include <random>
#include <vector>

#include "mixture/mixture_loops_body.hpp"
#include "partition/fuzzy_loops_body.hpp"
#include "search/scans_body.hpp"

using namespace shoal;

template <class Number>
static void print(const char* name, const std::vector<Number>& values) {
  for (const Number value : values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    std::printf("%s %016" PRIx64 "\n", name, bits);
  }
}

template <class Number>
static std::vector<Number> numbers(std::mt19937_64& random, std::size_t n, double low, double high) {
  std::vector<Number> out(n);
  for (Number& v : out) v = static_cast<Number>(low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53);
  return out;
}

static void search_loops(std::mt19937_64& random, std::size_t d) {
  std::vector<double> exact(kBlock);
  const auto records = numbers<double>(random, kBlock * d, -1, 1), point = numbers<double>(random, d, -1, 1);
  kScans.exact_distances(records.data(), point.data(), d, exact.data());
  print("exact_distances", exact);
  const auto block = numbers<float>(random, kBlock * (d + 1), -1, 1), q = numbers<float>(random, d, -1, 1);
  for (const std::size_t count : {std::size_t{3}, std::size_t{16}, std::size_t{29}, kBlock}) {
    std::vector<float> near(kBlock), low(d), high(d);
    kScans.distances(block.data(), q.data(), d, count, near.data());
    print("distances", std::vector<float>(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count)));
    for (const float nearest : {-1.0f, 0.2f, 9.0f}) {
      const std::vector<float> farthest((d - 1) / kChunk, 1e20f);
      const bool whole = kScans.distances_until(block.data(), q.data(), d, count, nearest, farthest.data(), near.data());
      std::printf("until %d\n", whole);
      if (whole) print("distances_until", std::vector<float>(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count)));
    }
    kScans.ranges(block.data(), d, count, low.data(), high.data());
    print("low", low), print("high", high);
    std::printf("chosen %08x %08x\n", kScans.at_most(near.data(), count <= 16 ? 0 : count, 0.7f), kScans.at_least(block.data(), count, 0.3f));
  }
  auto boxes = numbers<float>(random, (2 * d + 1) * kFan, -1, 0);
  for (std::size_t j = 0; j < d; ++j)
    for (std::size_t c = 0; c < kFan; ++c) boxes[(2 * j + 1) * kFan + c] += 1;
  for (std::size_t c = 0; c < kFan; ++c) boxes[2 * d * kFan + c] += c < 6 ? 1.5f : -1.0f;
  const auto toward = numbers<float>(random, d, -1, 1), antipode = numbers<float>(random, d, -1, 1), anchor = numbers<float>(random, d, -1, 1);
  std::vector<float> bounds(kFan);
  kScans.near_bounds(boxes.data(), q.data(), d, bounds.data());
  print("near_bounds", bounds);
  kScans.far_bounds(boxes.data(), {q.data(), toward.data(), antipode.data(), anchor.data(), 0.8f, 0.6f, 1e-6f, 1.00001f}, d, bounds.data());
  print("far_bounds", bounds);
}

static void fuzzy_loops_of(std::mt19937_64& random, std::size_t d, std::size_t padded) {
  std::vector<double> out(padded), sums((d + 1) * padded);
  const auto centres = numbers<double>(random, d * padded, -1, 1), point = numbers<double>(random, d, -1, 1);
  kLoops.distances(centres.data(), point.data(), d, padded, out.data());
  print("fuzzy distances", out);
  const auto d2 = numbers<double>(random, padded, 0.5, 2000);
  for (const double power : {1.0, 0.3, 2.7, 900.0}) {
    kLoops.powers(d2.data(), padded, 0.5, power, out.data());
    print("powers", out);
    kLoops.exponentials(d2.data(), padded, 0.5, power, out.data());
    print("exponentials", out);
  }
  kLoops.sharpen(out.data(), d2.data(), padded, 0.5, 0.9, out.data());
  print("sharpen", out);
  const double total = kLoops.total(d2.data(), padded);
  print("total", std::vector<double>{total});
  const auto weights = numbers<double>(random, 5 * padded, 0, 1), records = numbers<double>(random, 5 * d, -1, 1);
  kLoops.accumulate(sums.data(), weights.data(), records.data(), 5, d, padded);
  print("accumulate", sums);
}

static void mixture_loops_of(std::mt19937_64& random, std::size_t d, std::size_t groups) {
  constexpr std::size_t n = mixture::kBlock;
  const auto x = numbers<double>(random, d * n, -3, 3), mean = numbers<double>(random, d, -1, 1),
             inverse = numbers<double>(random, d * d, -1, 1);
  std::vector<double> y(d * n), square(n), top(n), sum(n), first(d), second(d * d);
  for (const bool diagonal : {true, false}) {
    mixture::kLoops.distances(x.data(), mean.data(), inverse.data(), d, diagonal, y.data(), square.data());
    print("mixture distances", square);
  }
  auto joint = numbers<double>(random, groups * n, -900, -1);
  mixture::kLoops.posteriors(joint.data(), groups, top.data(), sum.data());
  print("top", top), print("sum", sum);
  mixture::kLoops.scale(joint.data(), groups, square.data());
  print("joint", joint);
  mixture::kLoops.accumulate(joint.data(), y.data(), d, first.data(), second.data());
  print("first", first), print("second", second);
  const double total = mixture::kLoops.sum(joint.data());
  print("total of a block", std::vector<double>{total});
}

int main() {
  std::mt19937_64 random(1);
  for (const std::size_t d : {1, 2, 3, 7, 13}) {
    search_loops(random, d);
    for (const std::size_t padded : {4, 8, 20}) fuzzy_loops_of(random, d, padded);
    for (const std::size_t groups : {1, 3, 10}) mixture_loops_of(random, d, groups);
  }
}

// Prints pairs of whole numbers a, b below 2^127 as halves, a / b to the nearest double, and the whole part of
// 2^80 a / b where a <= b, as halves.
#include <cstdio>
#include <random>

#include "core/ratio.hpp"

using namespace shoal;

static void halves(WideBits v) {
  std::printf("%llx %llx ", static_cast<unsigned long long>(static_cast<std::uint64_t>(v >> 64)),
              static_cast<unsigned long long>(static_cast<std::uint64_t>(v)));
}

static void show(WideBits a, WideBits b) {
  halves(a), halves(b);
  std::printf("%a ", nearest_quotient(a, b));
  halves(b < a ? WideBits{0} : fixed_quotient(a, b, 80));
  std::printf("\n");
}

int main() {
  std::mt19937_64 random(2);
  const auto any = [&] {
    const WideBits bits = WideBits{random()} << 64 | WideBits{random()};
    return bits >> static_cast<int>(1 + random() % 127);
  };
  for (int i = 0; i < 3000; ++i) {
    const WideBits a = any(), b = any() | WideBits{1};
    show(a, b);
    show(a & WideBits{0xff}, b);
    // On and beside the middle between two doubles.
    const WideBits odd = (WideBits{random()} >> 10 | WideBits{1} << 53) | WideBits{1};
    const WideBits by = WideBits{random()} >> 2 | WideBits{1};
    show(odd * by, by), show(odd * by + 1, by), show(odd * by - 1, by);
  }
}

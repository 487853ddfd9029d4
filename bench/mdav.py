"""MDAV: the tree against exhaustive search, compiled the same way, in one run.

    python bench/mdav.py                       # the table of the documentation, about two minutes
    python bench/mdav.py 1000000x5 --k 5       # any size; add --skip-brute above 200 000 records
    python bench/mdav.py --crossover           # where exhaustive search is still the faster one
    python bench/mdav.py --blocks [SIZES]      # what MDAV in blocks saves and what it costs; minutes
    python bench/mdav.py --categories          # where codes are faster than a coordinate a category

Each figure is the CPU time of one call on one thread in a process of its own, with the memory the call added to
the input's; both engines must give the same partition. Data: standard normal, or lognormal with --skewed.
"""

import argparse
import time

import numpy as np

from alone import agree, child_arguments, in_child, measure
from shoal.kernels.partition import mdav
from shoal.partition.mdav import MDAV
from shoal.table.partition import Partition

SIZES = ["20000x5", "100000x2", "100000x5", "100000x10", "100000x30", "1000000x2", "1000000x5"]
BLOCK_SIZES = ["250000x10", "250000x30"]
MOST_FOR_BRUTE = 200_000
"""Above this many records exhaustive search takes minutes."""


def table(n: int, d: int, skewed: bool) -> np.ndarray:
    x = np.random.default_rng(1).normal(size=(n, d))
    return np.exp(x) if skewed else x


def compare(sizes: list[str], k: int, skewed: bool, skip_brute: bool) -> None:
    print(
        f"{'records':>9} {'columns':>7} {'k':>4} | {'brute s':>8} {'tree s':>7} {'ratio':>6} | "
        f"{'no AVX2 s':>9} | {'auto s':>7} {'MB added':>8} {'x input':>7}"
    )
    for size in sizes:
        n, d = map(int, size.split("x"))
        seconds, added, digest = in_child(__file__, n, d, k, "tree", True, skewed)
        plain, _, plain_digest = in_child(__file__, n, d, k, "tree", False, skewed)
        auto, _, auto_digest = in_child(__file__, n, d, k, "auto", True, skewed)
        digests = {digest, plain_digest, auto_digest}
        brute, ratio = "", ""
        if n <= MOST_FOR_BRUTE and not skip_brute:
            brute_seconds, _, brute_digest = in_child(__file__, n, d, k, "brute", True, skewed)
            digests.add(brute_digest)
            brute, ratio = f"{brute_seconds:.2f}", f"{brute_seconds / seconds:.1f}"
        agree(digests, size)
        print(
            f"{n:>9} {d:>7} {k:>4} | {brute:>8} {seconds:>7.2f} {ratio:>6} | {plain:>9.2f} | "
            f"{auto:>7.2f} {added:>8.0f} {added * 2**20 / (8 * n * d):>7.1f}",
            flush=True,
        )


def crossover() -> None:
    print("ratio of exhaustive search to the tree (over 1: the tree is faster)")
    print(f"{'columns':>7} {'k':>4} | " + " ".join(f"{n:>7}" for n in (500, 1000, 2000, 5000, 20000, 50000)))
    for d in (2, 5, 10, 30):
        for k in (5, 30, 100):
            ratios = []
            for n in (500, 1000, 2000, 5000, 20000, 50000):
                x, repeats = table(n, d, False), max(1, min(20, 200_000 // (n * d)))
                seconds = []
                for engine in ("brute", "tree"):
                    start = time.process_time()
                    for _ in range(repeats):
                        mdav(x, k, engine=engine)
                    seconds.append(time.process_time() - start)
                ratios.append(f"{seconds[0] / seconds[1]:>7.2f}")
            print(f"{d:>7} {k:>4} | " + " ".join(ratios), flush=True)


def blocks(sizes: list[str], k: int) -> None:
    print(
        f"{'records':>9} {'columns':>7} {'k':>4} {'data':>9} | {'exact s':>8} {'in blocks s':>11} {'ratio':>6} | "
        f"{'blocks':>6} {'SSE over exact':>14}"
    )
    for size in sizes:
        n, d = map(int, size.split("x"))
        for skewed in (False, True):
            x = table(n, d, skewed)
            z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
            start = time.process_time()
            exact = Partition(labels=mdav(z, k))
            middle = time.process_time()
            part = MDAV(k=k, block_size=50_000).partition(z, standardise="none")
            seconds = middle - start, time.process_time() - middle
            print(
                f"{n:>9} {d:>7} {k:>4} {'lognormal' if skewed else 'normal':>9} | {seconds[0]:>8.1f} "
                f"{seconds[1]:>11.1f} {seconds[0] / seconds[1]:>6.1f} | {part.details['blocks']:>6} "
                f"{part.sse(z) / exact.sse(z) - 1:>14.1%}",
                flush=True,
            )


def categories(n: int, k: int) -> None:
    print(f"ratio of points to codes, {n} records (over 1: codes are faster); 3 or 6 numbers and categories")
    print(f"{'categories':>20} {'together':>8} | {'3 numbers':>9} {'6 numbers':>9}")
    for sizes in ((2, 5), (3, 3, 3, 3), (20,), (8, 8, 8, 8), (50,), (16,) * 8, (200,), (2, 5, 12, 50, 1000)):
        ratios = [_points_over_codes(n, numbers, sizes, k) for numbers in (3, 6)]
        print(f"{'+'.join(map(str, sizes)):>20} {sum(sizes):>8} | {ratios[0]:>9.2f} {ratios[1]:>9.2f}", flush=True)


def _points_over_codes(n: int, numbers: int, sizes: tuple[int, ...], k: int) -> float:
    side, x = 1 / np.sqrt(2), table(n, numbers, False)
    codes = np.random.default_rng(2).integers(0, sizes, (n, len(sizes)))
    points = np.hstack([x, *(side * np.eye(m)[codes[:, j]] for j, m in enumerate(sizes))])
    start = time.process_time()
    expected = mdav(points, k)
    middle = time.process_time()
    sides = np.array([0.0] * numbers + [side] * len(sizes))
    coding = (np.array([0] * numbers + list(sizes)), sides)
    labels = mdav(np.hstack([x, codes]), k, coding=coding)
    seconds = time.process_time() - middle
    np.testing.assert_array_equal(labels, expected)
    return (middle - start) / seconds


def main() -> None:
    if (asked := child_arguments()) is not None:
        n, d, k, engine, simd, skewed = asked
        x = table(int(n), int(d), skewed == "True")
        measure(lambda: mdav(x, int(k), engine=engine, simd=simd == "True"))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", help="records x columns, as in 100000x5")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--skewed", action="store_true", help="lognormal data")
    parser.add_argument("--skip-brute", action="store_true")
    parser.add_argument("--crossover", action="store_true")
    parser.add_argument("--blocks", action="store_true")
    parser.add_argument("--categories", action="store_true")
    args = parser.parse_args()
    if args.crossover:
        crossover()
    elif args.categories:
        categories(10_000, args.k)
    elif args.blocks:
        blocks(args.sizes or BLOCK_SIZES, args.k)
    else:
        compare(args.sizes or SIZES, args.k, args.skewed, args.skip_brute)


if __name__ == "__main__":
    main()

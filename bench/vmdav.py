"""V-MDAV: the tree against exhaustive search, in one run.

    python bench/vmdav.py                   # about a minute
    python bench/vmdav.py 1000000x5 --k 5

CPU time of one call on one thread in a process of its own, with the memory the call added to the input's; both
engines must give the same partition.
"""

import argparse

import numpy as np

from alone import agree, child_arguments, in_child, measure
from shoal.kernels.partition import vmdav

SIZES = ["20000x5", "50000x2", "50000x5", "1000000x5"]
GAMMAS = (0.2, 1.0)
MOST_FOR_BRUTE = 50_000
"""Above this many records exhaustive search takes minutes."""


def main() -> None:
    if (asked := child_arguments()) is not None:
        n, d, k, gamma, engine = asked
        x = np.random.default_rng(1).normal(size=(int(n), int(d)))
        measure(lambda: vmdav(x, int(k), float(gamma), engine=engine))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", default=SIZES, help="records x columns, as in 100000x5")
    parser.add_argument("--k", type=int, default=5)
    args = parser.parse_args()
    print(
        f"{'records':>9} {'columns':>7} {'k':>4} {'gamma':>5} | {'brute s':>8} {'tree s':>7} {'ratio':>6} | "
        f"{'MB added':>8} {'x input':>7}"
    )
    for size in args.sizes:
        n, d = map(int, size.split("x"))
        for gamma in GAMMAS:
            seconds, added, digest = in_child(__file__, n, d, args.k, gamma, "tree")
            brute, ratio = "", ""
            if n <= MOST_FOR_BRUTE:
                brute_seconds, _, brute_digest = in_child(__file__, n, d, args.k, gamma, "brute")
                agree({digest, brute_digest}, size)
                brute, ratio = f"{brute_seconds:.2f}", f"{brute_seconds / seconds:.1f}"
            print(
                f"{n:>9} {d:>7} {args.k:>4} {gamma:>5} | {brute:>8} {seconds:>7.2f} {ratio:>6} | "
                f"{added:>8.0f} {added * 2**20 / (8 * n * d):>7.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

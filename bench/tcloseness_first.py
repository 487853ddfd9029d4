"""Algorithm 3 (t-closeness first): one tree a stratum against exhaustive search, in one run.

    python bench/tcloseness_first.py                # about a minute
    python bench/tcloseness_first.py 1000000x5x10

CPU time of one call on one thread in a process of its own, with the memory the call added to the input's; both
engines must give the same partition.
"""

import argparse

import numpy as np

from alone import agree, child_arguments, in_child, measure
from shoal.kernels.requirement import tcloseness_first

CASES = ["20000x5x5", "50000x5x10", "50000x5x50", "50000x5x100", "1000000x5x10"]
MOST_FOR_BRUTE = 100_000
"""Above this many records exhaustive search takes minutes."""


def strata_of(x: np.ndarray, k: int) -> np.ndarray:
    """Strata by rank of a confidential value that depends on the first column; the last holds the extras."""
    n = len(x)
    confidential = x[:, 0] + np.random.default_rng(2).normal(size=n)
    strata = np.empty(n, np.int32)
    strata[np.argsort(confidential)] = np.minimum(np.arange(n) // (n // k), k - 1)
    return strata


def main() -> None:
    if (asked := child_arguments()) is not None:
        n, d, k, engine = asked
        x = np.random.default_rng(1).normal(size=(int(n), int(d)))
        strata = strata_of(x, int(k))
        measure(lambda: tcloseness_first(x, strata, int(k), engine=engine))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=CASES, help="records x columns x strata, as in 50000x5x10")
    cases = parser.parse_args().cases
    print(
        f"{'records':>9} {'columns':>7} {'strata':>6} | {'brute s':>8} {'tree s':>7} {'ratio':>6} | "
        f"{'auto s':>7} {'MB added':>8} {'x input':>7}"
    )
    for case in cases:
        n, d, k = map(int, case.split("x"))
        seconds, _, digest = in_child(__file__, n, d, k, "tree")
        auto, added, auto_digest = in_child(__file__, n, d, k, "auto")
        digests, brute, ratio = {digest, auto_digest}, "", ""
        if n <= MOST_FOR_BRUTE:
            brute_seconds, _, brute_digest = in_child(__file__, n, d, k, "brute")
            digests.add(brute_digest)
            brute, ratio = f"{brute_seconds:.2f}", f"{brute_seconds / seconds:.1f}"
        agree(digests, case)
        print(
            f"{n:>9} {d:>7} {k:>6} | {brute:>8} {seconds:>7.2f} {ratio:>6} | "
            f"{auto:>7.2f} {added:>8.0f} {added * 2**20 / (8 * n * d):>7.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""mu-Approx: its forest by the box tree against exhaustive search, and the whole against MDAV, in one run.

    python bench/mu_approx.py                   # about half a minute
    python bench/mu_approx.py 20000x2 --k 10

CPU time of one call on one thread in a process of its own, with the memory the call added to the input's. The
forests of both engines, and at 5,000 records that of the definition (every distance anew, in NumPy), must be
the same.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from alone import agree, child_arguments, in_child, measure
from shoal.kernels.partition import forest, mdav
from shoal.kernels.partition.mu_approx import mu_approx

SIZES = ["5000x5", "20000x5", "100000x5"]
MOST_FOR_DEFINITION = 5_000
MOST_FOR_BRUTE = 20_000


def by_definition(x: np.ndarray, k: int) -> np.ndarray:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from naive.mu_approx import forest as naive_forest

    return naive_forest(x, k).astype(np.int32)


CALLS = {
    "definition": by_definition,
    "brute": lambda x, k: forest(x, k, engine="brute"),
    "tree": lambda x, k: forest(x, k, engine="tree"),
    "whole": lambda x, k: mu_approx(x, k)[0],
    "mdav": mdav,
}


def main() -> None:
    if (asked := child_arguments()) is not None:
        n, d, k, call = asked
        x = np.random.default_rng(1).normal(size=(int(n), int(d)))
        measure(lambda: CALLS[call](x, int(k)))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", default=SIZES, help="records x columns, as in 100000x5")
    parser.add_argument("--k", type=int, default=5)
    args = parser.parse_args()
    print(
        f"{'records':>9} {'columns':>7} {'k':>4} | {'definition s':>12} {'brute s':>8} {'tree s':>7} | "
        f"{'mu-Approx s':>11} {'MB added':>8} {'MDAV s':>7}"
    )
    for size in args.sizes:
        n, d = map(int, size.split("x"))
        seconds = dict.fromkeys(CALLS, "")
        digests = set()
        for call in CALLS:
            if n > {"definition": MOST_FOR_DEFINITION, "brute": MOST_FOR_BRUTE}.get(call, n):
                continue
            spent, added, digest = in_child(__file__, n, d, args.k, call)
            seconds[call] = f"{spent:.3f}"
            if call == "whole":
                memory = added
            elif call != "mdav":
                digests.add(digest)
        agree(digests, size)
        print(
            f"{n:>9} {d:>7} {args.k:>4} | {seconds['definition']:>12} {seconds['brute']:>8} {seconds['tree']:>7} | "
            f"{seconds['whole']:>11} {memory:>8.0f} {seconds['mdav']:>7}",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""Algorithm 3 (t-closeness first): one tree a stratum against exhaustive search, in one run.

    python bench/tcloseness_first.py                # about a minute
    python bench/tcloseness_first.py 1000000x5x10

CPU time of one call on one thread in a process of its own, with the memory the call added to the input's; both
engines must give the same partition.
"""

import argparse
import hashlib
import resource
import subprocess
import sys
import time

import numpy as np

from shoal.kernels.tcloseness_first import tcloseness_first

CASES = ["20000x5x5", "50000x5x10", "50000x5x50", "50000x5x100", "1000000x5x10"]
MOST_FOR_BRUTE = 100_000
"""Above this many records exhaustive search takes minutes."""


def measure(n: int, d: int, k: int, engine: str) -> None:
    """Print CPU seconds, MB added and a digest of the partition; runs in a child."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, d))
    confidential = x[:, 0] + rng.normal(size=n)
    strata = np.empty(n, np.int32)
    strata[np.argsort(confidential)] = np.minimum(np.arange(n) // (n // k), k - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    labels = tcloseness_first(x, strata, k, engine=engine)
    seconds = time.process_time() - start
    added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(seconds, added, hashlib.sha256(labels.tobytes()).hexdigest())


def in_child(*args: object) -> tuple[float, float, str]:
    call = [sys.executable, __file__, "--child", *map(str, args)]
    seconds, added, digest = subprocess.run(call, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(added), digest


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        n, d, k, engine = sys.argv[2:]
        measure(int(n), int(d), int(k), engine)
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=CASES, help="records x columns x strata, as in 50000x5x10")
    cases = parser.parse_args().cases
    print(f"{'records':>9} {'columns':>7} {'strata':>6} | {'brute s':>8} {'tree s':>7} {'ratio':>6} | "
          f"{'auto s':>7} {'MB added':>8} {'x input':>7}")
    for case in cases:
        n, d, k = map(int, case.split("x"))
        seconds, _, digest = in_child(n, d, k, "tree")
        auto, added, auto_digest = in_child(n, d, k, "auto")
        digests, brute, ratio = {digest, auto_digest}, "", ""
        if n <= MOST_FOR_BRUTE:
            brute_seconds, _, brute_digest = in_child(n, d, k, "brute")
            digests.add(brute_digest)
            brute, ratio = f"{brute_seconds:.2f}", f"{brute_seconds / seconds:.1f}"
        if len(digests) > 1:
            raise SystemExit(f"the engines disagree on {case}")
        print(f"{n:>9} {d:>7} {k:>6} | {brute:>8} {seconds:>7.2f} {ratio:>6} | "
              f"{auto:>7.2f} {added:>8.0f} {added * 2**20 / (8 * n * d):>7.1f}", flush=True)


if __name__ == "__main__":
    main()

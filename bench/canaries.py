"""Private marginals audited with canaries: what is proved of epsilon by pairs of neighbouring tables.

    python bench/canaries.py --epsilon 1 --delta 1e-9 --pairs 1000

The attackers and the bounds are those of `tests/attacks/canaries.py`.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from attacks.canaries import audited, bounds

CHUNK = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-9)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--doubt", type=float, default=0.05)
    arguments = parser.parse_args()
    start, seen = time.process_time(), {}
    for first in range(0, arguments.pairs, CHUNK):
        number = min(CHUNK, arguments.pairs - first)
        for name, both in audited(arguments.epsilon, arguments.delta, number, first=first).items():
            before = seen.get(name, (np.zeros(0), np.zeros(0)))
            seen[name] = tuple(np.concatenate(halves) for halves in zip(before, both))
        for name, both in seen.items():
            limits = bounds(*both, arguments.delta, arguments.doubt)
            print(
                f"epsilon {arguments.epsilon:g}, delta {arguments.delta:g}, {len(both[0])} pairs, {name}: at least "
                f"{limits.at_least:.2f} ({limits.by_threshold:.2f} without a law), at most {limits.at_most:.2f}; "
                f"{time.process_time() - start:.0f} CPU s",
                flush=True,
            )


if __name__ == "__main__":
    main()

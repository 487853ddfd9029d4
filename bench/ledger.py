"""A release checked beside earlier ones of many persons: CPU seconds and peak memory.

python bench/ledger.py [persons] [earlier releases]
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from shoal.ledger.entry import LedgerEntry, numbers_of
from shoal.ledger.proof import ReleasedPersons, verdicts_over
from shoal.ledger.store import Ledger, new_secret
from shoal.plan.sections import LedgerRules

CLASSES = 5_000


def entry(persons: np.ndarray, groups: np.ndarray) -> LedgerEntry:
    """A release of persons in classes."""
    about = {
        "audience": None,
        "collude": [],
        "quasi-identifiers": ["a"],
        "records": len(persons),
        "epsilon": [],
        "m": None,
    }
    patterns = np.zeros((CLASSES, 1), dtype=np.uint8)
    return LedgerEntry(about=about, persons=persons, groups=groups, patterns=patterns)


def main(n: int = 1_000_000, earlier: int = 1) -> None:
    """Print the time to hash, to enter and to check."""
    secret = new_secret()
    with tempfile.TemporaryDirectory() as place:
        ledger = Ledger(Path(place) / "l")
        start = time.process_time()
        numbers = numbers_of(map(str, range(n)), secret)
        order = np.argsort(numbers)
        groups = (np.arange(n) % CLASSES)[order]
        print(f"hashing {n:,} keys: {time.process_time() - start:.1f} s", flush=True)
        release = entry(numbers[order], groups)
        for _ in range(earlier):
            start = time.process_time()
            ledger.append(release, secret, lambda: None)
            print(f"entering: {time.process_time() - start:.1f} s", flush=True)
        start = time.process_time()
        ledger.check()
        print(f"verifying the file of {ledger.path.stat().st_size >> 20:,} MB: {time.process_time() - start:.1f} s")
        start = time.process_time()
        verdicts = verdicts_over(ledger, ledger.counted(), release, LedgerRules(key="person"), 5)
        assert all(verdict.holds for verdict in verdicts)
        assert len(ReleasedPersons().after(release).persons) == n
        print(f"judging beside {earlier} of {n:,} persons: {time.process_time() - start:.1f} s", flush=True)
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:,} MB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

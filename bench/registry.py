"""A registry released month by month: whom an adversary finds in all files, with the ledger and without it.

python bench/registry.py [months] [persons]
"""

import sys
import tempfile
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ledger"))

from test_releases_over_time import COLUMNS, PLAN, K, adversary, data, registry

import shoal

KEPT = {**PLAN, "ledger": {"key": "person", "hold_back": True, "left": "left"}}
ALONE = {**PLAN, "columns": COLUMNS, "steps": [{"mask": "suppress", "k": K}]}


def main(months: int = 60, persons: int = 1000) -> None:
    """Print both figures every six months, with what is held back."""
    alone, kept = [], []
    with tempfile.TemporaryDirectory() as place:
        for month, table in enumerate(registry(months, persons, 1)):
            out = Path(place)
            shoal.protect(table.filter(pl.col("left").is_null()), ALONE, out / f"alone-{month}", seed=1)
            release = shoal.protect(table, KEPT, out / f"kept-{month}", seed=1, ledger=out / "registry.ledger")
            alone.append(data(out / f"alone-{month}"))
            kept.append(data(out / f"kept-{month}"))
            if month % 6 == 0 or month == months - 1:
                facts = next(step.facts for step in release.account.steps if step.step == "ledger: hold_back")
                price = {name: fact.private() for name, fact in facts.items()}
                print(month + 1, "alone", adversary(alone), "with the ledger", adversary(kept), price, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""A registry released month by month: whom an adversary finds in all files, and what is lost, alone and with a ledger.

python bench/registry.py [months] [persons] [classes | averages]
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ledger"))

import test_kept_groups as averages
import test_releases_over_time as classes

import shoal
from waves import adversary, data, registry

RULES = {"key": "person", "hold_back": True, "left": "left"}
ALONE: dict[str, dict[str, Any]] = {
    "classes": {**classes.PLAN, "steps": [{"mask": "suppress", "k": 5}]},
    "averages": averages.ALONE,
}
KEPT: dict[str, dict[str, Any]] = {
    "classes": {**classes.PLAN, "ledger": RULES},
    "averages": {**averages.ALONE, "ledger": {**RULES, "newcomers": 30}},
}
NAMES = {"classes": ("cohort", "region"), "averages": averages.NAMES}


def wrong(folder: Path, table: pl.DataFrame) -> float:
    """Cells of the living that are blank or wrong, in percent."""
    released = pl.read_csv(data(folder), schema_overrides={"cohort": pl.Int64})
    both = table.filter(pl.col("left").is_null()).join(released, on="pay", suffix=" released")
    return 50 * sum(float(both[n].ne_missing(both[f"{n} released"]).mean()) for n in NAMES["classes"])


def main(months: int = 60, persons: int = 1000, kind: str = "classes") -> None:
    """Print the figures every six months, with what is held back."""
    alone, kept = [], []
    with tempfile.TemporaryDirectory() as place:
        for month, table in enumerate(registry(months, persons, 1)):
            table = averages.in_numbers(table, month) if kind == "averages" else table
            alone.append(Path(place) / f"alone-{month}")
            kept.append(Path(place) / f"kept-{month}")
            shoal.protect(table.filter(pl.col("left").is_null()), ALONE[kind], alone[-1], seed=1)
            release = shoal.protect(table, KEPT[kind], kept[-1], seed=1, ledger=Path(place) / "registry.ledger")
            if month % 6 == 0 or month == months - 1:
                lost = averages.loss if kind == "averages" else wrong
                figures = [(adversary(folders, NAMES[kind]), lost(folders[-1], table)) for folders in (alone, kept)]
                print(
                    month + 1,
                    "alone",
                    figures[0],
                    "with the ledger",
                    figures[1],
                    averages.price_of(release),
                    flush=True,
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])

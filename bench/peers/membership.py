"""Attacks on membership against syntheses of MIDST's transactions and of NIST's national2019, split in the same way.

    python bench/peers/membership.py --national national2019.csv --codebook national2019.json [--records 3000] [--board]
    python bench/peers/membership.py --midst FOLDER [--records 20000]

MIDST (SaTML 2025) attacks syntheses of 20 000 bank transactions with 8 columns. FOLDER is that of tabddpm_1 to
tabddpm_6 in the tests of VectorInstitute/midst-toolkit: the first training table is synthesised, transactions of the
others are the holdout. Of national2019 so many records are synthesised and as many are the holdout, drawn at random, on
8 columns, and on the 21 of synthpop's submission (`--wide`). The ensemble has 8 shadows. The score of the holdout in
the table's place is that of a fresh sample, which tells nothing of who is in the table. `--board` adds what the same
settings of `cart` reach on all of national2019, as `synthesis.py` prints it.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from peers.private_marginals import domain  # noqa: E402
from peers.sdnist import NUMBERS, records  # noqa: E402
from peers.synthesis import SUBMITTED_WITHOUT, board_line, inconsistent  # noqa: E402

COLUMNS = ("PUMA", "AGEP", "SEX", "MSP", "EDU", "PINCP_DECILE", "INDP_CAT", "OWN_RENT")
CLASSES = {"AGEP": (0, 5, 10, 15, 18, 22, 26, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 99)}

CATEGORIES = ("trans_type", "operation", "k_symbol", "bank")
"""MIDST's columns that are not numbers."""

CHOSEN = {"no_exact_matches": True, "candidates": 3, "by": "PUMA"}

TREES = {
    "cart": {},
    "cart, no_exact_matches": {"no_exact_matches": True},
    "cart, exclude false": {"exclude": False},
    "cart, candidates": CHOSEN,
    **{f"cart, min_leaf {least}": {"min_leaf": least} for least in (3, 20, 50, 100, 200, 400, 800)},
    **{f"cart, complexity {share}": {"complexity": share} for share in (0.003, 0.01, 0.03)},
    **{f"cart, candidates, min_leaf {least}": {"min_leaf": least, **CHOSEN} for least in (50, 100, 200, 400)},
    "cart, candidates, complexity 0.01": {"complexity": 0.01, **CHOSEN},
    "cart, candidates of the whole, min_leaf 800, three": {"min_leaf": 800, "candidates": 3},
    "cart, candidates of the whole, complexity 0.03": {"complexity": 0.03, "candidates": 2},
    "cart, candidates of the whole, min_leaf 400, complexity 0.01": {
        "min_leaf": 400,
        "complexity": 0.01,
        "candidates": 2,
    },
    **{f"cart, candidates of the whole, min_leaf {n}": {"min_leaf": n, "candidates": 2} for n in (400, 800)},
    "forest": {"replace": "forest"},
    "forest, min_leaf 50": {"replace": "forest", "min_leaf": 50},
}


def steps(name: str, columns: tuple[str, ...], listed: dict[str, Any]) -> list[dict[str, Any]]:
    if name == "private-marginals":
        stated = {column: CLASSES.get(column, listed[column]) for column in columns}
        return [{"mask": name, "epsilon": 1, "delta": 1e-9, "domain": stated, "columns": list(columns)}]
    more = dict(TREES[name])
    method = more.pop("replace", "cart")
    if "PUMA" not in columns:
        more.pop("by", None)
    return [{"partition": "whole", "columns": list(columns), "replace": {"method": method, **more}}]


def national(path: Path, n: int, wide: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """So many records of national2019, and as many others."""
    whole = pl.read_csv(path, infer_schema=False).drop(SUBMITTED_WITHOUT)
    frame = (whole if wide else whole.select(COLUMNS)).with_columns(pl.col("AGEP").cast(pl.Int64))
    rows = np.random.default_rng(1).permutation(len(frame))
    return frame[rows[:n].tolist()], frame[rows[n : 2 * n].tolist()]


def transactions(folder: Path, n: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """So many records of MIDST's first training table, and as many that are in its other tables and not in this."""
    first, *others = (pl.read_csv(file) for file in sorted(folder.glob("tabddpm_*/train_with_id.csv")))
    strangers = pl.concat(others).unique("trans_id", maintain_order=True).join(first, on="trans_id", how="anti")
    tables = [table.sample(n, shuffle=True, seed=1) for table in (first, strangers)]
    categories = pl.col(*CATEGORIES).cast(pl.String)
    table, holdout = (table.drop("trans_id", "account_id").with_columns(categories) for table in tables)
    return table, holdout


def marginals(table: pl.DataFrame, other: pl.DataFrame) -> str:
    """k-marginals of the whole of another table beside this, by pairs and by triples of columns."""
    numbers = (*NUMBERS, *table.select(pl.selectors.numeric()).columns)
    before, after = (records(of.cast(pl.String), table.columns, numbers) for of in (table, other))
    pairs, triples = (shoal.KMarginal(group=None, order=order).measure(before, after).value for order in (2, 3))
    return f"k-marginal of the whole {pairs:.0f}, of triples {triples:.0f}"


def attack(name: str, plan: dict[str, Any], table: pl.DataFrame, holdout: pl.DataFrame) -> None:
    """What both attacks tell of a release, and how near its pairs of columns are."""
    start = time.process_time()
    measures = [
        {"risk": "density-ratio", "holdout": holdout},
        {"risk": "shadow-models", "holdout": holdout, "shadows": 8, "attacks": 1000, "statistic": "ensemble"},
    ]
    release = shoal.protect(table, {**plan, "measures": measures, "accept": table.columns}, seed=1, unproved=True)
    spent = time.process_time() - start
    print(f"{name}: {marginals(table, release.data)}; {spent:.0f} CPU s")
    if "OWN_RENT" in table.columns:
        made = release.data.cast(pl.String).drop("OWN_RENT")  # is judged beside HOUSING_TYPE
        print(f"    {inconsistent(made)} inconsistent rows")
    for finding in release.evidence.findings:
        if finding.measure not in ("density-ratio", "shadow-models"):
            continue
        rates = finding.details["true positives, by rate of false ones"]["at 0.1"]
        area = finding.details["area under the curve"]
        words = [f"{value:.3f}" for value in (*area, *rates)]
        print("   ", finding.measure, "AUC", *words[:3], "TPR at .1", *words[3:], flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--national", type=Path)
    parser.add_argument("--codebook", type=Path)
    parser.add_argument("--midst", type=Path, help="a folder of MIDST's tables; trees alone are attacked on these")
    parser.add_argument("--records", type=int, default=3000)
    parser.add_argument("--wide", action="store_true", help="21 columns")
    parser.add_argument("--board", action="store_true", help="score trees on all records and columns, too")
    parser.add_argument("--only", nargs="+")
    arguments = parser.parse_args()
    if not arguments.midst and not (arguments.national and arguments.codebook):
        parser.error("give --midst, or --national and --codebook")
    n = arguments.records
    if arguments.midst:
        table, holdout = transactions(arguments.midst, n)
    else:
        table, holdout = national(arguments.national, n, arguments.wide)
    roles = {name: {"role": "quasi-identifier", "missing": "keep"} for name in table.columns}
    listed = {} if arguments.midst else domain(arguments.codebook)
    print(f"{n:,} records and as many others, {len(table.columns)} columns")
    print(f"the others: {marginals(table, holdout)}")
    for name in arguments.only or [*TREES, *(() if arguments.midst else ("private-marginals",))]:
        plan = {"columns": roles, "steps": steps(name, tuple(table.columns), listed)}
        attack(name, plan, table, holdout)
        if arguments.board and arguments.national and "replace" not in TREES.get(name, {"replace": name}):
            board_line(pl.read_csv(arguments.national, infer_schema=False), 1, TREES[name])


if __name__ == "__main__":
    main()

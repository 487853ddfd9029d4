"""Attacks on membership against syntheses of NIST's national2019, split as the MIDST challenge splits its table.

    python bench/peers/membership.py --national national2019.csv --codebook national2019.json [--records 3000]

MIDST (SaTML 2025) attacks syntheses of 20 000 bank transactions with 8 columns, which are not at hand. Here so many
records are synthesised and as many are the holdout, drawn at random, on 8 columns, and on the 21 of synthpop's
submission (`--wide`). The ensemble has 8 shadows.
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
from peers.synthesis import SUBMITTED_WITHOUT  # noqa: E402

COLUMNS = ("PUMA", "AGEP", "SEX", "MSP", "EDU", "PINCP_DECILE", "INDP_CAT", "OWN_RENT")
CLASSES = {"AGEP": (0, 5, 10, 15, 18, 22, 26, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 99)}

CHOSEN = {"no_exact_matches": True, "candidates": 3, "by": "PUMA"}

TREES = {
    "cart": {},
    "cart, no_exact_matches": {"no_exact_matches": True},
    "cart, candidates": CHOSEN,
    **{f"cart, min_leaf {least}": {"min_leaf": least} for least in (20, 50, 100, 200, 400, 800)},
    **{f"cart, candidates, min_leaf {least}": {"min_leaf": least, **CHOSEN} for least in (50, 100, 200, 400)},
    "cart, min_leaf 3": {"min_leaf": 3},
    "forest": {"replace": "forest"},
}


def steps(name: str, columns: tuple[str, ...], listed: dict[str, Any]) -> list[dict[str, Any]]:
    if name == "private-marginals":
        stated = {column: CLASSES.get(column, listed[column]) for column in columns}
        return [{"mask": name, "epsilon": 1, "delta": 1e-9, "domain": stated, "columns": list(columns)}]
    more = dict(TREES[name])
    method = more.pop("replace", "cart")
    return [{"partition": "whole", "columns": list(columns), "replace": {"method": method, **more}}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--national", type=Path, required=True)
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--records", type=int, default=3000)
    parser.add_argument("--wide", action="store_true", help="21 columns")
    parser.add_argument("--only", nargs="+", default=[*TREES, "private-marginals"])
    arguments = parser.parse_args()
    whole = pl.read_csv(arguments.national, infer_schema=False).drop(SUBMITTED_WITHOUT)
    frame = (whole if arguments.wide else whole.select(COLUMNS)).with_columns(pl.col("AGEP").cast(pl.Int64))
    rows = np.random.default_rng(1).permutation(len(frame))
    n = arguments.records
    table, holdout = frame[rows[:n].tolist()], frame[rows[n : 2 * n].tolist()]
    roles = {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame.columns}
    print(f"{n:,} records and as many others, {len(frame.columns)} columns")
    attacks = [
        {"risk": "density-ratio", "holdout": holdout},
        {"risk": "shadow-models", "holdout": holdout, "shadows": 8, "attacks": 1000, "statistic": "ensemble"},
    ]
    listed = domain(arguments.codebook)
    for name in arguments.only:
        start = time.process_time()
        plan = {"columns": roles, "steps": steps(name, tuple(frame.columns), listed), "measures": attacks}
        release = shoal.protect(table, {**plan, "accept": frame.columns}, seed=1, unproved=True)
        spent = time.process_time() - start
        findings = {finding.measure: finding for finding in release.evidence.findings}
        before, after = (records(of.cast(pl.String), frame.columns, NUMBERS) for of in (table, release.data))
        score = shoal.KMarginal(group=None).measure(before, after).value
        print(f"{name}: k-marginal of the whole {score:.0f}; {spent:.0f} CPU s")
        for attack, finding in findings.items():
            if attack not in ("density-ratio", "shadow-models"):
                continue
            rates = finding.details["true positives, by rate of false ones"]["at 0.1"]
            area = finding.details["area under the curve"]
            print("   ", attack, "AUC", *(f"{v:.3f}" for v in area), "TPR at .1", *(f"{v:.3f}" for v in rates))


if __name__ == "__main__":
    main()

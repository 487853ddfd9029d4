"""Singling out, linkability and inference beside Anonymeter, on its own example: Adult and a synthesis by CTGAN.

    python bench/peers/anonymeter.py --adult FOLDER [--python peer/bin/python] [--seeds 3]

FOLDER holds adults_train.csv, adults_control.csv and adults_syn_ctgan.csv of Anonymeter's example notebook (its
training records are Adult of the UCI repository without those of the control). `--python` is an interpreter that has
anonymeter 1.1.0; without one its rows are left out. Both programs make the same attacks: columns and neighbours as in
the notebook, 1000 guesses. Singling out is attacked in a table of the control's size: anonymeter 1.1.0 fits its
correction for tables of unequal sizes to the number of predicates and not of those that are right, so that the control
counts a quarter here, and the risk comes out too high. CPU seconds are those of the attack, reading left out and the
peer's compilation done before, on one thread.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal

FILES = ("adults_train.csv", "adults_syn_ctgan.csv", "adults_control.csv")
FIRST = ["type_employer", "education", "hr_per_week", "capital_loss", "capital_gain"]
SECOND = ["race", "sex", "fnlwgt", "age", "country"]
SECRETS = ["education", "hr_per_week", "income", "capital_gain"]
ATTACKS = 1000

PEER = """
import json, sys, time, warnings, logging
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
warnings.simplefilter("ignore")
folder, setting = sys.argv[1], json.loads(sys.argv[2])
ori, syn, control = (pd.read_csv(f"{folder}/{name}", keep_default_na=False) for name in setting["files"])
n = setting["attacks"]
def done(name, evaluator, **how):
    start = time.process_time()
    evaluator.evaluate(**how)
    spent = time.process_time() - start
    results = evaluator.results()
    risk = results.risk()
    rates = [r.value for r in (results.attack_rate, results.control_rate, results.baseline_rate)]
    print(json.dumps([name, risk.value, risk.ci[0], risk.ci[1], *rates, spent]), flush=True)
files = dict(ori=ori, syn=syn, control=control)
few = {name: table.head(50) for name, table in files.items()}
LinkabilityEvaluator(**few, aux_cols=(setting["first"], setting["second"]), n_attacks=10).evaluate(n_jobs=1)
equal = {**files, "ori": ori.sample(len(control), random_state=1)}
for seed in range(setting["seeds"]):
    for mode, size in (("univariate", 1), ("multivariate", 4)):
        done(f"singling out, {mode}", SinglingOutEvaluator(**equal, n_attacks=n, n_cols=size, seed=seed), mode=mode)
    pair = (setting["first"], setting["second"])
    done("linkability", LinkabilityEvaluator(**files, aux_cols=pair, n_attacks=n, n_neighbors=10), n_jobs=1)
    for secret in setting["secrets"]:
        known = [c for c in ori.columns if c != secret]
        done(f"inference, {secret}", InferenceEvaluator(**files, aux_cols=known, secret=secret, n_attacks=n), n_jobs=1)
"""

Row = tuple[str, float, float, float, float, float, float, float]
"""What was attacked, the risk and its interval, the rates of attack, control and guessing, CPU seconds."""


def ours(tables: list[pl.DataFrame], seeds: int) -> list[Row]:
    original, released, control = tables
    equal = original.sample(len(control), seed=1)
    rows = []
    for seed in range(seeds):
        for mode, size in (("univariate", 2), ("multivariate", 4)):
            measure: Any = shoal.SinglingOut(mode=mode, size=size, attacks=ATTACKS, holdout=control)
            rows.append(_row(f"singling out, {mode}", measure, equal, released, seed))
        measure = shoal.Linkability(first=FIRST, second=SECOND, neighbours=10, attacks=ATTACKS, holdout=control)
        rows.append(_row("linkability", measure, original, released, seed))
        for secret in SECRETS:
            known = [name for name in original.columns if name != secret]
            measure = shoal.Inference(secrets=[secret], columns=known, attacks=ATTACKS, holdout=control)
            rows.append(_row(f"inference, {secret}", measure, original, released, seed))
    return rows


def _row(name: str, measure: Any, original: pl.DataFrame, released: pl.DataFrame, seed: int) -> Row:
    start = time.process_time()
    finding = measure.measure(original, released, seed=seed)
    spent = time.process_time() - start
    rates = [
        finding.details[key]
        for key in ("right on people of the original", "right on strangers", "right by guessing at random")
    ]
    return (name, finding.value, finding.interval.low, finding.interval.high, *rates, spent)


def theirs(folder: Path, python: str, seeds: int) -> list[Row]:
    """The peer's rows; none, and why, where it cannot run."""
    setting = {"files": FILES, "attacks": ATTACKS, "first": FIRST, "second": SECOND, "secrets": SECRETS, "seeds": seeds}
    one_thread = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    run = subprocess.run(
        [python, "-c", PEER, str(folder), json.dumps(setting)],
        capture_output=True,
        text=True,
        env={**os.environ, **one_thread, "PYTHONPATH": ""},
    )
    if run.returncode:
        print(f"anonymeter is left out: {python} ended with {run.stderr.strip().splitlines()[-1]}")
        return []
    return [tuple(json.loads(line)) for line in run.stdout.splitlines()]


def show(program: str, rows: list[Row]) -> None:
    """Means over the seeds."""
    for name in dict.fromkeys(row[0] for row in rows):
        means = np.mean([row[1:] for row in rows if row[0] == name], axis=0)
        risk, low, high, attack, control, guessing, spent = means.tolist()
        print(
            f"{name:27s}{program:12s}risk {risk:.4f} [{low:.4f}, {high:.4f}], right {attack:.4f}, on strangers "
            f"{control:.4f}, guessing {guessing:.4f}; {spent:7.2f} CPU s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--adult", type=Path, required=True, help="folder of Anonymeter's Adult files")
    parser.add_argument("--python", default="", help="a Python interpreter that has anonymeter 1.1.0")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    if lacking := [name for name in FILES if not (arguments.adult / name).is_file()]:
        sys.exit(f"{arguments.adult} lacks {', '.join(lacking)}; there is nothing to compare.")
    tables = [pl.read_csv(arguments.adult / name) for name in FILES]
    show("shoal", ours(tables, arguments.seeds))
    if arguments.python:
        show("anonymeter", theirs(arguments.adult, arguments.python, arguments.seeds))
    else:
        print("anonymeter is left out: give --python, an interpreter that has it")


if __name__ == "__main__":
    main()

"""Workload error of private tables on Adult beside AIM: how far three-way marginals are from the original's.

    python bench/peers/workload.py --adult adult.csv --domain adult-domain.json [--beside "AIM=made.csv" ...]

Both files are those that the paper on AIM measures, `clean/adult.csv` and its domain in ryan112358/hd-datasets: 48 842
records of 15 columns of 2 to 42 categories, numbers from 0. Those of ryan112358/private-pgm, 14 columns of up to 100
categories, do as well. With `--aim PYTHON`, an interpreter that has dpmm, AIM runs beside ours: dpmm's is adapted from
its authors' programme, which itself had made no choice among triples after two minutes. It gets a model of
`--megabytes`: ours has .8 by default; AIM's own default is 80, with which it can take many hours by its authors'
account. It is stopped after `--seconds` of CPU. A table made elsewhere is measured with `--beside AIM=made.csv`.

The error is that of McKenna, Mullins, Sheldon & Miklau (2022): the sum over cells of the absolute difference of two
marginals, over the number of records, as a mean over the workload (their implementation prints half of it). Workloads
are theirs: ALL-3WAY all sets of three columns, TARGET those with income, SKEWED 256 of them drawn at random with
weights that are squares of exponential numbers. Each is measured on a table made without and one made with `by` income.
"""

import argparse
import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterable
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl

import shoal

TARGET = "income>50K"
SKEWED = 256

AIM = """
import json, sys
import pandas
from dpmm.models.aim import AIMGM
from dpmm.pipelines.base import GenerativePipeline

adult, domain, out, epsilon, delta, megabytes, seed = sys.argv[1:]
sizes = json.load(open(domain))
frame = pandas.read_csv(adult)[list(sizes)]
limits = {"max_cells": 10**6, "max_model_size": float(megabytes), "n_jobs": 1}
model = AIMGM(epsilon=float(epsilon), delta=float(delta), degree=3, compress=False, **limits)
choose = model.generator.worst_approximated


def chosen(*arguments, **more):
    print(choice := choose(*arguments, **more), flush=True)
    return choice


model.generator.worst_approximated = chosen
pipeline = GenerativePipeline(gen=model)
pipeline.fit(frame, domain=sizes, random_state=int(seed))
pipeline.generate(n_records=len(frame), random_state=int(seed)).to_csv(out, index=False)
"""
"""AIM on all sets of three columns, as an interpreter with dpmm runs it; a line for each choice."""


def errors(before: np.ndarray, after: np.ndarray, sizes: list[int], sets: Iterable[tuple[int, ...]]) -> np.ndarray:
    """Of each set of columns, the distance of two tables' shares of combinations: 0 to 2."""
    out = []
    for columns in sets:
        lengths = [sizes[column] for column in columns]
        shares = []
        for table in (before, after):
            joint = np.ravel_multi_index(tuple(table[:, column] for column in columns), lengths)
            shares.append(np.bincount(joint, minlength=int(np.prod(lengths))) / len(table))
        out.append(np.abs(shares[0] - shares[1]).sum())
    return np.array(out)


def made(
    frame: pl.DataFrame, sizes: dict[str, int], epsilon: float, delta: float, by: str | None, seed: int
) -> pl.DataFrame:
    """The table made anew by `private-marginals`."""
    text = frame.cast(pl.String)
    roles = {name: {"role": "other", "level": "nominal"} for name in frame.columns}
    domain = {name: tuple(map(str, range(size))) for name, size in sizes.items()}
    data = shoal.Microdata.of(text, roles)
    method = shoal.PrivateMarginals(epsilon=epsilon, delta=delta, domain=domain, by=by)
    change = method.apply(data.records, frame.columns, np.random.default_rng(seed))
    return pl.DataFrame(data.rebuild(change.records).native).cast(pl.Int64)


def by_aim(arguments: argparse.Namespace, epsilon: float, seed: int, out: Path) -> str:
    """Run AIM on all sets of three columns; what hindered it if it made no table."""
    if not arguments.aim.is_file():
        return f"there is no {arguments.aim}"
    asked = [arguments.aim.absolute(), "-c", AIM, arguments.adult.resolve(), arguments.domain.resolve(), out]
    asked += [epsilon, arguments.delta, arguments.megabytes, seed]
    limit = (arguments.seconds, arguments.seconds)
    done = subprocess.run(
        list(map(str, asked)),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit),
    )
    if done.returncode < 0:
        choices = len(done.stdout.splitlines())
        return f"it was stopped after {arguments.seconds} CPU s, in which it had chosen {choices} sets of columns"
    return "" if out.is_file() else (done.stderr.strip().splitlines() or ["it wrote no table"])[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--adult", type=Path, required=True, help="adult.csv")
    parser.add_argument("--domain", type=Path, required=True, help="adult-domain.json: the number of each's categories")
    parser.add_argument("--beside", nargs="*", default=[], help="NAME=FILE: tables that others made, to be measured")
    parser.add_argument("--aim", type=Path, help="an interpreter that has dpmm")
    parser.add_argument("--megabytes", type=float, default=0.8, help="of AIM's model")
    parser.add_argument("--seconds", type=int, default=3600, help="of CPU, for AIM")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0])
    parser.add_argument("--delta", type=float, default=1e-9)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    sizes = json.loads(arguments.domain.read_text())
    frame = pl.read_csv(arguments.adult).select(list(sizes))
    sets = list(combinations(range(len(sizes)), 3))
    target = list(sizes).index(TARGET)
    with_target = np.array([target in columns for columns in sets])
    rng = np.random.default_rng(0)
    some = rng.choice(len(sets), SKEWED, replace=False)
    weights = rng.exponential(size=SKEWED) ** 2

    def line(name: str, table: pl.DataFrame) -> None:
        far = errors(frame.to_numpy(), table.select(frame.columns).to_numpy(), list(sizes.values()), sets)
        skewed = float(np.average(far[some], weights=weights))
        print(
            f"{name:40s}ALL-3WAY {far.mean():.3f}, TARGET {far[with_target].mean():.3f}, SKEWED {skewed:.3f}",
            flush=True,
        )

    for beside in arguments.beside:
        name, file = beside.split("=", 1)
        line(name, pl.read_csv(file))
    seeds = range(1, arguments.seeds + 1)
    for epsilon, seed in product(arguments.epsilon, seeds) if arguments.aim else ():
        with tempfile.TemporaryDirectory() as place:
            out = Path(place) / "made.csv"
            if why := by_aim(arguments, epsilon, seed, out):
                print(f"AIM, epsilon {epsilon:g}, seed {seed}: not measured; {why}", flush=True)
            else:
                line(f"AIM, epsilon {epsilon:g}, seed {seed}", pl.read_csv(out))
    for epsilon in arguments.epsilon:
        for seed in seeds:
            for by in (None, TARGET):
                start = time.process_time()
                table = made(frame, sizes, epsilon, arguments.delta, by, seed)
                spent = time.process_time() - start
                named = f"epsilon {epsilon:g}, seed {seed}{', by income' if by else ''}, {spent:.0f} CPU s"
                line(named, table)


if __name__ == "__main__":
    main()

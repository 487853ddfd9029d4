"""Workload error of private tables on Adult beside AIM: how far three-way marginals are from the original's.

    python bench/peers/workload.py --adult adult.csv --domain adult-domain.json [--beside "AIM=made.csv" ...]

Both files are those of the repository of AIM's authors, ryan112358/private-pgm: 48 842 records of 14 columns, whose
categories are numbers from 0. AIM itself runs beside ours with `--aim mechanisms/aim.py --python PYTHON`, an
interpreter that has its package `mbi`; it takes hours by its own account, and is stopped after `--seconds` of CPU. A
table that it made elsewhere is measured with `--beside AIM=made.csv`.

The error is that of McKenna, Mullins, Sheldon & Miklau (2022): the sum over cells of the absolute difference of two
marginals, over the number of records, as a mean over the workload (their implementation prints half of it). Workloads
are theirs: ALL-3WAY all sets of three columns, TARGET those with income, SKEWED 256 of them drawn at random with
weights that are squares of exponential numbers. Each is measured on a table made without and one made with `by` income.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

import shoal

TARGET = "income>50K"
SKEWED = 256


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


def by_aim(arguments: argparse.Namespace, epsilon: float, out: Path) -> str:
    """Run AIM's own programme with its defaults on all sets of three columns; the reason if it made no table."""
    if not arguments.aim.is_file():
        return f"there is no {arguments.aim}"
    asked = [arguments.python.absolute(), arguments.aim.resolve(), "--dataset", arguments.adult.resolve()]
    asked += ["--domain", arguments.domain.resolve(), "--epsilon", str(epsilon), "--delta", str(arguments.delta)]
    asked += ["--degree", "3", "--max_cells", "1000000", "--save", out.resolve()]
    limit = (arguments.seconds, arguments.seconds)
    done = subprocess.run(
        list(map(str, asked)),
        cwd=arguments.aim.parent,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit),
    )
    if done.returncode < 0:
        choices = done.stdout.count("Measuring Clique")
        return f"it was stopped after {arguments.seconds} CPU s, in which it had chosen {choices} sets of columns"
    return "" if out.is_file() else (done.stderr.strip().splitlines() or ["it wrote no table"])[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--adult", type=Path, required=True, help="adult.csv")
    parser.add_argument("--domain", type=Path, required=True, help="adult-domain.json: the number of each's categories")
    parser.add_argument("--beside", nargs="*", default=[], help="NAME=FILE: tables that others made, to be measured")
    parser.add_argument("--aim", type=Path, help="mechanisms/aim.py of private-pgm")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="an interpreter that has mbi")
    parser.add_argument("--seconds", type=int, default=900, help="of CPU, for AIM")
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
    for epsilon in arguments.epsilon if arguments.aim else ():
        with tempfile.TemporaryDirectory() as place:
            out = Path(place) / "made.csv"
            if why := by_aim(arguments, epsilon, out):
                print(f"AIM, epsilon {epsilon:g}: not measured; {why}", flush=True)
            else:
                line(f"AIM, epsilon {epsilon:g}", pl.read_csv(out))
    for epsilon in arguments.epsilon:
        for seed in range(1, arguments.seeds + 1):
            for by in (None, TARGET):
                start = time.process_time()
                table = made(frame, sizes, epsilon, arguments.delta, by, seed)
                spent = time.process_time() - start
                named = f"epsilon {epsilon:g}, seed {seed}{', by income' if by else ''}, {spent:.0f} CPU s"
                line(named, table)


if __name__ == "__main__":
    main()

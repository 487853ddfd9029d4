"""The same plans and file by this tree and an older one: CPU seconds of `shoal protect`, in turn, from file to release.

    git worktree add ../older REVISION && make -C ../older native
    python bench/beside.py ../older --records 20000 --runs 3

Each run is a process of its own with one thread. The least of a tree's runs counts. A plan that one of both refuses has
no ratio.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

NUMBERS, NOMINALS = ("x0", "x1", "x2", "x3"), ("c0", "c1", "c2", "c3")
K = "[{privacy: k-anonymity, k: 5}]"
SAME_TEXT = "[{privacy: k-anonymity, k: 5, missing: equal}]"

PLANS: dict[str, tuple[tuple[str, ...], str, str]] = {
    **{name: (NUMBERS, f"{{partition: {name}, k: 5}}", K) for name in ("mdav", "vmdav", "mu-approx")},
    "mdav, nominal": (NOMINALS, "{partition: mdav, k: 5}", K),
    "mdav, mixed": ((*NUMBERS, *NOMINALS), "{partition: mdav, k: 5}", K),
    **{
        name: (NUMBERS, f"{{partition: {name}, k: 5, t: 0.2}}", K)
        for name in ("tcloseness-first", "tcloseness-merge", "k-anonymity-first")
    },
    "suppress": (NOMINALS, "{mask: suppress, k: 5, missing: equal}", SAME_TEXT),
    "suppress-records": (NOMINALS, "{mask: suppress-records, k: 3, limit: 0.9}", "[{privacy: k-anonymity, k: 3}]"),
    "mdav and normal": (NUMBERS, "{partition: mdav, k: 10, replace: normal}", ""),
    "mdav and ipso": (NUMBERS, "{partition: mdav, k: 30, replace: ipso}", ""),
    "rank-swap": (NUMBERS, "{mask: rank-swap, p: 0.05, columns: [x0, x1, x2, x3]}", ""),
    "noise": (NUMBERS, "{mask: noise, variance: 0.1, columns: [x0, x1, x2, x3]}", ""),
    "shuffle": (NUMBERS, "{mask: shuffle, columns: [x0, x1, x2, x3]}", ""),
    "pram": (NOMINALS, "{mask: pram, columns: [c0, c1, c2, c3]}", ""),
    "cart": ((*NUMBERS, *NOMINALS), "{partition: whole, replace: cart}", ""),
    "sequential-regression": (NUMBERS, "{partition: whole, replace: sequential-regression}", ""),
}
"""Quasi-identifiers, step and requirements; without the last, a release that claims nothing."""


def invented(n: int) -> pl.DataFrame:
    """Numbers that go together, categories of which some are rare, an income and an illness."""
    rng = np.random.default_rng(1)
    x = np.round(rng.normal(size=(n, 4)) @ (rng.normal(size=(4, 4)) + 2 * np.eye(4)), 2)
    columns = {name: x[:, j] for j, name in enumerate(NUMBERS)}
    for name, count in zip(NOMINALS, (2, 5, 9, 20), strict=True):
        share = 1 / np.arange(1, count + 1) ** 0.5
        columns[name] = np.array([f"v{i:02}" for i in range(count)])[rng.choice(count, n, p=share / share.sum())]
    pay = np.round(x[:, 0] * 3 + rng.normal(size=n) * 4 + 50, 2)
    return pl.DataFrame({**columns, "pay": pay, "ill": rng.choice(list("abcdefg"), n)})


def written(place: Path, keys: tuple[str, ...], step: str, requirements: str) -> Path:
    """The plan's file; what is neither key nor secret is not released."""
    roles = {name: "quasi-identifier" if name in keys else "identifier" for name in (*NUMBERS, *NOMINALS)}
    columns = ", ".join(
        f"{name}: {role}" for name, role in {**roles, "pay": "confidential", "ill": "confidential"}.items()
    )
    place.write_text(f"columns: {{{columns}}}\nsteps: [{step}]\nrequirements: {requirements or '[]'}\n")
    return place


def seconds(tree: Path, table: Path, plan: Path, out: Path, *, proved: bool) -> float | None:
    """CPU seconds of one run; None if nothing was released."""
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "POLARS")} | {"POLARS_MAX_THREADS": "1"}
    command = [sys.executable, "-m", "shoal", "protect", table, "--plan", plan, "--out", out, "--seed", "1"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*map(str, command), *([] if proved else ["--unproved"])],
        env={**os.environ, **threads, "PYTHONPATH": str(tree / "src")},
        capture_output=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken if done.returncode == 0 else None


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("older", type=Path, help="a checkout whose kernels are built in place")
    arguments.add_argument("--records", type=int, default=20_000)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--only", default="", help="plans whose names hold this")
    given = arguments.parse_args()
    trees = {"older": given.older, "this": Path(__file__).parents[1]}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        invented(given.records).write_csv(place / "table.csv")
        for name, (keys, step, requirements) in PLANS.items():
            if given.only not in name:
                continue
            plan = written(place / "plan.yaml", keys, step, requirements)
            taken: dict[str, list[float | None]] = {tree: [] for tree in trees}
            for turn in range(given.runs):
                for tree, root in trees.items():
                    out = place / f"{name} {tree} {turn}"
                    taken[tree].append(seconds(root, place / "table.csv", plan, out, proved=bool(requirements)))
            least = {tree: min((s for s in of if s is not None), default=None) for tree, of in taken.items()}
            older, this = least["older"], least["this"]
            ratio = f"{this / older:.2f}" if older and this else "refused by one"
            print(f"{name:24} older {older or 0:7.2f} s   this {this or 0:7.2f} s   {ratio}", flush=True)


if __name__ == "__main__":
    main()

"""What refinement reaches: IL = 100 SSE/SST against MDAV, V-MDAV and the proven lower bounds, by budget.

    python bench/refined.py [--data FOLDER] [--moves 2000 10000 40000] [--finish] [--eia]

FOLDER holds census.csv, tarragona.csv and eia.csv (the CASC reference files). Budgets are moves per record;
seconds are of CPU. Without the files, skewed synthetic tables of the same size stand in.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

from alone import timed
from shoal import MDAV, VMDAV, MuApprox, Refined
from shoal.kernels.partition.bounds import groups_of, neighbour_bound, relaxation

TEXT = ["UTILNAME", "STATE", "YEAR", "MONTH"]


def table(folder: Path, name: str) -> np.ndarray:
    path = folder / f"{name}.csv"
    if path.is_file():
        return pl.read_csv(path).drop(TEXT, strict=False).to_numpy().astype(float)
    rows = {"census": 1080, "tarragona": 834, "eia": 4092}[name]
    rng = np.random.default_rng(rows)
    return rng.lognormal(0, 1, (rows, 13)) @ rng.normal(size=(13, 13))


def row(label: str, loss: float, base: float, seconds: float) -> None:
    print(f"  {label:<28} {loss:8.4f} {100 * (1 - loss / base):7.1f} % below MDAV {seconds:8.2f} s")


def bench(x: np.ndarray, name: str, k: int, budgets: list[int], finish: bool) -> None:
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    percent = 100 / (z**2).sum()
    print(f"{name}: {len(x)} x {x.shape[1]}, k = {k}")
    seconds, base = timed(lambda: MDAV(k=k).partition(x))
    row("MDAV", base.information_loss(z), base.information_loss(z), seconds)
    others = {"V-MDAV": VMDAV(k=k), "mu-Approx": MuApprox(k=k), "descent only": Refined(k=k, start="mdav", moves=0)}
    others |= {f"{moves} moves a record": Refined(k=k, start="mdav", moves=moves * len(x)) for moves in budgets}
    if finish and k <= 3:
        others |= {
            f"... and {how}": Refined(k=k, start="mdav", finish=how)
            for how in ("windows", "columns")
            if how == "windows" or len(x) <= 1100
        }
    for label, method in others.items():
        seconds, part = timed(lambda method=method: method.partition(x, seed=1))
        row(label, part.information_loss(z), base.information_loss(z), seconds)
    seconds, bound = timed(lambda: neighbour_bound(z, k))
    row("lower bound, neighbours", percent * bound, base.information_loss(z), seconds)
    if finish and k <= 3 and len(x) <= 1100:
        seconds, relaxed = timed(lambda: relaxation(z, k, groups_of(part.labels)))
        row("lower bound, set partition", percent * relaxed.bound, base.information_loss(z), seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--moves", type=int, nargs="+", default=[2_000, 10_000, 40_000])
    parser.add_argument("--finish", action="store_true", help="exact finish and set-partition bound, k = 3")
    parser.add_argument("--eia", action="store_true", help="EIA too (a minute)")
    given = parser.parse_args()
    for name in ("census", "tarragona"):
        for k in (3, 5, 10):
            bench(table(given.data, name), name, k, given.moves, given.finish)
    if given.eia:
        bench(table(given.data, "eia"), "eia", 3, given.moves, finish=False)

"""Information loss of refined partitions, beside MDAV and the proven lower bounds: IL = 100 SSE/SST.

    python bench/refined.py [--data FOLDER] [--budgets] [--table census ...] [--k 3 5 10] [--finish columns]

FOLDER holds census.csv, tarragona.csv and eia.csv (the CASC reference files). `--budgets` prints what some budgets, in
moves per record, reach. Otherwise each table and k is refined with the given finish, and its figures replace those in
refined.json beside this program, which docs/reference/microaggregation.md gives. Seconds are of CPU.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from alone import timed
from shoal import MDAV, VMDAV, MuApprox, Refined
from shoal.kernels.partition.bounds import neighbour_bound

TEXT = ["UTILNAME", "STATE", "YEAR", "MONTH"]
FIGURES = Path(__file__).with_suffix(".json")


def table(folder: Path, name: str) -> np.ndarray:
    return pl.read_csv(folder / f"{name}.csv").drop(TEXT, strict=False).to_numpy().astype(float)


def standardised(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)


def budgets(x: np.ndarray, k: int) -> None:
    """Print the losses that other methods and some budgets reach."""
    z, base = standardised(x), None
    others = {"MDAV": MDAV(k=k), "V-MDAV": VMDAV(k=k), "mu-Approx": MuApprox(k=k)}
    others |= {
        f"{moves} moves": Refined(k=k, start="mdav", moves=moves * len(x)) for moves in (0, 2_000, 10_000, 40_000)
    }
    for label, method in others.items():
        seconds, part = timed(lambda method=method: method.partition(x, seed=1))
        loss = part.information_loss(z)
        base = base or loss
        print(f"  {label:<14} {loss:8.4f} {100 * (1 - loss / base):7.1f} % below MDAV {seconds:8.2f} s", flush=True)


def finished(x: np.ndarray, k: int, finish: str) -> dict[str, Any]:
    """Losses in percent, with a lower bound of the loss of any partition."""
    z = standardised(x)
    percent = 100 / (z**2).sum()
    plain, (seconds, part) = (
        MDAV(k=k).partition(x),
        timed(Refined(k=k, start="mdav", finish=finish).partition, x, seed=1),
    )
    bound = part.details.get("no partition loses less than", neighbour_bound(z, k))
    figures = {"MDAV": plain.information_loss(z), "refined": part.information_loss(z), "bound": percent * bound}
    return {
        "finish": finish,
        "seconds": round(seconds),
        **{name: round(float(value), 4) for name, value in figures.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--table", nargs="+", default=["census", "tarragona", "eia"])
    parser.add_argument("--k", type=int, nargs="+", default=[3, 5, 10])
    parser.add_argument("--finish", choices=["none", "windows", "columns"], default="columns")
    parser.add_argument("--budgets", action="store_true")
    given = parser.parse_args()
    for name in given.table:
        for k in given.k:
            print(f"{name}, k = {k}", flush=True)
            x = table(given.data, name)
            if given.budgets:
                budgets(x, k)
                continue
            figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
            one = finished(x, k, given.finish)
            by_k = {**figures.get(name, {}), str(k): one}
            figures[name] = {key: by_k[key] for key in sorted(by_k, key=int)}
            FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
            print(f"  {one}", flush=True)


if __name__ == "__main__":
    main()

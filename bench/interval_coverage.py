"""How often 95 % intervals from combined synthetic copies hold the truth, for a mean, a slope and a proportion.

    python bench/interval_coverage.py [--samples 1000] [--copies 5]

Each sample has 500 people: x is normal, y = 1 + 2 x + noise, and z is 1 with a probability that rises with x. x is
kept, y and z are synthesised, and the estimates of all copies are combined as Reiter (2003) says. With 1000 samples
the figure of an exact method lies between 93.6 and 96.4 %.
"""

import argparse

import numpy as np
import polars as pl

import shoal
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records

PEOPLE = 500
NAMES = ("mean of y", "slope of y on x", "share of z")
MEAN, SLOPE = 1.0, 2.0
SYNTHESISERS = {
    "sequential-regression": shoal.SequentialRegression(given=("x",)),
    "cart": shoal.Cart(given=("x",)),
    "forest": shoal.Forest(given=("x",)),
}


def chance(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))  # symmetric about 0: the share in the population is 1/2


def sample(rng: np.random.Generator) -> Records:
    x = rng.normal(size=PEOPLE)
    y = MEAN + SLOPE * x + rng.normal(size=PEOPLE)
    z = np.where(rng.random(PEOPLE) < chance(x), "yes", "no")
    frame = pl.DataFrame({"x": x, "y": y, "z": z})
    return Microdata.of(frame, dict.fromkeys(frame.columns, "quasi-identifier")).records


def estimates(records: Records) -> tuple[np.ndarray, np.ndarray]:
    """The three estimates and their variances, as if the table were a sample."""
    x, y = records["x"].values, records["y"].values
    share = float((records["z"].values == records["z"].categories.index("yes")).mean())
    about = x - x.mean()
    slope = (about * y).sum() / (about**2).sum()
    residual = y - y.mean() - slope * about
    error = (residual**2).sum() / (len(x) - 2)
    return (
        np.array([y.mean(), slope, share]),
        np.array([y.var(ddof=1) / len(y), error / (about**2).sum(), share * (1 - share) / (len(x) - 1)]),
    )


def coverage(method: object, samples: int, copies: int) -> np.ndarray:
    """Shape (3,); share of the samples whose combined interval holds the truth."""
    truth = np.array([MEAN, SLOPE, 0.5])
    covered = np.zeros(3)
    for number in range(samples):
        rng = np.random.default_rng(number)
        records = sample(rng)
        whole = Partition(labels=np.zeros(len(records), dtype=np.int32))
        made = [method.apply(records, ("y", "z"), whole, rng).records for _ in range(copies)]
        combined = shoal.combine_tables(made, estimates)
        covered += (combined.low <= truth) & (truth <= combined.high)
    return covered / samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--copies", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{'':24s}" + "".join(f"{name:>18s}" for name in NAMES))
    for name, method in SYNTHESISERS.items():
        shares = coverage(method, arguments.samples, arguments.copies)
        print(f"{name:24s}" + "".join(f"{100 * share:16.1f} %" for share in shares), flush=True)


if __name__ == "__main__":
    main()

"""What private microaggregation loses on the Census file, beside Laplace noise on every cell.

    python bench/private_microaggregation.py --data FOLDER

FOLDER holds census.csv (the CASC reference file). The loss is the sum of squared errors of a column in percent of that
about its mean, averaged over columns and runs: at 100 a column of its own mean would do as well. Records are
compared with the noisy mean of their own group; which one that is the release does not tell, so that with Laplace
noise, whose cells stay their records', a release tells more than this loss says.
"""

import argparse
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from shoal.kernels.arrays import Floats
from shoal.mask.private_microaggregation import group_sizes, ranks
from shoal.mask.private_noise import exact_fraction
from shoal.mask.secret_stream import SecretStream
from shoal.table.records import Records

BOUNDS = {"FEDTAX": (0, 40_000), "FICA": (0, 12_000), "INTVAL": (0, 150_000), "POTHVAL": (0, 200_000)}
"""Round figures that hold all cells, as a codebook would state them."""

EPSILONS = (0.1, 1.0, 10.0)
RUNS = 10


def laplace(records: Records, epsilon: float, seed: int, clamp: bool) -> Floats:
    mask = shoal.Laplace(epsilon=epsilon, bounds=BOUNDS, clamp=clamp)
    return mask.apply(records, list(BOUNDS), np.random.default_rng(seed)).records.raw(list(BOUNDS))


def means(records: Records, epsilon: float, seed: int, k: int, ranking: str) -> Floats:
    """Of each record, the noisy means of its groups."""
    mask = shoal.PrivateMicroaggregation(k=k, epsilon=epsilon, bounds=BOUNDS, ranking=ranking, clamp=True)
    stream = SecretStream(np.random.default_rng(seed))
    share, sizes = exact_fraction(Fraction(epsilon) / len(BOUNDS)), group_sizes(len(records), k)
    out = np.zeros((len(records), len(BOUNDS)))
    variables = [records[name] for name in BOUNDS]
    for places in [range(len(BOUNDS))] if ranking == "records" else [[j] for j in range(len(BOUNDS))]:
        together = [variables[j] for j in places]
        steps = [mask.steps_at(v.name) for v in together]
        cells = [mask.nearest(v.values, v.name) - bottom for v, (_, bottom, _) in zip(together, steps)]
        order = ranks(cells, [top - bottom for _, bottom, top in steps])
        for j, noisy in zip(places, mask.noisy_means(together, sizes, share, stream)):
            out[order, j] = np.repeat(noisy, sizes)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    table = pl.read_csv(parser.parse_args().data / "census.csv").select(list(BOUNDS))
    records = shoal.Microdata.of(table, dict.fromkeys(BOUNDS, "other")).records
    x = records.raw(list(BOUNDS))
    assert all((low <= x[:, j]).all() and (x[:, j] <= high).all() for j, (low, high) in enumerate(BOUNDS.values()))
    spread = ((x - x.mean(axis=0)) ** 2).sum(axis=0)
    rows: dict[str, Callable[[float, int], Floats]] = {
        "laplace": lambda epsilon, seed: laplace(records, epsilon, seed, False),
        "laplace, clamp": lambda epsilon, seed: laplace(records, epsilon, seed, True),
    }
    for ranking in ("records", "columns"):
        for k in (5, 20, 50, 100, 200, 540):
            rows[f"ranking: {ranking}, k {k}"] = lambda epsilon, seed, k=k, ranking=ranking: means(
                records, epsilon, seed, k, ranking
            )
    print(f"{len(x):,} records, {', '.join(BOUNDS)}; loss in percent at epsilon {', '.join(map(str, EPSILONS))}")
    for name, released in rows.items():
        losses = [
            np.mean([(((released(epsilon, seed) - x) ** 2).sum(axis=0) / spread).mean() for seed in range(RUNS)])
            for epsilon in EPSILONS
        ]
        print(f"{name:28}" + "".join(f"{100 * loss:14,.1f}" for loss in losses))


if __name__ == "__main__":
    main()

"""The tables of sdcMicro's tests, typed or made again with the uniform numbers of R."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import polars as pl

from published.reference import reference
from shoal.kernels.arrays import Floats
from shoal.table.microdata import Microdata
from shoal.table.records import Records

DWELLING = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")
"""The key variables of sdcMicro's demo surveys."""


def r_uniform(seed: int) -> Callable[[int, float, float], Floats]:
    """R's `set.seed(seed)`, then `runif(n, low, high)` again and again.

    R scrambles the seed by a linear congruence, whose numbers are the state of the Mersenne twister (R: ?set.seed).
    """
    words = [seed]
    for _ in range(50 + 625):
        words.append((69069 * words[-1] + 1) % 2**32)
    twister = np.random.RandomState()
    twister.set_state(("MT19937", np.array(words[-624:], dtype=np.uint32), 624))

    def runif(n: int, low: float, high: float) -> Floats:
        drawn = twister.randint(0, 2**32, n, dtype=np.uint32).astype(np.float64)
        return np.asarray(low + (high - low) * drawn * 2.3283064365386963e-10, dtype=np.float64)

    return runif


def keys(columns: dict[str, Sequence[object]], weights: Sequence[float] | None = None, **strata: object) -> Records:
    """Columns of categories, numbered if they are numbers; not a number is missing."""
    frame = pl.DataFrame({name: [_category(cell) for cell in column] for name, column in columns.items()})
    roles = {name: {"role": "quasi-identifier", "level": "nominal", "missing": "keep"} for name in columns}
    if weights is not None:
        frame, roles = frame.with_columns(weight=pl.Series(weights)), {**roles, "weight": "weight"}
    for name, column in strata.items():
        frame, roles = frame.with_columns(pl.Series(name, column)), {**roles, name: "stratum"}
    return Microdata.of(frame, roles).records


def _category(cell: object) -> str | None:
    if isinstance(cell, str) or cell is None:
        return cell
    return None if cell != cell else f"{cell:g}"


def numbers(x: Floats, role: str = "confidential") -> Records:
    """Columns V1, V2, ... of numbers."""
    names = [f"V{j + 1}" for j in range(x.shape[1])]
    frame = pl.DataFrame({n: [None if v != v else float(v) for v in c] for n, c in zip(names, x.T)})
    frame = frame.with_columns(pl.all().cast(pl.Float64))
    return Microdata.of(frame, {n: {"role": role, "level": "continuous", "missing": "keep"} for n in names}).records


NA = float("nan")

WEIGHTS = [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51]

A, B = [2, 3, 2, 2, 3, 3, 1, 2], [3, 3, 3, 3, 3, 3, 4, 3]

FREQUENCIES: dict[str, tuple[dict[str, list[float]], list[float]]] = {
    "whole": ({"A": A, "B": B, "C": [1, 3, 1, 2, 1, 1, 1, 1]}, WEIGHTS),
    "gaps": ({"A": A, "B": B, "C": [1, 3, NA, 2, 1, 1, NA, 1]}, WEIGHTS),
    "more-gaps": ({"A": [*A[:-1], NA], "B": B, "C": [1, 3, NA, 2, 1, 1, NA, 1]}, WEIGHTS),
    "empty-row-and-column": ({"A": [2, 3, NA, *A[3:]], "B": [3, 3, NA, *B[3:]], "C": [NA] * 8}, WEIGHTS),
    "one-column": ({"A": [2, 3, NA, 2, 1, NA, 1, 2]}, WEIGHTS),
    "wide": (
        {"A": [2, 3, NA], "B": [2, 3, 3], "C": [1, NA, 3], "D": [3, NA, 3], "E": [3, 2, 2], "F": [3, NA, NA]}
        | {"G": [1, 2, NA], "H": [NA, 4, 4]},
        [18.0, 45.5, 122],
    ),
}
"""Columns and weights of test_freqCalc.R and test_indivRisk.R."""


def frequencies(name: str, weighted: str = "weighted") -> Records:
    columns, weights = FREQUENCIES[name]
    return keys(columns, weights if weighted == "weighted" else None)


@cache
def drawn(name: str) -> dict[str, Floats]:
    """Columns Var1, Var2, ... of a table of random numbers, as the test files make them."""
    match name.split("-"):
        case ["three", "keys", *tops]:  # test_calcRisks.R, test_suda2.R, test_localSuppression.R
            runif = r_uniform(3)
            x = runif(30, 1, 100).reshape(3, 10)
            return dict(zip(_names(6), (*x, *(np.round(runif(10, 1, int(top))) for top in tops))))
        case ["six", "keys"]:  # test_calcRisks.R, line 31
            runif = r_uniform(3)
            x = runif(20, 1, 100).reshape(5, 4)
            columns = dict(zip(_names(11), (*x, *(np.round(runif(4, 1, top)) for top in (2, 4, 6, 3, 5, 2)))))
            rows = {"Var6": [0, 2, 3], "Var7": [1, 2], "Var8": [2], "Var9": [0, 2], "Var10": [1, 2], "Var11": [2]}
            for column, gaps in rows.items():
                columns[column][gaps] = NA
            return columns
        case ["model"]:  # test_modRisks.R
            runif = r_uniform(123)
            return dict(zip(_names(3), (np.round(runif(10, 1, top)) for top in (3, 2, 5))))
        case ["strata", *gaps]:  # test_generateStrata.R
            x = np.round(r_uniform(123)(30, 1, 4))
            if gaps:
                x[np.array([1, 4, 13, 18, 21, 25, 30]) - 1] = NA
            return dict(zip(_names(3), x.reshape(3, 10)))
        case ["recoding"]:  # test_globalRecode.R
            runif = r_uniform(3)
            return {"Var1": runif(10, 1, 100), "Var2": np.round(runif(10, 1, 4))}
        case ["noise", size, *gaps]:  # test_addNoise.R
            return dict(zip(_names(3), _noise_table(int(size), gaps)))
    raise KeyError(name)


def _names(count: int) -> list[str]:
    return [f"Var{j + 1}" for j in range(count)]


def _noise_table(n: int, gaps: list[str]) -> Floats:
    x = r_uniform(3)(3 * n, 1, 100)
    if gaps == ["gaps"]:
        x[np.ceil(r_uniform(3)(8 if n == 5 else 4, 1, 3 * n)).astype(int) - 1] = NA
    x = x.reshape(3, n)
    if gaps == ["empty"]:
        x[1], x[:, 2] = NA, NA
    return x


@cache
def survey(name: str) -> pl.DataFrame:
    """One of sdcMicro's own tables: testdata, testdata2, francdat, tarragona."""
    return pl.read_csv(reference(f"{name}.csv"))


def fifths_of_age(frame: pl.DataFrame) -> list[str]:
    """R's `cut(age, 5)`: intervals of equal width, closed above."""
    age = frame["age"].to_numpy().astype(float)
    edges = np.linspace(age.min(), age.max(), 6)
    return [str(code) for code in np.searchsorted(edges[1:-1], age, "left")]


@cache
def people() -> pl.DataFrame:
    """Households of a region, as `createDat` draws them: 2,000 of one to five persons, in areas within areas."""
    rng = np.random.default_rng(2021)
    size = rng.integers(1, 6, 2_000)
    nuts1 = rng.integers(1, 4, 2_000)
    nuts2 = nuts1 * 10 + rng.integers(1, 5, 2_000)
    nuts3 = nuts2 * 100 + rng.integers(1, 6, 2_000)
    households = {"hid": np.arange(2_000), "nuts1": nuts1, "nuts2": nuts2, "nuts3": nuts3}
    households |= {"lau2": nuts3 * 10 + rng.integers(1, 4, 2_000), "hsize": size, "htype": rng.integers(1, 4, 2_000)}
    n = int(size.sum())
    persons = {"ageGroup": rng.integers(1, 8, n), "gender": rng.integers(1, 3, n), "national": rng.integers(1, 6, n)}
    columns = {name: np.repeat(column, size) for name, column in households.items()} | persons
    return pl.DataFrame(columns).with_columns(pl.exclude("hid").cast(pl.String))

"""Synthetic example tables that are linked: a hospital whose patients come again."""

import numpy as np
import polars as pl

from shoal.table.examples import CHAPTER, LEAVES, REGIONS, example
from shoal.vocabulary.errors import ParameterError
from shoal.vocabulary.registry import Spec

STAYS, SHARES = (1, 2, 3, 4, 7), (0.62, 0.2, 0.1, 0.06, 0.02)
"""Numbers of stays of a patient, and how often they occur."""

TESTS = {"haemoglobin": (13.0, 1.4), "creatinine": (1.0, 0.2), "glucose": (110.0, 25.0)}
"""Mean and standard deviation of laboratory values."""

DEADLY = 0.04
"""Share of the patients whose last stay ends with their death."""

KNOWN: Spec = {"role": "quasi-identifier", "level": "nominal"}

TABLES_PLAN: Spec = {
    "tables": {
        "patients": {
            "key": "patient",
            "columns": {
                "household": "identifier",
                "sex": KNOWN,
                "area": {**KNOWN, "hierarchy": {"nested": REGIONS}},
                "born": "quasi-identifier",
                "died": "identifier",
            },
        },
        "stays": {
            "key": "stay",
            "parent": "patients",
            "columns": {"admission": "quasi-identifier", "discharge": "identifier", "diagnosis": "confidential"},
        },
        "labs": {
            "parent": "stays",
            "columns": {"taken": "identifier", "test": "confidential", "value": "confidential"},
        },
    },
    "steps": [{"mask": "profiles", "k": 5}],
    "requirements": [{"privacy": "k-anonymity", "k": 5}],
}
"""A plan for the example: 5-anonymity of patients by all that is known of them, with nobody left out."""


def example_tables(n: int = 1000, seed: int = 0) -> dict[str, pl.DataFrame]:
    """Make linked example tables of an invented hospital: patients, their stays, and laboratory values.

    Parameters
    ----------
    n
        Number of patients, any size.
    seed
        The same seed gives the same tables.

    Notes
    -----
    No real person or hospital stands behind any value. Households share an area; a patient's stays do not overlap,
    mostly keep the chapter of the first diagnosis, and come before a death; values are taken during the stay.
    """
    if n < 1:
        raise ParameterError(f"n must be an integer of 1 or more; got {n}.")
    people = example(n=n, seed=seed)
    rng = np.random.default_rng([seed, n])
    stays = _stays(people, rng)
    last = stays.group_by("patient").agg(pl.col("discharge").max().alias("died"))
    dead = pl.DataFrame({"patient": people["patient"], "dead": rng.random(n) < DEADLY}).filter("dead").drop("dead")
    patients = people.select("patient", "household", "sex", "area", born=2023 - pl.col("age")).join(
        dead.join(last, on="patient"), on="patient", how="left", maintain_order="left"
    )
    return {"patients": patients, "stays": stays, "labs": _labs(stays, rng)}


def _stays(people: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Stays one after the other, at least a week apart."""
    count = rng.choice(STAYS, size=len(people), p=SHARES)
    owner = np.repeat(np.arange(len(people)), count)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    leaf = np.array([LEAVES.index(diagnosis) for diagnosis in people["diagnosis"].to_list()])[owner]
    chapters = np.array(CHAPTER)
    other = np.array([rng.choice(np.flatnonzero(chapters == chapters[code])) for code in leaf])
    code = np.where(place == 0, leaf, other)
    gap = rng.integers(40, 120, len(owner))
    start = np.cumsum(gap) - np.repeat((np.cumsum(gap) - gap)[place == 0], count) - gap
    day = np.datetime64("2023-01-02") + np.repeat(rng.integers(0, 250, len(people)), count) + start
    return pl.DataFrame(
        {
            "stay": [f"S{number:07d}" for number in rng.permutation(10 * len(owner))[: len(owner)]],
            "patient": people["patient"].gather(owner),
            "admission": day,
            "discharge": day + rng.integers(1, 30, len(owner)),
            "diagnosis": np.array(LEAVES)[code],
        }
    )


def _labs(stays: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Values on days of a stay."""
    owner = np.repeat(np.arange(len(stays)), rng.integers(0, 4, len(stays)))
    test = rng.integers(0, len(TESTS), len(owner))
    mean, spread = (np.array(figures)[test] for figures in zip(*TESTS.values()))
    lengths = (stays["discharge"] - stays["admission"]).dt.total_days().to_numpy()[owner]
    taken = stays["admission"].to_numpy()[owner] + np.floor(rng.random(len(owner)) * lengths).astype(np.int64)
    return pl.DataFrame(
        {
            "stay": stays["stay"].gather(owner),
            "taken": taken,
            "test": np.array(list(TESTS))[test],
            "value": np.round(mean + spread * rng.normal(size=len(owner)), 1),
        }
    )

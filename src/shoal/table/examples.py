"""Synthetic example data."""

from typing import Any

import numpy as np
import polars as pl

from shoal.kernels.elementary import exp
from shoal.vocabulary.errors import ParameterError, unknown
from shoal.vocabulary.registry import Spec

DIAGNOSES = {
    "circulatory": {
        "ischaemic": ["angina", "infarction"],
        "rhythm": ["flutter", "block"],
        "failure": ["heart failure"],
    },
    "respiratory": {"infection": ["pneumonia", "bronchitis"], "obstruction": ["asthma", "copd"]},
    "digestive": {"biliary": ["gallstones", "cholangitis"], "bowel": ["appendicitis", "hernia"]},
    "injury": {"fracture": ["hip", "wrist"], "head": ["concussion"]},
    "birth": {"delivery": ["spontaneous", "caesarean"]},
}
"""Chapter, block and diagnosis: the hierarchy of the column `diagnosis`."""

LEAVES = tuple(leaf for blocks in DIAGNOSES.values() for leaves in blocks.values() for leaf in leaves)
CHAPTER = tuple(chapter for chapter, blocks in DIAGNOSES.items() for leaves in blocks.values() for _ in leaves)
PAYERS = ("statutory", "private", "self")
AREAS = tuple(f"{number:05d}" for number in range(1001, 1281, 7))
REGIONS = {f"{prefix}xx": [area for area in AREAS if area.startswith(prefix)] for prefix in ("010", "011", "012")}
PLAN: Spec = {
    "columns": {
        "patient": "identifier",
        "household": "identifier",
        "age": {"role": "quasi-identifier", "decimals": 0, "label": "age in years at admission"},
        "sex": "quasi-identifier",
        "area": {"role": "quasi-identifier", "hierarchy": {"nested": REGIONS}, "label": "area of residence"},
        "diagnosis": {"role": "confidential", "hierarchy": {"nested": DIAGNOSES}, "label": "main diagnosis"},
        "admission": {"role": "quasi-identifier", "label": "day of admission"},
        "discharge": "identifier",
        "los": {"role": "other", "label": "length of stay in days"},
        "room": {"role": "other", "label": "charge for the room"},
        "drugs": {"role": "other", "label": "charge for drugs"},
        "procedures": {"role": "other", "label": "charge for procedures"},
        "charge": {"role": "confidential", "label": "whole charge: room + drugs + procedures"},
        "payer": "other",
        "haemoglobin": {"role": "confidential", "label": "haemoglobin, g/dl"},
        "creatinine": {"role": "confidential", "label": "creatinine, mg/dl"},
        "glucose": {"role": "confidential", "label": "glucose, mg/dl"},
        "crp": {"role": "confidential", "label": "C-reactive protein, mg/l"},
    },
    "steps": [{"partition": "mdav", "k": 5, "replace": "centroid"}],
    "requirements": [{"privacy": "k-anonymity", "k": 5}],
    "measures": [{"risk": "distance-linkage"}],
    "constraints": ["room + drugs + procedures == charge"],
    "accept": ["los", "room", "drugs", "procedures", "payer"],
    "output": {"format": "csv"},
}
"""A plan for the example: 5-anonymity over age, sex, area and day of admission.

It accepts that the stay and its charges leave unchanged, since nobody outside the hospital knows them.
"""


def example(name: str = "hospital", n: int = 1000, seed: int = 0) -> pl.DataFrame:
    """Make an example table.

    Parameters
    ----------
    name
        `hospital`: discharges of an invented hospital.
    n
        Number of records, any size.
    seed
        The same seed gives the same table.

    Notes
    -----
    No real person or hospital stands behind any value. Records have structure, so that methods have
    something to lose: ages and lab values depend on the diagnosis, charges are skewed and add up
    (charge = room + drugs + procedures), stays end after they begin, households share an area.
    """
    if name != "hospital":
        raise ParameterError(unknown("example", name, ["hospital"]))
    if n < 1:
        raise ParameterError(f"n must be an integer of 1 or more; got {n}.")
    rng = np.random.default_rng(seed)
    people = _people(n, rng)
    stay = _stays(n, rng, people["code"])
    return pl.DataFrame({**people, **stay, **_labs(n, rng, people["code"], people["age"])}).drop("code")


def _people(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    chapter_share = {"circulatory": 0.32, "respiratory": 0.22, "digestive": 0.2, "injury": 0.16, "birth": 0.1}
    weights = np.array([chapter_share[c] / CHAPTER.count(c) for c in CHAPTER])
    code = rng.choice(len(LEAVES), size=n, p=weights / weights.sum())
    middle = {"circulatory": 71, "respiratory": 54, "digestive": 48, "injury": 44, "birth": 31}
    spread = {"circulatory": 11, "respiratory": 22, "digestive": 18, "injury": 24, "birth": 5}
    chapters = np.array(CHAPTER)[code]
    age = np.array([middle[c] for c in chapters]) + np.array([spread[c] for c in chapters]) * rng.normal(size=n)
    female = (rng.random(n) < 0.51) | (chapters == "birth")
    household = np.sort(rng.integers(0, max(1, int(n * 0.6)), size=n))
    area_of = rng.integers(0, len(AREAS), size=household.max() + 1)
    return {
        "patient": [f"P{number:07d}" for number in rng.permutation(10 * n)[:n]],
        "household": household + 1,
        "age": np.clip(np.round(age), 0, 104).astype(np.int64),
        "sex": np.where(female, "female", "male"),
        "area": np.array(AREAS)[area_of[household]],
        "diagnosis": np.array(LEAVES)[code],
        "code": code,
    }


def _stays(n: int, rng: np.random.Generator, code: Any) -> dict[str, np.ndarray]:
    severity = 1.0 + 0.15 * (code % 5)
    los = 1 + rng.negative_binomial(2, 1 / (1 + 2.2 * severity), size=n)
    day = np.datetime64("2025-01-01") + rng.integers(0, 365, size=n)
    lodging = 410.0 * los
    drugs = np.round(exp(rng.normal(4.6 + 0.35 * severity, 0.9, size=n)), 2)
    procedures = np.where(rng.random(n) < 0.35, 0.0, np.round(exp(rng.normal(6.9, 0.8, size=n)), 2))
    return {
        "admission": day,
        "discharge": day + los,
        "los": los.astype(np.int64),
        "room": lodging,
        "drugs": drugs,
        "procedures": procedures,
        "charge": np.round(lodging + drugs + procedures, 2),
        "payer": rng.choice(PAYERS, size=n, p=[0.78, 0.15, 0.07]),
    }


def _labs(n: int, rng: np.random.Generator, code: Any, age: Any) -> dict[str, np.ndarray]:
    infection = np.isin(np.array(LEAVES)[code], ["pneumonia", "bronchitis", "cholangitis", "appendicitis"])
    diabetic = rng.random(n) < 0.08 + 0.002 * age
    return {
        "haemoglobin": np.round(rng.normal(13.6 - 0.012 * age, 1.4, size=n), 1),
        "creatinine": np.round(exp(rng.normal(-0.25 + 0.004 * age, 0.28, size=n)), 2),
        "glucose": np.round(np.where(diabetic, rng.normal(172, 38, size=n), rng.normal(98, 12, size=n)), 0),
        "crp": np.round(exp(rng.normal(np.where(infection, 4.2, 1.4), 0.8, size=n)), 1),
    }

"""Every method of the registry with edit constraints on: no record of the release breaks a rule.

The release is checked by its own cells, in whole numbers, not by shoal's judge.
"""

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_turns
from contract.test_methods import made
from shoal.run.carry_out import carry_out
from shoal.vocabulary.errors import DataError, PlanError, Refused
from shoal.vocabulary.registry import Entry, registered, spec_of

RULES = [
    "charge == room + drugs + procedures",
    "room >= 0",
    "drugs >= 0",
    "procedures >= 0",
    "discharge >= admission",
    "0 <= age <= 110",
]
WHOLE = ("charge", "room", "drugs", "procedures", "age")
COLUMNS = {
    "age": {"role": "quasi-identifier", "decimals": 0},
    "charge": {"role": "quasi-identifier", "decimals": 0},
    "admission": "quasi-identifier",
    "room": {"role": "confidential", "decimals": 0},
    "drugs": {"role": "confidential", "decimals": 0},
    "procedures": {"role": "confidential", "decimals": 0},
    "discharge": "confidential",
    "ward": {
        "role": "quasi-identifier",
        "hierarchy": {"nested": {"general": ["surgery", "medicine"], "births": ["maternity"]}},
    },
    "sex": {"role": "quasi-identifier", "hierarchy": {"nested": {"person": ["f", "m"]}}},
}


def stays(n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(11)
    lodging, drugs, procedures = (rng.gamma(a, b, n).astype(int) for a, b in ((3, 400), (2, 150), (0.5, 900)))
    admission = [dt.date(2024, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 90, n)]
    return pl.DataFrame(
        {
            "age": rng.integers(0, 100, n),
            "charge": lodging + drugs + procedures,
            "admission": admission,
            "room": lodging,
            "drugs": drugs,
            "procedures": procedures,
            "discharge": [day + dt.timedelta(int(d)) for day, d in zip(admission, rng.integers(0, 15, n))],
            "ward": rng.choice(["surgery", "medicine", "maternity"], n),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def violations(data: pl.DataFrame) -> int:
    """Records that break a rule, counted in whole numbers."""
    whole = data.select(pl.col(WHOLE).cast(pl.Int64))
    bad = whole["charge"] != whole["room"] + whole["drugs"] + whole["procedures"]
    for part in ("room", "drugs", "procedures", "age"):
        bad |= whole[part] < 0
    bad |= (whole["age"] > 110) | (data["discharge"] < data["admission"])
    return int(bad.sum())


def step(entry: Entry, **others: Any) -> dict[str, Any]:
    spec = spec_of(made(entry)) | {key: value for key, value in ROOMY.items() if key in entry.parameters}
    spec |= {key: value for key, value in START.items() if spec.get(key)}
    spec |= PARAMETERS.get(entry.name, {})
    return {entry.kind: spec.pop("method"), **spec, **others}


def plan_of(steps: list[dict[str, Any]]) -> shoal.Plan:
    return shoal.Plan.of({"columns": COLUMNS, "steps": steps, "constraints": RULES})


def released(steps: list[dict[str, Any]]) -> pl.DataFrame:
    """The finished table; it is not measured, for nothing here is asked of its figures."""
    done = carry_out(stays(), plan_of(steps), 3, None)
    assert all(verdict.holds for verdict in done.verdicts())
    return done.finished.native


def names(entry: Entry) -> str:
    return f"{entry.kind}-{entry.name}"


ROOMY = {"k": 12}
"""Groups large enough for every synthesiser to draw from."""

START = {"start": {"method": "mdav", "k": 12}}

RANGES = {"charge": [0, 20000], "room": [0, 20000]}

PARAMETERS: dict[str, dict[str, Any]] = {
    "geometric": {"bounds": RANGES},
    "laplace": {"bounds": RANGES},
    "staircase": {"bounds": RANGES},
}

CATEGORICAL = {"latent-class", "class-conditional", "pram", "pseudonymise", "generalise", "suppress-records"}
"""Methods for categories: they work on ward and sex."""

BANDS = {"recode"}
"""Methods after which a column holds no numbers any more, so that no rule about it can be proved."""


def partition_sort(partition: Entry) -> str:
    """What a replacement can tell partitions apart by: degrees of membership, one group, what it was grouped by."""
    if "fuzzy" in partition.name or partition.name == "whole":
        return partition.name
    return "categories" if partition.name in CATEGORICAL else "numbers"


def replacement_sort(replacement: Entry) -> str:
    """What a step does with the groups: their columns averaged, other columns drawn, numbers or categories."""
    if replacement.name in ("centroid", "fuzzy-centre"):
        return replacement.name
    return "categories" if replacement.name in CATEGORICAL else "numbers"


def pairs() -> list[tuple[Entry, Entry]]:
    """Each partition with each sort of replacement, and each replacement with each sort of partition.

    A replacement sees the groups and not the partition, so that what goes wrong in a pair does so in its sorts. Those
    of a sort take turns.
    """
    partitions, replacements = registered("partition"), registered("replace")
    chosen: dict[tuple[str, str], tuple[Entry, Entry]] = {}
    for number, partition in enumerate(partitions):
        for sort in dict.fromkeys(map(replacement_sort, replacements)):
            alike = [entry for entry in replacements if replacement_sort(entry) == sort]
            replacement = alike[number % len(alike)]
            chosen[partition.name, replacement.name] = (partition, replacement)
    for number, replacement in enumerate(replacements):
        for sort in dict.fromkeys(map(partition_sort, partitions)):
            alike = [entry for entry in partitions if partition_sort(entry) == sort]
            if not any((entry.name, replacement.name) in chosen for entry in alike):
                partition = alike[number % len(alike)]
                chosen[partition.name, replacement.name] = (partition, replacement)
    return list(chosen.values())


PAIRS = by_turns(pairs(), 0, 2)


@pytest.mark.parametrize(("partition", "replacement"), PAIRS, ids=[f"{p.name}-{r.name}" for p, r in PAIRS])
def test_partition_and_replacement(partition: Entry, replacement: Entry) -> None:
    by = ["ward", "sex"] if partition.name in CATEGORICAL else ["charge", "age"]
    by = ["charge"] if partition.name == "univariate" else by
    centre = replacement.name in ("centroid", "fuzzy-centre")
    columns = by if centre else ["ward", "sex"] if replacement.name in CATEGORICAL else ["room", "drugs"]
    chosen = step(partition, replace=spec_of(made(replacement)), columns=columns, by=by)
    if replacement.name == "fuzzy-centre" and "fuzzy" not in partition.name:
        with pytest.raises(DataError, match="fuzzy-centre replaces the columns that were grouped by"):
            released([chosen])
        return
    assert violations(released([chosen])) == 0


@pytest.mark.parametrize("mask", registered("mask"), ids=names)
def test_mask(mask: Entry) -> None:
    numbers = ["charge"] if mask.name == "calibrate" else ["charge", "room"]
    chosen = step(mask, columns=["ward", "sex"] if mask.name in CATEGORICAL else numbers)
    if mask.name in BANDS:
        with pytest.raises(Refused, match="cannot be judged: 'charge' is no longer there or no longer holds numbers"):
            shoal.protect(stays(), plan_of([chosen]), seed=3)
        return
    if mask.cls.whole_records:
        with pytest.raises(PlanError, match="Take the constraints out"):
            released([chosen])
        return
    assert violations(released([chosen])) == 0


def test_the_count_finds_what_is_wrong() -> None:
    wrong = stays().with_columns(charge=pl.col("charge") + pl.Series([1] + [0] * 59))
    assert violations(stays()) == 0
    assert violations(wrong) == 1

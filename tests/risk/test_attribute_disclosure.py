"""Attribute disclosure: by hand, by trying every pair of records, and on releases of which the truth is known."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.risk.attribute_disclosure import _shown
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ParameterError

PEOPLE = {"sex": ["f", "f", "m", "m", "f"], "area": ["a", "a", "a", "b", "c"], "ill": ["y", "n", "y", "y", "n"]}
SYNTHETIC = {"sex": ["f", "m", "m", "f", "f"], "area": ["a", "a", "a", "c", "c"], "ill": ["y", "y", "y", "n", "y"]}


def table(columns):
    roles = {name: {"role": "quasi-identifier", "level": "nominal", "missing": "keep"} for name in columns}
    roles["ill"] = {**roles["ill"], "role": "confidential"}
    return Microdata.of(pl.DataFrame(columns), roles).records


def measured(before, after, **parameters):
    return shoal.AttributeDisclosure(**parameters).measure(before, after)


def test_by_hand():
    # (f, a) is ill in the release: right for the first person, wrong for the second. (m, a) is ill, and so is the
    # third. Nobody is (m, b). Of (f, c) the release is of two minds. In the original only (f, a) is of two minds.
    finding = measured(table(PEOPLE), table(SYNTHETIC))
    stages = {name: finding.details[name] for name in ("iS", "DiS", "DiSCO", "DiSDiO", "Dorig", "Dsyn")}
    assert stages == {"iS": 0.8, "DiS": 0.6, "DiSCO": 0.4, "DiSDiO": 0.2, "Dorig": 0.6, "Dsyn": 0.6}
    assert finding.value == 0.4
    assert finding.interval.low < 0.4 < finding.interval.high
    # Four in five of the release are ill: who guesses at random about the first three is right with 4/5, 1/5, 4/5.
    assert finding.details["right by guessing at random"] == pytest.approx(1.8 / 5)
    assert "'ill', as all released records with a person's 'sex', 'area' agree on it" in finding.sentence


def test_readings_of_a_missing_cell_by_hand():
    # The release says of (m, ?) that he is ill. As written he is nobody; where a missing cell matches every cell he is
    # any man, of whom both are ill; where it matches none he says nothing.
    blank = table({"sex": ["m"], "area": [None], "ill": ["y"]})
    by_reading = {m: measured(table(PEOPLE), blank, missing=m).value for m in ("equal", "wildcard", "nothing")}
    assert by_reading == {"equal": 0, "wildcard": 2 / 5, "nothing": 0}


def test_a_missing_secret_is_a_secret_like_others():
    silent = table({**PEOPLE, "ill": [None] * 5})
    assert measured(silent, silent).value == 1
    assert measured(table(PEOPLE), silent).value == 0


def naive(x, y, secret, missing):
    """Every pair of rows compared cell by cell; -1 is a missing cell."""

    def match(a, b):
        if missing == "wildcard":
            return all(p == q or p < 0 or q < 0 for p, q in zip(a, b))
        if missing == "nothing":
            return all(p == q and p >= 0 for p, q in zip(a, b))
        return tuple(a) == tuple(b)

    return [{int(s) for b, s in zip(y, secret) if match(a, b)} for a in x]


cells = st.integers(-1, 2)


@given(
    st.lists(st.tuples(cells, cells), min_size=1, max_size=8),
    st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=8),
    st.sampled_from(["equal", "wildcard", "nothing"]),
)
def test_as_by_every_pair(people, released, missing):
    x, y = np.array(people, dtype=np.int64), np.array(released, dtype=np.int64)
    low, high = _shown(x, y[:, :2], y[:, 2], missing)
    for least, greatest, secrets in zip(low, high, naive(x, y[:, :2], y[:, 2], missing)):
        assert (least <= greatest) == bool(secrets)
        assert not secrets or (least, greatest) == (min(secrets), max(secrets))


def population(n, seed, tied, areas=60):
    """People whose illness hangs on who they are, wholly (1) or not at all (0)."""
    rng = np.random.default_rng(seed)
    sex, area = rng.integers(0, 2, n), rng.integers(0, areas, n)
    ill = np.where(rng.random(n) < tied, (sex + area) % 2, rng.integers(0, 2, n))
    columns = {"sex": sex, "area": area, "ill": ill}
    return table({name: [str(v) for v in column] for name, column in columns.items()})


def test_planted_releases():
    people, strangers = population(600, 1, 0.0), population(600, 2, 0.0)
    assert measured(people, people).value == measured(people, people).details["Dorig"]
    # Nothing is tied to anything, so whoever is not in the release is guessed rightly half the time, and no more.
    finding = measured(people, strangers)
    assert finding.value == pytest.approx(finding.details["DiS"] / 2, abs=0.03)
    assert not finding.details["better than guessing"]
    # With k-anonymous l-diverse classes of two illnesses nothing is disclosed.
    mixed = table({"sex": ["f"] * 4, "area": ["a", "a", "b", "b"], "ill": ["y", "n", "y", "n"]})
    assert measured(mixed, mixed).value == 0


def test_a_holdout_takes_away_what_the_population_says():
    people, strangers, fresh = (population(600, seed, 1.0) for seed in (1, 2, 3))
    assert measured(people, fresh).value > 0.95  # what everybody is, no more
    learned = measured(people, fresh, holdout=strangers)
    assert learned.value < 0.05
    assert learned.details["right on strangers"] > 0.95
    scattered, others = population(600, 1, 0.0, areas=2_000), population(600, 2, 0.0, areas=2_000)
    assert measured(scattered, scattered, holdout=others).value > 0.8  # hardly anybody has another's cells


def test_the_worst_secret_counts():
    roles = {"sex": "quasi-identifier", "ill": "confidential", "shoe": "confidential"}
    frame = pl.DataFrame({"sex": ["f", "f", "m"], "ill": ["y", "n", "y"], "shoe": ["38", "38", "44"]})
    records = Microdata.of(frame, roles).records
    finding = shoal.AttributeDisclosure().measure(records, records)
    assert finding.value == 1
    assert finding.details["secret"] == "shoe"
    assert finding.by_column.columns["ill"].value["DiSCO"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
def test_every_kind_of_table(kind):
    roles = {"sex": "quasi-identifier", "area": "quasi-identifier", "ill": "confidential"}
    before, after = (Microdata.of(kind(columns), roles).records for columns in (PEOPLE, SYNTHETIC))
    assert shoal.AttributeDisclosure().measure(before, after).value == 0.4


def test_what_cannot_be_looked_for_says_why():
    records = table(PEOPLE)
    assert "known column and a secret one" in measured(records, records, secrets=("sex", "area", "ill")).reason
    assert "no records" in measured(records, records.take(np.empty(0, dtype=np.int64))).reason
    with pytest.raises(ParameterError, match="attribute-disclosure: missing must be"):
        shoal.AttributeDisclosure(missing="all")

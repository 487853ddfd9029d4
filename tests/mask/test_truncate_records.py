from collections import Counter
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ParameterError

ROLES = {"p": "person", "t": {"role": "other", "missing": "keep"}}


def truncated(table: pl.DataFrame, seed: int = 0, **given: Any) -> list[int]:
    records = Microdata.of(table, ROLES).records
    return shoal.TruncateRecords(**given).apply(records, [], np.random.default_rng(seed)).records.rows.tolist()


@given(
    persons=st.lists(st.integers(0, 4), min_size=1, max_size=20),
    most=st.integers(1, 4),
    keep=st.sampled_from(["random", "first", "last"]),
    seed=st.integers(0, 99),
)
def test_nobody_keeps_more(persons: list[int], most: int, keep: Literal["random", "first", "last"], seed: int) -> None:
    table = pl.DataFrame({"p": persons, "t": np.random.default_rng(seed).integers(0, 5, len(persons))})
    rows = truncated(table, seed, most=most, keep=keep)
    assert rows == sorted(rows)
    had, have = Counter(persons), Counter(persons[row] for row in rows)
    assert have == {person: min(count, most) for person, count in had.items()}
    if keep == "random":
        return
    order = truncated(table, seed, most=most, keep=keep, order="t")
    for person in had:
        own = [row for row, one in enumerate(persons) if one == person]
        by_time = sorted(own, key=lambda row: (table["t"][row], row))
        for got, ranked in ((rows, own), (order, by_time)):
            expected = ranked[:most] if keep == "first" else ranked[-most:]
            assert [row for row in got if row in own] == sorted(expected)


def test_every_record_is_as_likely_to_stay() -> None:
    table = pl.DataFrame({"p": [1, 1, 1, 2], "t": [0, 0, 0, 0]})
    kept = Counter(row for seed in range(600) for row in truncated(table, seed, most=1))
    assert kept[3] == 600 and all(abs(kept[row] - 200) < 60 for row in range(3))


def test_facts_and_bad_input() -> None:
    records = Microdata.of(pl.DataFrame({"p": [1, 1, 1, 2], "t": [0, 1, 2, 3]}), ROLES).records
    facts = shoal.TruncateRecords(most=2).apply(records, [], np.random.default_rng(0)).facts
    assert facts["records dropped"].n == 1 and facts["persons with more records"].n == 1
    with pytest.raises(ParameterError, match="order is for keep: first or last"):
        shoal.TruncateRecords(most=2, order="t")

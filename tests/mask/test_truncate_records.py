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


KINDS = {
    "p": "person",
    "a": {"role": "quasi-identifier", "level": "nominal"},
    "b": {"role": "other", "level": "nominal"},
}


@given(
    cells=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=25),
    most=st.integers(1, 3),
    of_kind=st.sampled_from([None, ("b",), ("a", "b")]),
)
def test_records_of_kinds_that_most_persons_have_are_kept(
    cells: list[tuple[int, int, int]], most: int, of_kind: tuple[str, ...] | None
) -> None:
    """By hand: nobody has a dropped record of a kind that more persons have than a kept one's."""
    table = pl.DataFrame({"p": [p for p, _, _ in cells], "a": [a for _, a, _ in cells], "b": [b for _, _, b in cells]})
    records = Microdata.of(table, KINDS).records
    method = shoal.TruncateRecords(most=most, keep="common", of_kind=of_kind)
    rows = method.apply(records, [], np.random.default_rng(0)).records.rows.tolist()
    assert Counter(cells[row][0] for row in rows) == {
        p: min(n, most) for p, n in Counter(p for p, _, _ in cells).items()
    }
    kinds = [tuple(dict(zip("ab", cell[1:]))[name] for name in of_kind or ("a",)) for cell in cells]
    having = {kind: len({cell[0] for cell, other in zip(cells, kinds) if other == kind}) for kind in kinds}
    for row in set(range(len(cells))) - set(rows):
        own = [other for other in rows if cells[other][0] == cells[row][0]]
        assert all(having[kinds[row]] <= having[kinds[other]] for other in own)


def test_of_kinds_that_as_many_have_all_persons_keep_the_same() -> None:
    table = pl.DataFrame({"p": [1, 1, 2, 2, 3, 3], "a": [0, 1, 1, 0, 0, 1], "b": [0] * 6})
    records = Microdata.of(table, KINDS).records
    for seed in range(5):
        kept = shoal.TruncateRecords(most=1, keep="common").apply(records, [], np.random.default_rng(seed)).records
        assert len(set(kept["a"].values.tolist())) == 1


def test_kinds_are_for_common_records() -> None:
    with pytest.raises(ParameterError, match="of_kind is for keep: common"):
        shoal.TruncateRecords(most=1, of_kind=("a",))
    with pytest.raises(ParameterError, match="order is for keep: first or last"):
        shoal.TruncateRecords(most=1, keep="common", order="a")


def test_common_records_leave_fewer_alone_than_records_by_chance() -> None:
    """The figures of the changelog: of 1,000 patients with one stay each, 79 and 148 are left out."""
    known = {"role": "quasi-identifier", "level": "nominal"}

    def left_out(keep: str) -> int:
        plan: dict[str, Any] = {
            "tables": {
                "patients": {
                    "key": "patient",
                    "columns": {
                        "household": "identifier",
                        "sex": known,
                        "area": known,
                        "born": "quasi-identifier",
                        "died": "identifier",
                    },
                    "steps": [
                        {"mask": "recode", "columns": ["born"], "cuts": [1945, 1975]},
                        {"mask": "recode", "columns": ["area"], "prefix": 3},
                    ],
                },
                "stays": {
                    "key": "stay",
                    "parent": "patients",
                    "columns": {
                        "admission": "quasi-identifier",
                        "discharge": "identifier",
                        "diagnosis": "confidential",
                    },
                    "steps": [
                        {"mask": "recode", "columns": ["admission"], "period": "quarter"},
                        {"mask": "truncate-records", "most": 1, "keep": keep},
                    ],
                },
                "labs": {
                    "parent": "stays",
                    "columns": {"taken": "identifier", "test": "confidential", "value": "confidential"},
                    "steps": [{"mask": "truncate-records", "most": 1}],
                },
            },
            "requirements": [{"privacy": "k-anonymity", "k": 5}],
            "suppress_persons": 1.0,
        }
        return 1_000 - len(shoal.protect(shoal.example_tables(1_000), plan, seed=1).to_frame())

    assert (left_out("common"), left_out("random")) == (79, 148)

"""k-anonymity is judged on the table as written, whatever its index, order or types."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.judges.table_pair import TablePair
from shoal.kernels.suppression import wildcard_counts
from shoal.privacy.base import reading_of
from shoal.privacy.k_anonymity import KAnonymity
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import DataError


def test_by_hand() -> None:
    frame = pl.DataFrame({"age": [30, 30, 40, 40, 40], "sex": ["f", "f", "m", "m", "f"]})
    verdict = KAnonymity(k=2).check(frame)
    assert not verdict.holds
    assert verdict.achieved == 1
    assert "1 class with 1 record in all is smaller than 2; the smallest holds 1." in verdict.sentence


def test_who_shares_with_nobody_shares_with_no_other() -> None:
    frame = pl.DataFrame({"age": [30, 40], "sex": ["f", None]})
    roles = {"age": "quasi-identifier", "sex": {"role": "quasi-identifier", "missing": "keep"}}
    sentence = KAnonymity(k=2, missing="nothing").check(Microdata.of(frame, roles)).sentence
    assert sentence.startswith("2 records share their quasi-identifiers with no other (")


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", "b", None])), min_size=1, max_size=30))
def test_any_table_of_any_kind_equals_counting_tuples(rows: list[tuple[int, str | None]]) -> None:
    smallest = min(rows.count(row) for row in rows)
    columns = {"x": [r[0] for r in rows], "y": [r[1] for r in rows]}
    shuffled = pd.DataFrame(columns, index=np.random.default_rng(1).permutation(len(rows)) * 3)
    roles = {"x": "quasi-identifier", "y": {"role": "quasi-identifier", "missing": "keep", "level": "nominal"}}
    from shoal.table.microdata import Microdata

    for frame in (pl.DataFrame(columns, schema_overrides={"y": pl.String}), shuffled, pa.table(columns)):
        assert KAnonymity(k=2).check(Microdata.of(frame, roles)).achieved == smallest


def test_nearly_equal_numbers_are_different() -> None:
    assert KAnonymity(k=2).check(np.array([1.0, 1.0 + 2**-52])).achieved == 1


def test_a_filtered_index_and_a_genuine_minus_999() -> None:
    frame = pd.DataFrame({"a": [-999, 1, -999, 2, 1]}).iloc[[0, 2, 4, 1]]
    assert KAnonymity(k=2).check(frame).holds


def test_k_records_of_one_family_hide_nobody() -> None:
    from shoal.table.microdata import Microdata

    frame = pl.DataFrame({"age": [30, 30, 30, 40, 40, 40], "home": [1, 1, 2, 3, 3, 3]})
    table = Microdata.of(frame, {"age": "quasi-identifier", "home": "household"})
    assert KAnonymity(k=3).check(table).holds
    verdict = KAnonymity(k=2, unit="household").check(table)
    assert (verdict.holds, verdict.achieved) == (False, 1)
    assert KAnonymity(k=1, unit="household").check(table).holds
    assert not KAnonymity(k=1, unit="household").check(frame.drop("home")).holds  # what cannot be counted is not proved


def test_a_column_named_household_is_none_by_its_name() -> None:
    """What counts is the role; methods that form classes are told nothing of a column that merely bears the word."""
    frame = pl.DataFrame({"age": [30, 30, 40, 40], "household": [1, 2, 3, 4], "home": [1, 1, 2, 2]})
    table = Microdata.of(frame, {"age": "quasi-identifier", "household": "other", "home": "household"})
    model = KAnonymity(k=2, unit="household")
    assert model.group_limits(table.records) is None
    assert model.check(table).achieved == 1


def test_no_rows_and_no_quasi_identifiers() -> None:
    empty = KAnonymity(k=3).check(pl.DataFrame({"a": pl.Series([], dtype=pl.Float64)}))
    assert empty.holds
    assert "no records" in empty.sentence
    assert KAnonymity(k=3).check(pl.DataFrame({"c": [1, 2, 3]}), confidential="c").achieved == 3


@pytest.mark.parametrize("k", [5, 6])
def test_a_planted_lie_is_caught(k: int) -> None:
    ages = np.repeat([20.0, 30.0, 40.0], 6)
    ages[7] += 1e-9
    verdict = KAnonymity(k=k).check(ages)
    assert verdict.achieved == 1
    assert not verdict.holds


def test_only_the_columns_that_matter_are_read():
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "odd": [[1], [2], [3], [4]], "pay": [1.0, None, 2.0, 3.0]})
    assert KAnonymity(k=2, columns=("a",)).check(frame).achieved == 2
    assert KAnonymity(k=2).check(frame.drop("odd"), confidential="pay").achieved == 2
    with pytest.raises(DataError, match="There is no column 'b'"):
        KAnonymity(k=2, columns=("b",)).check(frame.drop("odd", "pay"))


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series([Decimal(f"0.1234567890123456789{i}") for i in range(5)], dtype=pl.Decimal(30, 20)),
        pl.Series(range(5), dtype=pl.Int64).cast(pl.Time),
        pl.Series(range(5), dtype=pl.Int64).cast(pl.Datetime("ns")),
    ],
)
def test_cells_that_numbers_do_not_tell_apart_are_not_counted_as_equal(cells):
    # five distinct values in a column that no role compares, named by the requirement
    frame = pl.DataFrame({"a": [1] * 5, "note": cells})
    table = Microdata.of(frame, {"a": "quasi-identifier", "note": "other"})
    assert KAnonymity(k=5).check(table).holds
    with pytest.raises(DataError, match=r"Column 'note' has (decimal numbers|times)"):
        KAnonymity(k=5, columns=("a", "note")).check(table)


def naive_matching(rows: list[tuple[object, ...]], missing: str) -> list[int]:
    """For each record those that it may stand for, by comparing all pairs of cells."""

    def alike(own: object, other: object) -> bool:
        if missing == "wildcard":
            return own is None or other is None or own == other
        if missing == "nothing":
            return other is not None and (own is None or own == other)
        return own == other

    return [
        sum(i == j or all(alike(a, b) for a, b in zip(row, other)) for j, other in enumerate(rows))
        for i, row in enumerate(rows)
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from([1.0, 2.0, None]), st.sampled_from(["a", None])),
        min_size=1,
        max_size=25,
    ),
    st.sampled_from(["equal", "wildcard", "nothing"]),
    st.integers(1, 4),
)
def test_every_reading_of_a_missing_cell_equals_comparing_all_pairs(
    rows: list[tuple[object, ...]], missing: str, k: int
) -> None:
    keep = {"role": "quasi-identifier", "missing": "keep"}
    types = {"u": pl.String, "v": pl.Float64, "w": pl.String}
    frame = pl.DataFrame(rows, schema=types, orient="row")
    roles = {"u": {**keep, "level": "nominal"}, "v": keep, "w": {**keep, "level": "nominal"}}
    model = KAnonymity(k=k, missing=missing)
    verdict = model.judge(TablePair.of(None, Microdata.of(frame, roles).encoded))
    counts = naive_matching(rows, missing)
    assert verdict.achieved == min(counts)
    assert verdict.holds == (min(counts) >= k)
    short = "records in classes too small" if missing == "equal" else "records below k"
    assert verdict.details[short] == sum(count < k for count in counts)


def test_the_readings_by_hand() -> None:
    """Two a's and a record without a value: the blank may be an a for everybody, or for nobody but itself."""
    frame = pl.DataFrame({"v": ["a", "a", None]})
    table = Microdata.of(frame, {"v": {"role": "quasi-identifier", "missing": "keep", "level": "nominal"}})
    achieved = {m: KAnonymity(k=2, missing=m).check(table).achieved for m in ("equal", "wildcard", "nothing")}
    assert achieved == {"equal": 1, "wildcard": 3, "nothing": 2}
    blank = Microdata.of(pl.DataFrame({"v": ["a", None]}), table.schema)
    assert KAnonymity(k=2, missing="nothing").check(blank).achieved == 1  # a blank counts for no other


def test_of_several_readings_the_one_that_is_hardest_to_satisfy_counts() -> None:
    wildcard, nothing = (KAnonymity(k=2, missing=reading) for reading in ("wildcard", "nothing"))
    assert reading_of([wildcard]) == "wildcard"
    assert reading_of([wildcard, KAnonymity(k=2)]) == "equal"
    assert reading_of([KAnonymity(k=2), nothing, wildcard]) == "nothing"
    assert reading_of([]) is None


def test_judges_of_one_release_count_its_matching_records_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(*given: object, **more: object) -> object:
        asked.append(more)
        return wildcard_counts(*given, **more)

    monkeypatch.setattr("shoal.table.records.wildcard_counts", counted)
    keep = {"role": "quasi-identifier", "missing": "keep", "level": "nominal"}
    frame = pl.DataFrame({"v": ["a", "a", None, "b"], "w": ["c", None, "c", "c"]})
    pair = TablePair.of(None, Microdata.of(frame, {"v": keep, "w": keep}).encoded)
    readings = ("wildcard", "nothing")
    achieved = [KAnonymity(k=k, missing=missing).judge(pair).achieved for k in (2, 3) for missing in readings]
    assert achieved == [2, 1, 2, 1]
    assert pair.released.matching(["v", "w"], "wildcard").tolist() == [3, 3, 4, 2]
    assert [more["missing_counts"] for more in asked] == [True, False]

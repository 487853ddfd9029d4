"""Laws of an original table are used on what is released of it, whatever is left to show them, unless it contradicts
them."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.table.arithmetic import filled_by, uncontradicted
from shoal.table.dependencies import (
    EXCEPTIONS,
    Dependencies,
    Dependency,
    LawSupport,
    bears,
    support_if_believed,
    support_of,
)
from shoal.table.laws import NO_LAWS, Laws
from shoal.table.microdata import Microdata
from shoal.table.records import Records

KEPT = {"role": "other", "missing": "keep"}


def records_of(**columns: object) -> Records:
    frame = pl.DataFrame(columns, strict=False)
    return Microdata.finished(frame, {n: "household" if n == "home" else KEPT for n in columns}).encoded


def towns(odd: int = 0) -> dict[str, list[str | None]]:
    """A hundred persons in ten postcodes of two regions, some of whom live in the other one."""
    region = ["north" if i % 10 < 5 else "south" for i in range(100)]
    region[:odd] = ["south" if r == "north" else "north" for r in region[:odd]]
    return {"zip": [f"z{i % 10}" for i in range(100)], "region": region}


def kept_in(cells: list[str | None], rows: list[int]) -> list[str | None]:
    return [cell if row in rows else None for row, cell in enumerate(cells)]


@pytest.mark.parametrize("odd", [0, 3])
def test_few_pairs_are_enough_where_the_original_shows_the_law(odd: int) -> None:
    """Of each of four postcodes one region is left: nothing to believe in, if one knew nothing of the world."""
    original = towns(odd)
    left = [10, 11, 12, 17]
    released = records_of(**original | {"region": kept_in(original["region"], left)})
    laws = Laws.for_release(records_of(**original), released)
    assert laws.look_ups == {Dependency(("zip",), "region"): LawSupport(odd, 100, 10)}
    assert Dependencies(released, exceptions=True).of("region") == []
    assert Dependencies(released, also=laws.look_ups).of("region") == [Dependency(("zip",), "region")] * (not odd)
    filled = Dependencies(released, exceptions=True, also=laws.look_ups).completed().records["region"]
    restored = [i for i in range(100) if i % 10 in {row % 10 for row in left}]
    assert (
        np.flatnonzero(~filled.missing).tolist() == restored
    )  # an atlas would tell the other postcodes, the table not
    assert {(i % 10 < 5) == (filled.categories[filled.values[i]] == "north") for i in restored} == {True}


def test_what_the_release_contradicts_is_no_law_of_it() -> None:
    original = towns()
    moved = [r if i % 3 else "south" for i, r in enumerate(original["region"])]
    released = records_of(zip=original["zip"], region=[None, *moved[1:]])
    laws = Laws.for_release(records_of(**original), released)
    assert laws.look_ups == {Dependency(("zip",), "region"): LawSupport(0, 100, 10)}
    assert Dependencies(released, exceptions=True, also=laws.look_ups).of("region") == []


def test_a_complete_release_is_not_searched_and_columns_that_are_new_have_no_law() -> None:
    original = records_of(**towns())
    assert Laws.for_release(original, original) is NO_LAWS
    released = records_of(zip=towns()["zip"], area=[None, *towns()["region"][1:]])
    assert Laws.for_release(original, released) is NO_LAWS


def test_bearing_by_hand() -> None:
    assert bears(0, LawSupport(0, 0), unit=False)
    assert bears(0, LawSupport(1, 20), unit=False) and not bears(0, LawSupport(2, 20), unit=False)
    assert bears(0, LawSupport(2, 20), unit=True) and not bears(0, LawSupport(3, 20), unit=True)
    assert bears(3, LawSupport(3, 6), unit=False)  # all that were wrong are left
    assert not bears(3, LawSupport(4, 6), unit=False) and not bears(3, LawSupport(3, 5), unit=False)


Pairs = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2), st.booleans(), st.booleans()), min_size=1)


@given(Pairs)
def test_blanks_never_add_exceptions(pairs: list[tuple[int, int, bool, bool]]) -> None:
    """The twin counts; and whatever is blanked of either column, no law of the original is contradicted by it alone."""
    by, on = (np.array([pair[j] for pair in pairs], dtype=np.int32) for j in (0, 1))
    groups = [[b for a, b, *_ in pairs if a == cause and b >= 0] for cause in range(4)]
    wrong = sum(len(group) - max(map(group.count, group)) for group in groups if group)
    several = [group for group in groups if len(group) > 1]
    assert support_of(by, on) == LawSupport(wrong, sum(map(len, several)), len(several))
    blanked = [np.where([pair[2 + j] for pair in pairs], np.int32(-1), column) for j, column in enumerate((by, on))]
    assert support_of(*blanked).exceptions <= wrong
    if (support := support_if_believed(by, on, unit=True)) is not None:
        assert support.exceptions == wrong <= EXCEPTIONS[True] * len(pairs)


AGES = [20 + i % 70 for i in range(210)]
BIRTHS = [2020 - age for age in AGES]


@pytest.mark.parametrize("left", [[10, 80], [10, 20], []], ids=["one age", "two round ages", "no age"])
def test_arithmetic_needs_no_cell_and_rounds_as_the_original(left: list[int]) -> None:
    """Ages of 30 and 40 alone look as if they were rounded to tens."""
    released = records_of(birth=BIRTHS, age=pl.Series(kept_in(AGES, left), dtype=pl.Int64))
    laws = Laws.for_release(records_of(birth=BIRTHS, age=AGES), released)
    carried = uncontradicted(released, laws.arithmetic)
    assert carried and all(law.exact for law in carried)
    assert filled_by(released, carried)[0]["age"].values.tolist() == AGES


def test_arithmetic_is_used_as_the_release_is_rounded_if_not_as_the_original() -> None:
    rounded = [10 * round(age / 10) for age in AGES]
    original = records_of(birth=BIRTHS, age=AGES)
    released = records_of(birth=BIRTHS, age=kept_in(rounded, list(range(1, 210))))
    carried = uncontradicted(released, Laws.for_release(original, released).arithmetic)
    assert filled_by(released, carried)[0]["age"].values.tolist() == rounded


@pytest.mark.parametrize("cells", [AGES[::-1], [f"{age // 10}0s" for age in AGES]], ids=["others", "ranges"])
def test_no_arithmetic_where_the_cells_are_others_or_no_numbers(cells: list[object]) -> None:
    original = records_of(birth=BIRTHS, age=AGES)
    released = records_of(birth=BIRTHS, age=[None, *cells[1:]])
    assert uncontradicted(released, Laws.for_release(original, released).arithmetic) == []


@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3, st.booleans()), min_size=30, max_size=60),
    st.sets(st.sampled_from("abcde"), max_size=4),
)
def test_laws_by_some_columns_are_those_of_all_that_are_by_them(
    rows: list[tuple[int, int, int, bool]], by: set[str]
) -> None:
    """As many are counted against chance as if all were looked for."""
    original = records_of(
        a=[row[0] for row in rows],
        b=[10 * row[1] for row in rows],
        c=[row[0] + 10 * row[1] for row in rows],
        d=["xyz"[(row[0] * row[1] + row[3]) % 3] for row in rows],
        e=[row[2] - row[0] if row[3] else row[2] for row in rows],
    )
    lacking = ["c", "d", "e"]
    every, some = Laws.of(original, lacking), Laws.of(original, lacking, by=by)
    assert {law for law in some.arithmetic if set(law.by) <= by} == {
        law for law in every.arithmetic if set(law.by) <= by
    }
    for laws in (every, some):
        assert laws.look_ups.keys() >= {law for law in every.look_ups if len(law.by) == 1}
    assert {law: at for law, at in some.look_ups.items() if set(law.by) <= by} == {
        law: at for law, at in every.look_ups.items() if set(law.by) <= by
    }
    assert all(set(law.by) <= by for law in some.look_ups if len(law.by) == 2)

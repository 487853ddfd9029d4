"""Recoded columns stand beside the original in the release's words."""

import numpy as np
import polars as pl
import pytest

from shoal.judges.recoded import in_terms_of_release
from shoal.table.microdata import Microdata
from shoal.table.variable import Variable
from shoal.utility.contingency import Contingency

REGIONS = {"paths": [[town, town[0], "*"] for town in ("aa", "ab", "ba", "bb")]}
ROLES = {"x": {"role": "quasi-identifier", "missing": "keep"}}


def columns(before: list, after: list, **described) -> tuple[Variable, Variable]:
    table = Microdata.of(pl.DataFrame({"x": before}), {"x": {**ROLES["x"], **described}})
    return table.encoded["x"], Microdata.finished(pl.DataFrame({"x": after}), table.schema).encoded["x"]


def worded(variable: Variable) -> list:
    return [None if code < 0 else str(variable.categories[code]) for code in variable.values]


@pytest.mark.parametrize(
    ("before", "after", "described", "expected"),
    [
        (["aa", "ab", "ba"], ["a", "a", "b"], {"hierarchy": REGIONS}, ["a", "a", "b"]),
        (["aa", "ab", "ba"], ["a", "aa", "*"], {"hierarchy": REGIONS}, ["aa", "a", "*"]),  # the narrowest label
        ([1.0, 4.5, 7], ["[0, 5]", "[0, 5]", "[5, 9]"], {}, ["[0, 5]", "[0, 5]", "[5, 9]"]),
        (["u", "v", "w"], ["u | v", "u | v", "w"], {}, ["u | v", "u | v", "w"]),
        (["u", "v", "w"], ["north", "north", "w"], {}, ["north", "north", "w"]),  # by the records that carry it
        (["u", "v", None], ["u", "v", None], {}, ["u", "v", None]),
        (["u", "v", "w"], ["u", "u", "u"], {}, ["u", "v", "w"]),  # nothing was recoded: v and w are not in the release
    ],
)
def test_by_hand(before: list, after: list, described: dict, expected: list) -> None:
    original, released = columns(before, after, **described)
    column = in_terms_of_release(original, released, np.arange(len(after)))
    assert column is not None
    assert worded(column) == expected


def test_labels_that_nothing_explains() -> None:
    original, released = columns([1.0, 2.0], ["low", "high"])
    assert in_terms_of_release(original, released, None) is None
    numbers, again = columns([1.0, 2.0], [1.5, 1.5])
    assert in_terms_of_release(numbers, again, None) is numbers


def test_a_recoding_changes_no_cell_of_a_table() -> None:
    rng = np.random.default_rng(2)
    towns = rng.choice(["aa", "ab", "ba", "bb"], 200)
    before = Microdata.of(pl.DataFrame({"x": towns}), {"x": {**ROLES["x"], "hierarchy": REGIONS}})
    after = Microdata.finished(pl.DataFrame({"x": [t[0] for t in towns]}), before.schema).encoded
    assert Contingency().measure(before.encoded, after).value == 0
    ages = rng.integers(0, 60, 200).astype(float)
    numbers = Microdata.of(pl.DataFrame({"x": ages}), ROLES)
    low = (ages // 10 * 10).astype(int)
    bands = Microdata.finished(pl.DataFrame({"x": [f"[{a}, {a + 9}]" for a in low]}), numbers.schema).encoded
    assert Contingency().measure(numbers.encoded, bands).value == 0

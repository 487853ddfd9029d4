"""Pictures before and after are drawn over the values of the original, so that what was lost shows."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.judges.in_original_values import before_and_after
from shoal.report.evidence import Distribution
from shoal.table.microdata import Microdata

REGIONS = {"paths": [[town, town[0], "*"] for town in ("aa", "ab", "ba", "bb")]}


def drawn(before: list, after: list | pl.Series, **described) -> Distribution | None:
    table = Microdata.of(
        pl.DataFrame({"x": before}), {"x": {"role": "quasi-identifier", "missing": "keep", **described}}
    )
    released = Microdata.finished(pl.DataFrame({"x": after}), table.schema)
    return before_and_after(table.encoded["x"], released.encoded["x"], np.arange(len(after)))


def shares(drawn: Distribution | None, table: str) -> dict[str | tuple[float, float], float]:
    assert drawn is not None
    bins = [one for one in drawn["bins"] if one["table"] == table]
    return {one["category"] if "category" in one else (one["low"], one["high"]): one["share"] for one in bins}


@pytest.mark.parametrize(
    ("before", "after", "described", "expected"),
    [
        # Two records under "a" count a half each for aa and ab, so each gets a quarter of all four records twice.
        (
            ["aa", "aa", "ab", "ba"],
            ["a", "a", "a", "ba"],
            {"hierarchy": REGIONS},
            {"aa": 0.375, "ab": 0.375, "ba": 0.25},
        ),
        # A column that lost everything is flat over all that it may have been, bb too.
        (["aa"] * 4, ["*"] * 4, {"hierarchy": REGIONS}, {"aa": 0.25, "ab": 0.25, "ba": 0.25, "bb": 0.25}),
        (["u", "u", "u", "v"], ["u | v"] * 4, {}, {"u": 0.5, "v": 0.5}),
        (["u", "u", "u", "v"], ["all"] * 4, {}, {"u": 0.5, "v": 0.5}),  # nothing explains it but who carries it
        (["u", "u", "v", "w"], ["north", "north", "north", "w"], {}, {"u": 0.375, "v": 0.375, "w": 0.25}),
        (["u", "v", None], ["u", "v", None], {}, {"u": 0.5, "v": 0.5}),
        (["u", "v", "w"], ["u", "u", "u"], {}, {"u": 1.0}),  # nothing was recoded
    ],
)
def test_labels_are_spread_over_the_values_they_stand_for(before, after, described, expected) -> None:
    assert shares(drawn(before, after, **described), "released") == expected


def test_numbers_keep_their_scale_when_the_release_has_ranges() -> None:
    ages = [20.0] * 9 + [29.0]
    picture = drawn(ages, ["[20, 29]"] * 10)
    assert picture is not None
    assert picture["scale"] == "quantitative"
    before, after = shares(picture, "original"), shares(picture, "released")
    assert sorted(before.values()) == [0.1, 0.9]
    assert sorted(after.values()) == [0.5, 0.5]  # the range says of no age that it is the frequent one
    assert sum(after.values()) == 1


@pytest.mark.parametrize("before", [["u", "v"], [2, 3]])
def test_a_blanked_column_has_no_released_bar(before: list) -> None:
    assert shares(drawn(before, pl.Series([None, None], dtype=pl.String)), "released") == {}


def test_total_loss_does_not_look_like_the_original() -> None:
    """Generalised to the top, a column of one frequent value and three rare ones is drawn flat."""
    frame = pl.DataFrame({"x": ["aa"] * 185 + ["ab"] * 5 + ["ba"] * 5 + ["bb"] * 5})
    plan = {
        "columns": {"x": {"role": "quasi-identifier", "hierarchy": REGIONS}},
        "steps": [{"mask": "generalise", "k": 150, "columns": ["x"], "suppression": 0.0}],
        "requirements": [{"privacy": "k-anonymity", "k": 150}],
    }
    (column,) = shoal.protect(frame, plan, seed=1).account.columns
    assert shares(column.both, "original")["aa"] == 0.925
    assert shares(column.both, "released") == {"aa": 0.25, "ab": 0.25, "ba": 0.25, "bb": 0.25}


@pytest.mark.parametrize(
    ("before", "after", "coarse"),
    [
        (["u", "u", "v", "w"], ["u | v", "u | v", "v", "w"], {"u": 0.25, "v": 0.25}),  # w and one v were kept
        (["u", "v"], ["v", "u"], {}),
        ([20.0, 25.0, 29.0, 60.0], ["[20, 29]", "[20, 29]", "[20, 29]", "60"], {20.0: 0.25, 25.0: 0.25, 29.0: 0.25}),
    ],
)
def test_what_comes_from_labels_of_several_values_is_marked(before, after, coarse) -> None:
    picture = drawn(before, after)
    assert picture is not None
    parts = [(bar.get("category", bar.get("low")), bar["coarse"]) for bar in picture["bins"] if "coarse" in bar]
    assert [part for _, part in parts] == list(coarse.values())
    for (place, _), value in zip(parts, coarse):
        assert place == value or place <= value < place + 5
    marked = [bar for bar in picture["bins"] if "coarse" in bar]
    assert all(bar["table"] == "released" and bar["coarse"] <= bar["share"] for bar in marked)

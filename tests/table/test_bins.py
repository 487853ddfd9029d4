"""Pictures of columns: bins of one table are a function of that table, adjoin, and hold every record."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from shoal.report.charts import drawn
from shoal.report.evidence import Distribution
from shoal.table.bins import distribution, in_both
from shoal.table.variable import Variable


def nominal(cells: list[Any]) -> Variable:
    categories = tuple(sorted(set(cells)))
    return Variable(
        name="c",
        role="quasi-identifier",
        level="nominal",
        categories=categories,
        values=np.array([categories.index(cell) for cell in cells], dtype=np.int32),
    )


def continuous(values: Any) -> Variable:
    return Variable(name="c", role="quasi-identifier", level="continuous", values=np.asarray(values, dtype=np.float64))


def shares(one: Distribution | None, table: str) -> dict[str | None, float]:
    assert one is not None
    assert "<svg" in drawn(one, {})
    return {bar.get("category"): bar["share"] for bar in one["bins"] if bar["table"] == table}


def test_shares_of_categories_by_hand() -> None:
    original = nominal(["a"] * 10 + ["b"] * 6 + ["c"] * 6 + ["d"] * 8)
    released = nominal(["a"] * 15 + ["b or c"] * 15)
    assert shares(distribution({"released": released}), "released") == {"a": 0.5, "b or c": 0.5}
    both = distribution({"original": original, "released": released})
    assert shares(both, "original") == {"a": 0.3333, "b": 0.2, "c": 0.2, "d": 0.2667}


def test_numbers_beside_labels_are_categories() -> None:
    numbers = continuous(np.repeat([41.5, 12.25], 10))
    both = distribution({"original": numbers, "released": nominal(["41.5"] * 10 + ["at least 1000"] * 10)})
    assert shares(both, "original") == {"41.5": 0.5, "12.25": 0.5}


@pytest.mark.parametrize(
    ("values", "first"),
    [
        (np.repeat(np.arange(1950, 2010), 10), (1950, 1952.5)),
        (1e6 + np.repeat(np.arange(0, 10, 0.5), 5), (1e6, 1000000.5)),
        (1e15 + np.repeat(np.arange(0, 10, 0.5), 5), (1e15, 1e15 + 0.5)),
        (np.repeat(np.arange(0, 0.48, 0.02), 5), (0, 0.02)),
        (1e-70 * np.repeat(np.arange(0, 24), 5), (0, 1e-70)),
    ],
)
def test_bins_adjoin_with_round_edges(values: Any, first: tuple[float, float]) -> None:
    """Rounded like figures to four digits, bins of years overlapped, and those about a million had no width."""
    one = distribution({"released": continuous(values)})
    assert one is not None
    edges = [(b["low"], b["high"]) for b in one["bins"]]
    assert edges[0] == first
    assert all(low is not None and high is not None and low < high for low, high in edges)
    assert all(high == low for (_, high), (low, _) in pairwise(edges))


@pytest.mark.parametrize("seed", range(20))
def test_every_known_value_lies_in_a_bin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.lognormal(sigma=4, size=50) * 10.0 ** rng.integers(-12, 12)
    values[rng.random(50) < 0.2] = np.nan
    one = distribution({"released": continuous(values)})
    assert one is not None
    assert sum(b["share"] for b in one["bins"]) == pytest.approx(1, abs=1e-3)


def test_the_picture_of_the_release_knows_nothing_of_the_original() -> None:
    released = continuous(np.arange(20.0))
    alone = distribution({"released": released})
    both = distribution({"original": continuous(np.arange(0.0, 1000.0, 3)), "released": released})
    assert alone is not None and both is not None
    assert max(b["high"] for b in alone["bins"]) == 19
    assert max(b["high"] for b in both["bins"]) > 900


def test_a_column_without_any_cell_has_no_picture() -> None:
    assert distribution({"released": continuous([np.nan, np.nan])}) is None


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["[5, 10)"] * 3 + ["< 5"] + [">= 10"] * 2, ["< 5", "[5, 10)", ">= 10"]),
        (["at least 60"] * 3 + ["7", "7", "12"], ["7", "12", "at least 60"]),
        (["[5, 10)"] + ["< 5"] * 2 + ["old"] * 3, ["old", "< 5", "[5, 10)"]),  # "old" lies nowhere: by frequency
        (["2"] + ["1"] * 2 + ["3"] * 3, ["3", "1", "2"]),  # codes may be names
    ],
)
def test_ranges_of_numbers_stand_in_their_order(cells: list[str], order: list[str]) -> None:
    assert list(shares(distribution({"released": nominal(cells)}), "released")) == order


@pytest.mark.parametrize("cells", [[], [np.nan], [1.0, 2.0, 2.0, np.nan, 30.5], [4.0] * 5])
@pytest.mark.parametrize("level", ["continuous", "nominal"])
def test_a_column_that_is_the_same_in_both_tables_is_drawn_as_two_are(cells: list[float], level: Any) -> None:
    values = np.array(cells) if level == "continuous" else np.arange(len(cells), dtype=np.int32) % 3 - 1
    column = Variable(name="x", role="other", level=level, values=values, categories=("a", "b"))
    assert in_both(distribution({"released": column})) == distribution({"original": column, "released": column})

"""Pictures of the original: nothing that a few records alone shape, nothing that only the original names."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from shoal.data.records import Variable
from shoal.report.charts import NOT_RELEASED, distribution, drawn
from shoal.report.frontier_plot import frontier_plot


def nominal(cells: list[Any]) -> Variable:
    categories = tuple(sorted(set(cells)))
    return Variable(
        name="c",
        role="quasi-identifier",
        level="nominal",
        categories=categories,
        values=np.array([categories.index(cell) for cell in cells], dtype=np.int32),
    )


def shares(found: dict[str, Any] | None, table: str) -> dict[str, float]:
    assert found is not None and "<svg" in drawn(found)
    return {bar["category"]: bar["share"] for bar in found["bins"] if bar["table"] == table}


def test_categories_that_the_release_does_not_have_are_one_bar_without_names() -> None:
    original = nominal(["a"] * 10 + ["b"] * 6 + ["c"] * 6 + ["d"] * 8)
    released = nominal(["a"] * 15 + ["b or c"] * 15)
    public = distribution(original, released, 5, public=True)
    assert shares(public, "original") == {"a": 0.3333, NOT_RELEASED: 0.6667}
    private = distribution(original, released, 5, public=False)
    assert shares(private, "original").keys() == {"a", "b", "c", "d"}


def test_numbers_of_the_original_are_not_named_beside_labels() -> None:
    numbers = Variable(name="c", role="confidential", level="continuous", values=np.repeat([41.5, 1234567.25], 10))
    public = distribution(numbers, nominal(["41.5"] * 10 + ["at least 1000"] * 10), 5, public=True)
    assert "1234567" not in str(public)
    assert shares(public, "original") == {"41.5": 0.5, NOT_RELEASED: 0.5}


def continuous(values: Any) -> Variable:
    return Variable(name="c", role="quasi-identifier", level="continuous", values=np.asarray(values, dtype=np.float64))


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
    found = distribution(continuous(values), continuous(values), 5, public=True)
    assert found is not None
    edges = [(b["low"], b["high"]) for b in found["bins"] if b["table"] == "original"]
    assert edges[0] == first
    assert all(low < high for low, high in edges)
    assert all(high == low for (_, high), (low, _) in pairwise(edges))


@pytest.mark.parametrize("outlier", [50.0, 1e9])
def test_how_far_out_an_extreme_value_lies_cannot_be_seen(outlier: float) -> None:
    values = np.append(np.repeat(np.arange(20.0), 10), [outlier] * 4)
    assert distribution(continuous(values), continuous(values), 5, public=True) == distribution(
        continuous(np.append(values[:-4], [20.0] * 4)), continuous(values), 5, public=True
    )


def test_what_is_left_out_cannot_be_told_from_the_rest() -> None:
    # 59 of 60 shown would tell that one person is something else.
    assert distribution(nominal(["a"] * 59 + ["b"]), nominal(["a"] * 59 + ["b"]), 5, public=True) is None


def test_a_frontier_on_which_nothing_can_be_recommended_is_drawn_all_the_same() -> None:
    point = {"name": "mdav 'k'=5", "holds": False, "risk": 0.5, "utility": 2.0}
    frontier = {
        "points": [point],
        "pareto": [],
        "risk": "distance-linkage",
        "utility": "sse",
        "better": ["lower", "lower"],
        "recommended": None,
    }
    assert "<svg" in str(frontier_plot(frontier))
    best = {**frontier, "points": [{**point, "holds": True}], "pareto": [point["name"]], "recommended": point["name"]}
    assert ">1</text>" in str(frontier_plot(best))

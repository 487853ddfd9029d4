"""What the documentation says of the three algorithms for t-closeness is what the bench wrote last."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def figures(project: Path) -> dict[str, Any]:
    return json.loads((project / "bench/published/s1.json").read_text(encoding="utf-8"))


@pytest.fixture
def text(project: Path) -> str:
    return " ".join((project / "docs/explanation/t-closeness.md").read_text(encoding="utf-8").split())


def test_what_refinement_loses(figures: dict[str, Any], text: str) -> None:
    losses = figures["losses of algorithms 1, 2, 3 and refined, k = 2"]["FICA"]
    (*_, third, refined), (*_, of_more, refined_more) = losses["0.05"], losses["0.17"]
    assert (
        f"falls from {third:.0f} to {refined:.0f} % at t = 0.05 and from {of_more:.0f} to {refined_more:.0f} % at "
        f"t = 0.17 with FICA" in text
    )
    assert "information loss is 7.9 % instead of 10.4 %" in text
    assert losses["0.21"][0] == pytest.approx(10.4, abs=0.051)


def test_tables_1_to_3(figures: dict[str, Any], text: str) -> None:
    assert figures["cells of table 3 that are equal"] == 98
    assert "table 3 comes out equal in every cell" in text
    three, two, rising = figures["farthest: cells with algorithms 2, 3 or 1, 2 out of order, and that rise with t"]
    assert (two, rising) == (0, 0)
    assert three == 6
    assert "in order in every cell, those of 2 and 3 in all but six of 98" in text


def test_the_lowest_algorithm_of_figure_7(figures: dict[str, Any], text: str) -> None:
    first, second, third = figures["cells of figure 7 in which each algorithm is lowest"]
    assert first + second + third == 84
    assert first == third
    assert f"Algorithm 3 is the lowest in {third} of 84 cells, Algorithm 1 in as many, Algorithm 2 in {second}" in text

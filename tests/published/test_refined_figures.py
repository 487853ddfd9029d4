"""The documentation's table of near-optimal partitions is what the bench wrote last."""

import json
from pathlib import Path
from typing import Any

import pytest

TABLES = {"census": "Census", "tarragona": "Tarragona", "eia": "EIA"}


@pytest.fixture
def figures(project: Path) -> dict[str, Any]:
    return json.loads((project / "bench/refined.json").read_text(encoding="utf-8"))


def test_every_figure_is_in_the_table_and_no_other(figures: dict[str, Any], project: Path) -> None:
    text = (project / "docs/reference/benchmarks.md").read_text(encoding="utf-8")
    rows = [
        f"| {TABLES[name]} | {k} | {one['MDAV']:.3f} | {one['refined']:.4f} | {one['bound']:.4f} "
        f"| {100 * (1 - one['bound'] / one['refined']):.2f} % | {one['finish']}, {one['seconds']} s |"
        for name, by_k in figures.items()
        for k, one in by_k.items()
    ]
    beginnings = tuple(f"| {name} |" for name in TABLES.values())
    assert [line for line in text.split("\n") if line.startswith(beginnings)] == rows


def test_threes_and_fives_of_census_come_near_their_bound(figures: dict[str, Any]) -> None:
    gaps = {k: 1 - one["bound"] / one["refined"] for k, one in figures["census"].items()}
    assert gaps["3"] <= 0.001 and gaps["5"] <= 0.003

"""What the documentation says of hybrid data is what the bench wrote last."""

import json
from pathlib import Path
from typing import Any

import pytest

SIZES = {"census.csv": [(7, 10, 15), (20, 22, 23, 24)], "eia.csv": [(10, 15, 20), (80, 90, 120)]}
NAMES = {"census.csv": "Census", "eia.csv": "EIA"}


@pytest.fixture
def figures(project: Path) -> dict[str, Any]:
    return json.loads((project / "bench/published/s3.json").read_text(encoding="utf-8"))


@pytest.fixture
def text(project: Path) -> str:
    return " ".join((project / "docs/explanation/synthesis.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize("file", NAMES)
def test_the_comparison_at_the_same_share_of_matches(file: str, figures: dict[str, Any], text: str) -> None:
    for number, (setting, one) in enumerate(figures[file]["comparison"].items()):
        low, high = one["by"]
        assert setting == f"alpha_{number + 1}"
        row = f"| {NAMES[file]} α{'₁₂₃'[number]} | {one['matches']:.2f} % | {one['k']} | {one['matches of k']:.2f} % "
        assert row + f"| {one['varies more']} of 12 | {low:.2f} to {high:.2f} |" in text


@pytest.mark.parametrize("file", NAMES)
def test_the_squares_within_groups(file: str, figures: dict[str, Any], text: str) -> None:
    for sizes in SIZES[file]:
        squares = [figures[file]["settings"][f"k = {k}"]["squares"] for k in sizes]
        cells = [
            ", ".join(f"{one[kind]:.{0 if file == 'eia.csv' and sizes[0] == 80 else 1}f}" for one in squares)
            for kind in ("needed", "ours", "least")
        ]
        assert (
            f"| {NAMES[file]}, k = {', '.join(map(str, sizes))} | {cells[0]} | {cells[1]} | {cells[2]} or more |"
            in text
        )


def test_how_often_ours_vary_less_than_printed(figures: dict[str, Any], text: str) -> None:
    eia, census = (
        {k: one["vary less"] for k, one in figures[file]["settings"].items()} for file in ("eia.csv", "census.csv")
    )
    of_k = {int(setting[4:]): count for setting, count in eia.items() if setting.startswith("k = ")}
    assert (
        f"the smaller ones in {of_k[10]}, {of_k[80]}, {of_k[90]} and {of_k[120]} of 12 cells for k = 10, 80, 90" in text
    )
    assert f"at k = 15 ours are smaller in {of_k[15]} of 12, at k = 20 larger in {12 - of_k[20]} of 12" in text
    more = sum(12 - count for setting, count in census.items() if setting.startswith("k = "))
    assert f"Ours vary more than printed in {more} of the 84 cells of Table 4" in text
    sizes = [one["k"] for one in figures["census.csv"]["comparison"].values()]
    assert f"({min(sizes)} to {max(sizes)}, not 22 to 24)" in text
    assert f"on Census it is up to {figures['census.csv']['comparison']['alpha_3']['by'][1]:.1f} times" in text

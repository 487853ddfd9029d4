"""The documentation's table of the transparency attack is what the bench wrote last."""

import json
from pathlib import Path

KINDS = {"FCM": "FCM, m = ", "EFCM": "EFCM, λ = "}


def _called(method: str) -> str:
    """A method as the table calls it: fuzzy ones are balanced unless they say otherwise."""
    kind, _, rest = method.partition(", ")
    if kind not in KINDS:
        return method
    return KINDS[kind] + rest.split(" = ")[1] + ("" if "plain" in rest else ", balanced")


def test_every_figure_is_in_the_table_and_no_other(project: Path) -> None:
    figures = json.loads((project / "bench/published/transparency.json").read_text(encoding="utf-8"))
    text = (project / "docs/explanation/fuzzy-and-constraints.md").read_text(encoding="utf-8")
    rows = [
        f"| {one['k']} | {_called(one['method'])} | {one['loss']:.1f} | {100 * one['linked']:.1f} "
        f"| {100 * one['low']:.1f} to {100 * one['high']:.1f} "
        f"| {100 * max(one['nearest'], one['counting'], one['replay']):.0f} |"
        for one in figures
    ]
    table = text.split("| k | method | loss, %")[1].split("\n\n")[0].split("\n")[2:]
    assert table == rows

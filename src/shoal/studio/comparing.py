"""Runs side by side: their figures, and how their plans differ."""

from collections.abc import Iterator, Sequence
from difflib import unified_diff

from shoal.report.comparison_page import comparison
from shoal.studio.arguments import Answer
from shoal.studio.session import StudioRun


def side_by_side(runs: Sequence[StudioRun]) -> Answer:
    """Runs in one table, as in `report.comparison_page`, and the differences between successive plans.

    `alike` is False if releases differ in their columns or roles, so that their figures are of different things.
    """
    evidence = {str(run.number): run.result for run in runs}
    roles = {tuple((c["name"], c["role"]) for c in run.result["columns"]) for run in runs if run.released}
    return {
        "runs": [{"number": run.number, "released": run.released} for run in runs],
        "rows": comparison(evidence),
        "alike": len(roles) < 2,
        "texts": {str(run.number): run.text for run in runs},
        "differences": [
            {"from": before.number, "to": after.number, "lines": list(_changed(before.text, after.text))}
            for before, after in zip(runs, runs[1:])
        ],
    }


def _changed(before: str, after: str) -> Iterator[str]:
    """Lines that only one of the texts has, each after the sign of its side."""
    for line in unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0):
        if not line.startswith(("---", "+++", "@@")):
            yield line

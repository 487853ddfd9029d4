"""Pictures: whatever a label holds, a release does not die for its picture."""

import subprocess
import sys
from typing import Any

import pytest

from shoal.report.charts import UNDRAWABLE, drawn, text_only
from shoal.report.frontier_plot import frontier_plot

HOSTILE = ["\x00", "\x01", "\x0b", "\x1a", "\x1b[2J", "\ufffe", "\uffff", "\ud800", "\U0001f41f" * 18, "\u202e" * 40]


def bars(labels: list[str]) -> dict[str, Any]:
    return {"scale": "nominal", "bins": [{"table": "released", "category": label, "share": 0.5} for label in labels]}


@pytest.mark.parametrize("label", HOSTILE, ids=[ascii(label)[:10] for label in HOSTILE])
def test_no_label_ends_the_process(label: str) -> None:
    program = f"from shoal.report.charts import drawn; print(len(drawn({bars(['a' + label])!r})))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_can_be_drawn_is_left_as_it_is() -> None:
    assert text_only("Zürich, 東京, \u05d0") == "Zürich, 東京, \u05d0"
    assert text_only("a\x1bb") == f"a{UNDRAWABLE}b"
    assert "Zürich" in drawn(bars(["Zürich"]))


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

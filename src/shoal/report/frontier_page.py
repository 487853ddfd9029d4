"""The frontier of risk and utility as a page."""

from collections.abc import Mapping
from typing import Any

from shoal.report.frontier_marks import axes, marks, numbered
from shoal.report.page import map_of, render


def frontier_page(frontier: Mapping[str, Any]) -> str:
    """One self-contained page: the plot, the recommendation, and every candidate with its figures.

    Parameters
    ----------
    frontier
        The content of frontier.json.
    """
    return render("frontier.html", **frontier_parts(frontier))


def frontier_parts(frontier: Mapping[str, Any]) -> dict[str, Any]:
    """What the parts of the page are filled with."""
    drawn = map_of(marks(frontier), *axes(frontier), release="recommended")
    return {"frontier": frontier, "map": drawn, "numbered": numbered(frontier)}

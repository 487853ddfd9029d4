"""The frontier of risk and utility as a page."""

from collections.abc import Mapping
from typing import Any

from shoal.methods import entry
from shoal.report.frontier_plot import along_frontier, frontier_plot
from shoal.report.page import render


def frontier_page(frontier: Mapping[str, Any]) -> str:
    """One self-contained page: the plot, the recommendation, and every candidate with its figures.

    Parameters
    ----------
    frontier
        The content of frontier.json.
    """
    return render(
        "frontier.html",
        frontier=frontier,
        titles={axis: entry(axis, frontier[axis]).title for axis in ("risk", "utility")},
        plot=frontier_plot(frontier),
        on=along_frontier(frontier),
        others=[p for p in frontier["points"] if p["name"] not in frontier["pareto"]],
    )

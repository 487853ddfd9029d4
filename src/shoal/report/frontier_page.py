"""The frontier of risk and utility as a page."""

from shoal.report.exploration import FrontierFile
from shoal.report.frontier_marks import axes, marks, numbered
from shoal.report.page import Filled, map_of, render


def frontier_page(frontier: FrontierFile) -> str:
    """One self-contained page: the plot, the recommendation, and every candidate with its figures.

    Parameters
    ----------
    frontier
        The content of frontier.json.
    """
    return render("frontier.html", **frontier_parts(frontier))


def frontier_parts(frontier: FrontierFile) -> Filled:
    """Values that fill the templates of the page."""
    drawn = map_of(marks(frontier), *axes(frontier), release="recommended")
    return {"frontier": frontier, "map": drawn, "numbered": numbered(frontier)}

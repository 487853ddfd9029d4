"""Display of values in a notebook: the report's own parts, and pictures; nothing is loaded from anywhere."""

from dataclasses import dataclass, field
from typing import Any

from shoal.report.charts import LIGHT, VEGA_LITE, with_colours
from shoal.report.drawing import svg
from shoal.report.page import render
from shoal.report.scales import Chart


def displayed(*templates: str, **content: Any) -> str:
    """Parts of a page, with the page's style, for the output of a cell."""
    return render("display.html", templates=templates, **content)


@dataclass(frozen=True)
class Picture:
    """A chart that a notebook shows as SVG, so that nothing is loaded to draw it.

    Parameters
    ----------
    spec
        The Vega-Lite specification.
    """

    spec: Chart = field(repr=False)

    def _repr_svg_(self) -> str:
        style = "".join(f"--{name}:{colour};" for name, colour in LIGHT.items())
        return svg(self.spec).replace("<svg ", f'<svg style="{style}background:#fff" ', 1)

    def to_dict(self) -> Chart:
        """The Vega-Lite specification, for any renderer, as in `altair.Chart.from_dict`."""
        return {"$schema": VEGA_LITE, **with_colours(self.spec)}

"""The report as a page: whether to release, then the evidence for it.

A page shows the content of an evidence.json, public or private, and nothing else.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from shoal.report.became import became, counts_kept
from shoal.report.charts import class_sizes_chart, drawn, size_range
from shoal.report.decision import decision
from shoal.report.drawing import svg
from shoal.report.evidence import Bin, Copy, Distribution, EvidenceFile, MeasuredFigure, ReportedFigure, Requirement
from shoal.report.exploration import TriedPlan
from shoal.report.forms import READINGS, UnitAndLimits, figure, in_unit, in_words, is_bound, is_share, share
from shoal.report.frontier_marks import UNPROTECTED, along_frontier, axes, axis_of, marks
from shoal.report.headlines import by_rank, main_measure, measured
from shoal.report.risk_map import SHAPES, Axis, Mark, MarkKind, marks_of, risk_map
from shoal.report.scales import Chart
from shoal.vocabulary.glossary import TERMS

if TYPE_CHECKING:
    from jinja2 import Environment

Filled = dict[str, Any]
"""Values that fill a template, by the names that it uses."""

WIDE = 3
"""A measure with more parts than this has its table by column at the end, in the width of the page."""

MOST_DESCRIBED = 3
"""Bins of a distribution that its description in words names."""


def page(content: EvidenceFile) -> str:
    """One self-contained HTML page; it loads nothing and runs no script.

    Parameters
    ----------
    content
        Content of evidence.json. The page is as safe to publish as that file.
    """
    return render("page.html", **parts(content))


def parts(content: EvidenceFile) -> Filled:
    """Values that fill the templates of the page."""
    measures, loss = content["measures"], main_measure(content, "utility")
    return {
        "content": content,
        "private": content["private"],
        "decision": decision(content),
        "limits": [verdict for verdict in content["requirements"] if verdict["model"]],
        "rules": [verdict for verdict in content["requirements"] if not verdict["model"]],
        "classes": _classes(content),
        "map": release_map(content),
        "risks": measured(measures, "risk"),
        "losses": measured(measures, "utility"),
        "unmeasured": [f for f in measures if f["value"] is None and f["reason"]],
        "unshown": [f for f in measures if f["value"] is None and not f["reason"]],
        "by_column": sorted(
            (table for measure in measures for table in _by_column(measure)), key=lambda table: len(table.parts) > WIDE
        ),
        "became": became(content, loss),
        "kept": loss["title"] if loss and counts_kept(loss) and loss["by_column"] else "",
        "glossary": {term.name: term.meaning for term in TERMS if term.in_reports},
    }


def evidence_shown(requirements: Sequence[Requirement], measures: Sequence[MeasuredFigure]) -> str:
    """Requirements, risks and losses that belong to no release, for a notebook."""
    return render(
        "display.html",
        templates=("parts/evidence.html",),
        private=True,
        limits=[verdict for verdict in requirements if verdict["model"]],
        rules=[verdict for verdict in requirements if not verdict["model"]],
        risks=measured(measures, "risk"),
        losses=measured(measures, "utility"),
        unmeasured=[measure for measure in measures if measure["value"] is None],
    )


def over_copies(copies: Sequence[Copy]) -> list[tuple[str, float, float]]:
    """The title, the least and the largest value of every figure of several copies, requirements first."""
    named = [
        {
            **{row["requirement"]: row["achieved"] for row in copy["requirements"]},
            **{row["title"]: row["value"] for row in copy["measures"]},
            "values that cannot be": copy["values that cannot be"],
        }
        for copy in copies
    ]
    figures = {title: [copy.get(title) for copy in named] for title in named[0]}
    values_of = {title: [value for value in values if value is not None] for title, values in figures.items()}
    return [(title, min(v), max(v)) for title, v in values_of.items() if len(v) == len(copies)]


def render(template: str, **content: Any) -> str:
    """Fill one of the templates; every value is escaped."""
    return _templates().get_template(template).render(**content)


@cache
def _templates() -> "Environment":
    """The templates, each compiled once."""
    from shoal.report.templating import environment

    pages = environment()
    pages.filters |= {
        "described": _described,
        "over_copies": over_copies,
        "drawn": drawn,
        "figure": figure,
        "in_unit": in_unit,
        "in_words": in_words,
        "picture": svg,
        "share": share,
        "size_range": size_range,
        "span": _span,
        "together": _together,
    }
    return pages


@dataclass(frozen=True, kw_only=True)
class Map:
    """A map of risk against loss."""

    chart: Chart
    kinds: Sequence[MarkKind]  # of the marks, for the legend
    marks: Sequence[Mark]
    release: str  # the word of the legend for squares
    because: str  # the reason for the recommended plan
    along: Sequence[TriedPlan]  # the plans on the frontier


def map_of(
    shown: Sequence[Mark],
    risk: Axis,
    loss: Axis,
    release: str = "this release",
    because: str = "",
    along: Sequence[TriedPlan] = (),
) -> Map | None:
    """The map of some marks; None if there are none."""
    if not shown:
        return None
    kinds = [kind for kind in reversed(SHAPES) if any(mark.kind == kind for mark in shown)]
    chart = risk_map(shown, risk, loss)
    return Map(chart=chart, kinds=kinds, marks=shown, release=release, because=because, along=along)


def release_map(content: EvidenceFile) -> Map | None:
    """The release between risk and loss, with the unprotected table and the frontier as landmarks.

    None if there would be no landmark, as on every public page.
    """
    frontier = content["private"] and content["private"]["exploration"]
    if frontier:
        landmarks = [replace(m, kind="frontier") if m.kind == "release" else m for m in marks(frontier)]
        figures = {f["title"]: f["value"] for f in content["measures"]}
        ends = (figures.get(frontier["axes"]["risk"]["title"]), figures.get(frontier["axes"]["utility"]["title"]))
        landmarks += marks_of("this release", "release", *ends)
        return map_of(landmarks, *axes(frontier), because=frontier["because"], along=along_frontier(frontier))
    risk = next((measure for measure in by_rank(content, "risk") if measure["original"] is not None), None)
    loss = next((measure for measure in by_rank(content, "utility") if measure["unchanged"] is not None), None)
    if risk is None or loss is None:
        return None
    unprotected = marks_of(UNPROTECTED, "unprotected", risk["original"], loss["unchanged"])
    release = marks_of("this release", "release", risk["value"], loss["value"])
    return map_of([*unprotected, *release], axis_of(risk), axis_of(loss))


def _classes(content: EvidenceFile) -> Filled | None:
    profiles = content["classes"]
    if not profiles:
        return None
    return {
        "profiles": profiles,
        "before": content["classes before"],
        "ks": list(profiles[0]["fewer than"]),
        "reached": content["reached"],
        "readings": READINGS,
        "chart": class_sizes_chart(profiles[0]),
    }


def _together(text: str) -> str:
    """Text whose per cent signs are never parted from their figures."""
    return re.sub(r"(\d) %", "\\1\N{NO-BREAK SPACE}%", text)


def _span(measure: UnitAndLimits) -> str:
    """The range of a measure's figures, in words."""
    if is_share(measure):
        return "0 to 100 %"
    low, high = ("any value" if end is None else figure(end) for end in measure["limits"])
    return f"{low} to {high}"


@dataclass(frozen=True, kw_only=True)
class ColumnFigures:
    """Figures of a measure by column and part, and the parts that occur."""

    title: str
    parts: Sequence[str]
    rows: Mapping[str, Mapping[str, Any]]


def _by_column(measure: ReportedFigure) -> Iterator[ColumnFigures]:
    """The figures of a measure by column, if it has any."""
    split = {
        column: value if isinstance(value, Mapping) and not is_bound(value) else {"": value}
        for column, value in (measure["by_column"] or {}).items()
    }
    complete = {column: {part: n for part, n in parts.items() if n is not None} for column, parts in split.items()}
    if rows := {column: figures for column, figures in complete.items() if figures}:
        named = list(dict.fromkeys(part for figures in rows.values() for part in figures))
        yield ColumnFigures(title=measure["title"], parts=named, rows=rows)


def _described(spread: Distribution) -> str:
    """A distribution in words: its largest bins."""
    bins = [bar for bar in spread["bins"] if bar["table"] == "released"]
    largest = sorted(bins, key=lambda bar: -bar["share"])[:MOST_DESCRIBED]
    words = [f"{_name(bar)} {share(bar['share'])}" for bar in largest]
    return f"{'; '.join(words)}, the largest of {len(bins)} bars."


def _name(bar: Bin) -> str:
    return bar["category"] if "category" in bar else f"{figure(bar['low'])} to {figure(bar['high'])}"

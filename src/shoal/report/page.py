"""The report as a page: whether to release, then what stands behind it.

A page shows the content of an evidence.json, public or private, and nothing else.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from shoal.report.charts import class_sizes_chart, drawn, size_range, svg
from shoal.report.decision import UNCHANGED, by_rank, decision, measured
from shoal.report.forms import READINGS, figure, in_unit, in_words, is_bound, is_share, share
from shoal.report.frontier_marks import UNPROTECTED, along_frontier, axes, axis_of, marks
from shoal.report.risk_map import SHAPES, Axis, Mark, risk_map

GLOSSARY = {
    "quasi-identifier": "A column that others may know about a person, so that it can be used to find the record.",
    "confidential column": "A column that an intruder wants to learn about a person.",
    "equivalence class": "All records that agree on every quasi-identifier; nobody inside can be told from the others.",
    "k-anonymity": "Every equivalence class holds at least k records (Samarati & Sweeney 1998).",
    "t-closeness": "In every class the confidential values are spread almost as in the whole table "
    "(Li, Li & Venkatasubramanian 2007).",
    "l-diversity": "Every class holds at least l well represented confidential values (Machanavajjhala et al. 2007).",
    "record linkage": "An attack that matches released records with known people by likeness.",
    "information loss": "How much the released table differs from the original; 100 SSE/SST is the share of the spread "
    "that was smoothed away (Domingo-Ferrer & Mateo-Sanz 2002).",
    "confidence interval": "The range in which an estimated figure lies with the stated confidence.",
}

WIDE = 3
"""Parts of a measure beyond which its table by column takes the width of the page, and comes last."""

MOST_DESCRIBED = 3
"""Of a distribution's bins, those that its description in words names."""


def page(content: Mapping[str, Any]) -> str:
    """One self-contained HTML page; it loads nothing and runs no script.

    Parameters
    ----------
    content
        What evidence.json holds. The page is as safe to publish as that is.
    """
    return render("page.html", **parts(content))


def parts(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the parts of the page are filled with."""
    measures = content["measures"]
    return {
        "content": content,
        "private": content["private"],
        "decision": decision(content),
        "limits": [verdict for verdict in content["requirements"] if verdict["model"]],
        "rules": [verdict for verdict in content["requirements"] if not verdict["model"]],
        "classes": _classes(content),
        "map": release_map(content),
        "risks": measured(content, "risk"),
        "losses": measured(content, "utility"),
        "unmeasured": [f for f in measures if f["value"] is None and f["reason"]],
        "unshown": [f for f in measures if f["value"] is None and not f["reason"]],
        "by_column": sorted(
            (table for measure in measures if (table := _by_column(measure))),
            key=lambda table: len(table["parts"]) > WIDE,
        ),
        "glossary": GLOSSARY,
    }


def evidence_shown(content: Mapping[str, Any]) -> str:
    """What a notebook shows of evidence that belongs to no release: requirements, risks and losses.

    Parameters
    ----------
    content
        Of evidence.json the requirements and the measures.
    """
    measures = [{"source": "", **one} for one in content["measures"]]
    return render(
        "display.html",
        templates=("parts/evidence.html",),
        private=True,
        limits=[verdict for verdict in content["requirements"] if verdict["model"]],
        rules=[verdict for verdict in content["requirements"] if not verdict["model"]],
        risks=measured({"measures": measures}, "risk"),
        losses=measured({"measures": measures}, "utility"),
        unmeasured=[one for one in measures if one["value"] is None],
    )


def over_copies(copies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The least and the largest of every figure of several copies, requirements first."""
    named = [
        {
            **{one["requirement"]: one["achieved"] for one in copy["requirements"]},
            **{one["title"]: one["value"] for one in copy["measures"]},
            "values that cannot be": copy["values that cannot be"],
        }
        for copy in copies
    ]
    figures = {title: [copy[title] for copy in named] for title in named[0]}
    return [
        {"title": title, "least": min(values), "largest": max(values)}
        for title, values in figures.items()
        if all(isinstance(value, (int, float)) for value in values)
    ]


def render(template: str, **content: Any) -> str:
    """Fill one of the templates; every value is escaped."""
    return _templates().get_template(template).render(**content)


@cache
def _templates() -> Environment:
    """The templates, each compiled once in a process."""
    pages = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
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


def map_of(
    shown: Sequence[Mark], risk: Axis, loss: Axis, release: str = "this release", **more: Any
) -> dict[str, Any] | None:
    """A map, what the legend calls its squares, and what its page says beside it; None where it has no mark."""
    if not shown:
        return None
    kinds = [kind for kind in reversed(SHAPES) if any(mark.kind == kind for mark in shown)]
    return {"chart": risk_map(shown, risk, loss), "kinds": kinds, "marks": shown, "release": release, **more}


def release_map(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """Where the release lies between risk and loss, with the unprotected table and the frontier as landmarks.

    None where there would be no landmark, as on every public page.
    """
    frontier = content["private"] and content["private"]["exploration"]
    if frontier:
        landmarks = [
            mark if mark.kind != "release" else Mark(label=mark.label, kind="frontier", risk=mark.risk, loss=mark.loss)
            for mark in marks(frontier)
        ]
        titles = [frontier["axes"][kind]["title"] for kind in ("risk", "utility")]
        figures = {f["title"]: f["value"] for f in content["measures"] if f["value"] is not None}
        if set(titles) <= figures.keys():
            landmarks.append(
                Mark(label="this release", kind="release", risk=figures[titles[0]], loss=figures[titles[1]])
            )
        return map_of(landmarks, *axes(frontier), because=frontier["because"], along=along_frontier(frontier))
    risk = next((one for one in by_rank(content, "risk") if one["original"] is not None), None)
    loss = next((one for one in by_rank(content, "utility") if one["measure"] in UNCHANGED), None)
    if risk is None or loss is None:
        return None
    return map_of(
        [
            Mark(label=UNPROTECTED, kind="unprotected", risk=risk["original"], loss=UNCHANGED[loss["measure"]]),
            Mark(label="this release", kind="release", risk=risk["value"], loss=loss["value"]),
        ],
        axis_of(risk),
        axis_of(loss),
        because="",
        along=[],
    )


def _classes(content: Mapping[str, Any]) -> dict[str, Any] | None:
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
    """Figures and their per cent signs on one line."""
    return re.sub(r"(\d) %", "\\1\N{NO-BREAK SPACE}%", text)


def _span(measure: Mapping[str, Any]) -> str:
    """Between what and what a measure's figure lies."""
    if is_share(measure):
        return "0 to 100 %"
    low, high = ("any value" if end is None else figure(end) for end in measure["limits"])
    return f"{low} to {high}"


def _by_column(measure: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a measure says of each column: the figures by column and part, and the parts that occur."""
    rows: dict[str, dict[str, Any]] = {}
    for column, value in (measure["by_column"] or {}).items():
        split = value if isinstance(value, Mapping) and not is_bound(value) else {"": value}
        if figures := {part: number for part, number in split.items() if number is not None}:
            rows[column] = figures
    named = list(dict.fromkeys(part for figures in rows.values() for part in figures))
    return {"title": measure["title"], "parts": named, "rows": rows} if rows else None


def _described(column: Mapping[str, Any]) -> str:
    """A distribution in words: its largest bins."""
    bins = [one for one in column["distribution"]["bins"] if one["table"] == "released"]
    largest = sorted(bins, key=lambda one: -one["share"])[:MOST_DESCRIBED]
    words = [f"{_name(one)} {share(one['share'])}" for one in largest]
    return f"{'; '.join(words)}, the largest of {len(bins)} bars."


def _name(one: Mapping[str, Any]) -> str:
    return str(one["category"]) if "category" in one else f"{figure(one['low'])} to {figure(one['high'])}"

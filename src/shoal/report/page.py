"""The report as a page: verdict first, then what stands behind it."""

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from shoal.evidence import Finding
from shoal.methods import entry
from shoal.report.charts import distribution
from shoal.report.dossier import Dossier

DEFAULT_THRESHOLD = 5
"""Counts below this are not shown where the plan requires no k of its own."""


def public_page(dossier: Dossier) -> str:
    """One self-contained HTML page that is safe to publish.

    It holds no seed, no count below k, no extreme value of the original and no record; it loads nothing and
    runs no script.
    """
    threshold = _threshold(dossier)
    return render(
        "page.html",
        dossier=dossier,
        holds=all(verdict.holds for verdict in dossier.verdicts),
        promised=bool(dossier.verdicts),
        risks=_of_room(dossier, "risk"),
        losses=_of_room(dossier, "utility"),
        columns=_columns(dossier, threshold),
        removed=[v.name for v in dossier.original.variables if v.name not in dossier.released],
        steps=[_in_words(facts) for facts in dossier.steps],
        threshold=threshold,
        plan_text=dossier.plan.as_yaml(),
    )


def render(template: str, **content: Any) -> str:
    """Fill one of the templates; every value is escaped."""
    pages = Environment(
        loader=PackageLoader("shoal.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["figure"] = figure
    return pages.get_template(template).render(**content)


def _threshold(dossier: Dossier) -> int:
    asked = [int(model.k) for model in dossier.plan.requirements if hasattr(model, "k")]
    return max([*asked, DEFAULT_THRESHOLD])


def _of_room(dossier: Dossier, room: str) -> list[tuple[Finding, str]]:
    known = []
    for finding in dossier.findings:
        try:
            known.append((finding, entry(room, finding.measure).source))
        except ValueError:
            continue
    return known


def _columns(dossier: Dossier, threshold: int) -> list[dict[str, Any]]:
    shown = []
    for variable in dossier.released.variables:
        if variable.name not in dossier.original or variable.role in ("identifier", "household"):
            continue
        before = dossier.original[variable.name]
        column = dossier.plan.schema.columns[variable.name]
        shown.append({
            "name": variable.name, "label": column.label or "", "role": variable.role, "level": before.level,
            "chart": distribution(before, variable, threshold),
        })
    return shown


def _in_words(facts: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    simple = [(key, figure(value)) for key, value in facts.items()
              if key != "step" and not isinstance(value, Mapping) and value is not None]
    return str(facts["step"]), simple


def figure(value: Any) -> str:
    """A figure as a reader wants it: four digits, thousands set apart."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "not computed"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(figure(v) for v in value)
    return str(value)

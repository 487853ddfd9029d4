"""The report as a page: verdict first, then what stands behind it.

The public page is safe to publish. It shows verdicts, figures of the whole table, and binned shares; it has
no seed, no count of people below k, no extreme value of the original and no record. The private page shows
the same and what the public one must not.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray

from shoal.evidence import Finding
from shoal.methods import registered
from shoal.records import Variable
from shoal.report.charts import distribution
from shoal.report.dossier import Dossier
from shoal.report.frontier_plot import frontier_plot

DEFAULT_THRESHOLD = 5
"""Counts below this are not shown where the plan requires no k of its own."""
SAID_ELSEWHERE = ("step", "loss", "lower_bound")
"""Facts of a step that its heading and its sentence on the loss hold already."""
COUNTED = ("record", "cell", "household", "unit", "risk", "swapped", "dropped", "suppressed")
"""Words by which a fact of a step is known to count records or their cells."""
ROUNDING = 1e-12
"""Figures below this are what rounding leaves of nothing."""
RISKIEST = 20
"""Records that the private page lists."""

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


def public_page(
    dossier: Dossier, *, files: Mapping[str, str] | None = None, frontier: Mapping[str, Any] | None = None
) -> str:
    """One self-contained HTML page that is safe to publish; it loads nothing and runs no script.

    Parameters
    ----------
    files
        SHA-256 of the released files by name.
    frontier
        The content of frontier.json, if the plan was chosen by an exploration.
    """
    return _page(dossier, threshold=_threshold(dossier), files=files or {}, frontier=frontier, private=None)


def private_page(dossier: Dossier) -> str:
    """The page for those who may see everything: with the seed and the records at highest risk."""
    private = {"seed": str(dossier.seed), "riskiest": _riskiest(dossier.findings)}
    return _page(dossier, threshold=1, files={}, frontier=None, private=private)


def _page(
    dossier: Dossier, *, threshold: int, files: Mapping[str, str], frontier: Mapping[str, Any] | None,
    private: Mapping[str, Any] | None,
) -> str:
    measured = [(f, room, source) for f, room, source in _with_source(dossier.findings) if f.value is not None]
    return render(
        "page.html",
        dossier=dossier,
        private=private,
        holds=all(verdict.holds for verdict in dossier.verdicts),
        promised=bool(dossier.plan.requirements),
        risks=[(f, _before(dossier, f), source) for f, room, source in measured if room == "risk"],
        losses=[(f, source) for f, room, source in measured if room == "utility"],
        unmeasured=[f for f in dossier.findings if f.value is None],
        by_column=_by_column(dossier.findings),
        columns=_columns(dossier, threshold, public=not private),
        removed=[v.name for v in dossier.original.variables if v.name not in dossier.released],
        unchanged=unchanged(dossier),
        steps=[_in_words(facts, threshold, len(dossier.original)) for facts in dossier.steps],
        threshold=threshold,
        plan_text=dossier.plan.as_yaml() if private else dossier.public_plan,
        files=files,
        plot=frontier_plot(frontier) if frontier else None,
        frontier=frontier,
        glossary=GLOSSARY,
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


def _with_source(findings: Sequence[Finding]) -> list[tuple[Finding, str, str]]:
    homes = {e.name: (e.room, e.source) for room in ("risk", "utility") for e in registered(room)}
    return [(finding, *homes[finding.measure]) for finding in findings]


def _before(dossier: Dossier, finding: Finding) -> float | None:
    found = dossier.before.get(finding.measure)
    return None if found is None else found.value


def _by_column(findings: Sequence[Finding]) -> dict[str, dict[str, float]]:
    """Figures that measures give by column: for each column, the figure by its heading."""
    table: dict[str, dict[str, float]] = {}
    for finding in findings:
        for key, columns in finding.details.items():
            if "by column" not in key or not isinstance(columns, Mapping):
                continue
            heading = key.replace("by column", "").strip() or finding.title
            for column, value in columns.items():
                parts = value.items() if isinstance(value, Mapping) else [("", value)]
                for part, number in parts:
                    if isinstance(number, (int, float)):
                        table.setdefault(column, {})[f"{heading} {part}".strip()] = number
    return table


def _columns(dossier: Dossier, threshold: int, public: bool) -> list[dict[str, Any]]:
    shown = []
    for variable in dossier.released.variables:
        if variable.name not in dossier.original or variable.role in ("identifier", "household"):
            continue
        before = dossier.original[variable.name]
        column = dossier.plan.schema.columns[variable.name]
        shown.append({
            "name": variable.name, "label": column.label or "", "role": variable.role, "level": before.level,
            "chart": distribution(before, variable, max(threshold, 2), public=public),
        })
    return shown


def unchanged(dossier: Dossier) -> list[str]:
    """Columns whose cells are those of the original; whoever knows them can find the record by them."""
    place = {int(row): i for i, row in enumerate(dossier.original.rows)}
    at = np.array([place[int(row)] for row in dossier.released.rows], dtype=np.int64)
    same = []
    for variable in dossier.released.variables:
        if variable.name not in dossier.original or variable.role == "household":
            continue
        before = dossier.original[variable.name].take(at)
        if before.continuous != variable.continuous:
            continue
        if np.array_equal(_cells(before), _cells(variable), equal_nan=variable.continuous):
            same.append(variable.name)
    return same


def _cells(variable: Variable) -> NDArray[Any]:
    return variable.values if variable.continuous else np.array([*map(str, variable.categories), ""])[variable.values]


def _in_words(facts: Mapping[str, Any], threshold: int, n: int) -> tuple[str, list[tuple[str, str]]]:
    """A step's name and its plain facts; counts of a few records, and their shares of n, are not for the public."""
    simple = []
    for key, value in facts.items():
        if key in SAID_ELSEWHERE or isinstance(value, Mapping) or value is None:
            continue
        counts = isinstance(value, int) and not isinstance(value, bool) and any(word in key for word in COUNTED)
        shares = isinstance(value, float) and key.startswith("share") and 0 < value * n < threshold * (1 - 1e-9)
        few = f"fewer than {threshold}" if counts and 0 < value < threshold else ""
        simple.append((key, f"less than {figure(threshold / n)}" if shares else few or figure(value)))
    return str(facts["step"]), simple


def _riskiest(findings: Sequence[Finding]) -> list[tuple[str, list[tuple[int, str]]]]:
    """For each measure with a risk by record, the row numbers of the records at highest risk."""
    found = []
    for finding in findings:
        rows, risk = finding.private.get("rows"), finding.private.get("risk")
        if rows is None or risk is None or not len(risk):
            continue
        order = np.argsort(-np.asarray(risk), kind="stable")[:RISKIEST]
        found.append((finding.title, [(int(rows[i]) + 1, figure(float(risk[i]))) for i in order]))
    return found


def figure(value: Any) -> str:
    """A figure as a reader wants it: four digits, thousands set apart."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "not computed"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if np.isinf(value):
            return "any value"
        if abs(value) < ROUNDING:
            return "0"
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(figure(v) for v in value)
    return str(value)

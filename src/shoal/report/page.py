"""The report as a page: verdict first, then what stands behind it.

The public page is safe to publish. It shows verdicts, figures of the whole table, and binned shares; it has
no seed, no count of people below k, no extreme value of the original and no record. The private page shows
the same and what the public one must not.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from shoal.judges.evidence import Finding
from shoal.kernels.arrays import Longs
from shoal.methods import registered
from shoal.report.charts import drawn
from shoal.report.content import columns_of, figure, in_words, removed, threshold_of, unchanged
from shoal.report.dossier import Dossier
from shoal.report.frontier_plot import along_frontier, frontier_plot

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
    return _page(dossier, threshold=threshold_of(dossier), files=files or {}, frontier=frontier, private=None)


def private_page(dossier: Dossier) -> str:
    """The page for those who may see everything: with the seed and the records at highest risk."""
    private = {"seed": str(dossier.seed), "riskiest": _riskiest(dossier.findings, dossier.released.rows)}
    return _page(dossier, threshold=1, files={}, frontier=None, private=private)


def _page(
    dossier: Dossier,
    *,
    threshold: int,
    files: Mapping[str, str],
    frontier: Mapping[str, Any] | None,
    private: Mapping[str, Any] | None,
) -> str:
    measured = [(f, kind, source) for f, kind, source in _with_source(dossier.findings) if f.value is not None]
    return render(
        "page.html",
        dossier=dossier,
        private=private,
        verdicts=dossier.verdicts if private else dossier.public_verdicts,
        promised=bool(dossier.plan.requirements),
        risks=[(f, dossier.figure_before(f.title), source) for f, kind, source in measured if kind == "risk"],
        losses=[(f, source) for f, kind, source in measured if kind == "utility"],
        unmeasured=[f for f in dossier.findings if f.value is None],
        by_column=_by_column(dossier.findings),
        columns=columns_of(dossier, threshold, public=not private),
        removed=removed(dossier),
        unchanged=unchanged(dossier),
        steps=[in_words(facts, threshold, len(dossier.original)) for facts in dossier.steps],
        threshold=threshold,
        plan_text=dossier.plan.as_yaml() if private else dossier.public_plan,
        files=files,
        plot=frontier_plot(frontier) if frontier else None,
        along=along_frontier(frontier) if frontier else [],
        frontier=frontier,
        glossary=GLOSSARY,
    )


def render(template: str, **content: Any) -> str:
    """Fill one of the templates; every value is escaped."""
    pages = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {"figure": figure, "drawn": drawn}
    return pages.get_template(template).render(**content)


def _with_source(findings: Sequence[Finding]) -> list[tuple[Finding, str, str]]:
    homes = {e.name: (e.kind, e.source) for kind in ("risk", "utility") for e in registered(kind)}
    return [(finding, *homes[finding.measure]) for finding in findings]


def _by_column(findings: Sequence[Finding]) -> dict[str, dict[str, float]]:
    """Figures that measures give by column: for each column, the figure by its heading."""
    table: dict[str, dict[str, float]] = {}
    for finding in findings:
        columns = {} if finding.by_column is None else finding.by_column.private()
        for column, value in columns.items():
            parts = value.items() if isinstance(value, Mapping) else [("", value)]
            for part, number in parts:
                if isinstance(number, (int, float)):
                    table.setdefault(column, {})[f"{finding.title} {part}".strip()] = number
    return table


def _riskiest(findings: Sequence[Finding], rows: Longs) -> list[tuple[str, list[tuple[int, str]]]]:
    """For each measure with a risk by record, the row numbers of the records at highest risk."""
    lists = []
    for finding in findings:
        if finding.record_risk is None:
            continue
        order = np.argsort(-finding.record_risk, kind="stable")[:RISKIEST]
        attacked = [i for i in order if not np.isnan(finding.record_risk[i])]
        lists.append((finding.title, [(int(rows[i]) + 1, figure(float(finding.record_risk[i]))) for i in attacked]))
    return lists

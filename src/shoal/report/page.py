"""The report as a page: verdict first, then what stands behind it.

A page shows the content of an evidence.json, public or private, and nothing else.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from shoal.methods import registered
from shoal.release import LEAST_SEED
from shoal.report.charts import drawn
from shoal.report.forms import figure, is_bound
from shoal.report.frontier_plot import along_frontier, frontier_plot

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


def page(content: Mapping[str, Any]) -> str:
    """One self-contained HTML page; it loads nothing and runs no script.

    Parameters
    ----------
    content
        What evidence.json holds. The page is as safe to publish as that is.
    """
    measured = [one for one in content["measures"] if one["value"] is not None]
    kinds = {e.name: (e.kind, e.source) for kind in ("risk", "utility") for e in registered(kind)}
    private = content["private"]
    frontier = private["exploration"] if private else None
    return render(
        "page.html",
        content=content,
        private=private,
        seed_is_small=private is not None and int(private["seed"]) < LEAST_SEED,
        protections=[v for v in content["requirements"] if v["protects"]],
        rules=[v for v in content["requirements"] if not v["protects"]],
        risks=[(f, kinds[f["measure"]][1]) for f in measured if kinds[f["measure"]][0] == "risk"],
        losses=[(f, kinds[f["measure"]][1]) for f in measured if kinds[f["measure"]][0] == "utility"],
        unmeasured=[f for f in content["measures"] if f["value"] is None and f["reason"]],
        unshown=[f for f in content["measures"] if f["value"] is None and not f["reason"]],
        by_column=_by_column(content["measures"]),
        frontier=frontier,
        plot=frontier_plot(frontier) if frontier else None,
        along=along_frontier(frontier) if frontier else [],
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


def _by_column(measures: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Figures that measures give by column: for each column, the figure by its heading."""
    table: dict[str, dict[str, Any]] = {}
    for measure in measures:
        for column, value in (measure["by_column"] or {}).items():
            parts = value.items() if isinstance(value, Mapping) and not is_bound(value) else [("", value)]
            for part, number in parts:
                if number is not None:
                    table.setdefault(column, {})[f"{measure['title']} {part}".strip()] = number
    return table

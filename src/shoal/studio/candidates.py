"""Plans to try against one another on the frontier: they differ in method, recoding, limit of suppression and k."""

from collections.abc import Iterator, Mapping
from typing import Any

from shoal.plan import Plan
from shoal.plan.linked import LinkedPlan
from shoal.studio.beginnings import K, k_of

MANY_KEYS = 12
"""With more quasi-identifiers nearly every cell would be blanked."""

BINS = [10, 5]
LIMITS = [0.0, 0.02, 0.1]
"""Shares of the records that generalisation may leave out."""

Steps = list[dict[str, Any]]


def proposed(plan: Plan, levels: Mapping[str, str]) -> dict[str, Any]:
    """A section `explore` that suits the quasi-identifiers of a plan; empty if there are none.

    Parameters
    ----------
    levels
        Level of each column for which the plan states none.
    """
    ks = [k_of(plan), 2 * k_of(plan)]
    candidates = dict(_candidates(plan, levels, ks))
    return {"method": candidates, "risk": "marketer", "utility": "information-kept"} if candidates else {}


def _candidates(plan: Plan, levels: Mapping[str, str], ks: list[int]) -> Iterator[tuple[str, Steps]]:
    columns = plan.schema.columns
    keys = plan.schema.names("quasi-identifier")
    if not keys:
        return
    numbers = [name for name in keys if (columns[name].level or levels.get(name)) == "continuous"]
    trees = [name for name in keys if columns[name].hierarchy is not None]
    flat = [name for name in keys if name not in numbers and name not in trees]
    yield "groups", [{"partition": "mdav", "k": ks}]
    few = len(keys) <= MANY_KEYS
    if few:
        yield "blanks", [{"mask": "suppress", "k": ks}]
    if few and numbers:
        wide_or_narrow = {"mask": "recode", "columns": numbers, "bins": BINS}
        yield "bands then blanks", [wide_or_narrow, {"mask": "suppress", "k": ks[0]}]
    if trees:
        bands: dict[str, Any] = {"mask": "recode", "columns": numbers, "bins": BINS[1]}
        climbed = {"mask": "generalise", "columns": trees, "k": ks[0], "suppression": LIMITS}
        then = [{"mask": "suppress", "k": ks[0]}] if numbers or flat else []
        yield "coarser levels", [*([bands] if numbers else []), climbed, *then]


MOST_RECORDS = 2
"""Records of a person that stay in each table where their number is what tells persons apart."""


def proposed_for_tables(plan: LinkedPlan) -> dict[str, Any]:
    """The same for linked tables: whole profiles in groups, from all records of a person or from a few."""
    if plan.synthesis is not None or not any(of.schema.names("quasi-identifier") for of in plan.tables.values()):
        return {}
    k = max((int(model.k) for model in plan.requirements if hasattr(model, "k")), default=K)
    alike = [{"mask": "profiles", "k": [k, 2 * k]}]
    few = [{"table": name, "mask": "truncate-records", "most": MOST_RECORDS} for name in list(plan.tables)[1:]]
    return {
        "method": {"profiles": alike, "few records, then profiles": [*few, *alike]},
        "risk": "marketer",
        "utility": "information-kept",
    }

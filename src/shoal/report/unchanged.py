"""What leaves as it came and how many records it singles out, in one wording for the terminal and all reports."""

from typing import Literal

from shoal.report.evidence import EvidenceFile, Unchanged

NAMED = 5
"""Columns of which a sentence gives the figure, those with the highest ones."""

TOLERATED = 0.01
"""Share of the records that may be alone with what leaves unchanged before somebody has to decide on it."""

BESIDE: Literal["beside the quasi-identifiers"] = "beside the quasi-identifiers"


def left_unchanged(content: EvidenceFile) -> Unchanged:
    """What leaves unchanged, from evidence.json; the private one knows of columns that a step left as they were."""
    private = content["private"]
    return {
        "records": content["records"],
        "left as they came": private["released unchanged"] if private else content["left as they came"],
        "singled out": content["singled out"],
    }


def unchanged_sentence(content: Unchanged) -> str:
    """A sentence or two on what leaves unchanged; empty where nothing does."""
    names = content["left as they came"]
    if not names:
        return ""
    figures = {frozenset(counted["columns"]): counted for counted in content["singled out"]}
    whole = figures[frozenset(names)]
    leaves = f"Leaves unchanged: {', '.join(names)}."
    it, verb = ("It", "singles") if len(names) == 1 else ("They", "single")
    if not whole[BESIDE]:
        return f"{leaves} {it} {verb} no record out, not even beside the quasi-identifiers."
    of = f" of {content['records']:,}"
    singles = [(figures[frozenset([name])]["alone"], name) for name in names if frozenset([name]) in figures]
    highest = (
        sorted((counted for counted in singles if counted[0]), key=lambda counted: -counted[0])[:NAMED]
        if len(names) > 1
        else []
    )
    clauses = [f"{name} alone {count:,}" for count, name in highest]
    clauses.append(f"{f'all {len(names)} together' if len(names) > 1 else 'alone'} {whole['alone']:,}")
    clauses[0] += of
    return f"{leaves} {it} {verb} records out: {', '.join(clauses)}; beside the quasi-identifiers {whole[BESIDE]:,}."


def most_singled_out(content: EvidenceFile) -> str:
    """The column that singles out most records of those that no requirement is about, if these are too many to pass."""
    keys = {column["name"] for column in content["columns"] if column["role"] == "quasi-identifier"}
    open_to_all = [counted for counted in content["singled out"] if not keys.issuperset(counted["columns"])]
    worst = max(open_to_all, key=lambda counted: (counted["alone"], -len(counted["columns"])), default=None)
    if worst is None or worst["alone"] <= TOLERATED * content["records"]:
        return ""
    named = ", ".join(worst["columns"][:NAMED]) + ", ..." * (len(worst["columns"]) > NAMED)
    return f"{worst['alone']:,} of {content['records']:,} records can be found by {named}, which left unchanged"

"""The unchanged columns of a release and the records they single out, in one wording for terminal and reports."""

from typing import Literal

from shoal.report.evidence import EvidenceFile, Unchanged

NAMED = 5
"""Most columns whose figures a sentence gives: those with the highest ones."""

TOLERATED = 0.01
"""Share of records that unchanged columns may single out before somebody has to decide about it."""

BESIDE: Literal["beside the quasi-identifiers"] = "beside the quasi-identifiers"


def left_unchanged(content: EvidenceFile) -> Unchanged:
    """The unchanged columns from evidence.json; private evidence includes columns that a step left as they were."""
    private = content["private"]
    return {
        "records": content["records"],
        "left as they came": private["released unchanged"] if private else content["left as they came"],
        "accepted": content.get("accepted", []),
        "singled out": content["singled out"],
    }


def unchanged_sentence(content: Unchanged) -> str:
    """Sentences on the unchanged columns, and on those that the plan accepts; empty if there are none."""
    left = unchanged_columns(content)
    return " ".join(filter(None, [left and f"Leaves unchanged: {left}", accepted_columns(content)]))


def accepted_columns(content: Unchanged) -> str:
    """A sentence on the columns for which the plan answers, with the records they single out; empty if none."""
    if not (names := content["accepted"]):
        return ""
    alone = next(c["alone"] for c in content["singled out"] if set(c["columns"]) == set(names))
    share = f"{alone:,} of {content['records']:,} records ({100 * alone / content['records']:.1f} %)"
    verb = "singles" if len(names) == 1 else "together single"
    return f"Accepted by the plan: {', '.join(names)}, which {verb} out {share}."


def unchanged_columns(content: Unchanged) -> str:
    """The unchanged columns, and a sentence on the records they single out; empty if there are none."""
    names = content["left as they came"]
    if not names:
        return ""
    figures = {frozenset(counted["columns"]): counted for counted in content["singled out"]}
    whole = figures[frozenset(names)]
    leaves = f"{', '.join(names)}."
    it, verb = ("It", "singles") if len(names) == 1 else ("They", "single")
    if not whole[BESIDE]:
        return f"{leaves} {it} {verb} no record out, not even with the quasi-identifiers."
    of = f" of {content['records']:,}"
    if not whole["alone"]:
        return f"{leaves} {it} {verb} out no record alone; with the quasi-identifiers {whole[BESIDE]:,}{of}."
    singles = [(figures[frozenset([name])]["alone"], name) for name in names if frozenset([name]) in figures]
    highest = (
        sorted((counted for counted in singles if counted[0]), key=lambda counted: -counted[0])[:NAMED]
        if len(names) > 1
        else []
    )
    clauses = [f"{name} alone {count:,}" for count, name in highest]
    clauses.append(f"{_together(len(names))} {whole['alone']:,}")
    clauses[0] += of
    return f"{leaves} {it} {verb} records out: {', '.join(clauses)}; with the quasi-identifiers {whole[BESIDE]:,}."


def _together(count: int) -> str:
    return {1: "alone", 2: "both together"}.get(count, f"all {count} together")


def most_singled_out(content: EvidenceFile) -> str:
    """A clause on the unchanged columns that single out most records, if these are too many to ignore.

    Columns that are all quasi-identifiers or accepted are left out: requirements are about these, and the plan answers
    for those.
    """
    keys = {column["name"] for column in content["columns"] if column["role"] == "quasi-identifier"}
    keys |= set(content.get("accepted", []))
    open_to_all = [counted for counted in content["singled out"] if not keys.issuperset(counted["columns"])]
    worst = max(open_to_all, key=lambda counted: (counted["alone"], -len(counted["columns"])), default=None)
    if worst is None or worst["alone"] <= TOLERATED * content["records"]:
        return ""
    named = ", ".join(worst["columns"][:NAMED]) + ", ..." * (len(worst["columns"]) > NAMED)
    return f"{worst['alone']:,} of {content['records']:,} records can be found by {named}, which left unchanged"

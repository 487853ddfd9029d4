"""What pages are sent of a session whenever it changed."""

from collections.abc import Mapping
from dataclasses import asdict

from shoal.plan import Plan
from shoal.studio.arguments import Answer
from shoal.studio.plans import ReadPlan
from shoal.studio.session import Session


def state_of(session: Session, plan: ReadPlan) -> Answer:
    """A session without the facts of its table and the results of its runs.

    Parameters
    ----------
    plan
        The plan of the present text.
    """
    points = session.history.points
    return {
        "version": session.version,
        "edition": session.edition,
        "source": session.source,
        "rows": session.facts.get("rows"),
        "prepared": session.facts.get("prepared", []),
        "prepared in words": session.facts.get("prepared in words", []),
        "tables": _in_order(session, plan),
        "text": session.history.text,
        "tree": plan.tree,
        "happens": _happens(plan),
        "mistakes": [asdict(mistake) for mistake in plan.mistakes],
        "undo": points[session.history.at].note if session.history.at else None,
        "redo": points[session.history.at + 1].note if session.history.at + 1 < len(points) else None,
        "history": [{"note": p.note, "name": p.name} for p in points],
        "at": session.history.at,
        "job": None if session.job is None else asdict(session.job),
        "notice": session.notice,
        "runs": [
            {
                "number": r.number,
                "released": r.released,
                "current": r.text == session.history.text,
                "reopened": r.reopened,
            }
            for r in session.runs
        ],
        "frontier": session.frontier,
        "analyses": session.analyses,
        "after": session.after,
        "review": None if session.review is None else {**asdict(session.review), "sha256": session.review.sha256},
    }


def _in_order(session: Session, read: ReadPlan) -> list[str]:
    """The names of several open tables in the plan's order, persons first; then those that it does not name."""
    names, planned = session.facts.get("tables", {}), read.tree.get("tables")
    first = [name for name in planned if name in names] if isinstance(planned, Mapping) else []
    return list(dict.fromkeys([*first, *names]))


def _happens(read: ReadPlan) -> dict[str, dict[str, list[str]]]:
    """By table, and by its columns, the steps of the plan that change a column, in their order."""
    if read.linked is None:
        return {} if read.plan is None else {"": _changing(read.plan)}
    over_all = [step.method_name for step in read.linked.steps]
    happens = {}
    for name, plan in read.linked.tables.items():
        changing = _changing(plan)
        for column in plan.schema.names("quasi-identifier") if over_all else ():
            changing.setdefault(column, []).extend(over_all)
        happens[name] = changing
    return happens


def _changing(plan: Plan) -> dict[str, list[str]]:
    changing: dict[str, list[str]] = {}
    for step in plan.steps:
        for name in step.changes(plan.schema):
            changing.setdefault(name, []).append(step.name)
    return changing

"""What pages are sent of a session whenever it changed."""

from dataclasses import asdict

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
        "review": None if session.review is None else {**asdict(session.review), "sha256": session.review.sha256},
    }


def _happens(read: ReadPlan) -> dict[str, list[str]]:
    """By column the steps of the plan that change it, in their order."""
    changing: dict[str, list[str]] = {}
    if read.plan is not None:
        for step in read.plan.steps:
            for name in step.changes(read.plan.schema):
                changing.setdefault(name, []).append(step.name)
    return changing

"""The state of a studio, and what may become of it: pure functions from one frozen session to the next.

Every edit keeps the text that was before it, so that everything can be undone; a run keeps the text that it carried
out, so that what is handed over is what ran. `version` counts every change, for pages that ask for news; `edition`
counts those of the text alone, so that an edit of a text that is no longer there is refused while a job reports.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.release.review import Review
from shoal.report.evidence import Comparable, Private, Step
from shoal.vocabulary.errors import InputError

MOST_POINTS = 500
"""Texts that are kept for undoing; named ones are kept beyond it."""

MOST_RUNS = 12
"""Results that are kept; the oldest goes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A text of the plan at some time, what was done to come to it, and the name that a person gave it, if any."""

    text: str
    note: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All texts, and which of them is the present one."""

    points: tuple[Point, ...] = (Point(text="", note="start"),)
    at: int = 0

    @property
    def text(self) -> str:
        return self.points[self.at].text


def as_text(history: History) -> str:
    """A plan with its history, as a file."""
    points = [{"text": p.text, "note": p.note, "name": p.name} for p in history.points]
    return json.dumps({"shoal work": 1, "at": history.at, "points": points}, indent=2, ensure_ascii=False) + "\n"


def of_text(text: str) -> History:
    """A plan with its history, from a file.

    Raises
    ------
    InputError
        If it is none.
    """
    try:
        content = json.loads(text)
        points = tuple(
            Point(**{key: str(point[key]) for key in ("text", "note", "name")}) for point in content["points"]
        )
        at = content["at"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("The file is no work that was kept in the studio.") from None
    if content.get("shoal work") != 1 or len(points) > 2 * MOST_POINTS or type(at) is not int:
        raise InputError("The file is no work that was kept in the studio.")
    if not 0 <= at < len(points):
        raise InputError("The file is no work that was kept in the studio.")
    return History(points=points, at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work that is under way: its kind ("open", "run", "explore", "export"), what it does now, and how far it is."""

    kind: str
    stage: str = ""
    fraction: float = 0.0


class Result(Comparable):
    """Everything that there is to show of a plan that was carried out; of a refused one `refusal` and `advice`."""

    steps: list[Step]
    private: Private | None
    decision: Mapping[str, object] | None
    refusal: str
    seed: str
    advice: Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A plan that was carried out.

    Parameters
    ----------
    text
        Of the plan.
    released
        Whether everything that it requires was proved.
    """

    number: int
    text: str
    released: bool
    result: Result = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Everything that a page shows.

    Parameters
    ----------
    source
        What the open table is called; None while none is open.
    facts
        Of the table and its columns; they change only when another table is opened.
    notice
        What the person should know, with its kind: ("error", sentence) or ("done", sentence).
    frontier
        Of the last exploration.
    review
        A release that somebody else made, to be looked at and approved; then no table is open.
    """

    source: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    history: History = field(default_factory=History)
    job: Job | None = None
    runs: tuple[Run, ...] = ()
    frontier: Mapping[str, Any] | None = None
    review: Review | None = None
    notice: tuple[str, str] | None = None
    version: int = 0
    edition: int = 0
    runs_begun: int = 0

    def _next(self, **changes: Any) -> "Session":
        return replace(self, version=self.version + 1, **changes)

    def opened(self, source: str, facts: Mapping[str, Any], text: str) -> "Session":
        """Another table: its results are none of the old one's."""
        first = History(points=(Point(text=text, note="open the table"),))
        return self._next(
            source=source,
            facts=facts,
            history=first,
            job=None,
            runs=(),
            frontier=None,
            notice=None,
            edition=self.edition + 1,
        )

    def closed(self) -> "Session":
        """No table is open any more."""
        return Session(version=self.version + 1, edition=self.edition + 1)

    def reviewed(self, review: Review | None) -> "Session":
        """A review as it is now; None to be done with it.

        Raises
        ------
        InputError
            If a table is open, or something is under way.
        """
        if self.source is not None or self.job is not None:
            raise InputError("A table is open here. Start another studio for the review: shoal studio REVIEW.json.")
        return self._next(review=review, notice=None)

    def edited(self, text: str, note: str, *, joined: bool = False) -> "Session":
        """Another text; what could be redone is forgotten.

        Parameters
        ----------
        joined
            The edit goes on with the one before it (typing does), so that both are undone at once.
        """
        if text == self.history.text:
            return self
        points = self.history.points[: self.history.at + 1]
        if joined and len(points) > 1 and points[-1].note == note and not points[-1].name:
            points = points[:-1]
        points = (*points, Point(text=text, note=note))
        if len(points) > MOST_POINTS:
            points = (*(p for p in points[: -MOST_POINTS // 2] if p.name), *points[-MOST_POINTS // 2 :])
        return self._at(History(points=points, at=len(points) - 1))

    def went_to(self, at: int) -> "Session":
        """One of the texts that there were: undoing and redoing."""
        if not 0 <= at < len(self.history.points):
            raise InputError("There is nothing to undo or redo.")
        return self._at(replace(self.history, at=at))

    def resumed(self, history: History) -> "Session":
        """Another history, as it was kept; that there was none before it can be undone."""
        points = (Point(text=self.history.text, note="before the kept work was opened"), *history.points)
        return self._at(History(points=points, at=history.at + 1))

    def named(self, name: str) -> "Session":
        """The present text under a name."""
        points = list(self.history.points)
        points[self.history.at] = replace(points[self.history.at], name=name)
        return self._next(history=replace(self.history, points=tuple(points)))

    def _at(self, history: History) -> "Session":
        return self._next(history=history, edition=self.edition + 1, notice=None)

    def began(self, kind: str, stage: str) -> "Session":
        if self.job is not None:
            raise InputError("Something is under way already. Wait for it, or cancel it.")
        return self._next(job=Job(kind=kind, stage=stage), notice=None)

    def moved(self, stage: str, fraction: float) -> "Session":
        """A job reports; one that was cancelled meanwhile is not heard."""
        return self if self.job is None else self._next(job=replace(self.job, stage=stage, fraction=fraction))

    def ended(self, kind: str = "", sentence: str = "") -> "Session":
        """No job is under way any more; a notice says how it ended, where that does not show."""
        return self._next(job=None, notice=(kind, sentence) if sentence else None)

    def ran(self, text: str, result: Result, *, released: bool) -> "Session":
        number = self.runs_begun + 1
        run = Run(number=number, text=text, released=released, result=result)
        return self._next(job=None, notice=None, runs=(*self.runs, run)[-MOST_RUNS:], runs_begun=number)

    def explored(self, frontier: Mapping[str, Any]) -> "Session":
        return self._next(job=None, notice=None, frontier=frontier)

    def read_notice(self) -> "Session":
        return self._next(notice=None)

    def run(self, number: int) -> Run:
        """One of the runs that are kept.

        Raises
        ------
        InputError
            If it is not.
        """
        for run in self.runs:
            if run.number == number:
                return run
        raise InputError(f"There is no run {number} any more. Run the plan again.")

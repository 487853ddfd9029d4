"""The state of a studio and its transitions: pure functions from one frozen session to the next.

Every edit keeps the text before it, so that everything can be undone; a run keeps the text that it carried out, so that
what is handed over is what ran. `version` counts every change, for pages that ask for news; `edition` counts changes of
the text alone, so that an edit of an outdated text is refused even while a job reports progress.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.release.review import Review
from shoal.report.evidence import Comparable, Private, ReportedStep
from shoal.studio.analyses import Analysis
from shoal.vocabulary.errors import InputError

MOST_REVISIONS = 500
"""Texts that are kept for undoing; named ones are kept beyond it."""

MOST_RUNS = 12
"""Results that are kept; the oldest is dropped first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A text of the plan, a note on the change that led to it, and the name that a person gave it, if any."""

    text: str
    note: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All texts, and the position of the present one."""

    points: tuple[Revision, ...] = (Revision(text="", note="start"),)
    at: int = 0

    @property
    def text(self) -> str:
        return self.points[self.at].text


def as_text(history: History) -> str:
    """A plan with its history, as the text of a file."""
    points = [{"text": p.text, "note": p.note, "name": p.name} for p in history.points]
    return json.dumps({"shoal work": 1, "at": history.at, "points": points}, indent=2, ensure_ascii=False) + "\n"


def of_text(text: str) -> History:
    """A plan with its history, from the text of a file. Raises InputError if the file is no such file."""
    try:
        content = json.loads(text)
        points = tuple(
            Revision(**{key: str(point[key]) for key in ("text", "note", "name")}) for point in content["points"]
        )
        at = content["at"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("The file holds no saved work of the studio.") from None
    if content.get("shoal work") != 1 or len(points) > 2 * MOST_REVISIONS or type(at) is not int:
        raise InputError("The file holds no saved work of the studio.")
    if not 0 <= at < len(points):
        raise InputError("The file holds no saved work of the studio.")
    return History(points=points, at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work in progress: its kind ("open", "run", "explore", "export"), its current stage, and the fraction done."""

    kind: str
    stage: str = ""
    fraction: float = 0.0


class RunResult(Comparable):
    """The result of a plan that was carried out.

    Of a refused one `refusal` and `advice`, and in `unanswered` the columns that it may accept, each with a reason. Of
    several linked tables `tables` has what is shown of each, and `columns` is empty.
    """

    steps: list[ReportedStep]
    private: Private | None
    decision: Mapping[str, object] | None
    became: Mapping[str, str]
    refusal: str
    seed: str
    advice: Sequence[Mapping[str, object]]
    unanswered: Mapping[str, str]
    tables: Sequence[Mapping[str, object]]
    copies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioRun:
    """A plan that was carried out.

    Parameters
    ----------
    text
        Text of the plan.
    released
        True if all its requirements were proved.
    reopened
        True if it comes from saved work, or of a table prepared otherwise: its result is there, its release is not.
    prepared
        How the table was prepared (`shoal.desk.preparing`).
    after
        Folders of earlier releases whose ledgers it carries on.
    """

    number: int
    text: str
    released: bool
    result: RunResult = field(repr=False)
    reopened: bool = False
    prepared: Sequence[Mapping[str, Any]] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Everything that a page shows.

    Parameters
    ----------
    source
        Name of the open table; None while none is open.
    facts
        Facts about the table and its columns; they change only when another table is opened.
    notice
        A message for the person, with its kind: ("error", sentence) or ("done", sentence).
    frontier
        Frontier of the last exploration.
    analyses
        Analyses that are followed through all runs.
    after
        Folders of earlier releases whose ledgers are carried on.
    review
        A release that somebody else made, to be reviewed; then no table is open.
    """

    source: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    history: History = field(default_factory=History)
    job: Job | None = None
    runs: tuple[StudioRun, ...] = ()
    frontier: Mapping[str, Any] | None = None
    analyses: tuple[Analysis, ...] = ()
    review: Review | None = None
    after: tuple[str, ...] = ()
    notice: tuple[str, str] | None = None
    version: int = 0
    edition: int = 0
    runs_begun: int = 0

    def _next(self, **changes: Any) -> "Session":
        return replace(self, version=self.version + 1, **changes)

    def opened(self, source: str, facts: Mapping[str, Any], text: str) -> "Session":
        """Open another table, without results."""
        first = History(points=(Revision(text=text, note="open the table"),))
        return self._next(
            source=source,
            facts=facts,
            history=first,
            job=None,
            runs=(),
            frontier=None,
            analyses=(),
            after=(),
            notice=None,
            edition=self.edition + 1,
        )

    def prepared(self, facts: Mapping[str, Any]) -> "Session":
        """Work on the table after other preparations: plan and results stay, released tables do not."""
        runs = tuple(replace(run, reopened=True) for run in self.runs)
        return self._next(facts=facts, runs=runs, job=None, notice=None)

    def closed(self) -> "Session":
        """Close the table."""
        return Session(version=self.version + 1, edition=self.edition + 1)

    def reviewed(self, review: Review | None) -> "Session":
        """Set the review to its present state; None leaves it.

        Raises InputError if a table is open, or something is under way.
        """
        if self.source is not None or self.job is not None:
            raise InputError("A table is open here. Start another studio for the review: shoal studio REVIEW.json.")
        return self._next(review=review, notice=None)

    def edited(self, text: str, note: str, *, joined: bool = False) -> "Session":
        """Change the text; what could be redone is forgotten.

        Parameters
        ----------
        joined
            The edit continues the one before it, as in typing, so that both are undone together.
        """
        if text == self.history.text:
            return self
        points = self.history.points[: self.history.at + 1]
        if joined and len(points) > 1 and points[-1].note == note and not points[-1].name:
            points = points[:-1]
        points = (*points, Revision(text=text, note=note))
        if len(points) > MOST_REVISIONS:
            points = (*(p for p in points[: -MOST_REVISIONS // 2] if p.name), *points[-MOST_REVISIONS // 2 :])
        return self._at(History(points=points, at=len(points) - 1))

    def went_to(self, at: int) -> "Session":
        """Go to another text of the history: undo and redo."""
        if not 0 <= at < len(self.history.points):
            raise InputError("There is nothing to undo or redo.")
        return self._at(replace(self.history, at=at))

    def resumed(self, history: History) -> "Session":
        """Replace the history by a saved one; this, too, can be undone."""
        points = (Revision(text=self.history.text, note="before the kept work was opened"), *history.points)
        return self._at(History(points=points, at=history.at + 1))

    def restored(
        self,
        history: History,
        runs: tuple[StudioRun, ...],
        frontier: Mapping[str, Any] | None,
        analyses: Sequence[Analysis] = (),
    ) -> "Session":
        """Take saved work up, with its runs; that of now can be gone back to."""
        taken_up = self.resumed(history)
        begun = max((run.number for run in runs), default=0)
        taken_up = replace(taken_up, analyses=tuple(analyses))
        return replace(taken_up, runs=runs, frontier=frontier, runs_begun=max(begun, self.runs_begun))

    def named(self, name: str) -> "Session":
        """Name the present text."""
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
        """Note the progress of a job; that of a job cancelled meanwhile is ignored."""
        return self if self.job is None else self._next(job=replace(self.job, stage=stage, fraction=fraction))

    def ended(self, kind: str = "", sentence: str = "") -> "Session":
        """End the job; a notice tells how it ended, if that does not show otherwise."""
        return self._next(job=None, notice=(kind, sentence) if sentence else None)

    def ran(self, text: str, result: RunResult, *, released: bool) -> "Session":
        number = self.runs_begun + 1
        known = {"prepared": self.facts.get("prepared", ()), "after": self.after}
        run = StudioRun(number=number, text=text, released=released, result=result, **known)
        return self._next(job=None, notice=None, runs=(*self.runs, run)[-MOST_RUNS:], runs_begun=number)

    def explored(self, frontier: Mapping[str, Any]) -> "Session":
        return self._next(job=None, notice=None, frontier=frontier)

    def following(self, analyses: Sequence[Analysis]) -> "Session":
        """Follow these analyses."""
        return self._next(analyses=tuple(analyses))

    def after_releases(self, folders: Sequence[str]) -> "Session":
        """Carry on the ledgers of earlier releases."""
        return self._next(after=tuple(folders))

    def moved_on(self) -> "Session":
        """The same, for pages to look at again."""
        return self._next()

    def read_notice(self) -> "Session":
        return self._next(notice=None)

    def run(self, number: int) -> StudioRun:
        """One of the runs that are kept. Raises InputError if it is not kept."""
        for run in self.runs:
            if run.number == number:
                return run
        raise InputError(f"There is no run {number} any more. Run the plan again.")

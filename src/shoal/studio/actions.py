"""The studio's actions: everything that a person does to the session, and the jobs that go on meanwhile.

An action is a name and arguments; the methods below whose names begin with `do_` are all actions. Those that change the
text name the edition of it that they refer to, so that two tabs never overwrite each other.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from tempfile import TemporaryDirectory
from typing import Any, NotRequired

from typing_extensions import TypedDict

from shoal.plan.lines import parse_yaml, plain
from shoal.studio.analyses import Analysis
from shoal.studio.arguments import Answer, checked
from shoal.studio.ledgers import Ledgers
from shoal.studio.linked import relinked
from shoal.studio.parcels import PAUSE, carry
from shoal.studio.plans import names_in, put, put_all, swapped
from shoal.studio.saved import took_tour
from shoal.studio.session import of_text
from shoal.studio.state import state_of
from shoal.studio.worker import WorkerGone
from shoal.vocabulary.errors import InputError

EXAMPLE_ROWS = 1000


class OldEdition(InputError):  # noqa: N818 - it is a reason, not a fault
    """The text was changed in another tab meanwhile."""


class GivenUp(InputError):  # noqa: N818 - it is a reason, not a fault
    """What a page would show was not worked out, for something else is done."""


class Change(TypedDict):
    """A place of the plan with its new value: the value itself, or its text in YAML."""

    place: list[str | int]
    value: NotRequired[Any]
    yaml: NotRequired[str]


class Studio(Ledgers):
    """One person's tables, plan and results."""

    async def act(self, name: str, given: Mapping[str, Any], edition: int) -> None:
        """Do one action.

        Raises
        ------
        OldEdition
            If it would change a text that is no longer the present one.
        InputError
            If it cannot be done.
        """
        method: Callable[..., Awaitable[None]] | None = getattr(self, f"do_{name}", None)
        if method is None or not name.isidentifier():
            raise InputError("The studio knows no such action.")
        if self.session.review is not None and name not in OF_REVIEWS:
            raise InputError("A release is under review, and a review changes no plan. Leave the review first.")
        if edition != self.session.edition and name in CHANGING:
            raise OldEdition("The plan was changed in another tab meanwhile; look at it, and do this again.")
        await checked(method)(**given)

    # The text

    async def do_edit(self, text: str, note: str = "edit the text", joined: bool = False) -> None:
        self.session = self.session.edited(text, note, joined=joined)

    async def do_put(self, changes: list[Change], note: str) -> None:
        """Set values at places of the plan."""
        values = []
        for change in changes:
            value = change.get("value")
            if (written := change.get("yaml")) is not None:
                value = plain(parse_yaml(written, "the field")) if written.strip() else None
            values.append((change["place"], value))
        self.session = self.session.edited(put_all(self.session.history.text, values), note)

    async def do_swap(self, place: list[str | int], first: int, second: int, note: str) -> None:
        self.session = self.session.edited(swapped(self.session.history.text, place, first, second), note)

    async def do_link(self, table: str, own: dict[str, str | None], note: str) -> None:
        """Give one of several tables another key, parent and link."""
        changes = relinked(self.plan.tree, self.session.facts, table, own)
        self.session = self.session.edited(put_all(self.session.history.text, changes), note)

    async def do_edit_hierarchy(self, column: str, edit: Mapping[str, Any], note: str, of: str = "") -> None:
        """Change a cell of a column's hierarchy, which is then written out in the plan."""
        text = self.session.history.text
        place = [*(("tables", of) if of else ()), "columns", column]
        described: Any = self.plan.tree
        for key in place:
            described = described.get(key) if isinstance(described, Mapping) else None
        if not isinstance(described, Mapping) or described.get("hierarchy") is None:
            raise InputError("This column has no hierarchy. Build one first.")
        question = {"column": column, "spec": described["hierarchy"], "edit": edit, "folder": str(self.folder)}
        paths = await self.question("edit_hierarchy", of=of, **question)
        if self.session.history.text != text:
            raise OldEdition("The plan was changed meanwhile; look at it, and do this again.")
        self.session = self.session.edited(put(text, [*place, "hierarchy"], paths), note)

    async def do_undo(self) -> None:
        self.session = self.session.went_to(self.session.history.at - 1)

    async def do_redo(self) -> None:
        self.session = self.session.went_to(self.session.history.at + 1)

    async def do_go(self, at: int) -> None:
        self.session = self.session.went_to(at)

    async def do_resume(self, text: str) -> None:
        """Resume saved work: a plan with its history."""
        self.session = self.session.resumed(of_text(text))

    async def do_name(self, name: str) -> None:
        self.session = self.session.named(name)

    async def do_analyses(self, analyses: list[Analysis]) -> None:
        self.session = self.session.following(analyses)

    async def do_dismiss(self) -> None:
        self.session = self.session.read_notice()

    # Work

    async def do_run(self, seed: int | None = None) -> None:
        """Carry the plan out as it stands."""
        self._need_plan()
        self._begin("run", "starting", self._run(self.session.history.text, seed))

    async def _run(self, text: str, seed: int | None) -> None:
        await self._ready()
        source = self.session.source or ""
        result, released = await self.runner.ask(
            "protect",
            report=self._report(),
            text=text,
            folder=str(self.folder),
            seed=seed,
            source=source,
            after=self.session.after,
        )
        number = self.session.runs_begun + 1
        if released:
            await carry(self.runner, self.keeper, "keep", number=number, also=[r.number for r in self.session.runs])
        self.session = self.session.ran(text, result, released=released)

    async def do_explore(self) -> None:
        """Try the candidates of the plan's section `explore`, each in place of the plan's steps."""
        self._need_plan()
        self._begin("explore", "starting", self._explore(put(self.session.history.text, ["steps"], [])))

    async def _explore(self, text: str) -> None:
        await self._ready()
        with TemporaryDirectory(prefix="shoal-") as scratch:  # made here, since the process may be ended at any time
            question = {"text": text, "folder": str(self.folder), "scratch": scratch}
            explored = await self.runner.ask("explore", report=self._report(), **question)
        self.session = self.session.explored(explored)

    async def do_export(self, run: int, directory: str, overwrite: bool = False, review: str = "") -> None:
        """Write both folders of a run's release, with its approval if the text of an approved review is given."""
        self.session.run(run)
        arguments = {"run": run, "directory": directory, "overwrite": overwrite, "review": review}
        self._begin("export", "writing, and proving the file again", self._export(arguments))

    async def _export(self, given: Mapping[str, Any]) -> None:
        await self.keeper.ask("export", **given)
        while (where := await self.keeper.ask("exported")) is None:
            await asyncio.sleep(PAUSE)
        self.session = self.session.ended("done", f"Written and proved again on the file: {where}")

    # Work that ends

    async def do_cancel(self) -> None:
        """End the work in progress; table and results stay."""
        if self.session.job is None or self.task is None:
            return
        if self.session.job.kind not in ("run", "explore"):
            raise InputError("Reading and writing are not interrupted: they end by themselves.")
        self.task.cancel()
        await asyncio.to_thread(self.runner.restart)
        self.session = self.session.ended("done", "Cancelled. The table and all earlier results are still here.")
        self.handing_over = asyncio.create_task(self._hand_over())

    async def trial(self, what: str, text: str | None = None, **given: Any) -> Answer:
        """Try something on a sample while nothing else is done; a run that begins meanwhile cancels it."""
        self._need_plan()
        if self.session.job is not None:
            raise GivenUp("Something is under way. This comes when it has ended.")
        await self._ready()
        self.previews += 1
        try:
            text = self.session.history.text if text is None else text
            answer: Answer = await self.runner.ask(what, text=text, folder=str(self.folder), **given)
        except WorkerGone:
            raise GivenUp("This was ended for a run.") from None
        finally:
            self.previews -= 1
        return answer

    def _need_plan(self) -> None:
        if self.session.source is None:
            raise InputError("No table is open. Open one first.")
        if self.plan.plan is None and self.plan.linked is None:
            raise InputError("The plan has mistakes; mend them first. They are listed beside the plan.")

    # The content of pages

    def state(self) -> Answer:
        """Everything but the facts of the table and the results of runs, which pages ask for separately."""
        return {**state_of(self.session, self.plan), "unsaved": self.unsaved, "toured": took_tour(self.saved)}

    async def exposure(self) -> Answer:
        """The exposure of the table through the columns that have the role quasi-identifier in the plan.

        Other questions are answered while a large table is counted; if roles change meanwhile, the new ones count. That
        the table was closed is an answer.
        """
        while True:
            try:
                if (answer := await self.question("exposure", levels=self._levels())) is not None:
                    return dict(answer)
            except InputError as closed:
                return {"refused": str(closed)}
            await asyncio.sleep(PAUSE)

    def _levels(self) -> Answer:
        """The columns that others may know, with their levels."""
        columns = self.plan.tree.get("columns", {})
        return {
            name: column.get("level") if isinstance(column := columns.get(name), Mapping) else None
            for name, role in names_in(self.plan.tree)
            if role == "quasi-identifier"
        }


CHANGING = (
    *("edit", "put", "swap", "edit_hierarchy", "link", "keep", "keep_none"),
    *("undo", "redo", "go", "resume", "name", "take_up"),
)
"""Actions that change the text."""

OF_REVIEWS = ("comment", "approve", "leave", "dismiss")
"""Actions on a release of somebody else that is under review."""

"""What is shown of a table and of releases: rows, columns, hierarchies, risks and analyses, before and after.

Of several linked tables `of` is the name of the one that is shown; it is empty for a table that is alone.
"""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.plan import Plan
from shoal.plan.linked import LinkedPlan
from shoal.release import WholeRelease
from shoal.release.linked import LinkedRelease
from shoal.studio import profile, trees, variables
from shoal.studio.analyses import Analysis, followed, side_by_side
from shoal.studio.arguments import Answer
from shoal.studio.kept import Kept
from shoal.studio.linked import LinkedTables
from shoal.studio.parcels import ParcelHolder
from shoal.studio.plans import reading
from shoal.studio.risks import TableSide, risks, sets_of
from shoal.studio.sides import Sides, paired
from shoal.studio.variables import ComparedColumn
from shoal.table.files.table import Table
from shoal.table.identifiers import IDENTIFIERS, MOST_VALUES, by_identifier, signs, unseen
from shoal.vocabulary.errors import InputError


def plan_of(text: str, folder: str, of: str = "") -> Plan:
    """The plan of a table in a text."""
    read = reading(text, Path(folder))
    plan = read.plan if read.linked is None else read.linked.tables.get(of)
    if plan is None:
        sentences = [mistake.sentence for mistake in read.mistakes]
        raise InputError(" ".join(sentences) or "The plan's text describes no such table.")
    return replace(plan, folder=Path(folder))


def linked_plan_of(text: str, folder: str) -> LinkedPlan:
    """The plan of several tables in a text."""
    plan = reading(text, Path(folder)).linked
    if plan is None:
        raise InputError("The plan has mistakes; mend them first. They are listed beside the plan.")
    return replace(plan, folder=Path(folder))


class Showing(ParcelHolder):
    """Holds a table and releases, and shows parts of them."""

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[str, Table] = {}
        self._releases: dict[int, Future[WholeRelease | LinkedRelease]] = {}
        self._order: Kept[np.ndarray] = Kept()
        self._identifiers: dict[str, Answer] = {}
        self._linked = LinkedTables({})
        self._risk_sides = Sides()

    @property
    def tables(self) -> dict[str, Table]:
        """The tables by name; one that is alone has the empty name."""
        if not self._tables:
            raise InputError("No table is open. Open one first.")
        return self._tables

    def table(self, of: str) -> Table:
        """One of the tables."""
        if of not in self.tables:
            raise InputError("There is no such table any more. Look at it again.")
        return self._tables[of]

    def released(self, number: int, of: str) -> WholeRelease:
        """What a run released of a table."""
        release = self.release(number)
        if isinstance(release, WholeRelease):
            return release
        if of not in release.tables:
            raise InputError(f"Run {number} released no such table.")
        return release.tables[of]

    def release(self, number: int) -> WholeRelease | LinkedRelease:
        """The release of a run."""
        if number not in self._releases:
            raise InputError(
                f"The table of run {number} is not here: it released nothing, or is of saved work. Run it again."
            )
        return self._releases[number].result()

    def rows(self, run: int | None, offset: int, by: str | None, descending: bool, of: str = "") -> Answer:
        """Rows of a table, or of what a run made of it."""
        table = self.table(of)
        frame = table.frame if run is None else self.released(run, of).to_frame()
        order = None
        if by in frame.columns:
            things = (table, None if run is None else self.release(run))
            order = self._order.of(things, (by, descending), lambda: profile.order_by(frame[by], descending=descending))
        labels = {name: variables.code_labels(table, name) for name in frame.columns}
        return {**profile.rows(frame, order, offset), "labels": {name: of for name, of in labels.items() if of}}

    def pairs(self, run: int, offset: int, of: str = "") -> Answer:
        """See `sides.paired`."""
        return paired(self.table(of), self.released(run, of), offset)

    def identifiers(self, of: str = "") -> Answer:
        """Columns that may hold one of the identifiers of HIPAA, by identifier, and what cannot be seen."""
        if of not in self._identifiers:
            table = self.table(of)
            seen = by_identifier(signs(nw.from_native(table.frame, eager_only=True), table.labels))
            self._identifiers[of] = {
                "identifiers": [{"letter": i.letter, "title": i.title, "columns": seen[i.letter]} for i in IDENTIFIERS],
                "unseen": unseen(),
                "values": MOST_VALUES,
            }
        return self._identifiers[of]

    def column(self, run: int | None, name: str, of: str = "") -> Answer:
        """A column in words: a summary and the numbers of records by value, before and after a run."""
        frames = [self._frame_with(None, name, of), *([] if run is None else [self._frame_with(run, name, of)])]
        counts = [profile.values_of(frame, name) for frame in frames]
        labels = variables.code_labels(self.table(of), name)
        return {
            "name": name,
            "label": self.table(of).labels.get(name, ""),
            "type": str(frames[0][name].dtype),
            "summaries": [variables.summary(frame[name]) for frame in frames],
            **variables.frequencies(counts[0], counts[-1], labels),
        }

    def extremes(self, run: int, of: str = "") -> Answer:
        """By released column its least and greatest value before and after, of numbers and times."""
        both = (self.table(of).frame, self.released(run, of).to_frame())
        return {
            name: [variables.summary(frame[name], ends=True) for frame in both]
            for name in both[1].columns
            if name in both[0].columns
        }

    def together(self, run: int | None, names: tuple[str, str], text: str, folder: str, of: str = "") -> Answer:
        """See `variables.together`; before and after a run, of whose plan `text` is the text."""
        seen = [self._seen(run, name, plan_of(text, folder, of), folder, of) for name in names]
        return variables.together(seen[0], seen[1], [variables.code_labels(self.table(of), name) for name in names])

    def _seen(self, run: int | None, name: str, plan: Plan, folder: str, of: str = "") -> ComparedColumn:
        """A column before and after a run."""
        self._frame_with(run, name, of)
        before = variables.encoded(self.table(of).frame[name], plan.schema, Path(folder))
        if run is None:
            return ComparedColumn(before=before, after=before, place=None)
        release = self.released(run, of)
        place = None if name in release.account.made_anew else release.rows
        return ComparedColumn(before=before, after=release.table.encoded[name], place=place)

    def risks(self, run: int | None, text: str, folder: str, of: str = "") -> Answer:
        """See `risks.risks`; before, and after a run, of whose plan `text` is the text."""
        table = self.table(of)
        labels = {name: variables.code_labels(table, name) for name in table.frame.columns}
        return risks(self._sides(run, text, folder, of), labels)

    def attribute_sets(self, run: int | None, text: str, folder: str, chosen: list[str], of: str = "") -> Answer:
        """See `risks.sets_of`."""
        sides = self._sides(run, text, folder, of)
        return sets_of(sides, chosen) if sides[0].records.names() else {"sets": [], "further": 0, "chosen": None}

    def _sides(self, run: int | None, text: str, folder: str, of: str) -> list[TableSide]:
        """A table, and what a run released of it; of several tables with the person of each of its rows."""
        release = None if run is None else self.released(run, of)
        if of:
            table, plan = self._linked.of_persons(linked_plan_of(text, folder), of)
        else:
            table, plan = self.table(""), plan_of(text, folder)
        return self._risk_sides.of(table, plan, Path(folder), release)

    def follow(self, asked: Analysis, texts: Mapping[int, str], text: str, folder: str) -> Answer:
        """See `analyses`: on the original, and on what each run released, of whose plan `texts` has the text."""
        names = [asked["of"], *asked["by"]]
        labels = {name: variables.code_labels(self.table(""), name) for name in names}
        plan = plan_of(text, folder)
        bare = followed(asked, {name: self._seen(None, name, plan, folder) for name in names}, labels)[0]
        by_run = {}
        for run, own in texts.items():
            released = self.released(run, "").to_frame().columns
            if all(name in released for name in names):
                plan = plan_of(own, folder)
                by_run[run] = followed(asked, {name: self._seen(run, name, plan, folder) for name in names}, labels)
        return side_by_side(asked, by_run, bare)

    def _frame_with(self, run: int | None, name: str, of: str) -> pl.DataFrame:
        """A table, or what a run released of it, if it has a column."""
        frame = self.table(of).frame if run is None else self.released(run, of).to_frame()
        if name not in frame.columns:
            raise InputError("There is no such column any more. Look at it again.")
        return frame

    def categories(self, name: str, of: str = "") -> Answer:
        """The categories of a column in their own order, and the labels of codes."""
        values = profile.values_of(self._frame_with(None, name, of), name)
        return {"categories": list(values), "labels": variables.code_labels(self.table(of), name)}

    def levels(self, column: str, spec: Any, folder: str, of: str = "") -> Answer:
        """See `profile.levels`."""
        table = self.table(of)
        labels = variables.code_labels(table, column)
        return {**profile.levels(table.frame, column, spec, Path(folder)), "labels": labels}

    def build_hierarchy(self, column: str, how: str, sizes: list[float], of: str = "") -> Answer:
        """See `profile.built`."""
        table = self.table(of)
        return profile.built(table.frame, column, how, sizes, variables.code_labels(table, column))

    def read_hierarchies(self, files: list[dict[str, str]], of: str = "") -> list[Answer]:
        """See `trees.read_files`."""
        frame = self.table(of).frame
        return trees.read_files(files, {name: profile.values_of(frame, name).keys() for name in frame.columns})

    def edit_hierarchy(self, column: str, spec: Any, folder: str, edit: Mapping[str, Any], of: str = "") -> Answer:
        """See `trees.edited`."""
        return trees.edited(profile.values_of(self.table(of).frame, column), spec, Path(folder), edit)

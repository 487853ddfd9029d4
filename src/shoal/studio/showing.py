"""What is shown of a table and of releases: rows, columns, hierarchies, risks and analyses, before and after."""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.plan import Plan
from shoal.release import WholeRelease
from shoal.studio import profile, trees, variables
from shoal.studio.analyses import Analysis, followed, side_by_side
from shoal.studio.arguments import Answer
from shoal.studio.parcels import ParcelHolder
from shoal.studio.plans import reading
from shoal.studio.risks import Side, risks, sets_of
from shoal.studio.sides import sides_of
from shoal.studio.variables import Seen
from shoal.table.files.table import Table
from shoal.vocabulary.errors import InputError


def plan_of(text: str, folder: str) -> Plan:
    read = reading(text, Path(folder))
    if read.plan is None:
        raise InputError(" ".join(mistake.sentence for mistake in read.mistakes))
    return replace(read.plan, folder=Path(folder))


class Showing(ParcelHolder):
    """Holds a table and releases, and shows parts of them."""

    def __init__(self) -> None:
        super().__init__()
        self._table: Table | None = None
        self._releases: dict[int, Future[WholeRelease]] = {}
        self._order = profile.Order()

    @property
    def table(self) -> Table:
        if self._table is None:
            raise InputError("No table is open. Open one first.")
        return self._table

    def release(self, number: int) -> WholeRelease:
        """The release of a run."""
        if number not in self._releases:
            raise InputError(
                f"The table of run {number} is not here: it released nothing, or is of saved work. Run it again."
            )
        return self._releases[number].result()

    def rows(self, run: int | None, offset: int, by: str | None, descending: bool) -> Answer:
        """Rows of the table, or of what a run made of it."""
        frame = self.table.frame if run is None else self.release(run).to_frame()
        order = self._order.of(run, frame, by, descending=descending)
        labels = {name: variables.code_labels(self.table, name) for name in frame.columns}
        return {**profile.rows(frame, order, offset), "labels": {name: of for name, of in labels.items() if of}}

    def column(self, run: int | None, name: str) -> Answer:
        """A column in words: a summary and the numbers of records by value, before and after a run."""
        frames = [self._frame_with(None, name), *([] if run is None else [self._frame_with(run, name)])]
        counts = [profile.values_of(frame, name) for frame in frames]
        labels = variables.code_labels(self.table, name)
        return {
            "name": name,
            "label": self.table.labels.get(name, ""),
            "type": str(frames[0][name].dtype),
            "summaries": [variables.summary(frame[name]) for frame in frames],
            **variables.frequencies(counts[0], counts[-1], labels),
        }

    def extremes(self, run: int) -> Answer:
        """By released column its least and greatest value before and after, of numbers and times."""
        both = (self.table.frame, self.release(run).to_frame())
        return {
            name: [variables.summary(frame[name], ends=True) for frame in both]
            for name in both[1].columns
            if name in both[0].columns
        }

    def together(self, run: int | None, names: tuple[str, str], text: str, folder: str) -> Answer:
        """See `variables.together`; before and after a run, of whose plan `text` is the text."""
        seen = [self._seen(run, name, plan_of(text, folder), folder) for name in names]
        return variables.together(seen[0], seen[1], [variables.code_labels(self.table, name) for name in names])

    def _seen(self, run: int | None, name: str, plan: Plan, folder: str) -> Seen:
        """A column before and after a run."""
        self._frame_with(run, name)
        before = variables.encoded(self.table.frame[name], plan.schema, Path(folder))
        if run is None:
            return Seen(before=before, after=before, place=None)
        release = self.release(run)
        place = None if name in release.account.made_anew else release.rows
        return Seen(before=before, after=release.table.encoded[name], place=place)

    def risks(self, run: int | None, text: str, folder: str) -> Answer:
        """See `risks.risks`; before, and after a run, of whose plan `text` is the text."""
        labels = {name: variables.code_labels(self.table, name) for name in self.table.frame.columns}
        return risks(self._sides(run, text, folder), labels)

    def attribute_sets(self, run: int | None, text: str, folder: str, chosen: list[str]) -> Answer:
        """See `risks.sets_of`."""
        sides = self._sides(run, text, folder)
        return sets_of(sides, chosen) if sides[0].records.names() else {"sets": [], "further": 0, "chosen": None}

    def _sides(self, run: int | None, text: str, folder: str) -> list[Side]:
        release = None if run is None else self.release(run)
        return sides_of(self.table, plan_of(text, folder), Path(folder), release)

    def follow(self, asked: Analysis, texts: Mapping[int, str], text: str, folder: str) -> Answer:
        """See `analyses`: on the original, and on what each run released, of whose plan `texts` has the text."""
        names = [asked["of"], *asked["by"]]
        labels = {name: variables.code_labels(self.table, name) for name in names}
        plan = plan_of(text, folder)
        bare = followed(asked, {name: self._seen(None, name, plan, folder) for name in names}, labels)[0]
        by_run = {}
        for run, own in texts.items():
            released = self.release(run).to_frame().columns
            if all(name in released for name in names):
                plan = plan_of(own, folder)
                by_run[run] = followed(asked, {name: self._seen(run, name, plan, folder) for name in names}, labels)
        return side_by_side(asked, by_run, bare)

    def _frame_with(self, run: int | None, name: str) -> pl.DataFrame:
        """The table, or what a run released, if it has a column."""
        frame = self.table.frame if run is None else self.release(run).to_frame()
        if name not in frame.columns:
            raise InputError("There is no such column any more. Look at it again.")
        return frame

    def levels(self, column: str, spec: Any, folder: str) -> Answer:
        """See `profile.levels`."""
        labels = variables.code_labels(self.table, column)
        return {**profile.levels(self.table.frame, column, spec, Path(folder)), "labels": labels}

    def build_hierarchy(self, column: str, how: str, sizes: list[float]) -> Answer:
        """See `profile.built`."""
        return profile.built(self.table.frame, column, how, sizes, variables.code_labels(self.table, column))

    def read_hierarchies(self, files: list[dict[str, str]]) -> list[Answer]:
        """See `trees.read_files`."""
        frame = self.table.frame
        return trees.read_files(files, {name: profile.values_of(frame, name).keys() for name in frame.columns})

    def edit_hierarchy(self, column: str, spec: Any, folder: str, edit: Mapping[str, Any]) -> Answer:
        """See `trees.edited`."""
        return trees.edited(profile.values_of(self.table.frame, column), spec, Path(folder), edit)

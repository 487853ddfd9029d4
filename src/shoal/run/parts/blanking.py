"""Cells blanked in a table in parts: which, is decided on the distinct combinations of the keys.

The combinations are counted, the search runs on them once, and each record loses what its combination loses. Where only
some of its records do, which of them was drawn by their place among all records of the combination. A cell that another
column gives away is blanked with what gives it away, and the combinations are counted anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.kernels.arrays import Longs
from shoal.plan.steps import Step, settings_of
from shoal.proof.given_away import computed, given_away, lacking_among, laws_among, mostly_contradicted, open_pairs
from shoal.run.parts.steps import After, Run
from shoal.table.dependencies import UNITS, believed
from shoal.table.laws import Laws
from shoal.table.microdata import Microdata
from shoal.table.parts.moments import COUNT, combinations_of
from shoal.table.parts.stage import Stage, read_part, write_part
from shoal.table.schema import Schema
from shoal.table.step_result import StepAccount
from shoal.vocabulary.facts import Facts

NUMBER, PLACE, START = "shoal: combination", "shoal: place", "shoal: start"
"""Of a combination of which not all records lose the same; of a record among its records; of the first in a part."""


def after_blanking(run: Run, number: int, step: Step, stage: Stage, schema: Schema) -> After:
    """A step that blanks cells of the keys, carried out on a stage.

    Raises
    ------
    Refused
        If the step refuses, or there are too many combinations.
    """
    keys = tuple(step.columns or schema.names(*step.default_roles))
    work = Blanking(
        run=run,
        number=number,
        step=step,
        keys=keys,
        compared=(*keys, *(name for name in schema.names("stratum") if name not in keys)),
        released=tuple(name for name in stage.columns if name not in run.plan.unreleased),
    )
    run.tell(step.name, 0.0)
    laws = run.journal.once(f"laws-{number}", lambda: work.laws(stage, schema))
    given = work.given_back(stage, schema, laws)
    lost = run.journal.once(f"lost-{number}", lambda: work.lost(stage, schema, laws, given))
    blanked = work.written(stage, lost, "first")
    kept = {name: schema.columns[name].model_copy(update={"missing": "keep"}) for name in keys}
    schema = Schema.model_construct(root=dict(schema.columns) | kept)
    given = work.spared(stage, blanked, given)
    end = work.guarded(stage, blanked, schema, laws, given)
    facts: Facts = lost.facts if end is blanked else work.facts_after(stage, end, lost)
    run.tell(step.name, 1.0)
    return After(
        stage=end,
        schema=schema,
        account=StepAccount(step=step.name, columns=keys, facts={**settings_of(step.method), **facts}),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Lost:
    """Cells that records lose, by their combination; a column of truth values for each key.

    Parameters
    ----------
    combinations
        Those of which some record loses something; where not all lose the same, with a number.
    drawn
        Of these, the records that lose something: number and place of each.
    notes
        What there is to tell of the search.
    """

    combinations: pl.DataFrame
    drawn: pl.DataFrame
    facts: Facts
    notes: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Blanking:
    """A step that blanks cells of keys.

    Parameters
    ----------
    compared
        The keys and the strata.
    released
        Columns that can give cells away.
    """

    run: Run
    number: int
    step: Step
    keys: tuple[str, ...]
    compared: tuple[str, ...]
    released: tuple[str, ...]

    def lost(
        self,
        stage: Stage,
        schema: Schema,
        laws: Laws,
        given: Mapping[str, str],
        turn: int = 0,
        spent: Longs | None = None,
    ) -> Lost:
        """Cells that records of a stage lose; in a later turn, after some of each column were blanked already.

        `given`: keys that arithmetic gives back, with the law in words.
        """
        counts = combinations_of(stage, self.compared, self.run.memory_for_combinations, self.step.name)
        described = Schema.model_construct(root={name: schema.columns[name] for name in self.compared})
        combinations = counts.drop(COUNT)
        rng = self.run.generator(self.number, turn) if turn else self.run.generator(self.number)
        ids, patterns, notes = self.step.method.blanks(
            Microdata.of(combinations, described, self.run.folder).records,
            counts[COUNT].to_numpy(),
            self.keys,
            rng,
            together=None if turn else self._cells_a_blank(stage, schema, laws),
            given=given,
            spent=spent,
            progress=lambda done: self.run.tell(self.step.name, done / 2),
        )
        width = len(self.keys)
        affected = patterns.of_all.any(axis=1)
        affected[patterns.rows] = True
        split = np.bincount(patterns.rows, minlength=len(affected)) > 0
        chosen = np.flatnonzero(affected[ids])
        names = [_lost(name) for name in self.keys]
        return Lost(
            combinations=combinations[chosen.tolist()].with_columns(
                pl.Series(NUMBER, np.where(split[ids[chosen]], ids[chosen], -1)),
                *(pl.Series(name, patterns.of_all[ids[chosen], j]) for j, name in enumerate(names)),
            ),
            drawn=pl.DataFrame(
                {NUMBER: patterns.rows, PLACE: patterns.places, **dict(zip(names, patterns.cells.T[:width]))}
            ),
            facts=self.step.method.facts_of(patterns.by_column, patterns.touched, stage.records, self.keys, notes),
            notes=notes,
        )

    def written(self, stage: Stage, lost: Lost, turn: str) -> Stage:
        """The stage without the cells that its records lose."""
        place = self.run.journal.place(f"step-{self.number}") / turn
        place.mkdir(mode=0o700, exist_ok=True)
        paths = [place / path.name for path in stage.parts]
        look = partial(_write_blanked, lost=lost.combinations, drawn=lost.drawn, compared=self.compared, keys=self.keys)
        for _ in stage.each(look, None, paths, self._starts(stage, lost)):
            pass
        return Stage.of(paths, stage.engine)

    def _starts(self, stage: Stage, lost: Lost) -> list[pl.DataFrame]:
        """For each part, the number of records of each numbered combination in the parts before it."""
        numbered = lost.combinations.filter(pl.col(NUMBER) >= 0).select(*self.compared, NUMBER)
        before = pl.DataFrame(schema={NUMBER: pl.Int64, START: pl.Int64})
        if not len(numbered):
            return [before] * len(stage.parts)
        starts = []
        for seen in stage.each(partial(_numbered_in, numbered=numbered), self.compared):
            starts.append(
                seen.select(NUMBER).join(before, on=NUMBER, how="left").with_columns(pl.col(START).fill_null(0))
            )
            before = pl.concat([before, seen]).group_by(NUMBER).agg(pl.col(START).sum())
        return starts

    def laws(self, original: Stage, schema: Schema) -> Laws:
        """The laws of the table as it comes to the step by which keys are given back."""
        return laws_among(original, schema, self.released, self.keys, self.run.memory, self.run.spill)

    def given_back(self, stage: Stage, schema: Schema, laws: Laws) -> dict[str, str]:
        """The keys whose cells arithmetic with columns that stay gives back, each with the law in words."""
        missing = dict(zip(self.compared, self._missing_cells(stage)))
        known = {name: stage.records - missing[name] for name in self.keys}
        return laws.given_back(known, self._staying)

    @property
    def _staying(self) -> list[str]:
        """Columns that lose no cell."""
        return [name for name in self.released if name not in self.keys or name in self.step.method.keep]

    def _cells_a_blank(self, stage: Stage, schema: Schema, laws: Laws) -> dict[str, float]:
        """For each key that columns which stay determine, the cells that must go with one, or else 1."""
        stay = [name for name in self._staying if schema.columns[name].role not in UNITS]
        sizes = _unit_sizes(stage, schema, self.released, self.keys)
        looked_up = laws.looked_up(self.keys, stay)
        return {name: max(sizes.get(name, 1.0), looked_up.get(name, 1.0)) for name in self.keys}

    def spared(self, before: Stage, after: Stage, given: Mapping[str, str]) -> dict[str, str]:
        """The keys that others give back and that lost no cell between two stages."""
        lost = dict(zip(self.compared, self._blanked(before, after)))
        return {name: law for name, law in given.items() if not lost[name]}

    def guarded(self, original: Stage, stage: Stage, schema: Schema, laws: Laws, given: Mapping[str, str]) -> Stage:
        """The stage when what gives blanked cells away is blanked as well, until nothing does."""
        once = self.run.journal.once
        for turn in range(1, stage.records * len(self.keys) + 1):  # cells are only ever blanked, so it ends before
            sources = once(f"given-away-{self.number}-{turn}", lambda: self._given_away(stage, schema, laws, given))  # noqa: B023
            if not sources:
                break
            stage = self._without_sources(stage, sources, f"sources-{turn}")
            spent = self._blanked(original, stage)
            lost = once(f"lost-{self.number}-{turn}", lambda: self.lost(stage, schema, laws, given, turn, spent))  # noqa: B023
            if len(lost.combinations):
                stage = self.written(stage, lost, f"turn-{turn}")
        return stage

    def _given_away(self, stage: Stage, schema: Schema, laws: Laws, given: Mapping[str, str]) -> list["GivingColumns"]:
        """The columns that give missing cells of a key away, where blanking one of these or the key helps: not the key
        beside columns that give it back by arithmetic.
        """
        free, memory, spill = set(self.keys).difference(self.step.method.keep, given), self.run.memory, self.run.spill
        lacking = lacking_among(stage, self.keys, memory, spill)
        filled = list(computed(stage, schema, self.released, lacking, laws))
        tied = [{name, *law.others(name)} for law, name in filled]
        chosen = []
        for law, _ in given_away(stage, schema, memory, spill, self.released, lacking, laws):
            if terms := [name for name in law.by if name in free]:
                chosen.append(GivingColumns(by=law.by, on=law.on, blank=terms[0]))
            elif law.on in free and {*law.by, law.on} not in tied:
                chosen.append(GivingColumns(by=law.by, on=law.on, blank=law.on))
        for formula, name in filled:
            terms = [term for term in formula.others(name) if term in free]
            chosen += [GivingColumns(by=(), on=name, blank=term) for term in terms[:1]]
        return chosen

    def _without_sources(self, stage: Stage, sources: Sequence["GivingColumns"], turn: str) -> Stage:
        """The stage after the key that determines a missing cell lost its cell beside it; where it is no key that may
        lose cells, after all records with the same cell of it lost theirs of the other.
        """
        cells = [_sources(stage, source.by, source.on) if source.by else None for source in sources]
        place = self.run.journal.place(f"step-{self.number}") / turn
        place.mkdir(mode=0o700, exist_ok=True)
        paths = [place / path.name for path in stage.parts]
        for _ in stage.each(partial(_write_without_sources, sources=sources, cells=cells), None, paths):
            pass
        return Stage.of(paths, stage.engine)

    def _blanked(self, before: Stage, after: Stage) -> Longs:
        """Shape (q,); cells of each column that were blanked between two stages."""
        return self._missing_cells(after) - self._missing_cells(before)

    def _missing_cells(self, stage: Stage) -> Longs:
        """Shape (q, or more); missing cells of each compared column."""
        return np.array(pl.concat(stage.each(_missing, self.compared)).sum().row(0), dtype=np.int64)

    def facts_after(self, before: Stage, after: Stage, first: Lost) -> Facts:
        """Facts of the step where more was blanked than was decided on at first."""
        touched = sum(before.each(partial(_touched, keys=self.keys), self.keys, after.parts))
        blanked = self._blanked(before, after)
        facts: Facts = self.step.method.facts_of(blanked, touched, before.records, self.keys, first.notes)
        return facts


@dataclass(frozen=True, kw_only=True)
class GivingColumns:
    """Columns that give missing cells of another away, and the column that is blanked against it.

    Parameters
    ----------
    by
        Columns that determine missing cells; none where arithmetic gives all of them back.
    blank
        One of the columns that give away, whose cells beside missing ones are blanked; or `on`, which is blanked in all
        records with the same cells of `by`.
    """

    by: tuple[str, ...]
    on: str
    blank: str


def _lost(name: str) -> str:
    return f"shoal: lost {name}"


def _drawn(name: str) -> str:
    return f"shoal: drawn {name}"


def _write_blanked(
    chunk: pl.DataFrame,
    path: Path,
    starts: pl.DataFrame,
    lost: pl.DataFrame,
    drawn: pl.DataFrame,
    compared: Sequence[str],
    keys: Sequence[str],
) -> None:
    joined = chunk.join(lost, on=compared, how="left", nulls_equal=True, maintain_order="left")
    blank = {name: pl.col(_lost(name)).fill_null(False) for name in keys}
    if len(starts):
        rank = pl.int_range(pl.len(), dtype=pl.Int64).over(NUMBER)
        joined = joined.join(starts, on=NUMBER, how="left", maintain_order="left").with_columns(
            (rank + pl.col(START)).alias(PLACE)
        )
        renamed = drawn.rename({_lost(name): _drawn(name) for name in keys})
        joined = joined.join(renamed, on=(NUMBER, PLACE), how="left", maintain_order="left")
        blank = {name: anyway | pl.col(_drawn(name)).fill_null(False) for name, anyway in blank.items()}
    new = joined.with_columns(pl.when(~blank[name]).then(pl.col(name)).alias(name) for name in keys)
    write_part(new.select(chunk.columns), path)


def _numbered_in(chunk: pl.DataFrame, numbered: pl.DataFrame) -> pl.DataFrame:
    """Number of records of each numbered combination in a part."""
    joined = chunk.join(numbered, on=[name for name in numbered.columns if name != NUMBER], nulls_equal=True)
    return joined.group_by(NUMBER).agg(pl.len().cast(pl.Int64).alias(START))


def _write_without_sources(
    chunk: pl.DataFrame, path: Path, sources: Sequence[GivingColumns], cells: Sequence[pl.DataFrame | None]
) -> None:
    blank: dict[str, pl.Series] = {}
    for source, causes in zip(sources, cells):
        name = source.blank
        chosen = pl.repeat(True, len(chunk), eager=True) if name == source.on else chunk[source.on].is_null()
        if causes is not None:
            marked = causes.with_columns(pl.lit(True).alias(PLACE))
            hit = chunk.select(source.by).join(marked, on=source.by, how="left", maintain_order="left")
            chosen = chosen & hit[PLACE].fill_null(False)
        blank[name] = blank[name] | chosen if name in blank else chosen
    write_part(chunk.with_columns(pl.when(~rows).then(pl.col(name)).alias(name) for name, rows in blank.items()), path)


def _missing(chunk: pl.DataFrame) -> pl.DataFrame:
    return chunk.null_count()


def _touched(chunk: pl.DataFrame, path: Path, keys: Sequence[str]) -> int:
    """Records of a part that have lost a cell since."""
    after = read_part(path, keys)
    lost = [chunk[name].is_not_null().to_numpy() & after[name].is_null().to_numpy() for name in keys]
    return int(np.logical_or.reduce(lost).sum())


def _sources(stage: Stage, by: Sequence[str], on: str) -> pl.DataFrame:
    """The cells of some columns that stand beside known and missing cells of another."""
    pairs = combinations_of(stage, (*by, on)).drop_nulls(by)
    present = pl.col(on).is_not_null()
    return pairs.group_by(by).agg(present.any() & ~present.all()).filter(pl.col(on)).select(by).sort(by)


def _unit_sizes(stage: Stage, schema: Schema, released: Sequence[str], keys: Sequence[str]) -> dict[str, float]:
    """For each key that is the same throughout units, the cells that must go with one: a unit's mean size."""
    units = [name for name in released if schema.columns[name].role in UNITS]
    sizes = dict.fromkeys(keys, 1.0) if units else {}
    for by, on in open_pairs(stage, units, keys, partial(mostly_contradicted, units=units)):
        pairs = combinations_of(stage, (by, on))
        counts = pairs.drop_nulls().group_by(by).agg(pl.col(COUNT).sum().alias(START), pl.col(COUNT).max()).sort(by)
        records, most = counts[START].to_numpy(), counts[COUNT].to_numpy()
        wrong = int((records - most).sum())
        if (records > 1).any() and (not wrong or _with_exceptions(pairs, on, records, wrong)):
            sizes[on] = max(sizes[on], stage.records / max(pairs[by].n_unique(), 1))
    return sizes


def _with_exceptions(pairs: pl.DataFrame, on: str, records: Longs, wrong: int) -> bool:
    """True if units share a column in spite of some exceptions; `records`, shape (m,), counts those of each unit."""
    counts = pairs.drop_nulls().group_by(on).agg(pl.col(COUNT).sum()).sort(on)[COUNT].to_numpy()
    return believed(*np.unique(records, return_counts=True), counts, wrong, unit=True)

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
    lost = run.journal.once(f"lost-{number}", lambda: work.lost(stage, schema))
    blanked = work.written(stage, lost, "first")
    kept = {name: schema.columns[name].model_copy(update={"missing": "keep"}) for name in keys}
    schema = Schema.model_construct(root=dict(schema.columns) | kept)
    end = work.guarded(stage, blanked, schema)
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

    def lost(self, stage: Stage, schema: Schema, turn: int = 0, spent: Longs | None = None) -> Lost:
        """Cells that records of a stage lose; in a later turn, after some of each column were blanked already."""
        counts = combinations_of(stage, self.compared, self.run.memory_for_combinations, self.step.name)
        described = Schema.model_construct(root={name: schema.columns[name] for name in self.compared})
        combinations = counts.drop(COUNT)
        rng = self.run.generator(self.number, turn) if turn else self.run.generator(self.number)
        ids, patterns, notes = self.step.method.blanks(
            Microdata.of(combinations, described, self.run.folder).records,
            counts[COUNT].to_numpy(),
            self.keys,
            rng,
            together=None if turn else _unit_sizes(stage, schema, self.released, self.keys),
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

    def guarded(self, original: Stage, stage: Stage, schema: Schema) -> Stage:
        """The stage when what gives blanked cells away is blanked as well, until nothing does."""
        once = self.run.journal.once
        for turn in range(1, stage.records * len(self.keys) + 1):  # cells are only ever blanked, so it ends before
            pairs = once(f"given-away-{self.number}-{turn}", lambda: self._given_away(original, stage, schema))  # noqa: B023
            if not pairs:
                break
            stage = self._without_sources(stage, pairs, f"sources-{turn}")
            spent = self._blanked(original, stage)
            lost = once(f"lost-{self.number}-{turn}", lambda: self.lost(stage, schema, turn, spent))  # noqa: B023
            if len(lost.combinations):
                stage = self.written(stage, lost, f"turn-{turn}")
        return stage

    def _given_away(self, original: Stage, stage: Stage, schema: Schema) -> list[tuple[str, str, bool]]:
        """The columns that determine missing cells of a key, with it, and whether by arithmetic, where blanking one of
        the two helps: not the key beside a column that gives it back by arithmetic.
        """
        free = set(self.keys) - set(self.step.method.keep)
        memory, spill = self.run.memory, self.run.spill
        lacking = lacking_among(stage, self.keys, memory, spill)
        if not lacking:
            return []
        laws = self.run.journal.once(
            f"laws-{self.number}", lambda: laws_among(original, schema, self.released, self.keys, memory, spill)
        )
        filled = list(computed(stage, schema, self.released, lacking, laws))
        tied = [{name, *law.others(name)} for law, name in filled]
        pairs = given_away(stage, schema, memory, spill, self.released, lacking, laws)
        chosen = [(by, on, False) for by, on in pairs if by in free or (on in free and {by, on} not in tied)]
        terms = [(next((term for term in law.others(name) if term in free), None), name) for law, name in filled]
        return [*chosen, *((term, name, True) for term, name in terms if term is not None)]

    def _without_sources(self, stage: Stage, pairs: Sequence[tuple[str, str, bool]], turn: str) -> Stage:
        """The stage after the key that determines a missing cell lost its cell beside it; where it is no key that may
        lose cells, after all records with the same cell of it lost theirs of the other.
        """
        free = set(self.keys) - set(self.step.method.keep)
        sources = [
            Source(by=by, on=on, beside=by in free, cells=None if arithmetic else _sources(stage, by, on))
            for by, on, arithmetic in pairs
        ]
        place = self.run.journal.place(f"step-{self.number}") / turn
        place.mkdir(mode=0o700, exist_ok=True)
        paths = [place / path.name for path in stage.parts]
        for _ in stage.each(partial(_write_without_sources, sources=sources), None, paths):
            pass
        return Stage.of(paths, stage.engine)

    def _blanked(self, before: Stage, after: Stage) -> Longs:
        """Shape (q,); cells of each column that were blanked between two stages."""
        missing = [pl.concat(stage.each(_missing, self.compared)).sum().row(0) for stage in (before, after)]
        return np.array(missing[1], dtype=np.int64) - np.array(missing[0], dtype=np.int64)

    def facts_after(self, before: Stage, after: Stage, first: Lost) -> Facts:
        """Facts of the step where more was blanked than was decided on at first."""
        touched = sum(before.each(partial(_touched, keys=self.keys), self.keys, after.parts))
        blanked = self._blanked(before, after)
        facts: Facts = self.step.method.facts_of(blanked, touched, before.records, self.keys, first.notes)
        return facts


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A column that determines missing cells of another.

    Parameters
    ----------
    beside
        Whether its own cell beside a missing one is blanked; the other's in all records with it if not.
    cells
        Its cells that do; None where all are meant.
    """

    by: str
    on: str
    beside: bool
    cells: pl.DataFrame | None


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


def _write_without_sources(chunk: pl.DataFrame, path: Path, sources: Sequence[Source]) -> None:
    blank: dict[str, pl.Series] = {}
    for source in sources:
        name = source.by if source.beside else source.on
        chosen = chunk[source.on].is_null() if source.beside else pl.repeat(True, len(chunk), eager=True)
        if source.cells is not None:
            marked = source.cells.with_columns(pl.lit(True).alias(PLACE))
            hit = chunk.select(source.by).join(marked, on=source.by, how="left", maintain_order="left")
            chosen = chosen & hit[PLACE].fill_null(False)
        blank[name] = blank[name] | chosen if name in blank else chosen
    write_part(
        chunk.with_columns(pl.when(~cells).then(pl.col(name)).alias(name) for name, cells in blank.items()), path
    )


def _missing(chunk: pl.DataFrame) -> pl.DataFrame:
    return chunk.null_count()


def _touched(chunk: pl.DataFrame, path: Path, keys: Sequence[str]) -> int:
    """Records of a part that have lost a cell since."""
    after = read_part(path, keys)
    lost = [chunk[name].is_not_null().to_numpy() & after[name].is_null().to_numpy() for name in keys]
    return int(np.logical_or.reduce(lost).sum())


def _sources(stage: Stage, by: str, on: str) -> pl.DataFrame:
    """The cells of a column that stand beside known and missing cells of another."""
    pairs = combinations_of(stage, (by, on)).filter(pl.col(by).is_not_null())
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

"""Missing cells that a large release gives away itself: the laws of `shoal.table.dependencies` and
`shoal.table.arithmetic`, asked by aggregates.

A missing cell that another column determines is no secret. On a table in memory it is filled in, and everything must
hold then as well. A table in parts is not filled in: if a column determines one that lacks cells, without
exceptions or with few, or arithmetic does, the release is refused. Most columns contradict each other in a few records
already: a law that is wrong there in more than twice the share of exceptions that it may have is not looked at further.
Laws of two columns together, and of arithmetic, are looked for in records at equal distances, and then asked of all.

The laws of the table that a release was made from need no evidence in the release (`shoal.table.laws`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.judges.closure import remedy
from shoal.kernels.arrays import Longs
from shoal.proof.sampled import class_hash
from shoal.table.arithmetic import Arithmetic, ArithmeticLaw, Read, cells_of, fillable, ways_to_round, wrong
from shoal.table.dependencies import (
    EXCEPTIONS,
    LOG_CHANCE,
    UNITS,
    Dependency,
    LawSupport,
    bears,
    believed,
    gives_back,
    log_chance_of,
)
from shoal.table.joint_dependencies import joint_laws
from shoal.table.laws import NO_LAWS, Laws, with_steps
from shoal.table.microdata import Microdata
from shoal.table.numeric_cells import NumericCells, numbers_in
from shoal.table.parts.csv_columns import name_in_sql
from shoal.table.parts.session import session
from shoal.table.parts.stage import OWN, Stage
from shoal.table.records import Records
from shoal.table.schema import Schema
from shoal.vocabulary.errors import Refused, quoted

FIRST = 50_000
"""Records, about, in which a contradiction is looked for first, and laws of arithmetic are."""

LOOKED_AT = 200_000
"""Records, about, in which it is looked for then: all that have some of the values of a column."""

NOT_FILLED_IN = "A table in parts is not judged with missing cells filled in."


def refuse_given_away(stage: Stage, schema: Schema, memory: int, spill: Path, original: Stage | None = None) -> None:
    """Refuse a released table in which a column determines missing cells of another.

    `original`: the table that it was made from, whose laws need no evidence in the release.

    Raises
    ------
    Refused
        Naming both.
    """
    names = [name for name in stage.schema if name not in OWN]
    lacking = lacking_among(stage, names, memory, spill)
    laws = NO_LAWS if original is None else laws_among(original, schema, names, lacking, memory, spill)
    for formula, name in computed(stage, schema, names, lacking, laws):
        why = remedy([gives_back(formula.others(name), name)])
        raise Refused(f"Nothing was released. {why} {NOT_FILLED_IN}")
    for law, support in given_away(stage, schema, memory, spill, names, lacking, laws):
        if law.by[0] in _units_of(schema, names):
            why = f"Other records with the same {quoted(law.by)} give missing cells of '{law.on}' away."
        else:
            why = remedy([gives_back(law.by, law.on, support.exceptions)])
        raise Refused(f"Nothing was released. {why} {NOT_FILLED_IN}")


def lacking_among(stage: Stage, names: Sequence[str], memory: int, spill: Path) -> list[str]:
    """The columns among some that lack cells."""
    asked = ", ".join(f"count({name_in_sql(name)})" for name in names)
    with session(memory, spill) as connection:
        known = stage.relation(connection).aggregate(asked).fetchall()[0] if names else ()
    return [name for name, count in zip(names, known) if count < stage.records]


def laws_among(
    original: Stage, schema: Schema, names: Sequence[str], lacking: Sequence[str], memory: int, spill: Path
) -> Laws:
    """The laws of the table that a release was made from, among some of its columns, which give some back.

    Parameters
    ----------
    names, lacking
        As for `given_away`; columns that the table does not have are passed over.
    """
    came = original.schema
    there = [name for name in names if name in came]
    wanted = [name for name in lacking if name in there]
    if not wanted:
        return NO_LAWS
    units = _units_of(schema, there)
    look_ups = {}
    with session(memory, spill) as connection:
        relation = original.relation(connection)
        for by, on in open_pairs(original, there, wanted, partial(mostly_contradicted, units=units)):
            seen = LawEvidence.of(relation, (by,), on)
            if seen.shows_law(unit=by in units):
                look_ups[Dependency((by,), on)] = seen.support
        look_ups |= _together(relation, records_seen(original, schema, there), wanted, look_ups)
    arithmetic = _arithmetic(original, schema, there, wanted)
    counts = {law: _counts(original, schema, law, arithmetic.cells) for law in arithmetic.laws}
    return Laws(
        look_ups=look_ups,
        arithmetic=tuple(
            replace(with_steps(law, arithmetic), exceptions=exceptions, records=known)
            for law, (known, exceptions, *_) in counts.items()
            if exceptions <= EXCEPTIONS[False] * known
        ),
    )


def _together(
    relation: Any, some: Records, lacking: Sequence[str], known: Collection[Dependency]
) -> dict[Dependency, LawSupport]:
    """The laws of two columns together in some records that all records bear, with what supports them there."""
    supports = {law: LawEvidence.of(relation, law.by, law.on).support for law in joint_laws(some, lacking, known)}
    return {law: support for law, support in supports.items() if bears(0, support, unit=False)}


def given_away(
    stage: Stage,
    schema: Schema,
    memory: int,
    spill: Path,
    names: Sequence[str],
    lacking: Sequence[str],
    laws: Laws = NO_LAWS,
) -> Iterator[tuple[Dependency, LawSupport]]:
    """The laws by which columns, alone or two together, determine missing cells of others, with what supports them.

    Parameters
    ----------
    names
        Columns that are released.
    lacking
        Columns that lack cells, which are looked at.
    laws
        Those that need no evidence.
    """
    if not lacking:
        return
    units = _units_of(schema, names)
    pairs = open_pairs(stage, names, lacking, partial(mostly_contradicted, units=units))
    tried = dict.fromkeys(
        [*(Dependency((by,), on) for by, on in pairs), *(law for law in laws.look_ups if law.on in lacking)]
    )
    with session(memory, spill) as connection:
        relation = stage.relation(connection)
        alone = []
        for law in tried:
            seen = LawEvidence.of(relation, law.by, law.on)
            if seen.shows_law(laws.look_ups.get(law), unit=law.by[0] in units):
                alone.append(law)
                if seen.open_causes:
                    yield law, seen.support
        for law, support in _together(relation, records_seen(stage, schema, names), lacking, alone).items():
            if law not in tried and LawEvidence.of(relation, law.by, law.on).open_causes:
                yield law, support


def _units_of(schema: Schema, names: Sequence[str]) -> set[str]:
    return {name for name in names if schema.columns[name].role in UNITS}


def computed(
    stage: Stage, schema: Schema, names: Sequence[str], lacking: Sequence[str], laws: Laws = NO_LAWS
) -> Iterator[tuple[ArithmeticLaw, str]]:
    """The laws of arithmetic among columns that give back missing cells of some, each with the column.

    They are looked for in records at equal distances, and must then be right in all parts together.

    Parameters
    ----------
    names, lacking, laws
        As for `given_away`.
    """
    if not lacking:
        return
    records = records_seen(stage, schema, names)
    own, read = Arithmetic(records, lacking), Read()
    there = [law for law in laws.arithmetic if set(law.columns) & set(lacking)]
    here = [replace(law, exceptions=0) for law in own.laws]  # those of the records looked at say nothing of all
    for law in (*here, *there):
        for rounded in ways_to_round(law):
            if not (cells := cells_of(rounded, records, read)):
                continue
            known, exceptions, *filled = _counts(stage, schema, rounded, cells)
            if bears(law.exceptions, LawSupport(exceptions, known), unit=False):
                yield from ((law, name) for name, number in zip(law.columns, filled) if number and name in lacking)
                break


def _arithmetic(stage: Stage, schema: Schema, names: Sequence[str], lacking: Sequence[str]) -> Arithmetic:
    """The laws in records at equal distances."""
    return Arithmetic(records_seen(stage, schema, names), lacking)


def records_seen(stage: Stage, schema: Schema, names: Sequence[str]) -> Records:
    """Records at equal distances."""
    look = partial(_records_between, shares=max(stage.records // FIRST, 1))
    return _described(pl.concat(stage.each(look, tuple(names))), schema)


def _counts(stage: Stage, schema: Schema, law: ArithmeticLaw, cells: Mapping[str, NumericCells]) -> list[int]:
    """As `_counts_of_law` of all parts, with the fewest of the ways to round."""
    counts_of = partial(_counts_of_law, law=law, cells={name: cells[name] for name in law.columns}, schema=schema)
    known, *seen = np.sum(list(stage.each(counts_of, law.columns)), axis=0).tolist()
    return [known, min(seen[:3]), *seen[3:]]


def _records_between(chunk: pl.DataFrame, shares: int) -> pl.DataFrame:
    return chunk[np.arange(0, len(chunk), shares)]  # a copy: a slice would keep the whole part in memory


def _described(chunk: pl.DataFrame, schema: Schema) -> Records:
    columns = {name: schema.columns[name].model_copy(update={"hierarchy": None}) for name in chunk.columns}
    return Microdata.finished(chunk, Schema.model_construct(root=columns)).encoded


def _counts_of_law(chunk: pl.DataFrame, law: ArithmeticLaw, cells: Mapping[str, NumericCells], schema: Schema) -> Longs:
    """Shape (4 + columns,); records of a part in which all columns of a law are known, those in which it is wrong, by
    way of rounding, and for each of its columns those in which it gives a missing cell back.
    """
    records = _described(chunk, schema)
    numbers = {name: numbers_in(records[name]) for name in law.columns}
    known = np.all([~np.isnan(values) for values in numbers.values()], axis=0)
    filled = [int((fillable(law, name, numbers, cells)[1] & records[name].missing).sum()) for name in law.columns]
    complete = {name: values[known] for name, values in numbers.items()}
    return np.array([known.sum(), *wrong(law, complete, cells[law.on]), *filled], dtype=np.int64)


def open_pairs(
    stage: Stage, names: Sequence[str], others: Sequence[str], contradicted: Callable[[pl.DataFrame], bool]
) -> list[tuple[str, str]]:
    """The pairs of a column and another one whose law no records contradict that are looked at.

    First those with which each part begins, which end most; then all that have some of the values of the column.

    Parameters
    ----------
    contradicted
        Whether some records contradict it, called with the two columns.
    """
    pairs = [(by, on) for by in names for on in others if by != on]
    if not pairs:
        return []
    columns = tuple(dict.fromkeys((*names, *others)))
    first = pl.concat(stage.each(partial(_first_records, count=max(FIRST // len(stage.parts), 1)), columns))
    left = [pair for pair in pairs if not contradicted(first.select(pair))]
    wanted = {by: [on for one, on in left if one == by] for by, _ in left}
    if not wanted:
        return []
    columns = tuple(dict.fromkeys(name for by, on in left for name in (by, on)))
    look = partial(
        _samples_in,
        others=wanted,
        shares=max(stage.records // LOOKED_AT, 1),
        most=max(2 * LOOKED_AT // len(stage.parts), 1),
    )
    seen = list(stage.each(look, columns))
    return [pair for pair in left if not contradicted(pl.concat(part[pair[0]].select(pair) for part in seen))]


def _first_records(chunk: pl.DataFrame, count: int) -> pl.DataFrame:
    return chunk[np.arange(min(count, len(chunk)))]  # a copy: a slice would keep the whole part in memory


def _samples_in(
    chunk: pl.DataFrame, others: Mapping[str, Sequence[str]], shares: int, most: int
) -> dict[str, pl.DataFrame]:
    """Records that have some of the values of a column, at most so many: of few values one is many records."""
    return {
        name: chunk.select(name, *columns)[np.flatnonzero(class_hash(chunk, (name,), shares) == 0)[:most]]
        for name, columns in others.items()
    }


def mostly_contradicted(records: pl.DataFrame, units: Collection[str]) -> bool:
    """True if more than twice as many records break the law from the first column to the second as a law allows."""
    by, on = records.columns
    known = records.drop_nulls()
    most = known.group_by(by, on).len().group_by(by).agg(pl.col("len").max())
    return len(known) - int(most["len"].sum()) > 2 * EXCEPTIONS[by in units] * len(known)


@dataclass(frozen=True, kw_only=True)
class LawEvidence:
    """Counts of cells that speak for or against the law that some columns determine another."""

    columns: int  # How many do
    exceptions: int
    open_causes: int  # Cells of these that stand beside known and missing cells of the other
    sizes: list[tuple[int, int]]  # Visible pairs of a cell of these, and how many cells have so many
    counts: list[int]  # Of these pairs, those with each cell of the other

    @classmethod
    def of(cls, relation: Any, by: Sequence[str], on: str) -> "LawEvidence":
        """Counts in all records."""
        present = " AND ".join(f"{name_in_sql(name)} IS NOT NULL" for name in by)
        causes = [f"cause_{number}" for number in range(len(by))]
        cause = ", ".join(causes)
        named = ", ".join(f"{name_in_sql(name)} AS {alias}" for name, alias in zip(by, causes))
        pairs = (
            relation.filter(present)
            .project(f"{named}, {name_in_sql(on)} AS effect")
            .aggregate(f"{cause}, effect, count(*)::BIGINT AS n", f"{cause}, effect")
        )
        groups = pairs.aggregate(
            f"{cause}, coalesce(sum(n) FILTER (effect IS NOT NULL), 0)::BIGINT AS known, "
            "coalesce(max(n) FILTER (effect IS NOT NULL), 0)::BIGINT AS most, sum(n)::BIGINT AS all_records",
            cause,
        )
        exceptions, open_causes = groups.aggregate(
            "coalesce(sum(known - most), 0)::BIGINT, count(*) FILTER (known > 0 AND known < all_records)"
        ).fetchall()[0]
        effects = pairs.filter("effect IS NOT NULL").aggregate("effect, sum(n)::BIGINT", "effect").fetchall()
        return cls(
            columns=len(by),
            exceptions=exceptions,
            open_causes=open_causes,
            sizes=sorted(groups.filter("known > 0").aggregate("known, count(*)", "known").fetchall()),
            counts=sorted(count for _, count in effects),
        )

    @property
    def support(self) -> LawSupport:
        several = [(size, times) for size, times in self.sizes if size > 1]
        return LawSupport(
            self.exceptions, sum(size * times for size, times in several), sum(times for _, times in several)
        )

    def shows_law(self, there: LawSupport | None = None, *, unit: bool) -> bool:
        """True if the law is statistically supported, with exceptions or without.

        `there`: its support in the original, None where it is not known; a law that held there need only not be
        contradicted, and one of two columns together is shown nowhere else.
        """
        unit = unit and self.columns == 1
        if not self.sizes:
            return False
        if there is not None and bears(there.exceptions, self.support, unit=unit):
            return True
        if self.columns > 1:
            return False
        if not self.exceptions:
            several = any(size > 1 for size, _ in self.sizes)
            return several if unit else log_chance_of_groups(self.sizes, self.counts) < LOG_CHANCE
        table = np.array(self.sizes, dtype=np.int64)
        return believed(table[:, 0], table[:, 1], np.array(self.counts, dtype=np.int64), self.exceptions, unit=unit)


def log_chance_of_groups(sizes: Sequence[tuple[int, int]], counts: Sequence[int]) -> float:
    """As `shoal.table.dependencies.log_chance_of`, in an order of its own: DuckDB's is none.

    Parameters
    ----------
    sizes
        Records of a group, and how many groups have so many.
    counts
        Records of these that have each value.
    """
    table = np.array(sorted(sizes), dtype=np.int64)
    return log_chance_of(table[:, 0], table[:, 1], np.array(sorted(counts), dtype=np.int64))

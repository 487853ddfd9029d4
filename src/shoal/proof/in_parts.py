"""Judging a table in parts, whose classes are counted in SQL.

What a class holds, and how often each confidential value occurs in it, are whole numbers, which DuckDB counts
(`shoal.table.parts.counts`). Privacy models and class-based measures look at some classes at a time, about as many
records as a block has, and conclude from what they saw in all. A model whose classes cannot be looked at apart, as
where a missing cell matches everything, sees all of them at once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.judges.class_figures import ClassCounts, ClassFigures
from shoal.judges.class_profile import ClassProfile
from shoal.judges.class_table import Binning, ClassTable, Entries
from shoal.judges.evidence import Finding, Verdict
from shoal.judges.refinement import trees, with_trees
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.privacy.base import ClassModel
from shoal.proof.sampled import as_written
from shoal.risk.class_risk import LookalikeRisk
from shoal.risk.population import Lookalikes, sampling_weights
from shoal.table.hierarchy import Hierarchy
from shoal.table.microdata import Microdata, as_released
from shoal.table.parts.counts import CountedClasses, CountedTable
from shoal.table.parts.dealing import block_size
from shoal.table.parts.encoding import released_records
from shoal.table.parts.moments import BYTES_A_CELL, WholeTable, whole_of
from shoal.table.parts.stage import Stage, read_part, write_part
from shoal.table.records import Classes, Records
from shoal.table.schema import Column, Schema
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError, Refused, SchemaError, quoted

BYTES_A_RECORD = 60
"""Of memory for each record and confidential column of classes that are looked at all at once."""

Looker = ClassModel | LookalikeRisk


@dataclass(frozen=True, kw_only=True, eq=False)
class SomeClasses(ClassTable):
    """Classes of a released table, from number `low` and below `high`.

    Parameters
    ----------
    distinct
        The distinct cells of each confidential column.
    """

    of: CountedClasses
    whole: WholeTable
    low: int
    high: int
    distinct: Callable[[str], Variable]
    _seen: dict[str, tuple[Longs, Classes]] = field(default_factory=dict, init=False, repr=False)

    @property
    def sizes(self) -> Longs:
        return self.of.sizes[self.low : self.high]

    @cached_property
    def keys(self) -> Records:
        rows = np.arange(self.high - self.low)  # however many columns there are, none included
        return replace(_records(self.of.keys(self.low, self.high), self.whole), rows=rows)

    def confidential(self, binning: Binning) -> Iterable[Entries]:
        for name in self.whole.schema.names("confidential"):
            variable = self.distinct(name)
            cells, classes = self._entries(name)
            bins = binning(variable)
            yield variable, replace(bins, bins=bins.bins[cells]), classes

    def units(self, unit: str) -> Longs | None:
        names = self.whole.schema.names("household") if unit == "household" else (unit,)
        if not names or not set(names) <= set(self.whole.schema.columns):
            return None
        return np.maximum(self.of.different(names, self.low, self.high), 1)  # one that is missing may be another's

    def counts(self) -> ClassCounts:
        """Number of records of each class, and their weights added up in the order of the table.

        Raises
        ------
        NoFigure
            If some weights cannot be used.
        """
        weights = self.whole.schema.names("weight")
        if not weights:
            return ClassCounts(sizes=self.sizes)
        ids, frame = self.of.in_order(weights[0], self.low, self.high)
        of_records = sampling_weights(_records(frame, self.whole))
        return ClassCounts(
            sizes=self.sizes, weights=np.bincount(ids, of_records, self.high - self.low).astype(np.float64)
        )

    def _entries(self, name: str) -> tuple[Longs, Classes]:
        """Shape (P,); the place of each entry among the distinct cells of a column, and its class."""
        if name not in self._seen:
            ids, cells, times = self.of.entries(name, self.low, self.high)
            self._seen[name] = cells, Classes(ids=ids, sizes=self.sizes, times=times)
        return self._seen[name]


def _records(frame: pl.DataFrame, whole: WholeTable) -> Records:
    schema = Schema.model_construct(root={name: whole.schema.columns[name] for name in frame.columns})
    return released_records(frame, replace(whole, schema=schema))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """Figures of classes in a file: those that all models saw of all classes take more memory than a part.

    Parameters
    ----------
    classes
        How many there are.
    names, variants
        Of the figures: see `ClassFigures`.
    """

    path: Path
    classes: int
    names: tuple[str, ...]
    variants: Mapping[str, int]

    @classmethod
    def of(cls, seen: ClassFigures, path: Path) -> "Filed":
        """Write figures to a file."""
        write_part(pl.DataFrame([seen.sizes, *seen.figures.values()], schema=_numbered(len(seen.figures))), path)
        return cls(path=path, classes=len(seen.sizes), names=tuple(seen.figures), variants=seen.variants)

    def read(self) -> ClassFigures:
        """The figures; their file is removed."""
        sizes, *figures = (column.to_numpy() for column in read_part(self.path).get_columns())
        self.path.unlink()
        return ClassFigures(sizes=sizes, figures=dict(zip(self.names, figures)), variants=self.variants)


def _numbered(figures: int) -> list[str]:
    return [str(number) for number in range(figures + 1)]


Seen = Filed | Lookalikes | str
Tell = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A released table, ready to be judged.

    Parameters
    ----------
    table
        Of which counts are asked.
    whole
        Its columns as released, with how the confidential ones are distributed.
    place
        A folder for figures of classes, the owner's only.
    block
        Records whose classes are looked at together, about.
    memory
        Bytes that classes may take that are looked at all at once.
    """

    table: CountedTable
    whole: WholeTable
    place: Path
    block: int
    memory: int
    tell: Tell

    @classmethod
    def of(
        cls, stage: Stage, schema: Schema, folder: Path, place: Path, session: Any, memory: int, tell: Tell
    ) -> "Judged":
        """A released table; a column that the schema does not know is an error."""
        table = CountedTable.of(stage, session)
        described = released_schema(table, schema)
        columns = dict(described.columns)
        confidential = {}
        for name in described.names("confidential"):
            counted = table.counted(name)
            tree = _tree(counted.cells, schema.columns[name], folder)
            column = columns[name].model_copy(update={"hierarchy": tree})
            columns[name], confidential[name] = whole_of(counted, column, folder)
        whole = WholeTable(schema=Schema.model_construct(root=columns), columns=confidential)
        return cls(table=table, whole=whole, place=place, block=block_size(stage), memory=memory, tell=tell)

    def judged(
        self, models: Sequence[ClassModel], measures: Sequence[LookalikeRisk] = ()
    ) -> tuple[list[Verdict], list[Finding]]:
        """Verdicts of models on classes, and the findings of class-based measures."""
        judges: list[Looker] = [*models, *measures]
        keys = self.whole.schema.names("quasi-identifier")
        named = [judge.class_columns(keys) if isinstance(judge, ClassModel) else keys for judge in judges]
        answers: dict[int, Verdict | Finding] = {}
        for names in dict.fromkeys(named):
            answers |= self._answers(names, {n: judge for n, judge in enumerate(judges) if named[n] == names})
        ordered = [answers[number] for number in range(len(judges))]
        return (
            [answer for answer in ordered if isinstance(answer, Verdict)],
            [answer for answer in ordered if isinstance(answer, Finding)],
        )

    def profile(self) -> ClassProfile:
        """Class sizes by quasi-identifiers, of which there must be one; missing cells are equal."""
        keys = self.whole.schema.names("quasi-identifier")
        sizes = CountedClasses(table=self.table, names=keys, columns=()).sizes
        return ClassProfile.of_sizes(sizes, sizes)

    def _answers(self, names: tuple[str, ...], judges: Mapping[int, Looker]) -> dict[int, Verdict | Finding]:
        """The answers of judges who look at the same classes, by number."""
        counted = CountedClasses(table=self.table, names=names, columns=self._counted_in(judges.values()))
        apart = {n: judge for n, judge in judges.items() if not isinstance(judge, ClassModel) or judge.by_class}
        together = {n: judge for n, judge in judges.items() if isinstance(judge, ClassModel) and not judge.by_class}
        for model in together.values():
            self._check_memory(model, counted)
        answers = self._looked_at(counted, apart, self.block)
        return answers | self._looked_at(counted, together, self.table.records)

    def _counted_in(self, judges: Iterable[Looker]) -> tuple[str, ...]:
        """The columns whose cells judges count in classes."""
        units = {unit for judge in judges if isinstance(judge, ClassModel) for unit in judge.units}
        described = self.whole.schema
        roles = ("confidential", "household") if "household" in units else ("confidential",)
        return tuple(name for name in described.columns if name in units or name in described.names(*roles))

    def _looked_at(
        self, classes: CountedClasses, judges: Mapping[int, Looker], block: int
    ) -> dict[int, Verdict | Finding]:
        """The answers of judges who look at the classes of about a block of records at a time."""
        seen: dict[int, list[Seen]] = {number: [] for number in judges}
        for some in self._ranges(classes, block) if judges else ():
            for number, judge in judges.items():
                self.tell(f"judging {judge.method_name}", some.high / len(classes.sizes))
                seen[number].append(self._seen(judge, some, len(seen[number])))
        return {number: self._concluded(judge, seen.pop(number)) for number, judge in judges.items()}

    def _check_memory(self, judge: ClassModel, classes: CountedClasses) -> None:
        """Refuse a model that looks at more classes at once than memory holds."""
        needed = BYTES_A_CELL * len(classes.sizes) * len(classes.names)
        if "confidential" in judge.reads:
            needed += BYTES_A_RECORD * self.table.records * len(self.whole.schema.names("confidential"))
        if needed > self.memory:
            raise Refused(
                f"Nothing was released. The requirement {judge.method_name} looks at all classes at once, which takes "
                f"about {needed / 1e9:.3g} GB of memory, more than is allowed. Recode some columns first, require "
                f"another model, or allow more (--memory)."
            )

    def _ranges(self, classes: CountedClasses, block: int) -> Iterator[SomeClasses]:
        """All classes, those of about a block of records at a time.

        Raises
        ------
        DataError
            If cells of the columns cannot be compared as they are written.
        """
        distinct = cache(lambda name: _records(classes.distinct(name).to_frame(), self.whole)[name])
        before = np.cumsum(classes.sizes) - classes.sizes
        ends = np.flatnonzero(np.diff(before // block, append=-1)) + 1
        for low, high in zip([0, *ends], ends):
            some = SomeClasses(of=classes, whole=self.whole, low=int(low), high=int(high), distinct=distinct)
            if inexact := [variable.inexact for variable in some.keys.variables if variable.inexact]:
                raise DataError(inexact[0])
            yield some

    def _seen(self, judge: Looker, some: SomeClasses, part: int) -> Seen:
        """A judge's partial result on some classes."""
        if isinstance(judge, ClassModel):
            return Filed.of(judge.look(some), self.place / f"seen-{id(judge)}-{part}.parquet")
        return judge.look(TablePair.of(None, some.keys, None, as_written(some.keys)), some.counts)

    def _concluded(self, judge: Looker, seen: Sequence[Seen]) -> Verdict | Finding:
        """The answer of a judge to what it saw in all classes."""
        if not isinstance(judge, ClassModel):
            return judge.finding_of([part for part in seen if not isinstance(part, Filed)], complete=self.complete)
        filed = [part for part in seen if isinstance(part, Filed)]
        classes = ClassFigures.joined((part.read() for part in filed), sum(part.classes for part in filed))
        return judge.named(judge.conclude(classes))

    @property
    def complete(self) -> bool:
        """True if no quasi-identifier has a missing cell."""
        return not any(self.table.lacking[name] for name in self.whole.schema.names("quasi-identifier"))


def released_schema(table: CountedTable, schema: Schema) -> Schema:
    """The columns of a released table as they are to be judged, from what all of its records hold."""
    types = table.types
    if unknown := [name for name in types if name not in schema.columns]:
        raise SchemaError(f"The released table has columns that the plan does not know: {quoted(unknown)}.")
    described: dict[str, Column] = {}
    for name, dtype in types.items():
        column = schema.columns[name]
        cells = pl.Series(name, [], dtype=dtype) if column.order is None else table.counted(name).cells
        described[name] = as_released(nw.from_native(cells, series_only=True), column)
    return Schema.model_construct(root=described)


def _tree(cells: pl.Series, column: Column, folder: Path) -> Hierarchy | None:
    """The hierarchy of a released confidential column whose distinct cells are its leaves, None where they are not."""
    described = Schema.model_construct(root={cells.name: column})
    released = Microdata.finished(cells.to_frame(), described).encoded
    return with_trees(released, trees(described, folder, released))[cells.name].hierarchy

"""Judging a table larger than memory: every class whole in one part, and the judges' own code on each part.

Records are dealt out by a hash of the columns that make a class. What a confidential column's values are in the whole
table is counted first and comes with each part. Privacy models and class-based measures look at the parts one by one
and conclude from what they saw in all. A model whose classes cannot be looked at apart, as where a missing cell matches
everything, is shown one record of each class, with how many there are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.data.microdata import as_released
from shoal.data.records import Records
from shoal.data.schema import Column, Schema
from shoal.errors import SchemaError, quoted
from shoal.judges.class_figures import ClassFigures
from shoal.judges.closure import Closure
from shoal.judges.evidence import Finding, Verdict
from shoal.judges.natural_sets import NaturalSets
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.kernels.classes import first_rows
from shoal.privacy.base import ClassModel
from shoal.processes import remembered
from shoal.risk.class_risk import LookalikeRisk
from shoal.risk.population import Lookalikes
from shoal.scale.dealing import block_size
from shoal.scale.engine import Dealt, Engine
from shoal.scale.moments import WholeTable, counted, whole_of
from shoal.scale.part_work import released_records
from shoal.scale.pieces import gathered
from shoal.scale.sets import SetSearch
from shoal.scale.stage import OWN, Stage, read_part, write_part

HASH_SEED = 0
"""Of the hash that deals records out: any will do, for no figure depends on it."""

Looker = ClassModel | LookalikeRisk


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneOfEach:
    """One record of each class of a part, with the records of each: shape (C,)."""

    frame: pl.DataFrame
    sizes: Longs


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """Figures of classes in a file: those of all parts together take more memory than a part.

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


Seen = ClassFigures | OneOfEach | Lookalikes | str
Kept = Filed | OneOfEach | Lookalikes | str
Tell = Callable[[str, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One judge's look at one part, both by number."""

    judge: int
    part: int
    path: Path


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A released table, ready to be judged in parts.

    Parameters
    ----------
    whole
        Its columns as released, with how the confidential ones are distributed.
    place
        A folder for the parts, the owner's only.
    """

    stage: Stage
    whole: WholeTable
    place: Path
    engine: Engine
    tell: Tell
    _files: dict[tuple[str, ...], list[Path]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, stage: Stage, schema: Schema, folder: Path, place: Path, engine: Engine, tell: Tell) -> "Judged":
        """A released table; a column that the schema does not know is an error."""
        described = released_schema(stage, schema)
        columns = dict(described.columns)
        known = {}
        for name in described.names("confidential"):
            columns[name], known[name] = whole_of(counted(stage, name), columns[name], folder)
        whole = WholeTable(schema=Schema.model_construct(root=columns), columns=known)
        return cls(stage=stage, whole=whole, place=place, engine=engine, tell=tell)

    def judged(
        self, models: Sequence[ClassModel], measures: Sequence[LookalikeRisk] = ()
    ) -> tuple[list[Verdict], list[Finding]]:
        """What becomes of models whose classes can be looked at apart, and the figures of class-based measures."""
        judges: list[Looker] = [*models, *measures]
        keys = self.whole.schema.names("quasi-identifier")
        named = [judge.class_columns(keys) if isinstance(judge, ClassModel) else keys for judge in judges]
        looks = [Look(judge=n, part=m, path=p) for n, by in enumerate(named) for m, p in enumerate(self.parts(by))]
        seen: list[dict[int, Kept]] = [{} for _ in judges]
        answers: dict[int, Verdict | Finding] = {}
        given = {"judges": judges, "whole": self.whole}
        for done, (look, figures) in enumerate(self.engine.as_finished(_looked, looks, given), 1):
            name = judges[look.judge].method_name
            self.tell(f"judging {name}", done / len(looks))
            seen[look.judge][look.part] = self._kept(look, figures)
            if len(seen[look.judge]) == len(self.parts(named[look.judge])) and not _in_sets(judges[look.judge]):
                in_order = [figures for _, figures in sorted(seen[look.judge].items())]
                seen[look.judge] = {}  # all of it: an answer, and room again
                answers[look.judge] = self._concluded(judges[look.judge], in_order)
        for number, judge in enumerate(judges):
            if _in_sets(judge):  # which goes through all parts once more
                in_order = [figures for _, figures in sorted(seen[number].items())]
                answers[number] = self._concluded(judge, in_order)
        ordered = [answers[number] for number in range(len(judges))]
        return (
            [answer for answer in ordered if isinstance(answer, Verdict)],
            [answer for answer in ordered if isinstance(answer, Finding)],
        )

    def _kept(self, look: Look, seen: Seen) -> Kept:
        """What was seen in a part, until all parts were looked at."""
        if not isinstance(seen, ClassFigures):
            return seen
        return Filed.of(seen, self.place / f"seen-{look.judge}-{look.part}.parquet")

    def _concluded(self, judge: Looker, seen: Sequence[Kept]) -> Verdict | Finding:
        """The answer of a judge to what it saw in all parts."""
        if not isinstance(judge, ClassModel):
            alike = [part for part in seen if not isinstance(part, (Filed, OneOfEach))]
            return judge.finding_of(alike, complete=self.complete)
        if together := [part for part in seen if isinstance(part, OneOfEach)]:
            frame = pl.concat(part.frame for part in together)
            schema = Schema.model_construct(root={name: self.whole.schema.columns[name] for name in frame.columns})
            records = released_records(frame, replace(self.whole, schema=schema))
            sizes = [part.sizes for part in together]
            if judge.natural_sets is None:
                classes = judge.look_across(records, np.concatenate(sizes))
            else:
                classes = self._figures_in_sets(judge.natural_sets, records, sizes)
        else:
            filed = [part for part in seen if isinstance(part, Filed)]
            classes = ClassFigures.joined((part.read() for part in filed), sum(part.classes for part in filed))
        return replace(judge.conclude(classes), model=judge.method_name)

    def _figures_in_sets(self, sets: NaturalSets, one_of_each: Records, sizes: Sequence[Longs]) -> ClassFigures:
        """Figures of classes that are compared with sets of classes."""
        search = SetSearch(
            sets=sets,
            whole=self.whole,
            files=tuple(self.parts(one_of_each.names())),
            keys=one_of_each.names(),
            place=self.place / f"sets-{len(list(self.place.glob('sets-*')))}",
            engine=self.engine,
            most=block_size(self.stage),
        )
        return search.figures(one_of_each, sizes)

    @cached_property
    def complete(self) -> bool:
        """Whether no quasi-identifier lacks a cell."""
        keys = self.whole.schema.names("quasi-identifier")
        return not any(self.stage.each(_lacks_some, keys))

    def parts(self, names: Sequence[str]) -> list[Path]:
        """Files that hold the classes of some columns whole; made once for each set of columns."""
        chosen = tuple(names)
        if chosen not in self._files:
            count = -(-self.stage.records // block_size(self.stage))
            place = self.place / f"classes-{len(self._files)}"
            self._files[chosen] = self.stage.dealt(partial(_by_class, names=chosen, count=count), count, place)
        return self._files[chosen]


def _in_sets(judge: Looker) -> bool:
    return isinstance(judge, ClassModel) and judge.natural_sets is not None


def _lacks_some(chunk: pl.DataFrame) -> bool:
    return any(chunk.null_count().row(0))


def _by_class(chunk: pl.DataFrame, _: int, names: Sequence[str], count: int) -> Dealt:
    return chunk, class_hash(chunk, names, count)


def class_hash(chunk: pl.DataFrame, names: Sequence[str], count: int) -> Longs:
    """Shape (n,); a number below `count`, equal for records that agree on some columns."""
    if not names:
        return np.zeros(len(chunk), dtype=np.int64)
    return np.asarray((chunk.select(names).hash_rows(HASH_SEED) % count).to_numpy(), dtype=np.int64)


def released_schema(stage: Stage, schema: Schema) -> Schema:
    """The columns of a released table as they are to be judged, from what all of its records hold."""
    types = {name: dtype for name, dtype in stage.schema.items() if name not in OWN}
    if unknown := [name for name in types if name not in schema.columns]:
        raise SchemaError(f"The released table has columns that the plan does not know: {quoted(unknown)}.")
    described: dict[str, Column] = {}
    for name, dtype in types.items():
        column = schema.columns[name]
        cells = pl.Series(name, [], dtype=dtype) if column.order is None else counted(stage, name).cells
        described[name] = as_released(nw.from_native(cells, series_only=True), column)
    return Schema.model_construct(root=described)


def pair_of(released: Records, original: Records | None = None) -> TablePair:
    """A part beside its original records. Its closure is itself: that nothing can be filled in was seen before."""
    return TablePair.of(original, released, None, Closure(records=released, filled={}))


def _looked(look: Look) -> Seen:
    """What one of the remembered judges sees in a part."""
    judge: Looker = remembered["judges"][look.judge]
    frame = gathered(look.path)
    released = released_records(frame, remembered["whole"])
    names = judge.class_columns(released.quasi_identifiers) if isinstance(judge, ClassModel) else ()
    if isinstance(judge, ClassModel) and names and not judge.by_class:  # without names all records are one class
        classes = released.classes(names)
        first = first_rows(classes.ids, len(classes.sizes))
        return OneOfEach(frame=frame.select(names)[first.tolist()], sizes=classes.sizes)
    return judge.look(pair_of(released))

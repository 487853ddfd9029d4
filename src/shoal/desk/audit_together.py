"""Audit together: what several released files give away to somebody who holds all of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.ledger.derived import class_sizes_of, derived
from shoal.ledger.pairing import UNKNOWN, Pairing, by_key, by_profile
from shoal.plan import Plan
from shoal.plan.guess import K, guess
from shoal.run.judging import k_asked
from shoal.table.files.json_text import Record
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table
from shoal.table.hierarchy import Hierarchy
from shoal.table.hierarchy_forms import leaves_in, of_values
from shoal.table.schema import Schema
from shoal.vocabulary.errors import DataError, ParameterError, plural, quoted

FEWEST = 2
"""Files that can be held together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesTogether:
    """Persons in small classes, by each file alone and by all files together; private.

    Parameters
    ----------
    columns
        The quasi-identifiers that were compared.
    k
        Classes of fewer persons are small.
    pairing
        Source of the pairing, in one sentence.
    records, alone
        For each file, its records, and those in classes under k by that file alone.
    persons
        Number of persons in all files; None if no pairing is known, and so are all further figures.
    under_k
        Persons of whom fewer than k share what all files tell together.
    unique
        Persons of whom nobody else does.
    come_or_go
        Persons who are not in every file.
    come_or_go_under_k
        Persons under k who are not in every file.
    filled, narrowed
        By column, blank cells that another file fills, and labels that another file narrows down.
    """

    columns: tuple[str, ...]
    k: int
    pairing: str
    records: tuple[int, ...]
    alone: tuple[int, ...]
    persons: int | None = None
    under_k: int | None = None
    unique: int | None = None
    come_or_go: int | None = None
    come_or_go_under_k: int | None = None
    filled: Mapping[str, int] = field(default_factory=dict)
    narrowed: Mapping[str, int] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """True if a pairing is known and nobody is in a class under k by all files together."""
        return self.under_k == 0

    def as_mapping(self) -> Record:
        """The figures, JSON-able; all but the first five are null where no pairing is known."""
        return {
            "quasi-identifiers": list(self.columns),
            "k": self.k,
            "pairing": self.pairing,
            "records": list(self.records),
            "under k by one file": list(self.alone),
            "persons": self.persons,
            "under k together": self.under_k,
            "unique together": self.unique,
            "not in every file": self.come_or_go,
            "under k and not in every file": self.come_or_go_under_k,
            "cells filled": dict(self.filled),
            "labels narrowed": dict(self.narrowed),
        }

    def lines(self) -> Iterator[str]:
        """The figures for a reader."""
        yield f"Quasi-identifiers: {quoted(self.columns)}. {self.pairing}"
        for number, (records, alone) in enumerate(zip(self.records, self.alone), 1):
            yield f"File {number} alone: {alone:,} of {plural(records, 'record')} in classes under {self.k}."
        if self.persons is None:
            yield "No figure is given for the files together. Name a key column with --key if they have one."
            return
        yield (
            f"All files together: {self.under_k:,} of {plural(self.persons, 'person')} in classes under {self.k}, "
            f"{self.unique:,} of them alone."
        )
        yield (
            f"Not in every file: {plural(self.come_or_go or 0, 'person')}, {self.come_or_go_under_k:,} of them in "
            f"classes under {self.k}."
        )
        for what, counts in (("blank cells filled", self.filled), ("labels narrowed down", self.narrowed)):
            if sum(counts.values()):
                shown = ", ".join(f"{count:,} of '{name}'" for name, count in counts.items() if count)
                yield f"By another file, {what}: {shown}."


def audit_together(
    tables: Sequence[Any],
    plan: Plan | Mapping[str, Any] | str | Path | None = None,
    *,
    key: str | None = None,
    k: int | None = None,
    reading: Mapping[str, Any] | None = None,
) -> FilesTogether:
    """Count whom several released files give away to a holder of all of them, whoever made them.

    Parameters
    ----------
    tables
        At least two: paths of files, or pandas, polars or pyarrow tables; the earliest first.
    plan
        A plan whose quasi-identifiers, hierarchies and k are meant; without one, the roles are guessed as by
        `shoal init`.
    key
        A column by which records of the same person are recognised. Without one they are paired by closest profile,
        if that can be done; records are never paired by their order.
    k
        Classes of fewer persons are small; by default the plan's k, or 5.
    reading
        As for `shoal.protect`.

    Raises
    ------
    DataError
        If the files share no quasi-identifier, a key repeats in a file, or there are too many profiles to compare.
    """
    if len(tables) < FEWEST:
        raise ParameterError("An audit together needs at least two files. Name another.")
    frames = [_frame(table, reading or {}) for table in tables]
    described = None if plan is None else Plan.of(plan).covering(frames[0].columns)
    shared = [n for n in frames[0].columns if n != key and all(n in frame.columns for frame in frames)]
    names = [name for name in _keys(described, frames[0]) if name in shared]
    if not names:
        raise DataError("The files share no quasi-identifier. Give a plan that names one which all of them have.")
    asked = k or (K if described is None or not described.requirements else k_asked(described))
    alone = [class_sizes_of(frame, names) for frame in frames]
    counts: dict[str, Any] = {
        "columns": tuple(names),
        "k": asked,
        "records": tuple(len(frame) for frame in frames),
        "alone": tuple(int((sizes < asked).sum()) for sizes in alone),
    }
    pairing = by_profile(frames, shared) if key is None else by_key(frames, key)
    if pairing is None:
        return FilesTogether(pairing=UNKNOWN, **counts)
    return _judged(frames, pairing, names, _trees(described, frames), counts)


def _judged(
    frames: Sequence[pl.DataFrame],
    pairing: Pairing,
    names: Sequence[str],
    trees: Mapping[str, Hierarchy],
    counts: dict[str, Any],
) -> FilesTogether:
    known = derived(frames, pairing, names, trees)
    small, partly = known.sizes < counts["k"], ~known.present.all(axis=1)
    return FilesTogether(
        pairing=pairing.sentence,
        persons=pairing.count,
        under_k=int(small.sum()),
        unique=int((known.sizes == 1).sum()),
        come_or_go=int(partly.sum()),
        come_or_go_under_k=int(np.sum(small & partly)),
        filled=known.filled,
        narrowed=known.narrowed,
        **counts,
    )


def _frame(table: Any, reading: Mapping[str, Any]) -> pl.DataFrame:
    if isinstance(table, (str, Path)):
        return read_table(table, judged=True, **reading).frame
    frame: pl.DataFrame = nw.from_native(table, eager_only=True).to_polars()
    return frame


def _keys(plan: Plan | None, frame: pl.DataFrame) -> tuple[str, ...]:
    """The quasi-identifiers, of a plan or guessed."""
    if plan is not None:
        return plan.schema.names("quasi-identifier")
    return tuple(g.name for g in guess(Table(frame=frame)) if g.role == "quasi-identifier")


def _trees(plan: Plan | None, frames: Sequence[pl.DataFrame]) -> dict[str, Hierarchy]:
    """Hierarchies of the plan's columns; one that is built from values is built from those in the labels."""
    loaded: dict[str, Hierarchy] = {}
    schema = Schema({}) if plan is None else plan.schema
    for name, column in schema.columns.items():
        if column.hierarchy is None or not all(name in frame.columns for frame in frames):
            continue
        labels = {label for frame in frames for label in frame[name].drop_nulls().cast(pl.String).unique().to_list()}
        leaves = leaves_in(column.hierarchy, labels)
        if plan is not None and (leaves or not of_values(column.hierarchy)):
            tree = column.load_hierarchy(dict.fromkeys(leaves, 1), plan.folder)
            loaded |= {} if tree is None else {name: tree}
    return loaded

"""Exposure: the risk of a table before anything is done to it.

It shows whom the raw table would give away: how many records lie in classes of fewer than 2, 3 or 5, which records
these are, and which columns single them out. It also helps to choose the quasi-identifiers: it lists the columns and
small sets of columns that tell people apart, whatever their roles, and the columns whose names or values look like the
identifiers that HIPAA lists. All of it is private, and none of it shows a cell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shoal.desk.given import Given
from shoal.judges.evidence import Finding
from shoal.judges.laws_of_table import ListedLaw, laws_of
from shoal.judges.separation import MinimalSets, Separation, minimal_sets, separation
from shoal.judges.standing import standing
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.kernels.draws import keyed_generator
from shoal.plan import Plan
from shoal.plan.guess import Guess, guess, stricter
from shoal.run.carry_out import microdata
from shoal.run.judging import taken_by
from shoal.table.files.json_text import Record
from shoal.table.identifiers import IDENTIFIERS, MOST_VALUES, OWN_VALUE, Sign, by_identifier, signs
from shoal.table.records import Records
from shoal.table.schema import UNITS
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError, plural, quoted

SETS = 1 << 22
"""Key of the random numbers by which records are drawn, beyond the number of any measure."""

APART = ("identifier", "weight", *UNITS, "stratum")
"""Roles of columns that sets leave out: they are not released, or describe the sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnExposure:
    """The power of one column to tell people apart, and the role that it was given.

    Parameters
    ----------
    figures
        Separation of the records by this column alone.
    role
        Role in the plan.
    more
        Records that are unique on the quasi-identifiers and this column together, but not on the quasi-identifiers
        alone; 0 for a quasi-identifier.
    remark
        Doubt about the role; empty where there is none.
    """

    figures: Separation
    role: str
    more: int
    remark: str

    @property
    def name(self) -> str:
        return self.figures.columns[0]

    def as_mapping(self) -> Record:
        figures = {key: value for key, value in self.figures.as_mapping().items() if key != "columns"}
        return {
            "column": self.name,
            "role": self.role,
            **figures,
            "singled out beyond": self.more,
            "remark": self.remark,
        }


NAMED, LISTED = 3, 10
"""Most columns that a sentence names, and most lines of a list in the text of an exposure."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Exposure:
    """The risk of a raw table; private.

    Parameters
    ----------
    records
        Number of records.
    keys
        The quasi-identifiers.
    fewer_than
        By k, the number of records in classes of fewer than k.
    risks
        Measures of risk, taken on the raw table as if it were released.
    riskiest
        Rows, counted from 1, of the records in the smallest classes, and the sizes of these.
    spared
        By quasi-identifier, the number of unique records that would not be unique without it; largest first.
    columns
        All columns; those that tell people apart best come first.
    sets
        Sets of up to four columns that are minimal for the most records, with their figures.
    searched
        Records and columns searched for such sets, and all sets with their counts.
    signs
        Columns whose names or values look like one of HIPAA's eighteen identifiers.
    laws
        Laws by which columns give others back, in the first 100,000 records; identifiers left out.
    persons
        By identifier that repeats, its number of values, and the number of records that have one. All other figures
        count records.
    """

    records: int
    keys: tuple[str, ...]
    fewer_than: Mapping[int, int]
    risks: tuple[Finding, ...]
    riskiest: tuple[tuple[int, int], ...]
    spared: Mapping[str, int]
    columns: tuple[ColumnExposure, ...]
    sets: tuple[Separation, ...]
    searched: MinimalSets
    signs: tuple[Sign, ...]
    laws: tuple[ListedLaw, ...] = ()
    persons: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def sentences(self) -> tuple[str, str, str]:
        """The three sentences to read first: who stands out, because of which columns, and what to look at."""
        return (self._alone, self._because, self._doubts)

    @property
    def _alone(self) -> str:
        alone, few = self._share(self.fewer_than[2]), self._share(self.fewer_than[5])
        return f"By {_listed(self.keys)}, {alone} are alone, and {few} are like fewer than 4 others."

    @property
    def _because(self) -> str:
        highest = [f"'{name}' {count:,}" for name, count in list(self.spared.items())[:NAMED] if count]
        if highest:
            return f"Records that would not be alone without a column: {', '.join(highest)}."
        return "No single column makes anybody unique: whoever is alone is so by several columns at once."

    @property
    def _doubts(self) -> str:
        doubtful = [column.name for column in self.columns if column.remark]
        if not doubtful:
            return "No column looks as if it had another role."
        return f"Look at the {plural(len(doubtful), 'column')} that may need another role: {_listed(doubtful)}."

    def _share(self, count: int) -> str:
        return f"{count:,} of {plural(self.records, 'record')} ({100 * count / max(self.records, 1):.1f} %)"

    def __repr__(self) -> str:
        """A page: the three sentences, the doubts, and the columns and sets that tell people apart best."""
        doubts = [f"  '{column.name}': {column.remark}" for column in self.columns if column.remark]
        columns = [f"  {c.name} ({c.role}): {c.figures.unique:.1%} unique" for c in self.columns]
        sets = [f"  {' + '.join(one.columns)}: {one.unique:.1%} unique" for one in self.sets]
        parts = {"Doubts": doubts, "Columns": columns, "Smallest sets that single out": sets}
        lines = [line for title, some in parts.items() if some for line in (f"{title}:", *some[:LISTED])]
        return "\n".join([f"Exposure of {plural(self.records, 'record')}; private", *self.sentences, *lines])

    def as_mapping(self) -> Record:
        """The exposure, JSON-able."""
        return {
            "private": True,
            "records": self.records,
            "persons": {
                name: {"persons": values, "records": records} for name, (values, records) in self.persons.items()
            },
            "quasi-identifiers": list(self.keys),
            "fewer than": {str(k): count for k, count in self.fewer_than.items()},
            "measures": [finding.private_form() for finding in self.risks],
            "riskiest records": [{"row": row, "class of": size} for row, size in self.riskiest],
            "unique because of": dict(self.spared),
            "columns": [column.as_mapping() for column in self.columns],
            "minimal unique sets": [
                {**counted.as_mapping(), "minimal for": self.searched.counts[counted.columns]} for counted in self.sets
            ],
            "records examined for sets": self.searched.records,
            "columns examined for sets": list(self.searched.columns),
            "identifiers": [
                {
                    "letter": identifier.letter,
                    "what": identifier.title,
                    "signs": by_identifier(self.signs)[identifier.letter],
                    "not seen": identifier.unseen,
                }
                for identifier in IDENTIFIERS
            ],
            "values examined of a column": MOST_VALUES,
            "laws": [law.as_mapping() for law in self.laws],
        }


def exposure(
    table: Any,
    plan: Plan | Mapping[str, Any] | str | Path,
    *,
    top: int = 10,
    seed: int = 0,
    folder: str | Path | None = None,
) -> Exposure:
    """Measure the risk of a table before anything is done to it.

    Parameters
    ----------
    table
        The table, as for `shoal.protect`.
    plan
        A plan, of which only columns and measures matter: no step is carried out.
    top
        Number of riskiest records, and of sets of columns, to list.
    seed
        Seed of measures that sample.
    folder
        Folder in which files that the plan names are looked up; by default that of the plan's file.

    Raises
    ------
    InputError
        If the table or the plan cannot be used, or if no column is a quasi-identifier.
    """
    plan = Plan.of(plan, folder)
    given = Given.of(table)
    original = microdata(given.whole, plan)
    plan = plan.covering(original.frame.columns)
    records = original.records
    keys = records.quasi_identifiers
    if not len(records) or not keys:
        raise DataError(
            "Nothing can be said of the risk: the table has no record, or no column that others may know. "
            "Give the columns that others may know the role quasi-identifier."
        )
    labelled = given.table
    by_keys = standing(records, keys)
    sizes = records.classes(keys).of_record
    pair = TablePair.of(records, records, missing=plan.reading)
    measures = [measure for measure in taken_by(plan) if measure.method_kind == "risk"]
    lowest = np.argsort(sizes, kind="stable")[:top]
    searched = minimal_sets(records, _candidates(records), keyed_generator(seed, SETS))
    return Exposure(
        records=len(records),
        keys=tuple(keys),
        fewer_than=by_keys.fewer_than,
        risks=tuple(m.finding_on(pair, keyed_generator(seed, number)) for number, m in enumerate(measures)),
        riskiest=tuple((int(records.rows[i]) + 1, int(sizes[i])) for i in lowest),
        spared={share.name: share.spared for share in by_keys.columns},
        columns=_columns(
            original.encoded, records, keys, sizes, {guessed.name: guessed for guessed in guess(labelled)}
        ),
        sets=tuple(separation(records, columns) for columns in list(searched.counts)[:top]),
        searched=searched,
        signs=tuple(signs(original.frame, labelled.labels)),
        laws=tuple(laws_of(original.encoded.without(original.encoded.names("identifier")))),
        persons=_persons(original.encoded),
    )


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - NAMED
    return quoted(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _persons(records: Records) -> dict[str, tuple[int, int]]:
    """By identifier that repeats, its number of values and the number of records that have one."""
    counts = {name: codes[codes >= 0] for name in records.names("identifier") for codes in [records[name].codes()]}
    persons = {name: (len(np.unique(codes)), len(codes)) for name, codes in counts.items()}
    return {name: (values, number) for name, (values, number) in persons.items() if values < number}


def _candidates(records: Records) -> tuple[str, ...]:
    """Columns of which sets are made: those that others may know, and categories; no confidential measurement."""
    return tuple(
        v.name
        for v in records.variables
        if v.role not in APART and not v.inexact and not (v.role == "confidential" and v.continuous)
    )


def _columns(
    every: Records, records: Records, keys: Any, sizes: Longs, guesses: Mapping[str, Guess]
) -> tuple[ColumnExposure, ...]:
    """All columns; those that tell people apart best come first.

    Parameters
    ----------
    every
        The table with its identifiers and its missing values.
    guesses
        Guess of each column without a plan.
    """
    rows = []
    for variable in every.variables:
        if variable.inexact:
            continue
        figures = separation(every, (variable.name,))
        more = 0
        if variable.role in ("confidential", "other"):
            more = int(((sizes > 1) & (records.classes([*keys, variable.name]).of_record == 1)).sum())
        remark = _remark(figures, variable, more, guesses[variable.name])
        rows.append(ColumnExposure(figures=figures, role=variable.role, more=more, remark=remark))
    return tuple(sorted(rows, key=lambda row: (-row.figures.separation, -row.figures.unique)))


def _remark(figures: Separation, variable: Variable, more: int, guessed: Guess) -> str:
    """Doubt about a column's role, from its figures, its words and its values."""
    if figures.distinct == 1 and variable.role == "quasi-identifier":
        return "one value for all: it tells nobody apart"
    if guessed.role == "identifier" and stricter(guessed, variable.role):
        return f"{guessed.reason}: an identifier?"
    if figures.unique >= OWN_VALUE and variable.role != "identifier" and not variable.continuous:
        return "nearly every record has a value of its own: an identifier?"
    if variable.role in ("confidential", "other") and more:
        return f"whoever knows it finds {plural(more, 'more record')} alone: a quasi-identifier?"
    return ""

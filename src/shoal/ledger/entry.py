"""Entry: all that the ledger records of one release. It holds no cell.

Persons are numbers: 64 bits of a keyed hash of the key column's value (BLAKE2b, whose key lies in a file beside the
ledger), so that a stolen ledger does not tell who is in a release. Should two persons get the same number, of which the
probability is under 3 in a million among ten million, they count as one with two records, and a release is refused
that could have passed; none passes that could not.

For each person the entry has the number of a class: persons of one class share all that the release tells of their
quasi-identifiers, as written and after everything is filled in that the release gives away by itself. A person with
several records has the class of persons with the same records. For each class it has, by quasi-identifier, whether the
cells are as they were, blank or recoded, and by confidential column a keyed hash of the set of its values, with their
number where all are different. Class numbers mean nothing beyond the entry.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.judges.joint_codes import joint_codes
from shoal.kernels.arrays import Bytes, Longs
from shoal.kernels.classes import classes, first_rows
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError, plural

Numbers = NDArray[np.uint64]

KEPT, BLANK, RECODED = 0, 1, 2
"""States of the cells of a class in a column."""

WIDTH = 8
"""Bytes of a keyed hash."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LedgerEntry:
    """One release in the ledger.

    Parameters
    ----------
    about
        Plan in its public form, quasi-identifiers, audience, hashes of files, epsilon by columns, counts; JSON-able.
    persons
        Shape (n,), ascending; the number of each person in the release.
    groups
        Shape (n,); the class of each person, from 0; all 0 where no class tells of a person.
    patterns
        Shape (classes, quasi-identifiers); `KEPT`, `BLANK`, or `RECODED` if any cell of the class is.
    signatures
        By confidential column, shape (classes,); keyed hash of the class's set of values.
    distinct
        By confidential column, shape (classes,); number of values of the class if all are different, otherwise 0.
    """

    about: Mapping[str, Any]
    persons: Numbers
    groups: Longs
    patterns: Bytes
    signatures: Mapping[str, Numbers] = field(default_factory=dict)
    distinct: Mapping[str, Longs] = field(default_factory=dict)

    @property
    def audience(self) -> str | None:
        audience = self.about["audience"]
        return None if audience is None else str(audience)

    @property
    def tells_of_persons(self) -> bool:
        """False if all quasi-identifiers were made anew for the table as a whole."""
        return bool(self.about["quasi-identifiers"])

    @property
    def cells(self) -> dict[str, dict[str, int]]:
        """By quasi-identifier, the number of persons in classes with blank cells, and with some recoded ones."""
        persons = np.bincount(self.groups, minlength=len(self.patterns))
        states = {"blank": self.patterns == BLANK, "recoded": self.patterns == RECODED}
        counts = {state: persons @ where for state, where in states.items()}
        return {
            name: {state: int(count[place]) for state, count in counts.items()}
            for place, name in enumerate(self.about["quasi-identifiers"])
        }


def numbers_of(values: Iterable[str], secret: bytes) -> Numbers:
    """Shape (n,); keyed hashes of texts as numbers."""
    digest = hashlib.blake2b
    joined = b"".join([digest(value.encode(), digest_size=WIDTH, key=secret).digest() for value in values])
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64)


def entry_of(
    keys: Sequence[str | None],
    released: Records,
    filled: Records,
    before: Records,
    names: Sequence[str],
    secret: bytes,
    about: Mapping[str, Any],
) -> LedgerEntry:
    """The entry of a release.

    Parameters
    ----------
    keys
        The key of each released record.
    released, filled, before
        Records as released, with everything filled in that they give away, and their originals, row by row.
    names
        The quasi-identifiers that tell of persons.
    """
    if absent := sum(key is None for key in keys):
        raise DataError(
            f"The ledger's key is missing in {plural(absent, 'record')}. Give every record a key, or drop these."
        )
    numbers = numbers_of([str(key) for key in keys], secret)
    persons, groups, rows = by_person(numbers, record_classes(released, filled, names))
    signatures: dict[str, Numbers] = {}
    distinct: dict[str, Longs] = {}
    for name in released.confidential if about["m"] else ():
        if len(persons) < len(keys):
            raise DataError("m-invariance needs one record a person, and the ledger's key repeats. Leave m out.")
        signatures[name], distinct[name] = _signatures(released, name, names, rows, secret)
    patterns = np.zeros((len(rows), len(names)), dtype=np.uint8)
    np.maximum.at(patterns, groups[np.searchsorted(persons, numbers)], cell_states(released, before, names))
    return LedgerEntry(
        about=about, persons=persons, groups=groups, patterns=patterns, signatures=signatures, distinct=distinct
    )


def record_classes(released: Records, filled: Records, names: Sequence[str]) -> Longs:
    """Shape (n,); classes of records by some columns, as written and filled in."""
    return classes([released.classes(names).ids, filled.classes(names).ids], len(released))[0]


def by_person(numbers: Numbers, of_record: Longs) -> tuple[Numbers, Longs, Longs]:
    """The persons, ascending; their classes; and a row of a record of each class.

    `numbers`: the person of each record; `of_record`: its class.
    """
    order = np.lexsort((of_record, numbers))
    persons, first, times = np.unique(numbers[order], return_index=True, return_counts=True)
    groups = of_record[order][first]
    several: dict[tuple[int, ...], int] = {}
    for place in np.flatnonzero(times > 1).tolist():
        own = tuple(of_record[order[first[place] : first[place] + times[place]]].tolist())
        groups[place] = several.setdefault(own, int(of_record.max()) + 1 + len(several))
    groups = classes([groups], len(groups))[0]
    return persons, groups, order[first][first_rows(groups, int(groups.max(initial=-1)) + 1)]


def cell_states(released: Records, before: Records, names: Sequence[str]) -> Bytes:
    """Shape (n, quasi-identifiers); the state of each cell: `KEPT`, `BLANK` or `RECODED`."""
    states = np.zeros((len(released), len(names)), dtype=np.uint8)
    for place, name in enumerate(names):
        original, own = joint_codes(before[name], released[name]) if name in before else (None, None)
        same = False if own is None else own == original
        states[:, place] = np.where(released[name].missing, BLANK, np.where(same, KEPT, RECODED))
    return states


def _signatures(
    released: Records, name: str, names: Sequence[str], rows: Longs, secret: bytes
) -> tuple[Numbers, Longs]:
    """For each class, the keyed hash of its set of values in a column, and their number, 0 where one occurs twice."""
    values: dict[int, list[str]] = {}
    ids = released.classes(names).ids
    variable = released[name]
    cells = variable.values.tolist()
    texts = (
        map(repr, cells)
        if variable.continuous
        else ("" if code < 0 else str(variable.categories[code]) for code in cells)
    )
    for number, text in zip(ids.tolist(), texts):
        values.setdefault(number, []).append(text)
    sets = [values[number] for number in ids[rows].tolist()]
    distinct = np.array([len(own) if len(set(own)) == len(own) else 0 for own in sets], dtype=np.int64)
    return numbers_of(["\0".join(sorted(own)) for own in sets], secret), distinct

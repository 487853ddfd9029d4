"""Records of a person one after another, in the original and in the release."""

import numpy as np

from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import NoFigure

NO_PERSONS = "The table has no column with the role person, so records are not known to be anyone's."


def persons_in_both(pair: TablePair) -> tuple[Longs, Longs]:
    """Shapes (n,) and (n',); person of each original and each released record, -1 if it is missing.

    Raises NoFigure if one of the tables does not tell.
    """
    before, after = pair.before.unit_numbers("person"), pair.units_by("person")
    if before is None or after is None:
        raise NoFigure(NO_PERSONS)
    return before, after


def ordering(pair: TablePair, name: str) -> tuple[Variable, Variable]:
    """The column that puts records in order, in both tables. Raises NoFigure if one has none, or has no order in it."""
    for records in (pair.before, pair.released):
        if name not in records:
            raise NoFigure(f"The table has no column '{name}', so the order of records is not known.")
        if records[name].level == "nominal":
            raise NoFigure(f"Column '{name}' is nominal and has no order.")
    return pair.before[name], pair.released[name]


def successive(persons: Longs, order: Variable, ties: Longs) -> tuple[Longs, Longs]:
    """The records with one of the same person before them, and these; records without a person or place are left out.

    `ties`, shape (n,): what puts records of one place in order.
    """
    records = np.flatnonzero((persons >= 0) & ~order.missing)
    by = records[np.lexsort((ties[records], order.values[records], persons[records]))]
    same = persons[by[1:]] == persons[by[:-1]]
    return by[1:][same], by[:-1][same]


def labels_of_both(before: Records, after: Records, name: str) -> tuple[Longs, Longs]:
    """Shapes (n,) and (n',); equal numbers for equal categories of a column in two tables, 0 for missing cells."""
    numbers = {label: number for number, label in enumerate(map(str, before[name].categories), 1)}
    for label in map(str, after[name].categories):
        numbers.setdefault(label, len(numbers) + 1)
    coded = []
    for records in (before, after):
        places = np.array([*(numbers[str(label)] for label in records[name].categories), 0], dtype=np.int64)
        coded.append(places[records[name].values])
    return coded[0], coded[1]


def apart(before: Longs, after: Longs) -> float:
    """Half the sum of differences between the shares of numbers: 0 for the same shares, 1 for nothing in common."""
    width = int(max(before.max(initial=-1), after.max(initial=-1))) + 1
    shares = [np.bincount(numbers, minlength=width) / len(numbers) for numbers in (before, after)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)

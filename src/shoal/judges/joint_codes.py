"""One column of several tables in codes that can be compared, whatever the tables hold beside."""

import numpy as np

from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.classes import classes
from shoal.table.variable import Variable


def joint_codes(*columns: Variable) -> tuple[Longs, ...]:
    """The same column of several tables in the same codes from 0.

    Numbers are compared as numbers and labels as text, since a file may give numbers back as text. A number never
    equals a label: a value that was recoded into an interval is another value.

    Returns shapes (n,), (n',), ...; equal exactly where cells are equal, -1 for missing cells.
    """
    numbers = [v for v in columns if v.continuous]
    coded = _numbers(numbers)
    first = 1 + max((int(codes.max(initial=-1)) for codes in coded), default=-1)
    places: dict[str, int] = {}
    for variable in columns:
        for category in () if variable.continuous else variable.categories:
            places.setdefault(str(category), first + len(places))
    of_numbers = iter(coded)
    return tuple(next(of_numbers) if v.continuous else _labels(v, places) for v in columns)


def parts_between(variable: Variable, cuts: Floats) -> Longs:
    """Shape (n,); which part between ascending cuts each number lies in, a cut belonging below it; missing is last."""
    return np.where(variable.missing, len(cuts) + 1, np.searchsorted(cuts, variable.values)).astype(np.int64)


def _numbers(columns: list[Variable]) -> list[Longs]:
    if not columns:
        return []
    values = np.concatenate([v.values for v in columns]) + 0.0  # 0 and -0 are one number
    missing = np.concatenate([v.missing for v in columns])
    ids = np.where(missing, -1, classes([values], len(values))[0])
    return np.split(ids.astype(np.int64), np.cumsum([len(v) for v in columns])[:-1])


def _labels(variable: Variable, places: dict[str, int]) -> Longs:
    own = np.array([*(places[str(category)] for category in variable.categories), -1], dtype=np.int64)
    return np.asarray(own[variable.values])

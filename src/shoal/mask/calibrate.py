"""Whole weights of households that match margins of households and of persons at once (Ye et al. 2009).

Weights are raked: category by category, those of all households that have some of it are multiplied by what brings its
total to the margin's, over and over (iterative proportional updating). They are then rounded at random, and moved to
the nearest whole weights with which every margin holds, by the integer programme of `private-marginals`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import Annotated, Any

import narwhals.stable.v2 as nw
import numpy as np

from shoal.judges.further_tables import like, numbers_of
from shoal.mask._marginals.margins import COUNT, nearest_whole
from shoal.mask.base import Mask
from shoal.mask.secret_stream import SecretStream
from shoal.table.prelude import Floats, Generator, Longs, Progress, Records, StepResult
from shoal.vocabulary.errors import DataError, ParameterError, plural, quoted
from shoal.vocabulary.facts import OfOriginal, OfPlan
from shoal.vocabulary.prelude import Count, Facts, TablePath, method

SWEEPS = 1_000
"""Of iterative proportional updating over all categories, at most; what they leave, the integer programme mends."""

EVEN = 1e-6
"""Share of a total that it may be off by when no further sweep is made."""

LARGEST = 1 << 53
"""Whole numbers from here on are not all there among doubles."""


@method(
    "calibrate",
    title="Calibration to margins of households and persons",
    source="Ye, Konduri, Pendyala, Sana & Waddell (2009)",
    example_columns=("income",),
)
class Calibrate(Mask):
    """Gives whole households whole weights, with which margins of households and of persons hold exactly.

    The weights that are there are kept as nearly as the margins allow; all members of a household get the same. Who
    weighs nothing is left out. A population is the table with each household as often as it weighs: it has every
    margin of official statistics, and its households are those of the sample.

    Parameters
    ----------
    households
        Public tables of counts: columns that are the same throughout households, and `count`, how many households there
        are to be with these categories.
    persons
        The same of any columns, and how many persons there are to be.

    Notes
    -----
    The step's column holds the weights; those of a household's members are averaged. Columns of margins must be nominal
    or ordinal; what has no row in a margin is to be 0. Each record is a household of its own where no column numbers
    them. Without margins weights are rounded at random, so that each is right on average. Nothing of the cells is
    hidden by it. Put it last: a step that drops records afterwards breaks the margins.
    """

    scales = "memory"
    default_roles = ("weight",)

    households: Annotated[tuple[Any, ...], TablePath()] = ()
    persons: Annotated[tuple[Any, ...], TablePath()] = ()

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        if len(columns) != 1:
            raise ParameterError(f"calibrate works on one column of weights; the step has {len(columns)}. Name it.")
        (weights,) = self.continuous(records, columns)
        if not (weights.values >= 0).all():  # nor is a missing one
            raise DataError(f"Column '{weights.name}' must hold a weight of 0 or more in every record. Correct it.")
        if weights.values.sum() >= LARGEST:
            raise DataError(f"Weights in column '{weights.name}' must be below 2^53 in all. Count in a larger unit.")
        units, sizes = _homes(records)
        margins = [
            *(UnitMargin.of(table, records, units, of_homes=True) for table in self.households),
            *(UnitMargin.of(table, records, units, of_homes=False) for table in self.persons),
        ]
        for level in (margins[: len(self.households)], margins[len(self.households) :]):
            _check_totals(level)
        before = np.bincount(units, weights.values) / sizes
        raked = _updated(before, margins)
        whole = before if not len(raked) else _whole(raked, margins, SecretStream(rng))
        kept = np.flatnonzero(whole[units])
        changed = records.with_variables(weights.with_values(whole[units].astype(np.float64))).take(kept)
        facts: Facts = {
            "units": Count(n=len(sizes), unit="households", influence=1),
            "units kept": Count(n=int((whole > 0).sum()), unit="households", influence=None),
            "largest weight": OfOriginal(int(whole.max(initial=0))),
            "margins (SHA-256)": OfPlan(sha256(b"".join(margin.listed for margin in margins)).hexdigest()),
        }
        return StepResult(records=changed, facts=facts)


@dataclass(frozen=True, kw_only=True, eq=False)
class UnitMargin:
    """How many households or persons there are to be with each combination of some columns' categories.

    Parameters
    ----------
    names
        Of the columns.
    rows
        Shape (categories, households), sparse; members of each household in each combination, or 1.
    totals
        Shape (categories,); of the combinations that occur in the table.
    listed
        The public table in bytes.
    """

    names: tuple[str, ...]
    rows: Any
    totals: Longs
    listed: bytes

    @classmethod
    def of(cls, table: Any, records: Records, units: Longs, *, of_homes: bool) -> "UnitMargin":
        """The margin that a public table gives. Raises DataError if it is none of this table."""
        from scipy.sparse import csr_array

        names, counts = _counted(table, records)
        ids = records.classes(names).ids
        if of_homes:
            first = np.unique(units, return_index=True)[1]
            if (ids != ids[first][units]).any():
                raise DataError(
                    f"calibrate: {quoted(names)} must be the same for all members of a household, as a margin of "
                    f"households counts them. Give it among persons."
                )
            ids, units = ids[first], np.arange(len(first))
            cells = _cells(records.take(first), names)
        else:
            cells = _cells(records, names)
        place = dict(zip(cells, ids.tolist()))
        totals = np.zeros(len(place), dtype=np.int64)
        for combination, count in counts.items():
            totals[place[combination]] = count
        shape = (len(place), int(units.max(initial=-1)) + 1)
        rows = csr_array((np.ones(len(ids)), (ids, units)), shape=shape)
        listed = repr((of_homes, names, sorted(map(repr, counts.items())))).encode()
        return cls(names=names, rows=rows, totals=totals, listed=listed)


def _counted(table: Any, records: Records) -> tuple[tuple[str, ...], dict[tuple[Any, ...], int]]:
    """The columns of a margin, and by their categories how many there are to be, where that is more than none."""
    columns = getattr(nw.from_native(table, eager_only=True, pass_through=True), "columns", ())
    names = tuple(name for name in columns if name != COUNT and name in records)
    if not names or {*columns} != {*names, COUNT}:
        raise DataError(
            f"calibrate: a margin must be a table of '{COUNT}' and columns of the data alone; it has "
            f"{quoted(columns) if columns else 'none'}. Take others out."
        )
    if numeric := [name for name in names if records[name].continuous]:
        raise DataError(
            f"calibrate: a margin counts categories, and '{numeric[0]}' is continuous. Recode it into classes first, "
            f"or give it the level ordinal."
        )
    numbers = numbers_of(table, COUNT)
    if (numbers != np.rint(numbers)).any() or numbers.sum() < 1:
        raise DataError(f"calibrate: the margin of {quoted(names)} must have whole numbers in '{COUNT}'. Correct it.")
    counts: dict[tuple[Any, ...], int] = {}
    for cells, number in zip(_cells(like(records, table), names), numbers.astype(np.int64).tolist()):
        if number:
            counts[cells] = counts.get(cells, 0) + number
    if strange := len(counts.keys() - set(_cells(records, names))):
        raise DataError(
            f"calibrate: the margin of {quoted(names)} has {plural(strange, 'combination')} that nobody in the table "
            f"has. Join categories, in both, until each occurs."
        )
    return names, counts


def _cells(records: Records, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """By record, its categories in some columns; None where a cell is missing."""
    columns = [(*records[name].categories, None) for name in names]
    codes = [np.where(records[name].missing, -1, records[name].values).tolist() for name in names]
    return [tuple(of[code] for of, code in zip(columns, row)) for row in zip(*codes)]


def _homes(records: Records) -> tuple[Longs, Longs]:
    """Shape (n,); the household of each record, from 0; shape (m,), its members."""
    homes = records.unit_numbers("household")
    if homes is None:
        homes = np.arange(len(records))
    if lacking := int((homes < 0).sum()):
        raise DataError(
            f"calibrate: the number of the household is missing in {plural(lacking, 'record')}. Fill it in."
        )
    units = np.unique(homes, return_inverse=True)[1]
    return units, np.bincount(units)


def _check_totals(level: Sequence[UnitMargin]) -> None:
    for margin in level[1:]:
        if margin.totals.sum() != level[0].totals.sum():
            raise DataError(
                f"calibrate: the margins of {quoted(level[0].names)} and of {quoted(margin.names)} have other numbers "
                f"in all. Correct one of them."
            )


def _updated(weights: Floats, margins: Sequence[UnitMargin]) -> Floats:
    """Shape (m,); weights of households after iterative proportional updating."""
    new = weights.copy()
    wanted = [
        (m.rows.indices[low:high], m.rows.data[low:high], float(total))
        for m in margins
        for low, high, total in zip(m.rows.indptr[:-1], m.rows.indptr[1:], m.totals.tolist())
    ]
    for _ in range(SWEEPS):
        farthest = 0.0
        for homes, members, total in wanted:
            have = float((new[homes] * members).sum())
            if have > 0:
                new[homes] *= total / have
                farthest = max(farthest, abs(have - total) / max(total, 1.0))
        if farthest < EVEN:
            break
    return new


def _whole(raked: Floats, margins: Sequence[UnitMargin], stream: SecretStream) -> Longs:
    """Shape (m,); whole weights near to some, with which all margins hold. Raises DataError if none were found."""
    from scipy.sparse import csc_array, vstack

    none = csc_array((0, len(raked)))
    rows = csc_array(vstack([none, *(margin.rows for margin in margins)]))
    totals = np.array(list(chain.from_iterable(margin.totals for margin in margins)), dtype=np.int64)
    whole = nearest_whole(raked, rows, totals, stream)
    if whole is None:
        raise DataError(
            "calibrate: no whole weights were found with which all margins hold. They contradict one another, or no "
            "households of the table make them up together; leave one out, or join categories."
        )
    return whole

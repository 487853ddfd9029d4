"""Figures of confidential columns class by class, and the verdict on them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.data.confidential_bins import Bins
from shoal.data.records import Classes, Records
from shoal.errors import plural
from shoal.facts import of_release
from shoal.judges.evidence import Verdict
from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.kernels.classes import distinct

QUANTILES = {"least": 0.0, "median": 0.5, "90 %": 0.9, "99 %": 0.99, "largest": 1.0}
"""How the distribution of a figure over the classes is told."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Occurrences:
    """How often every value occurs in every class.

    Parameters
    ----------
    classes, values, counts
        Shape (P,); one entry for each class and value that occur together, by class and value.
    totals
        Shape (m,); how often each value occurs in the table.
    """

    classes: Longs
    values: Longs
    counts: Longs
    totals: Longs

    @classmethod
    def of(cls, bins: Bins, classes: Classes) -> "Occurrences":
        m = bins.m + 1  # a missing value is a value, the last
        values = np.where(bins.bins < 0, bins.m, bins.bins).astype(np.int64)
        cells, _, counts = distinct(classes.ids * m + values)
        return cls(classes=cells // m, values=cells % m, counts=counts, totals=np.bincount(values, minlength=m))

    def largest(self, figure: Floats, count: int) -> Floats:
        """Shape (count,); the largest entry of each class."""
        starts = np.searchsorted(self.classes, np.arange(count))
        return np.maximum.reduceat(figure, starts) if len(figure) else np.zeros(count)


def verdict(
    released: Records,
    classes: Classes,
    figures: dict[str, Floats],
    *,
    requirement: str,
    required: float,
    allowed: Bools | None = None,
    best: Literal["low", "high"],
    figure: str,
    noun: str = "class",
) -> Verdict:
    """The verdict on a figure of each class for each confidential column.

    Parameters
    ----------
    figures
        By column: shape (C,), the figure of each class.
    required
        The limit, itself allowed.
    allowed
        Shape (C,); which classes satisfy the requirement, where that is more than the figure says.
    best
        Whether low or high figures satisfy it. The figure of a class is its worst over the columns.
    figure
        What the figure is called.
    """
    if not len(released) or not figures:
        return _without_figures(requirement, required, bool(len(released)))
    stacked = np.vstack(list(figures.values()))
    worst = stacked.max(axis=0) if best == "low" else stacked.min(axis=0)
    fails = (worst > required) if best == "low" else (worst < required)
    fails = fails if allowed is None else fails | ~allowed
    candidates = np.flatnonzero(fails) if fails.any() else np.arange(len(worst))
    at = int(candidates[(np.argmax if best == "low" else np.argmin)(worst[candidates])])
    value, size = float(worst[at]), int(classes.sizes[at])
    beginning = f"All {plural(len(worst), noun)} satisfy the requirement"
    if fails.any():
        beginning = (
            f"{plural(int(fails.sum()), noun)} with {plural(int(classes.sizes[fails].sum()), 'record')} in all "
            f"{'breaks' if fails.sum() == 1 else 'break'} the requirement"
        )
    sentence = (
        f"{beginning}; the worst holds {size:,} {'record' if size == 1 else 'records'} at {figure} "
        f"{_text(value)}, where {required:g} is required."
    )
    return Verdict(
        requirement=requirement,
        holds=not fails.any(),
        required=required,
        achieved=value,
        sentence=sentence,
        influence=0,
        facts=of_release(
            {
                "classes": len(worst),
                "worst class": {"size": size, figure: _plain(value), "column": _column_of(figures, at, best)},
                "classes that fail": int(fails.sum()),
                "records in classes that fail": int(classes.sizes[fails].sum()),
                "distribution over classes": {name: _distribution(values) for name, values in figures.items()},
            }
        ),
    )


def _without_figures(requirement: str, required: float, records: bool) -> Verdict:
    """The verdict on a table without records, which tells nothing, or without a confidential column."""
    return Verdict(
        requirement=requirement,
        holds=not records,
        required=required,
        achieved=None,
        sentence="The table has no confidential column, so the requirement cannot be proved. "
        "Give the column that is to be protected the role confidential."
        if records
        else "The table has no records, so nothing about anyone can be learnt from it.",
        influence=0,
    )


def _distribution(values: Floats) -> dict[str, float | str]:
    return {label: _plain(q) for label, q in zip(QUANTILES, quantiles(values))}


def quantiles(values: Floats) -> list[float]:
    """The figures that `QUANTILES` names; each is the figure of a class, so that infinities do no harm."""
    ordered = np.sort(values)
    return [float(ordered[int(np.ceil(q * (len(ordered) - 1)))]) for q in QUANTILES.values()]


def _column_of(figures: dict[str, Floats], at: int, best: str) -> str:
    pick = max if best == "low" else min
    return pick(figures, key=lambda name: figures[name][at])


def _text(value: float) -> str:
    return "infinite" if np.isinf(value) else f"{value:.4g}"


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else "infinite"

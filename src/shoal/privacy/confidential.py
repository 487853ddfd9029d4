"""Figures of confidential columns class by class, and the verdict on them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

import numpy as np

from shoal.judges.class_figures import ClassFigures
from shoal.judges.prelude import Bools, Floats, Longs, Verdict
from shoal.table.confidential_bins import Bins
from shoal.table.records import Classes
from shoal.vocabulary.prelude import in_digits, of_release, plural

QUANTILES = {"least": 0.0, "median": 0.5, "90 %": 0.9, "99 %": 0.99, "largest": 1.0}
"""Quantiles by which the distribution of a figure over the classes is reported."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Occurrences:
    """Numbers of occurrences of every value in every class.

    Parameters
    ----------
    classes, values, counts
        Shape (P,); one entry for each class and value that occur together, by class and value.
    totals
        Shape (m,); number of occurrences of each value in the table.
    """

    classes: Longs
    values: Longs
    counts: Longs
    totals: Longs

    @classmethod
    def of(cls, bins: Bins, classes: Classes) -> "Occurrences":
        m = bins.m + 1  # a missing value is a value, the last
        values = np.where(bins.bins < 0, bins.m, bins.bins).astype(np.int64)
        cells, counts = _counted(classes.ids * m + values, classes.times)
        totals = np.append(bins.counts, bins.missing)
        return cls(classes=cells // m, values=cells % m, counts=counts, totals=totals)

    @property
    def missing(self) -> int:
        """The value that stands for missing cells."""
        return len(self.totals) - 1

    def take(self, kept: Bools, counts: Longs) -> "Occurrences":
        """Some of the entries, with new counts."""
        return replace(self, classes=self.classes[kept], values=self.values[kept], counts=counts[kept])

    def largest(self, figure: Floats, count: int) -> Floats:
        """Shape (count,); the largest entry of each class."""
        starts = np.searchsorted(self.classes, np.arange(count))
        return np.maximum.reduceat(figure, starts) if len(figure) else np.zeros(count)


def _counted(cells: Longs, times: Longs | None) -> tuple[Longs, Longs]:
    """The distinct numbers, ascending, and the number of times each occurs, each entry counted `times` times."""
    order = None if times is None else np.argsort(cells)
    ascending = np.sort(cells) if order is None else cells[order]
    starts = np.flatnonzero(np.diff(ascending, prepend=-1))
    if times is None or not len(starts):
        return ascending[starts], np.diff(starts, append=len(cells))
    return ascending[starts], np.add.reduceat(times[order], starts)


def verdict(
    class_figures: ClassFigures,
    *,
    requirement: str,
    required: float,
    allowed: Bools | None = None,
    best: Literal["low", "high"],
    figure: str,
) -> Verdict:
    """The verdict on a figure of each class for each confidential column.

    Of several worst classes the smallest is reported, so that nothing depends on the order of the classes.

    Parameters
    ----------
    required
        The limit, itself allowed.
    allowed
        Shape (C,); classes that satisfy the requirement, if the figure alone does not decide it.
    best
        `low` or `high`: the figures that satisfy it. The figure of a class is its worst over the columns.
    figure
        Name of the figure.
    """
    sizes, figures = class_figures.sizes, class_figures.figures
    if not len(sizes) or not figures:
        return _without_figures(requirement, required, bool(len(sizes)))
    noun = class_figures.noun
    worst = reduce(np.maximum if best == "low" else np.minimum, figures.values())
    fails = ((worst > required) if best == "low" else (worst < required)) | (False if allowed is None else ~allowed)
    value = float((np.max if best == "low" else np.min)(worst[fails] if fails.any() else worst))
    size, column = _worst(class_figures, np.flatnonzero((worst == value) & (fails if fails.any() else True)), value)
    beginning = f"All {plural(len(worst), 'class')} satisfy the requirement"
    if fails.any():
        beginning = (
            f"{plural(int(fails.sum()), 'class')} with {plural(int(sizes[fails].sum()), noun)} in all "
            f"{'breaks' if fails.sum() == 1 else 'break'} the requirement"
        )
    sentence = (
        f"{beginning}; the worst holds {plural(size, noun)} at {figure} {_text(value)}, where {required:g} is "
        f"required.{_caution(class_figures.variants)}"
    )
    return Verdict(
        requirement=requirement,
        holds=not fails.any(),
        required=required,
        achieved=value,
        sentence=sentence,
        influence=0,
        failing=fails if fails.any() else None,
        facts=of_release(
            {
                "classes": len(worst),
                "worst class": {"size": size, figure: _plain(value), "column": column},
                "classes that fail": int(fails.sum()),
                f"{noun}s in classes that fail": int(sizes[fails].sum()),
                "distribution over classes": {name: _distribution(values) for name, values in figures.items()},
                **({"values that differ in typing only": class_figures.variants} if class_figures.variants else {}),
            }
        ),
    )


def _worst(class_figures: ClassFigures, among: Longs, value: float) -> tuple[int, str]:
    """The size of the smallest of some classes, and the first column in which one of that size has the value."""
    size = int(class_figures.sizes[among].min())
    among = among[class_figures.sizes[among] == size]
    return size, next(name for name, figure in class_figures.figures.items() if (figure[among] == value).any())


def _caution(typed: Mapping[str, int]) -> str:
    """A warning about values that count as different but may be the same to a reader."""
    if not typed:
        return ""
    counts = " and ".join(f"{plural(count, 'value')} of '{name}'" for name, count in typed.items())
    return (
        f" Caution: {counts} differ from one another in blanks, case or Unicode form only, and each counts as a value "
        f"of its own. If they mean the same, make them one and protect the table again."
    )


def _without_figures(requirement: str, required: float, records: bool) -> Verdict:
    """The verdict on a table without records, which reveals nothing, or without a confidential column."""
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
    """The quantiles that `QUANTILES` names; each is the figure of a class, so that infinities do no harm."""
    ordered = np.sort(values)
    return [float(ordered[int(np.ceil(q * (len(ordered) - 1)))]) for q in QUANTILES.values()]


def _text(value: float) -> str:
    return "infinite" if np.isinf(value) else in_digits(value)


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else "infinite"

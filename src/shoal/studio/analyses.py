"""Analyses that a person wants to do with the release, followed through all runs: means by group, tables, models.

Labels of several values count in equal parts for each of them, and numbers in bands as the mean of their band.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from typing_extensions import TypedDict

from shoal.kernels.arrays import Floats, Longs, floats
from shoal.kernels.linear import cross_product
from shoal.kernels.tall import independent
from shoal.studio.arguments import Answer
from shoal.studio.variables import ComparedColumn, drawn, numbers_of, parts_of_groups
from shoal.utility.regressions import COLLINEAR, REACH, all_regressions
from shoal.vocabulary.errors import InputError

MOST_ROWS = 60
"""Rows of a table by two columns that are followed, those with most records of the original."""


class Analysis(TypedDict):
    """What is asked: the mean of a column by another, the records by two columns, or a column explained by others."""

    kind: Literal["mean", "table", "model"]
    of: str
    by: list[str]


Rows = dict[str, tuple[float, float] | None]
"""By row a figure and half the length of its 95 % interval; None where there is none. A share has no interval: 0."""


Labels = Mapping[str, Mapping[str, str]]
"""By column the labels of its codes."""


def followed(asked: Analysis, seen: Mapping[str, ComparedColumn], labels: Labels) -> tuple[Rows, Rows]:
    """The rows of an analysis on the original and on what one run released.

    Raises InputError if the columns do not fit the analysis.
    """
    first = seen[asked["of"]]
    rows = (drawn(len(first.before)), drawn(len(first.after)))
    if not asked["by"] and asked["kind"] != "mean":
        raise InputError("Name the columns by which it is looked at.")
    if asked["kind"] == "mean":
        return _means(asked, seen, labels, rows)
    if asked["kind"] == "table":
        return _tables(asked, seen, labels, rows)
    return _models(asked, seen, labels, rows)


def _numbers(name: str, seen: Mapping[str, ComparedColumn]) -> tuple[Floats, Floats]:
    numbers = numbers_of(seen[name])
    if numbers is None:
        raise InputError(f"Column '{name}' has no numbers, before or after. Choose one that has, or make a table.")
    return numbers


def _groups(
    name: str, seen: Mapping[str, ComparedColumn], called: Labels, rows: tuple[Longs, Longs]
) -> tuple[list[str], tuple[Floats, Floats]]:
    if seen[name].before.continuous:
        raise InputError(f"Column '{name}' has numbers, which are no groups. Choose a column of categories.")
    cells, parts = parts_of_groups(seen[name], rows)
    labels = called.get(name, {})
    return [f"{cell} {labels[cell]}" if cell in labels else cell for cell in cells], parts


def _means(
    asked: Analysis, seen: Mapping[str, ComparedColumn], called: Labels, rows: tuple[Longs, Longs]
) -> tuple[Rows, Rows]:
    numbers = _numbers(asked["of"], seen)
    labels, parts = (["all records"], None) if not asked["by"] else _groups(asked["by"][0], seen, called, rows)
    both: list[Rows] = []
    for side in (0, 1):
        values = numbers[side][rows[side]]
        weights = np.ones((len(values), 1)) if parts is None else parts[side]
        known = ~np.isnan(values)
        values, weights = values[known], weights[known]
        both.append({label: _mean(values, weights[:, i]) for i, label in enumerate(labels)})
    return both[0], both[1]


def _mean(values: Floats, weights: Floats) -> tuple[float, float] | None:
    total = float(weights.sum())
    if total <= 0:
        return None
    mean = float((weights * values).sum() / total)
    spread = float((weights * (values - mean) ** 2).sum() / total)
    return mean, REACH * float(np.sqrt(spread / total))


def _tables(
    asked: Analysis, seen: Mapping[str, ComparedColumn], called: Labels, rows: tuple[Longs, Longs]
) -> tuple[Rows, Rows]:
    axes = [_groups(name, seen, called, rows) for name in (asked["of"], asked["by"][0])]
    names = [f"{a} · {b}" for a in axes[0][0] for b in axes[1][0]]
    shares = []
    for side in (0, 1):
        counts = cross_product(axes[0][1][side], axes[1][1][side]).ravel()
        shares.append(counts / max(float(counts.sum()), 1.0))
    order = np.argsort(-shares[0], kind="stable")[:MOST_ROWS]
    before, after = ({names[i]: (float(share[i]), 0.0) for i in order} for share in shares)
    return dict(before), dict(after)


def _models(
    asked: Analysis, seen: Mapping[str, ComparedColumn], called: Labels, rows: tuple[Longs, Longs]
) -> tuple[Rows, Rows]:
    """Slopes of a linear regression; each category but the most frequent one counts beside that one."""
    target = _numbers(asked["of"], seen)
    names: list[str] = []
    columns: tuple[list[Floats], list[Floats]] = ([], [])
    for name in asked["by"]:
        if name == asked["of"]:
            raise InputError(f"Column '{name}' cannot explain itself. Choose others.")
        if seen[name].before.continuous:
            names.append(name)
            for side, values in enumerate(_numbers(name, seen)):
                columns[side].append(values[rows[side]])
            continue
        labels, parts = _groups(name, seen, called, rows)
        names += [f"{name}: {label}, not {labels[0]}" for label in labels[1:]]
        for side in (0, 1):
            columns[side].extend(parts[side].T[1:])
    before, after = (_fitted(names, columns[side], target[side][rows[side]]) for side in (0, 1))
    return before, after


def _fitted(names: Sequence[str], columns: Sequence[Floats], target: Floats) -> Rows:
    x = floats(np.column_stack([*columns, target]))
    x = x[~np.isnan(x).any(axis=1)]
    if len(x) <= x.shape[1] or not np.ptp(x[:, -1]):
        return dict.fromkeys(names)
    chosen = np.append(independent(floats(x[:, :-1]), COLLINEAR), True)
    if chosen.sum() < 2:
        return dict.fromkeys(names)
    fits = all_regressions(floats(x[:, chosen]))
    width = int(chosen.sum()) - 1
    remaining = iter(zip(fits.slopes[-width:].tolist(), fits.errors[-width:].tolist()))
    slopes = [next(remaining) if keep else None for keep in chosen[:-1]]
    return {name: None if fit is None else (fit[0], REACH * fit[1]) for name, fit in zip(names, slopes)}


def side_by_side(asked: Analysis, by_run: Mapping[int, tuple[Rows, Rows]], bare: Rows) -> Answer:
    """The rows of an analysis on the original and, by run, on what was released; a figure that is nowhere is left out.

    `bare`: the rows of the original alone.
    """
    return {
        **asked,
        "rows": list(bare),
        "original": list(bare.values()),
        "runs": [{"run": run, "values": [after.get(row) for row in bare]} for run, (_, after) in by_run.items()],
    }

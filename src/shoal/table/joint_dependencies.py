"""Dependencies of a column on two others together: neither determines it, both do, as sex and kinship tell "mother".

Two columns together are compared with each of them alone (for one column: `shoal.table.dependencies`). The law must be
right in all but a share of `EXCEPTIONS` of the visible pairs, with at most half the errors of either column alone, and
more often than by chance. For the last, the cells of the third column are imagined drawn at random among the records
with the same cell of the first: with the shares p_b among these, the m records that have the same cell of the second
too show W exceptions, and the mean of s^W is at most sum_b (p_b + s (1 - p_b))^m, as for one column. So the bound on
the chance is a product over the values of both columns, divided by s^w; it is taken with the columns in either order,
and multiplied by the number of laws tried. A column that adds nothing to the other is then right by chance alone.

Units, such as households, are left out: two of their members who share something else are too few to tell.

The work is bounded. A law is tried on the first `HEAD` records, then on about as many that have some of the values of
both columns, and on all records only if neither contradicts it. Beyond `MOST_JOINT` laws none is tried: twenty columns
have 3 420, sixty columns 102 660, of which those of ten columns that lack cells are 17 110.
"""

from collections.abc import Collection, Iterator
from itertools import combinations

import numpy as np

from shoal.kernels.arrays import Floats, Ints, Longs
from shoal.kernels.classes import classes, first_rows
from shoal.kernels.elementary import exp, log
from shoal.table.dependencies import (
    EXCEPTIONS,
    HALVINGS,
    HEAD,
    LOG_CHANCE,
    UNITS,
    Dependency,
    LawSupport,
    joint_codes,
    support_of,
)
from shoal.table.records import Records

MOST_JOINT = 50_000
"""Most laws of two columns that are tried."""

SLACK, FEW = 2, 3
"""Share of exceptions, in parts of the allowed one, above which some records contradict a law of all, but for a few."""

MIXER = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: multiplied by it, numbers are spread evenly (Knuth 1998, section 6.4)."""


def joint_laws(
    records: Records, lacking: Collection[str], known: Collection[Dependency], by: Collection[str] | None = None
) -> dict[Dependency, LawSupport]:
    """The laws by which two columns together determine a column that lacks cells, or will lack some.

    `known`: laws of one column; where one of the two determines the third alone, both together are no news. `by`: the
    columns whose laws are asked for, with the evidence that they need where all are; all by default.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> sex, line = [0, 1] * 40, [0, 0, 1, 1] * 20
    >>> frame = pl.DataFrame({"sex": sex, "line": line, "kin": [f"{a == b}" for a, b in zip(sex, line)]})
    >>> records = shoal.Microdata.of(frame, dict.fromkeys(frame.columns, "other")).records
    >>> joint_laws(records, ["kin"], [])
    {Dependency(by=('sex', 'line'), on='kin'): LawSupport(exceptions=0, pairs=80, groups=4)}
    """
    codes = {v.name: v.codes() for v in records.variables if v.role not in UNITS}
    codes = {name: column for name, column in codes.items() if column.max(initial=0) > 0}
    trials = list(_trials(codes, lacking, known))
    least = LOG_CHANCE - float(log(max(len(trials), 1)))
    by_pair: dict[tuple[str, str], list[str]] = {}
    sources = set(codes) if by is None else set(by)
    for pair, on in (trial for trial in trials if sources.issuperset(trial[0])):
        by_pair.setdefault(pair, []).append(on)
    return {
        Dependency(pair, on): support
        for pair, several in by_pair.items()
        for on, support in _of_pair(codes[pair[0]], codes[pair[1]], {on: codes[on] for on in several}, least)
    }


def _trials(
    codes: Collection[str], lacking: Collection[str], known: Collection[Dependency]
) -> Iterator[tuple[tuple[str, str], str]]:
    """Pairs of columns, each with a third that they may determine; columns are complete or none of their pairs is."""
    left = MOST_JOINT
    for on in (name for name in codes if name in lacking):
        others = [name for name in codes if name != on and Dependency((name,), on) not in known]
        left -= len(others) * (len(others) - 1) // 2
        if left < 0:
            return
        yield from ((pair, on) for pair in combinations(others, 2))


def _of_pair(first: Ints, second: Ints, effects: dict[str, Ints], least: float) -> Iterator[tuple[str, LawSupport]]:
    """The columns that two columns together determine, with what supports it."""
    for some in (_head, _some_values) if len(first) > HEAD else ():
        if not effects:
            return
        rows = some(first, second)
        joint = joint_codes(first[rows], second[rows])
        effects = {
            name: on for name, on in effects.items() if not _contradicted(support_of(joint, on[rows]), joint, on[rows])
        }
    if not effects:
        return
    joint = joint_codes(first, second)
    rows = np.flatnonzero((joint >= 0) & (np.bincount(joint + 1)[joint + 1] > 1))  # only these can tell
    for name, on in effects.items() if len(rows) else ():
        support = support_of(joint[rows], on[rows])
        if len(first) <= HEAD and _contradicted(support, joint, on):
            continue
        if _believed(first[rows], second[rows], joint[rows], on[rows], support, least):
            yield name, support


def _head(first: Ints, second: Ints) -> slice:
    return slice(HEAD)


def _some_values(first: Ints, second: Ints) -> Longs | slice:
    """Rows with some of the values of two columns, about twice `HEAD`; the first of them where that is too many."""
    shares = len(first) // (2 * HEAD)
    if shares < 2:
        return slice(None)
    mixed = (first.astype(np.uint64) * np.uint64(1 << 32) + second.astype(np.uint64) + np.uint64(1)) * MIXER
    return np.flatnonzero((mixed >> np.uint64(40)) % np.uint64(shares) == 0)[: 4 * HEAD]


def _contradicted(here: LawSupport, joint: Ints, on: Ints) -> bool:
    """True if far more of some records break a law than it allows, or guessing is nearly as good."""
    if here.exceptions <= FEW:
        return False
    if here.exceptions > SLACK * EXCEPTIONS[False] * here.pairs + FEW:
        return True
    counts = np.bincount(on[(on >= 0) & (joint >= 0)], minlength=1)
    total = int(counts.sum())
    return 4 * here.exceptions * total > 3 * (total - int(counts.max())) * here.pairs


def _believed(first: Ints, second: Ints, joint: Ints, on: Ints, support: LawSupport, least: float) -> bool:
    """True if the exceptions are few enough for a law, and fewer than each column has alone.

    All of shape (n,), of records that share both columns with another one.
    """
    wrong = support.exceptions
    if not support.pairs or wrong > EXCEPTIONS[False] * support.pairs:
        return False
    visible = on >= 0
    both, effects, columns = joint[visible], on[visible], (first[visible], second[visible])
    if 2 * wrong > min(support_of(column, effects).exceptions for column in columns):
        return False
    return all(_log_chance(column, both, effects, wrong) < least for column in columns)


def _log_chance(first: Ints, joint: Ints, on: Ints, wrong: int) -> float:
    """Logarithm of a bound on the chance of so few exceptions if `on` depended on the first column only.

    `first`, `joint`, `on`, shape (n,): codes of the first column, of both, and of the third; none is missing.
    """
    _, starts, sizes = np.unique(joint, return_index=True, return_counts=True)
    several = sizes > 1
    (causes, members), times = np.unique(np.stack([first[starts[several]], sizes[several]]), axis=1, return_counts=True)
    pairs, counts = classes([first, on], len(first))
    own = first[first_rows(pairs, len(counts))]  # The first column of each combination with the third
    order = np.argsort(own, kind="stable")
    shares = (counts / np.bincount(first)[own])[order]
    begins = np.searchsorted(own[order], causes)
    width = np.searchsorted(own[order], causes, "right") - begins
    offsets = np.cumsum(width) - width
    chosen = shares[np.repeat(begins - offsets, width) + np.arange(int(width.sum()))]
    powers = HALVINGS if wrong else [64]  # 2^-64: as good as 0
    return min(
        _evidence(chosen, np.repeat(members, width), offsets, times, 0.5 ** int(power))
        + wrong * int(power) * float(log(2.0))
        for power in powers
    )


def _evidence(shares: Floats, members: Longs, offsets: Longs, times: Longs, s: float) -> float:
    """Logarithm of the product over groups of sum_b (p_b + s (1 - p_b))^m, each at most 1."""
    if not len(offsets):
        return 0.0
    logs = members * log(shares + (1 - shares) * s)
    top = np.maximum.reduceat(logs, offsets)
    sums = np.add.reduceat(exp(logs - np.repeat(top, np.diff(offsets, append=len(logs)))), offsets)
    return float((times * np.minimum(top + log(sums), 0.0)).sum())

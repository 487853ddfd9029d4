"""Faults that keep rows of labels from being a hierarchy, and cautions about hierarchies.

`shoal hierarchy check` shows the holder of the file the rows and labels concerned; messages name rows only, since a
label may be a cell.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.table.hierarchy_builders import ROOT
from shoal.vocabulary.errors import SchemaError

MOST_LEVELS = 100
"""Most levels of a hierarchy; those in use have less than ten."""

MOST_ROWS = 5
"""Most rows that a message names."""

Paths = Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that keeps rows from being a hierarchy."""

    rule: str  # The broken rule, and how it is broken
    rows: tuple[int, ...] = ()  # The rows concerned, from 1
    labels: tuple[str, ...] = ()  # The labels concerned, for the holder of the file only
    mend: str = ""  # The remedy

    def __str__(self) -> str:
        where = f" ({in_rows(self.rows)})" if self.rows else ""
        return f"{self.rule}{where}.{' ' * bool(self.mend)}{self.mend}"


def in_rows(rows: Sequence[int]) -> str:
    """'row 3', 'rows 3 and 5', 'rows 1, 2, 3, 4, 5 and 7 more'."""
    shown = [str(row) for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        return f"rows {', '.join(shown)} and {len(rows) - MOST_ROWS:,} more"
    return f"rows {', '.join(shown[:-1])} and {shown[-1]}" if len(rows) > 1 else f"row {shown[0]}"


def rooted(paths: Paths) -> tuple[tuple[str, ...], ...]:
    """The paths, with a common root added if they have none."""
    return tuple(paths) if len({path[-1] for path in paths}) == 1 else tuple((*path, ROOT) for path in paths)


def faults(paths: Paths) -> list[Fault]:
    """All faults of rows of labels, each row from the leaf to the top."""
    if not paths:
        return [Fault("A hierarchy needs at least one leaf; got none")]
    return _of_lengths(paths) or [*_blanks(paths), *_repeated(paths), *_double_parents(rooted(paths))]


def check(paths: Paths) -> None:
    """Raise SchemaError, with the first fault and the number of others, if rows are no hierarchy."""
    if problems := faults(paths):
        more = f" {len(problems) - 1:,} more of this or another kind: see shoal hierarchy check." * (len(problems) > 1)
        raise SchemaError(f"{problems[0]}{more}")


def _of_lengths(paths: Paths) -> list[Fault]:
    lengths = Counter(map(len, paths))
    usual = max(lengths, key=lambda length: (lengths[length], length))
    if len(lengths) > 1:
        rows = tuple(row for row, path in enumerate(paths, 1) if len(path) != usual)
        return [
            Fault(
                "Every row of a hierarchy must have the same number of levels, 2 or more; got rows with "
                f"{', '.join(str(length) for length in sorted(lengths))} levels, most with {usual}",
                rows,
                mend="Repeat a label where nothing changes from level to level.",
            )
        ]
    if usual < 2:
        return [
            Fault(
                "Every row of a hierarchy must have the same number of levels, 2 or more; got rows with 1 level",
                mend="Give the label above each leaf.",
            )
        ]
    if usual > MOST_LEVELS:
        return [Fault(f"A hierarchy may have {MOST_LEVELS} levels; got {usual}", mend="Take some out.")]
    return []


def _blanks(paths: Paths) -> list[Fault]:
    """Blank labels. An empty text may be a leaf, but no label above one."""
    problems = []
    for level in range(1, len(paths[0])):
        if rows := tuple(row for row, path in enumerate(paths, 1) if not path[level].strip()):
            labels = tuple(dict.fromkeys(paths[row - 1][0] for row in rows))
            rule = f"Every level of a hierarchy must have a label; level {level} is blank"
            problems.append(Fault(rule, rows, labels, "Fill it in, or repeat the label below."))
    return problems


def _repeated(paths: Paths) -> list[Fault]:
    rows: dict[str, list[int]] = defaultdict(list)
    for row, path in enumerate(paths, 1):
        rows[path[0]].append(row)
    again = {leaf: tuple(where) for leaf, where in rows.items() if len(where) > 1}
    return [
        Fault("A hierarchy must list every leaf once; one stands there again", where, (leaf,), "Keep one of the rows.")
        for leaf, where in again.items()
    ]


def _double_parents(paths: Paths) -> list[Fault]:
    problems = []
    for level in range(1, len(paths[0]) - 1):
        parents: dict[str, dict[str, int]] = defaultdict(dict)
        for row, path in enumerate(paths, 1):
            parents[path[level]].setdefault(path[level + 1], row)
        problems += [
            Fault(
                f"A hierarchy must be a tree; a label of level {level} has {len(above)} different parents at level "
                f"{level + 1}",
                tuple(above.values()),
                (label, *above),
                "Give the branches different labels.",
            )
            for label, above in parents.items()
            if len(above) > 1
        ]
    return problems


def cautions(paths: Paths, counts: Mapping[str, int] | None = None) -> list[Fault]:
    """Features that are allowed in a hierarchy but rarely intended.

    `counts`: number of records with each value, if there is a table.
    """
    problems = [
        Fault(f"Level {level + 1} tells apart as much as level {level}", mend="Take one of them out.")
        for level in range(len(paths[0]) - 1)
        if len({path[level] for path in paths}) == len({path[level + 1] for path in paths})
    ]
    leaves: dict[str, set[frozenset[int]]] = defaultdict(set)
    for level in range(len(paths[0])):
        under: dict[str, list[int]] = defaultdict(list)
        for row, path in enumerate(paths, 1):
            under[path[level]].append(row)
        for label, rows in under.items():
            leaves[label].add(frozenset(rows))
    problems += [
        Fault(
            "One label names different sets of values at different levels",
            tuple(sorted(frozenset().union(*sets))),
            (label,),
            "Give it two names, or nobody can tell which is meant.",
        )
        for label, sets in leaves.items()
        if len(sets) > 1
    ]
    if counts is not None and (idle := [row for row, path in enumerate(paths, 1) if path[0] not in counts]):
        problems.append(Fault("No record has these values", tuple(idle), tuple(paths[row - 1][0] for row in idle)))
    return problems

"""Keys and links of tables that hang together, guessed from their cells and from the names of tables and columns.

Of several tables that it could hang on, a table hangs on the lowest. Tables that others look something up in, such as
districts, are no persons, and are left out.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.plan.guess import LARGE_GROUPS
from shoal.plan.linked_evidence import NUMBERS, Columns, Edge, candidates, edges_of
from shoal.table.column_words import meaning, words_in
from shoal.table.links import Key
from shoal.vocabulary.errors import DataError, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Guessed:
    """A guessed key of a table, and why."""

    key: Key
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hanging:
    """Tables that hang on one.

    Parameters
    ----------
    tables
        Their keys and links, that of persons first, every table after the one above it.
    left_out
        A sentence on each table that is left out: why, and what to do.
    names
        Columns, by table, that look up rows of a table that is left out, each with that table's name.
    """

    tables: Mapping[str, Guessed]
    left_out: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


Edges = dict[str, dict[str, Edge]]


def guess_links(frames: Mapping[str, pl.DataFrame]) -> Hanging:
    """The keys and links of some tables.

    Raises
    ------
    DataError
        Naming the tables that do not hang on others, and what to write, if the tables do not hang together on one.
    """
    columns = {name: candidates(frame) for name, frame in frames.items()}
    edges: Edges = {name: {edge.parent: edge for edge in edges_of(name, columns)} for name in frames}
    for name, other in ((name, other) for name in frames for other in frames if name < other):
        if name in edges[other] and other in edges[name]:
            del edges[name][other]
    all_edges, (edges, left_out) = edges, _without_lookups(edges, columns)
    names = {
        name: {edge.link: edge.parent for edge in above.values() if edge.parent in left_out}
        for name, above in all_edges.items()
    }
    shared = _turned(edges, columns)
    roots = _roots(edges)
    if len(roots) != 1 or not _reached(edges, roots[0]):
        raise DataError(_refusal(edges, roots))
    parents = _parents(edges)
    keys, torn = _keys(parents, columns)
    left_out |= torn
    order = sorted(edges.keys() - torn, key=lambda name: (_depth(name, edges, ()), list(frames).index(name)))
    keys.setdefault(roots[0], _own_key(roots[0], columns))
    return Hanging(
        tables={name: _guessed(name, columns, parents.get(name), keys.get(name), shared) for name in order},
        left_out=left_out,
        names=names,
    )


def _guessed(name: str, columns: Columns, edge: Edge | None, own: str | None, shared: Mapping[str, str]) -> Guessed:
    reasons = [] if own is None else [f"'{own}' has a value of its own in each row"]
    if name in shared:
        reasons.append(shared[name])
    if edge is None and (persons := _repeated(name, columns)):
        reasons.append(f"'{persons}' repeats: if it is of persons, add a table with a row for each and draft again")
    if edge is not None:
        values = columns[name][edge.link]
        reasons.append(f"all {values.n_unique():,} values of '{edge.link}' are '{edge.key}' of '{edge.parent}'")
    parent, link = (None, None) if edge is None else (edge.parent, edge.link)
    return Guessed(key=Key(key=own, parent=parent, link=link), reason="; ".join(reasons))


def _without_lookups(edges: Edges, columns: Columns) -> tuple[Edges, dict[str, str]]:
    """The tables without those of lookups, which hang on none, and a sentence on each of these.

    Nothing is left out unless the table that the rest hangs on has tables below it, or a key called a person's, and
    no other column called so repeats in it, for then its rows are no persons.
    """
    rest, left_out = edges, dict[str, str]()
    while lookups := [name for name in _roots(rest) if _is_lookup(name, rest)]:
        left_out |= {name: _looked_up(name, rest, columns) for name in lookups}
        rest = {
            name: {parent: edge for parent, edge in above.items() if parent not in lookups}
            for name, above in rest.items()
            if name not in lookups
        }
    persons = [
        name
        for name in _roots(rest)
        if (_below(rest, name) or _of_people(_own_key(name, columns))) and not _repeated(name, columns)
    ]
    return (rest, left_out) if persons else (edges, {})


def _is_lookup(name: str, edges: Edges) -> bool:
    """True if the columns that link to a table tell of a place or the like, by their words, and of no person."""
    links = [edges[child][name].link for child in _below(edges, name)]
    spoken_of = [meaning(link) or meaning(f"{link} id") for link in links]
    return bool(links) and all(means is not None and means.role == "quasi-identifier" for means in spoken_of)


def _looked_up(name: str, edges: Edges, columns: Columns) -> str:
    below = _below(edges, name)
    edge = edges[below[0]][name]
    return (
        f"'{name}' is left out: '{edge.link}' of {quoted(below)} looks its rows up by '{edge.key}', and promises do "
        f"not count them. Join the columns that you need to '{below[0]}' and draft again, or protect it by itself."
    )


def _of_people(key: str | None) -> bool:
    spoken_of = None if key is None else meaning(key)
    return spoken_of is not None and spoken_of.role == "identifier"


def _repeated(name: str, columns: Columns) -> str:
    """The column of a table that is called a person's number and repeats; empty if there is none."""
    repeated = [column for column, cells in columns[name].items() if cells.n_unique() < len(cells)]
    return next((column for column in repeated if _of_people(column) and words_in(column).split()[-1] in NUMBERS), "")


def _own_key(name: str, columns: Columns) -> str:
    """The column with a value of its own in each row that is called a key, or the first; empty if there is none."""
    unique = [column for column, cells in columns[name].items() if cells.n_unique() == len(cells)]
    return next((column for column in unique if _of_people(column)), unique[0] if unique else "")


def _turned(edges: Edges, columns: Columns) -> dict[str, str]:
    """Hang a table on the one that has a row for each of its rows, where that hangs on another table as well.

    Clients, and what disposes of each account, by which client: clients that share an account hang on it.

    Returns
    -------
    dict
        A clause on each table that then has several rows of such a table, which says what promises count.
    """
    shared = {}
    for name, above in edges.items():
        others = [edge for edge in above.values() if not edge.same]
        for edge in [edge for edge in above.values() if edge.same and not edges[edge.parent]]:
            links = [columns[name][other.link] for other in others if other.parent != edge.parent]
            if not links or any(len(cells) >= LARGE_GROUPS * cells.n_unique() for cells in links):
                continue
            del above[edge.parent]
            edges[edge.parent][name] = Edge(parent=name, link=edge.key, key=edge.link, same=True)
            for other in others:
                if most := _most(columns[name][other.link]):
                    shared[other.parent] = (
                        f"up to {most:,} rows of '{edge.parent}' share one, so promises count rows of '{other.parent}'"
                    )
    return shared


def _most(cells: pl.Series) -> int:
    """The most rows with one value; 0 if none repeats."""
    most = int(np.max(cells.unique_counts().to_numpy()))
    return most if most > 1 else 0


def _roots(edges: Edges) -> list[str]:
    return [name for name, above in edges.items() if not above]


def _below(edges: Edges, name: str) -> list[str]:
    return [other for other, above in edges.items() if name in above]


def _reached(edges: Edges, root: str) -> bool:
    """True if all tables hang on one, directly or through others."""
    reached = [root]
    for name in reached:
        reached += [other for other in _below(edges, name) if other not in reached]
    return len(reached) == len(edges)


def _depth(name: str, edges: Edges, seen: tuple[str, ...]) -> int:
    """Number of tables on the longest way up."""
    upper = [parent for parent in edges[name] if parent not in seen and parent != name]
    return 1 + max((_depth(parent, edges, (*seen, name)) for parent in upper), default=-1)


def _parents(edges: Edges) -> dict[str, Edge]:
    """The link of each table to the lowest that it can hang on."""
    return {
        name: max(above.values(), key=lambda edge: _depth(edge.parent, edges, ()))
        for name, above in edges.items()
        if above
    }


def _keys(parents: Mapping[str, Edge], columns: Columns) -> tuple[dict[str, str], dict[str, str]]:
    """The key of each table that others hang on, and a sentence on each table that hangs on it by another.

    Raises DataError if others hang on such a table.
    """
    keys, torn = {}, {}
    for parent in {edge.parent: None for edge in parents.values()}:
        children = [(name, edge) for name, edge in parents.items() if edge.parent == parent]
        several = [edge.key for _, edge in children if not edge.same] or [edge.key for _, edge in children]
        keys[parent] = max(several, key=several.count)
        for name, edge in ((name, edge) for name, edge in children if edge.key != keys[parent]):
            torn[name] = (
                f"'{name}' is left out: it hangs on '{parent}' by '{edge.key}', others do by '{keys[parent]}', and a "
                f"table has one key. Join its columns to '{parent}', or '{keys[parent]}' to it, and draft again."
            )
    if lost := {edge.parent for name, edge in parents.items() if name not in torn} & set(torn):
        raise DataError(" ".join(torn[name] for name in sorted(lost)))
    return keys, torn


def _refusal(edges: Edges, roots: Collection[str]) -> str:
    """What to write where tables do not hang on one."""
    named = list(roots or edges)
    alone = [name for name in named if not _below(edges, name)]
    between = [(name, sorted(above)) for name, above in edges.items() if len(set(above) & set(named)) > 1]
    sentence = (
        f"No links were seen that make all tables hang on one: {quoted(named)} "
        f"{'hangs' if len(named) == 1 else 'hang'} on no other. A table links to another by a column with the name of "
        f"its key, or of the table, whose values are all there. "
    )
    if between:
        name, above = between[0]
        sentence += (
            f"'{name}' hangs on {quoted(above)}: if but one is of persons, leave the file of the other out, which "
            f"'{name}' looks up. "
        )
    if alone:
        sentence += (
            f"On {quoted(alone)} nothing hangs either: leave {'its file' if len(alone) == 1 else 'their files'} out, "
            f"or add a column with the keys of another table, called as there. "
        )
    return f"{sentence}Write the plan by hand, with parent and link of each table, if that does not help."

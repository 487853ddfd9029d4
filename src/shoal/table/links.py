"""Linked tables: which row of a table belongs to which row of another.

One table holds one row a person. Every other table names a table above it, and a column with the key of a row there:
persons, their stays, the drugs of each stay. Rows without their row above, and keys that repeat, are refused.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.kernels.arrays import Bools, Longs
from shoal.vocabulary.errors import DataError, plural, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The columns that identify the rows of a table and link them.

    Parameters
    ----------
    key
        Column with a value of its own in each row; None if no table lies below.
    parent
        Table above; None for the table of persons.
    link
        Column with the key of a row of the table above; None for the table of persons.
    """

    key: str | None = None
    parent: str | None = None
    link: str | None = None


Keys = Mapping[str, Key]
"""Keys by table, that of persons first, every table after the one above it."""


def chain(keys: Keys, name: str) -> Iterator[str]:
    """A table and all above it, the table of persons last."""
    above: str | None = name
    while above is not None:
        yield above
        above = keys[above].parent


def root_of(keys: Keys) -> str:
    """The table of persons."""
    return next(iter(keys))


def below(keys: Keys, name: str) -> list[str]:
    """Tables right below a table."""
    return [other for other, key in keys.items() if key.parent == name]


def key_columns(keys: Keys, name: str, present: Collection[str]) -> dict[str, str]:
    """Columns of a table with keys, each with the table whose key it holds: its own, its link, and keys further up."""
    own = keys[name]
    columns = {} if own.key is None else {own.key: name}
    if own.link is not None and own.parent is not None:
        columns[own.link] = own.parent
    for above in list(chain(keys, name))[2:]:
        key = keys[above].key
        if key is not None and key in present and key not in columns:
            columns[key] = above
    return columns


@dataclass(frozen=True, kw_only=True, eq=False)
class Links:
    """Rows of linked tables.

    Parameters
    ----------
    sizes
        Number of rows of each table.
    above
        Shape (n,) by table but that of persons: position of the row above each row.
    """

    keys: Keys
    sizes: Mapping[str, int]
    above: Mapping[str, Longs]

    @classmethod
    def of(cls, tables: Mapping[str, nw.DataFrame[Any]], keys: Keys) -> "Links":
        """The links between some tables.

        Raises
        ------
        DataError
            Naming the table, the column and the number of rows, if a key is missing or repeats, or a row has no row
            above it.
        """
        cells = {
            name: {column: _texts(table, name, column) for column in key_columns(keys, name, table.columns)}
            for name, table in tables.items()
        }
        for name, key in keys.items():
            if key.key is not None:
                _check_unique(cells[name][key.key], name, key.key)
        above = {name: _places(cells, keys, name) for name, key in keys.items() if key.parent is not None}
        links = cls(keys=keys, sizes={name: len(table) for name, table in tables.items()}, above=above)
        for name, table in tables.items():
            for column, other in key_columns(keys, name, table.columns).items():
                if other not in (name, keys[name].parent):
                    links._check_same(cells, name, column, other)
        return links

    @cached_property
    def persons(self) -> dict[str, Longs]:
        """Shape (n,) by table; position of the person of each row."""
        return {name: self.rows_of(root_of(self.keys), name) for name in self.keys}

    def rows_of(self, upper: str, name: str) -> Longs:
        """Shape (n,); position, in a table above, of the row that each row of a table belongs to."""
        place = np.arange(self.sizes[name])
        for table in chain(self.keys, name):
            if table == upper:
                return place
            place = self.above[table][place]
        raise KeyError(upper)

    def surviving(self, kept: Mapping[str, Bools]) -> dict[str, Bools]:
        """Shape (n,) by table; True for rows that are kept and whose rows above all are."""
        left: dict[str, Bools] = {}
        for name, key in self.keys.items():
            left[name] = kept[name] if key.parent is None else kept[name] & left[key.parent][self.above[name]]
        return left

    def taken(self, rows: Mapping[str, Longs]) -> "Links":
        """The links between the chosen rows of each table, in their order; every row above must be among them."""
        above = {}
        for name, place in self.above.items():
            parent = rows[str(self.keys[name].parent)]
            new = np.full(self.sizes[str(self.keys[name].parent)], -1)
            new[parent] = np.arange(len(parent))
            above[name] = new[place[rows[name]]]
        return replace(self, sizes={name: len(chosen) for name, chosen in rows.items()}, above=above)

    def beside(self, further: "Links") -> "Links":
        """The links of these rows and of further ones, which are numbered after them in every table."""
        sizes = {name: size + further.sizes[name] for name, size in self.sizes.items()}
        above = {
            name: np.concatenate([place, further.above[name] + self.sizes[str(self.keys[name].parent)]])
            for name, place in self.above.items()
        }
        return replace(self, sizes=sizes, above=above)

    def _check_same(self, cells: Mapping[str, Mapping[str, pl.Series]], name: str, column: str, other: str) -> None:
        """Refuse a key further up that is another one than the links lead to."""
        own = cells[other][str(self.keys[other].key)].gather(self.rows_of(other, name).tolist())
        if wrong := int((cells[name][column].to_numpy() != own.to_numpy()).sum()):
            raise DataError(
                f"Table '{name}': {plural(wrong, 'row')} {'has' if wrong == 1 else 'have'} a '{column}' other than the "
                f"row of '{self.keys[name].parent}' that {'it is' if wrong == 1 else 'they are'} linked to. Repair one."
            )


def _texts(table: nw.DataFrame[Any], name: str, column: str) -> pl.Series:
    """The cells of a key column as text, so that 7 and '7' are one key. Raises DataError if some are missing."""
    if column not in table.columns:
        raise DataError(
            f"Table '{name}' has no column '{column}', which the plan links by; it has {quoted(table.columns)}."
        )
    cells = table.get_column(column).to_polars()
    if cells.dtype.is_float() and (cells.drop_nulls().drop_nans() % 1 == 0).all():
        cells = cells.fill_nan(None).cast(pl.Int64)
    if lacking := cells.null_count():
        raise DataError(
            f"Table '{name}': {plural(lacking, 'row')} {'has' if lacking == 1 else 'have'} no '{column}', which links "
            f"the tables. Fill it in, or leave {'it' if lacking == 1 else 'them'} out."
        )
    return cells.cast(pl.String)


def _check_unique(cells: pl.Series, name: str, column: str) -> None:
    if repeats := len(cells) - cells.n_unique():
        raise DataError(
            f"Table '{name}': '{column}' is its key, but {plural(repeats, 'row')} "
            f"{'repeats' if repeats == 1 else 'repeat'} the key of an earlier one. Give each row a key of its own, or "
            f"name another column as key."
        )


def _places(cells: Mapping[str, Mapping[str, pl.Series]], keys: Keys, name: str) -> Longs:
    """Shape (n,); position of the row above each row of a table. Raises DataError if some have none."""
    parent, link = str(keys[name].parent), str(keys[name].link)
    key = cells[parent][str(keys[parent].key)]
    place = pl.DataFrame({"key": key, "place": np.arange(len(key))})
    linked = pl.DataFrame({"key": cells[name][link]}).join(place, on="key", how="left", maintain_order="left")["place"]
    if orphans := linked.null_count():
        raise DataError(
            f"Table '{name}': {plural(orphans, 'row')} {'has' if orphans == 1 else 'have'} a '{link}' that is no "
            f"'{keys[parent].key}' of '{parent}'. Add the missing rows to '{parent}', or leave "
            f"{'this one' if orphans == 1 else 'these'} out."
        )
    return linked.to_numpy().astype(np.int64)

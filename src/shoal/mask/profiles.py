"""Common profiles: groups of persons whose records are made the same."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated, Literal

import numpy as np

from shoal.mask._profiles.alignment import RowPlaces
from shoal.mask._profiles.bound import most_kept
from shoal.mask._profiles.diverse import merged, without_diversity
from shoal.mask._profiles.people import People
from shoal.mask._profiles.shared import groups_of, values_of
from shoal.mask.base import Mask
from shoal.partition.base import in_turn
from shoal.replace.base import Replacement
from shoal.replace.centroid import Centroid
from shoal.table.links import Key, Links, root_of
from shoal.table.prelude import Bools, Generator, Ints, Longs, Partition, Progress, Records, StepResult, Variable
from shoal.table.step_result import Grouping
from shoal.vocabulary.prelude import (
    ColumnName,
    Count,
    DataError,
    Facts,
    Ge,
    ParameterError,
    Share,
    method,
    nested,
    of_original,
    plural,
)

PERSONS, MEMBERS, RECORDS, HOUSEHOLDS = "persons", "members", "records", " households"
"""Names of the tables that a table with units is taken for, and of one that no plan can name."""


@method("profiles", title="Common profiles of persons", source="shoal", example={"k": 3})
class Profiles(Mask):
    """Groups persons by all their records, and gives the persons of a group the same ones.

    Persons are grouped by what they share of their whole records: their own cells, how many rows hang on them, and what
    is in these. Groups are begun greedily and improved until no move and no exchange of persons keeps more. In a group,
    everybody keeps as many rows as the person with the fewest; rows of different persons that lose least by it are made
    alike, and what is left over is dropped. So it goes on below each row. Rows at the same place get one centre, or
    nearest common ancestor; a cell that some of them lack is blanked in all. Whoever knows all records of a person, and
    what hangs on them, is left with k persons.

    Parameters
    ----------
    k
        Smallest number of persons in a group.
    replacement
        What the rows at one place get; it must give all of them the same cells.
    order
        A column by which a person's rows are in order, in each table that has it: rows stay in that order among those
        that they are made like, so that sequences are alike as well. Where rows of a person may have the same cell of
        it, make it a quasi-identifier: it is made alike then, and ties with it.
    l
        Fewest values of each confidential column that different persons of a group stand for, one each, by the rows
        that they keep: groups with fewer are put together with those with which most is kept. With 1 none is needed.
    unit
        Whether persons are made alike, or whole households, with as many persons and with their rows.

    Notes
    -----
    In a table without a person column each record is a person. Over several linked tables the step stands in the
    section `steps` of the whole plan, and works on the quasi-identifiers of all. Strata of persons are not mixed, by
    the first row of each where they stand in the rows. Persons of one household may come into one group, so
    `unit: household` in a requirement may fail, unless it is that of the step as well: then k households are alike, and
    `l` counts households.

    As with any exact mean, whoever knows a cell of all others of a group, and that it is a group, has that of the last
    one. From 3 000 persons on, or twice k if that is more, persons are grouped in blocks. Beside the share that groups
    keep of what persons have, the private report has what no groups with this k keep more than, where pairs of persons
    can be compared in two seconds: nobody keeps more than is shared with the (k - 1)-th of those with whom most is.
    """

    scales = "memory"

    k: Annotated[int, Ge(1)]
    replacement: Annotated[Replacement, nested("replace")] = field(default_factory=Centroid)
    order: Annotated[str | None, ColumnName()] = None
    l: Annotated[int, Ge(1)] = 1  # noqa: E741 - the name that l-diversity has
    unit: Literal["person", "household"] = "person"

    def __post_init__(self) -> None:
        if not isinstance(self.replacement, Centroid):
            raise ParameterError(
                f"profiles: {self.replacement.method_name} leaves rows different that shall be alike. Take centroid."
            )

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        units = _numbers_of(records, self.unit)
        present, first, above = np.unique(units, return_index=True, return_inverse=True)
        strata = tuple(records[name].take(first) for name in records.names("stratum"))
        tables, upper = {PERSONS: Records(variables=strata, rows=np.arange(len(present)))}, {RECORDS: above}
        keys = {PERSONS: Key(key="person")}
        if self.unit == "household" and records.unit_numbers("person") is not None:  # their persons are alike, too
            pairs = np.column_stack([above, _numbers_of(records, "person")])
            homes, upper[RECORDS] = np.unique(pairs, axis=0, return_inverse=True)
            upper[MEMBERS] = homes[:, 0]
            keys[MEMBERS] = Key(key="member", parent=PERSONS, link="person")
            tables[MEMBERS] = Records(variables=(), rows=np.arange(len(homes)))
        lowest = [*keys][-1]
        keys[RECORDS], tables[RECORDS] = Key(parent=lowest, link=keys[lowest].key), records
        links = Links(keys=keys, sizes={name: len(table) for name, table in tables.items()}, above=upper)
        columns_of = {name: tuple(columns) if name == RECORDS else () for name in keys}
        units_alone = replace(self, unit="person")  # units are at the root already
        return units_alone.over_tables(tables, links, columns_of, rng, progress)[RECORDS]

    def over_tables(
        self,
        tables: Mapping[str, Records],
        links: Links,
        columns: Mapping[str, tuple[str, ...]],
        rng: Generator,
        progress: Progress = None,
    ) -> dict[str, StepResult]:
        """The outcome for each of several linked tables.

        Parameters
        ----------
        links
            Of the records, in their order.
        columns
            By table, those that are made alike.
        """
        if self.unit == "household":
            return self._of_households(tables, links, columns, rng, progress)
        people = People(tables=tables, links=links, columns=columns, order=self._orders(tables, links))
        values = values_of(people)
        groups = self._groups(people, values, progress)
        while True:
            places = RowPlaces.of(people, groups.labels.astype(np.int64))
            results = {name: self._made_alike(people, name, places.labels[name], groups, rng) for name in links.keys}
            failing = self._failing(results, links.taken(_rows_with_places(places)))
            if not failing.any():
                kept = _kept(values, groups, _strata_of(people), self.k)
                return {name: replace(of, facts={**of.facts, **kept}) for name, of in results.items()}
            together = merged(groups, failing, values, _strata_of(people))
            if together is None:
                raise DataError(
                    f"profiles: l = {self.l} values of a confidential column are needed in a group, and all persons of "
                    f"a stratum or table together do not stand for so many by the rows that all of them have. Lower l."
                )
            groups = together

    def _failing(self, results: Mapping[str, StepResult], links: Links) -> Bools:
        """Shape (u,); persons whose group stands for too few confidential values."""
        if self.l == 1:
            return np.zeros(links.sizes[root_of(links.keys)], dtype=bool)
        return without_diversity({name: result.records for name, result in results.items()}, links, self.l)

    def _of_households(
        self,
        tables: Mapping[str, Records],
        links: Links,
        columns: Mapping[str, tuple[str, ...]],
        rng: Generator,
        progress: Progress,
    ) -> dict[str, StepResult]:
        """The outcome where households are what is alike: they stand above the persons."""
        root = root_of(links.keys)
        numbers = _numbers_of(tables[root], "household")
        present, first, above = np.unique(numbers, return_index=True, return_inverse=True)
        strata = [tables[root][name].take(first) for name in tables[root].names("stratum")]
        homes = Records(variables=tuple(strata), rows=np.arange(len(present)))
        keys = {HOUSEHOLDS: Key(key=HOUSEHOLDS), **links.keys}
        keys[root] = replace(links.keys[root], parent=HOUSEHOLDS, link=HOUSEHOLDS)
        nested = Links(keys=keys, sizes={HOUSEHOLDS: len(present), **links.sizes}, above={root: above, **links.above})
        households = replace(self, unit="person")
        results = households.over_tables(
            {HOUSEHOLDS: homes, **tables}, nested, {HOUSEHOLDS: (), **columns}, rng, progress
        )
        return {name: results[name] for name in links.keys}

    def _orders(self, tables: Mapping[str, Records], links: Links) -> dict[str, Longs]:
        if self.order is None:
            return {}
        having = [name for name in tables if name in links.above and self.order in tables[name]]
        if not having:
            raise DataError(f"profiles: no table below the persons has a column '{self.order}'. Name another order.")
        ranks = {name: np.unique(tables[name][self.order].values, return_inverse=True)[1] for name in having}
        return {name: np.where(tables[name][str(self.order)].missing, -1, rank) for name, rank in ranks.items()}

    def _groups(self, people: People, values: Ints, progress: Progress) -> Partition:
        """The groups of persons."""
        strata = _strata_of(people)
        sizes = np.bincount(strata)
        if sizes.min(initial=self.k) < self.k or not len(values):
            fewest = plural(int(min(sizes, default=0)), "person")
            there = "a stratum has" if len(sizes) > 1 else "there are"
            raise DataError(f"profiles: k = {self.k} persons shall be alike, but {there} only {fewest}. Lower k.")
        pieces = np.split(np.argsort(strata, kind="stable"), np.cumsum(sizes)[:-1])
        return in_turn("stratum", pieces, lambda _, rows, share: groups_of(values[rows], self.k, share), progress)

    def _made_alike(self, people: People, name: str, labels: Longs, groups: Partition, rng: Generator) -> StepResult:
        """The rows of a table that have places, with the same cells at each."""
        records, columns = people.tables[name], people.columns[name]
        kept = np.flatnonzero(labels >= 0)
        part, rows = Partition.of(labels[kept]), records.take(kept)
        changed = self.replacement.apply(rows, columns, part, rng)
        alike = [_where_none_lacks(changed.records[column], rows[column], part) for column in columns]
        grouping = Grouping(columns=columns, partition=part, rows=rows.rows, exchangeable=self.replacement.exchangeable)
        dropped = len(records) - len(kept)
        facts = {
            "groups of persons": Count(n=groups.n_groups, unit="groups"),
            "records dropped": Count(n=dropped),
            "share dropped": Share(value=dropped / max(len(records), 1)),
        }
        return replace(
            changed,
            records=changed.records.with_variables(*alike),
            facts={**facts, **changed.facts},
            grouping=grouping if columns else None,
        )


def _numbers_of(records: Records, unit: str) -> Longs:
    """Shape (n,); number of each record's person or household; each record is a person where no column says so.

    Raises DataError if there is no column of households, or records lack their number.
    """
    numbers = records.unit_numbers(unit)
    if numbers is None and unit == "person":
        return np.arange(len(records))
    if numbers is None:
        raise DataError("profiles: no column has the role household, which unit: household counts. Give it to one.")
    if nobody := int((numbers < 0).sum()):
        raise DataError(f"profiles: {plural(nobody, 'record')} without a {unit}. Set missing: drop for that column.")
    return numbers


def _kept(values: Ints, groups: Partition, strata: Longs, k: int) -> Facts:
    """The share that groups keep of what persons have, and what no groups of k persons pass, unless that takes long."""
    total = max(int(values.sum(dtype=np.int64)), 1)
    kept = sum(len(rows) * int(values[rows].min(axis=0).sum(dtype=np.int64)) for rows in groups.members())
    facts = {"share kept of what persons have": kept / total}
    if (most := most_kept(values, strata, k)) is not None:
        facts["no groups with this k keep more than"] = most / total
    return of_original(facts)


def _strata_of(people: People) -> Longs:
    strata = people.tables[people.root].strata
    return np.zeros(people.links.sizes[people.root], dtype=np.int64) if strata is None else strata


def _rows_with_places(places: RowPlaces) -> dict[str, Longs]:
    return {name: np.flatnonzero(labels >= 0) for name, labels in places.labels.items()}


def _where_none_lacks(variable: Variable, before: Variable, part: Partition) -> Variable:
    """The column with a cell blanked where another one of its group was, unless all got one."""
    if variable.complete:
        return variable
    lacking = np.bincount(part.labels, weights=variable.missing, minlength=part.n_groups)[part.labels] > 0
    blank = np.nan if variable.continuous else -1
    return variable.with_values(np.where(lacking, blank, variable.values))

"""Base of all partition methods: the public call, strata, households."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.kernels.partition.bounds import neighbour_bound
from shoal.partition.ancestor_loss import AncestorLoss
from shoal.table.equal_rows import patterns, rows_by_number
from shoal.table.microdata import as_records
from shoal.table.prelude import Generator, Longs, Partition, Progress, Records, Variable, ints, part_of
from shoal.table.schema import UNITS, Scale, default_unit
from shoal.vocabulary.errors import DataError, ParameterError, Refused, plural, quoted
from shoal.vocabulary.prelude import Fact, Nested, OfPlan, Scales, Share

SmallStrata = Literal["refuse", "merge"]

Unit = Literal["record", "person", "household"] | str
"""Members of groups, which k counts: records, persons, households, or the values of the column of this name."""

BOUND_WORK = 4e8
"""A lower bound is computed with every partition up to this many coordinates compared, half a second or so ..."""

BOUND_DIMENSIONS = 6
BOUND_LEAVES = 1_000
"""... where the search for neighbours looks at this many records in few dimensions and at all of them in many."""


class Partitioner(ABC):
    """Divides records into groups; subclasses implement `assign` for one stratum."""

    method_kind: ClassVar[str] = "partition"
    method_name: ClassVar[str]
    scales: ClassVar[Scales] = "blocks"
    compares_confidential: ClassVar[bool] = False
    """True if groups are compared with the distribution of confidential values over the whole table."""
    by_household: ClassVar[bool] = True
    """True if the method may be run on household means, so that k counts households."""
    by_known_columns: ClassVar[bool] = False
    """True if records with missing cells are grouped with those that lack the same columns, by the others."""
    one_group: ClassVar[bool] = False
    """True if all records (of a stratum) are one group, so that what replaces them belongs to nobody."""

    @property
    def smallest(self) -> int:
        """Size that every group reaches; the parameter k where the method has one."""
        return int(getattr(self, "k", 1))

    @abstractmethod
    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress) -> Partition:
        """Partition the records of one stratum by some columns."""

    def partition(
        self,
        x: Any,
        *,
        columns: Sequence[str] | None = None,
        confidential: Any = None,
        seed: int | Generator | None = None,
        standardise: Scale = "sd",
        small_strata: SmallStrata = "refuse",
        unit: Unit | None = None,
        progress: Progress = None,
    ) -> Partition:
        """Partition a table.

        Parameters
        ----------
        x
            An array of shape (n,) or (n, d), a data frame, Microdata or Records. Arrays and frames are
            standardised by mean and n-1 standard deviation unless `standardise` says otherwise.
        columns
            The columns by which groups are formed; by default all quasi-identifiers.
        confidential
            For methods that look at confidential values: column names of `x`, or their values.
        seed
            An integer or a generator; methods without randomness ignore it.
        small_strata
            What to do with a stratum of fewer than k records: refuse, or merge it with the next one.
        unit
            What groups are formed of, and what k counts: households, or persons, where the table has such a column,
            so that the records of each stay together; records, whosever they are; or the values of an identifier, by
            its name, so that all records of one stay together. If not given, households where the table has them, or
            else persons where it has these.
        progress
            Called with the fraction done.

        Raises
        ------
        DataError
            If households, or values of an identifier, are to be grouped of a table without them, or by a method that
            cannot.
        ParameterError
            If the table, or a stratum of it, holds fewer records than a group must.
        """
        records = _of_unit(as_records(x, confidential, standardise), unit)
        columns = records.quasi_identifiers if columns is None else tuple(columns)
        if not (self.one_group or self.by_known_columns) or records.households is not None:
            records.complete(() if self.one_group else columns, self.method_name)
        rng = np.random.default_rng(seed)
        strata = records.strata
        if strata is None:
            part = self._kinds(records, columns, rng, progress, "the table")
        else:
            if small_strata == "merge":
                strata = _merged(strata, _units_of(strata, records.households), self.smallest)
            part = self._by_stratum(records, columns, strata, rng, progress)
        return self._with_bound(part, records, columns)

    def _with_bound(self, part: Partition, records: Records, columns: Sequence[str]) -> Partition:
        """The loss of the partition and what no partition could go below, in percent.

        Only where a k is promised and the bound is cheap; the measure `lower-bound` gives it for any table.
        """
        n, k = len(records), self.smallest
        if 1 < k <= part.k:
            part = _with_ancestors(part, records, columns, k)
        width = sum(records[name].width for name in columns)
        if not records.complete_in(columns):
            return part
        affordable = n * width * (BOUND_LEAVES if width <= BOUND_DIMENSIONS else n) <= BOUND_WORK
        if not (1 < k <= n and width and affordable):
            return part
        x = records.matrix(columns)
        spread = float(((x - x.mean(axis=0)) ** 2).sum())
        if spread == 0:
            return part
        return replace(part, loss=part.information_loss(x), lower_bound=100 * neighbour_bound(x, k) / spread)

    def _by_stratum(
        self, records: Records, columns: Sequence[str], strata: Longs, rng: Generator, progress: Progress
    ) -> Partition:
        if records.households is not None:
            _whole_units(records.households, strata, records.unit)

        def stratum(number: int, rows: Longs, share: Progress) -> Partition:
            return self._kinds(records.take(rows), columns, rng, share, f"stratum {number + 1}")

        part = in_turn("stratum", rows_by_number(strata), stratum, progress)
        return replace(part, facts={"strata": Nested(part.facts)})

    def _kinds(
        self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress, where: str
    ) -> Partition:
        """A partition in which the records of a group lack the same of the columns, and are grouped by the others."""
        if self.one_group or records.complete_in(columns):
            return self._units(records, columns, rng, progress, where)
        kinds = patterns(np.column_stack([records[name].missing for name in columns]))

        def kind(number: int, rows: Longs, share: Progress) -> Partition:
            lacking = {name for name, lacks in zip(columns, kinds[number][0]) if lacks}
            if len(rows) < self.smallest:
                raise self._too_few(len(rows), [name for name in columns if name in lacking], where)
            present = [name for name in columns if name not in lacking]
            if not present or len(rows) < 2 * self.smallest:  # which can be no more than one group
                return Partition(labels=np.zeros(len(rows), dtype=np.int32))
            return self._units(records.take(rows), present, rng, share, where)

        return in_turn("columns missing together,", [rows for _, rows in kinds], kind, progress)

    def _too_few(self, count: int, lacking: Sequence[str], where: str) -> DataError:
        return DataError(
            f"{self.method_name} groups records by themselves that lack the same columns. Of {where} only "
            f"{plural(count, 'record')} {'lacks' if count == 1 else 'lack'} {quoted(lacking) or 'none'}, fewer than "
            f"k = {self.smallest}. Set missing: drop or impute for columns with missing values (category for nominal "
            f"ones), form groups without these columns (by: ...), or lower k."
        )

    def _units(
        self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress, where: str
    ) -> Partition:
        households = records.households
        if households is None:
            self._check_size(len(records), where, "record")
            return self.assign(records, columns, rng, progress)
        if not self.by_household:
            other = ", give the household column the role other," if records.unit == "household" else ""
            kept = of_each(records.unit)
            raise DataError(
                f"{self.method_name} cannot keep {kept} together. Say unit: record in the step{other} or choose "
                f"another method."
            )
        self._check_size(int(households.max()) + 1 if len(households) else 0, where, records.unit)
        weighted = bool(getattr(self, "weighted", False))
        means = _household_means(records, columns, households, weighted)
        part = self.assign(means, means.quasi_identifiers, rng, progress)
        return Partition(labels=part.labels[households], facts={**part.facts, "unit": OfPlan(records.unit)})

    def _check_size(self, n: int, where: str, unit: str) -> None:
        if n < self.smallest:
            raise ParameterError(
                f"k must be an integer in [1, {n}] ({where} has {counted(n, unit)}); got {self.smallest}. "
                f"Lower k{'' if where == 'the table' else ', or set small_strata: merge'}."
            )


def in_turn(
    title: str, pieces: Sequence[Longs], divided: Callable[[int, Longs, Progress], Partition], progress: Progress
) -> Partition:
    """The partitions of pieces of a table as one, groups numbered on; facts by piece, models by the smallest pieces.

    Parameters
    ----------
    pieces
        Rows of each; together every row once.
    divided
        Makes the partition of a piece, given its number and rows.
    """
    n = sum(map(len, pieces))
    labels = np.empty(n, dtype=np.int32)
    facts: dict[str, Fact] = {}
    models: list[Any] = []
    count = done = 0
    for number, rows in enumerate(pieces if n else ()):
        part = divided(number, rows, part_of(progress, done / n, len(rows) / n))
        labels[rows] = part.labels + count
        count, done = count + part.n_groups, done + len(rows)
        facts[f"{title} {number + 1}"] = Nested(part.facts)
        models += _models_of(part)
    has_model = any(model is not None for model in models)
    return Partition(labels=labels, facts=facts, model=dict(enumerate(models)) if has_model else None)


def _models_of(part: Partition) -> list[Any]:
    """The models of a partition by piece, of pieces that are in pieces themselves; without any, None for each group."""
    if part.model is None:
        return [None] * part.n_groups
    return list(part.model.values()) if isinstance(part.model, dict) else [part.model]


def _with_ancestors(part: Partition, records: Records, columns: Sequence[str], k: int) -> Partition:
    """The partition with what its cells lose as common ancestors, and the least of any groups, if columns are trees."""
    ancestors = AncestorLoss.of(records, columns)
    if ancestors is None:
        return part
    facts: dict[str, Fact] = {
        "loss as common ancestors": Share(value=ancestors.mean(part.labels)),
        "no groups of this k lose less than": Share(value=ancestors.bound(k, part.labels)),
    }
    return replace(part, facts={**part.facts, **facts})


def _of_unit(records: Records, unit: Unit | None) -> Records:
    """The records as a unit has them grouped: those that are grouped one by one are of no household."""
    if unit in UNITS and not records.names(unit):
        raise DataError(
            f"{unit.capitalize()}s cannot be grouped, for the table has no column with the role {unit}. Give one that "
            f"role, or say unit: record."
        )
    unit = unit or default_unit(records.names)
    if unit == "household":
        return records
    single = records.without(records.names("household"))
    if unit == "record":
        return single
    name = records.names("person")[0] if unit == "person" else unit
    if name not in records:
        raise DataError(f"unit: there is no column '{unit}' whose values could be grouped. Name an identifier.")
    if nobody := int(records[name].missing.sum()):
        raise DataError(
            f"Column '{name}' has {plural(nobody, 'missing value')}, so that whose these records are is not known. Set "
            f"missing: drop for it, or say unit: record."
        )
    return replace(single.with_variables(replace(records[name], role="household")), unit=unit)


def counted(n: int, unit: str) -> str:
    """So many of a unit: '3 households', '3 values of 'patient''."""
    return plural(n, unit) if unit in ("record", *UNITS) else f"{plural(n, 'value')} of '{unit}'"


def of_each(unit: str) -> str:
    """What stays together of a unit, in words."""
    kept = {"household": "households", "person": "the records of a person"}
    return kept.get(unit, f"the records of a value of '{unit}'")


def _units_of(strata: Longs, households: Longs | None) -> Longs:
    """Shape (number of strata,); how many records, or households, each stratum holds."""
    if households is None:
        return np.bincount(strata)
    return np.bincount(np.unique(np.column_stack([strata, households]), axis=0)[:, 0])


def _merged(strata: Longs, sizes: Longs, k: int) -> Longs:
    """Strata with those under k merged with their neighbour in order."""
    new, gathered, number = np.empty(len(sizes), dtype=np.int64), 0, 0
    for s, size in enumerate(sizes):
        new[s] = number
        gathered += int(size)
        if gathered >= k:
            number, gathered = number + 1, 0
    if gathered and number:
        new[new == number] = number - 1
    return new[strata]


def _whole_units(units: Longs, strata: Longs, unit: str) -> None:
    """Refuse households, or values of an identifier, that groups within strata would tear apart."""
    homes = np.unique(np.column_stack([units, strata]), axis=0)[:, 0]
    if torn := int((np.bincount(homes) > 1).sum()):
        members = "members" if unit == "household" else "records"
        raise DataError(
            f"{counted(torn, unit)} {'has' if torn == 1 else 'have'} {members} in more than one stratum, so that "
            f"they cannot stay in one group. Correct the stratum column, or give it another role."
        )


def _household_means(records: Records, columns: Sequence[str], households: Longs, weighted: bool) -> Records:
    """One record a household: the mean of its members in the standardised embedding; if weighted, by their weights,
    with the sum of these as its own."""
    homes, weights = Partition(labels=ints(households)), records.weights if weighted else None
    means = Records.from_array(homes.means(records.matrix(columns), weights), "none")
    if weights is None:
        return means
    total = homes.sums(weights[:, None])[:, 0]
    return means.with_variables(Variable(name="weight", role="weight", level="continuous", values=total))


def refuse_unless_k(part: Partition, k: int, name: str) -> Partition:
    """The last check of a method that promises groups of k: the promise or a refusal."""
    if part.k < k:
        raise Refused(f"{name} left a group of {part.k} records where {k} were promised; nothing is released.")
    return part

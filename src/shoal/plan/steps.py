"""The steps of a plan, each of which carries itself out on records."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from shoal.kernels.arrays import Longs
from shoal.table.joint_moments import JointMoments
from shoal.table.packed import Packed
from shoal.table.partition import Partition, Progress
from shoal.table.records import Records
from shoal.table.schema import UNITS, Schema, default_unit
from shoal.table.step_result import Grouping, StepResult, StepTrace
from shoal.table.variable import Variable
from shoal.vocabulary.facts import Count, Fact, Figure, Nested, OfPlan
from shoal.vocabulary.parameters import ColumnName, Columns, Setting, columns_named_by, holds
from shoal.vocabulary.registry import Spec, nested, spec_of

SmallStrata = Literal["refuse", "merge"]
"""Treatment of a stratum that has fewer records than a group needs."""

Unit = Literal["record", "person", "household"] | Annotated[str, ColumnName()]
"""Units of which groups are formed; a column's name stands for the values of an identifier."""

LOSS, LOSS_OF_RECORDS = "information loss in percent", "information loss in percent, were groups formed of records"
"""Labels, in the account of a partition, of its loss and of the loss that groups of single records would have."""


@dataclass(frozen=True, kw_only=True)
class Step(ABC):
    """A method and the columns that it works on.

    Parameters
    ----------
    method
        A method of the step's kind.
    columns
        Columns that are changed; those of `default_roles` if none are named.
    """

    method: Any
    columns: tuple[str, ...] = ()

    needs_columns: ClassVar[bool] = False
    """True if the step means nothing without columns named or columns of its `default_roles`."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the step in reports, made of the names of its methods."""

    @property
    @abstractmethod
    def default_roles(self) -> tuple[str, ...]:
        """Roles of the columns that are changed if none are named."""

    @property
    def own_cells(self) -> bool:
        """True if the method needs cells that no earlier step changed (see `Mask.own_cells`)."""
        return False

    @property
    def leaves_gaps(self) -> bool:
        """True if each record keeps its own missing cells (see `Mask.leaves_gaps`)."""
        return False

    @property
    def as_a_whole(self) -> bool:
        """True if cells are drawn for the table as a whole, so that no record's cells are a person's."""
        return False

    @property
    def makes_records(self) -> bool:
        """True if new records are made that are nobody's, as many as the method says (see `Mask.makes_records`)."""
        return False

    @property
    def predictors(self) -> tuple[str, ...] | None:
        """Unchanged columns on which new cells depend; None for all that the step does not change."""
        return None

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Identifiers whose values the step groups or counts."""
        required = getattr(self.method, "requirements", ())
        return tuple(dict.fromkeys(name for model in required for name in model.identifiers))

    @property
    def further_methods(self) -> Mapping[str, Any]:
        """Methods other than `method`, by their keys in a plan."""
        return {}

    @abstractmethod
    def carry_out(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        """Change the columns."""

    @abstractmethod
    def trace(self, schema: Schema) -> StepTrace:
        """The columns on which the step's result depends, in a table with this schema."""

    def changes(self, schema: Schema) -> tuple[str, ...]:
        """Columns that are changed in a table with this schema."""
        return self.columns or schema.names(*self.default_roles)

    @abstractmethod
    def as_mapping(self) -> Spec:
        """The mapping from which a plan makes the same step again."""

    def coded(self, identifier: Variable) -> bool:
        """True if the step can leave such an identifier in a released table."""
        return False


@dataclass(frozen=True, kw_only=True)
class PartitionStep(Step):
    """Partition the records, then replace inside every group.

    Parameters
    ----------
    method
        A partition method.
    replace
        The replacement of each group's records.
    columns
        Columns that are replaced; the quasi-identifiers if none are named.
    by
        Columns on which groups are formed; the replaced ones if none are named.
    small_strata
        Treatment of a stratum of fewer than k records: refuse or merge.
    unit
        Unit of which groups are formed and which k counts: `record`, `person`, `household`, or the values of an
        identifier, by its name. By default households where the table has a household column, or else persons where it
        has a person column; the account of the step then also has the loss of groups of records.
    """

    replace: Annotated[Any, nested("replace")]
    by: tuple[str, ...] = ()
    small_strata: SmallStrata = "refuse"
    unit: Unit | None = None

    needs_columns: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return f"{self.method.method_name} + {self.replace.method_name}"

    @property
    def default_roles(self) -> tuple[str, ...]:
        return ("quasi-identifier",)

    @property
    def as_a_whole(self) -> bool:
        return bool(self.method.one_group) and self.replace.anew

    @property
    def predictors(self) -> tuple[str, ...] | None:
        predictors: tuple[str, ...] | None = self.replace.predictors
        return predictors

    @property
    def identifiers(self) -> tuple[str, ...]:
        return () if self.unit is None or self.unit in ("record", *UNITS) else (self.unit,)

    @property
    def further_methods(self) -> Mapping[str, Any]:
        return {"replace": self.replace}

    def carry_out(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        """Form groups by `by` and replace the columns inside them."""
        by = self.by or tuple(columns)
        before = deepcopy(rng)
        part = self.method.partition(
            records, columns=by, seed=rng, small_strata=self.small_strata, unit=self.unit, progress=progress
        )
        units = self._units(records, by, before)
        change: StepResult = self.replace.apply(records, columns, part, rng, progress)
        facts: dict[str, Fact] = {
            **settings_of(self.method),
            **settings_of(self.replace),
            "groups": Count(n=part.n_groups, unit="groups"),
            "smallest group": Count(n=part.k),
            "largest group": Count(n=int(part.sizes.max())),
            LOSS: Figure(value=_loss(part, records, by)),
            **units,
            **({} if part.lower_bound is None else {"information loss at best": Figure(value=part.lower_bound)}),
            **{label: fact for label, fact in part.facts.items() if label != "unit"},
            **change.facts,
        }
        grouping = Grouping(
            columns=tuple(columns), partition=part, rows=records.rows, exchangeable=self.replace.exchangeable
        )
        return replace(change, facts=facts, grouping=grouping)

    def trace(self, schema: Schema) -> StepTrace:
        """Groups depend on their columns, on what keeps records apart or together, and on their requirements."""
        columns = self.changes(schema)
        reads = _read_by_methods((self.method, self.replace), schema)
        if not self.method.one_group:
            together = (
                schema.names(self.unit or default_unit(schema.names)) if not self.identifiers else self.identifiers
            )
            reads |= {*(self.by or columns), *together}
        dealing = self.replace.dealing
        return StepTrace(columns=columns, reads=frozenset(reads) if dealing else None, dealing=dealing)

    def _units(self, records: Records, by: Sequence[str], rng: np.random.Generator) -> dict[str, Fact]:
        """The unit of groups, as a fact; if it is the default, also the loss that groups of records would have.

        That loss is computed with the generator as it would be with `unit: record`.
        """
        unit = default_unit(records.names)
        if unit == "record" and self.unit in (None, "record"):
            return {}
        if self.unit is not None:
            return {"unit": OfPlan(self.unit)}
        of_records = self.method.partition(records, columns=by, seed=rng, small_strata=self.small_strata, unit="record")
        return {"unit": OfPlan(f"{unit}, by default"), LOSS_OF_RECORDS: Figure(value=_loss(of_records, records, by))}

    def as_mapping(self) -> Spec:
        spec = spec_of(self.method)
        return {
            "partition": spec.pop("method"),
            **spec,
            "replace": spec_of(self.replace),
            **({"columns": list(self.columns)} if self.columns else {}),
            **({"by": list(self.by)} if self.by else {}),
            **({"small_strata": self.small_strata} if self.small_strata != "refuse" else {}),
            **({"unit": self.unit} if self.unit is not None else {}),
        }


def _loss(part: Partition, records: Records, by: Sequence[str]) -> float:
    """The information loss of a partition, in percent, in the columns without missing cells.

    100 if all columns have missing cells.
    """
    if part.loss is not None:
        return float(part.loss)
    complete = [name for name in by if not records[name].missing.any()]
    return float(Packed.of(records, complete).information_loss(part)) if complete or not by else 100.0


@dataclass(frozen=True, kw_only=True)
class MaskStep(Step):
    """Mask columns.

    Parameters
    ----------
    method
        A masking method.
    columns
        Columns that are masked; if none are named, those whose role the method is for, mostly quasi-identifiers.
    """

    @property
    def name(self) -> str:
        return str(self.method.method_name)

    @property
    def default_roles(self) -> tuple[str, ...]:
        roles: tuple[str, ...] = self.method.default_roles
        return roles

    @property
    def own_cells(self) -> bool:
        return bool(self.method.own_cells)

    @property
    def leaves_gaps(self) -> bool:
        return bool(self.method.leaves_gaps)

    @property
    def as_a_whole(self) -> bool:
        return bool(self.method.makes_records)

    @property
    def makes_records(self) -> bool:
        return bool(self.method.makes_records)

    def coded(self, identifier: Variable) -> bool:
        return bool(self.method.coded(identifier))

    def carry_out(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        """Mask the columns."""
        return self._masked(self.method.apply(records, columns, rng, progress), columns)

    def carry_out_on_part(
        self,
        records: Records,
        columns: Sequence[str],
        rng: np.random.Generator,
        stratum: Longs,
        moments: Sequence[JointMoments],
    ) -> StepResult:
        """Mask the columns of a part of a table in parts, as `Mask.apply_to_part`."""
        return self._masked(self.method.apply_to_part(records, columns, rng, stratum, moments), columns)

    def _masked(self, change: StepResult, columns: Sequence[str]) -> StepResult:
        return replace(change, masked=tuple(columns), facts={**settings_of(self.method), **change.facts})

    def trace(self, schema: Schema) -> StepTrace:
        """A mask depends on its own columns, on those that it names and on units that it draws, or possibly on all."""
        columns, units = ((), schema.names(*UNITS)) if self.method.draws_units else (self.changes(schema), ())
        reads = frozenset({*columns, *units, *_read_by_methods((self.method,), schema)})
        return StepTrace(columns=columns, reads=None if self.method.reads_others else reads)

    def as_mapping(self) -> Spec:
        spec = spec_of(self.method)
        return {"mask": spec.pop("method"), **spec, **({"columns": list(self.columns)} if self.columns else {})}


def _read_by_methods(methods: Sequence[Any], schema: Schema) -> set[str]:
    """Columns that methods, nested ones included, read in addition to those of their step."""
    reads = set(schema.names("stratum"))
    for method in methods:
        reads |= set(columns_named_by(method))
        if getattr(method, "compares_confidential", False):
            reads |= set(schema.names("confidential"))
        if getattr(method, "weighted", False):
            reads |= set(schema.names("weight"))
        nested = [getattr(method, field.name) for field in fields(method)]
        reads |= _read_by_methods([inner for inner in nested if hasattr(inner, "method_kind")], schema)
    return reads


def settings_of(method: Any) -> dict[str, Fact]:
    """The settings of a method, under its name: parameters that the plan sets and that are always public."""
    markers = holds(type(method))
    settings = {
        name.replace("_", " "): OfPlan(value)
        for name, value in spec_of(method).items()
        if isinstance(markers.get(name), (Setting, ColumnName, Columns)) and value not in (None, (), {})
    }
    return {method.method_name: Nested(settings)} if settings else {}


STEPS: Mapping[str, type[Step]] = {"partition": PartitionStep, "mask": MaskStep}
"""The class of step for each kind of method; its further fields are the step's keys in a plan."""

"""The steps of a plan: each carries itself out on records and gives a result."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from shoal.data.partition import Progress
from shoal.data.records import Records
from shoal.data.variable import Variable
from shoal.methods import nested, spec_of
from shoal.step_result import Grouping, StepResult

SmallStrata = Literal["refuse", "merge"]
"""What happens to a stratum of fewer records than a group needs."""


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
    """Whether the step means nothing where it names no columns and the table has none of its `default_roles`."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the step is called in reports: the names of its methods."""

    @property
    @abstractmethod
    def default_roles(self) -> tuple[str, ...]:
        """Roles of the columns that are changed where none are named."""

    @property
    def own_cells(self) -> bool:
        """Whether the method needs cells that no earlier step changed (see `Mask.own_cells`)."""
        return False

    @property
    def further_methods(self) -> Mapping[str, Any]:
        """Methods beside `method`, by their keys in a plan."""
        return {}

    @abstractmethod
    def carry_out(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        """Change the columns."""

    @abstractmethod
    def as_mapping(self) -> dict[str, Any]:
        """The mapping from which a plan makes the same step again."""

    def coded(self, identifier: Variable) -> bool:
        """Whether an identifier of a released table can be what the step leaves of one."""
        return False


@dataclass(frozen=True, kw_only=True)
class PartitionStep(Step):
    """Partition the records, then replace inside every group.

    Parameters
    ----------
    method
        A partition method.
    replace
        What takes the place of a group's records.
    columns
        Columns that are replaced; the quasi-identifiers if none are named.
    by
        Columns on which groups are formed; those that are replaced if none are named.
    small_strata
        What happens to a stratum under k: refuse or merge.
    """

    replace: Annotated[Any, nested("replace")]
    by: tuple[str, ...] = ()
    small_strata: SmallStrata = "refuse"

    needs_columns: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return f"{self.method.method_name} + {self.replace.method_name}"

    @property
    def default_roles(self) -> tuple[str, ...]:
        return ("quasi-identifier",)

    @property
    def further_methods(self) -> Mapping[str, Any]:
        return {"replace": self.replace}

    def carry_out(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        """Form groups by `by` and replace the columns inside them."""
        by = self.by or tuple(columns)
        part = self.method.partition(records, columns=by, seed=rng, small_strata=self.small_strata, progress=progress)
        change: StepResult = self.replace.apply(records, columns, part, rng, progress)
        loss = part.information_loss(records.matrix(by)) if part.loss is None else part.loss
        facts = {
            "groups": part.n_groups,
            "smallest group": part.k,
            "largest group": int(part.sizes.max()),
            "information loss in percent": loss,
            **({} if part.lower_bound is None else {"information loss at best": part.lower_bound}),
            **part.facts,
            **change.facts,
        }
        grouping = Grouping(
            columns=tuple(columns), partition=part, rows=records.rows, exchangeable=self.replace.exchangeable
        )
        return replace(change, facts=facts, grouping=grouping)

    def as_mapping(self) -> dict[str, Any]:
        spec = spec_of(self.method)
        return {
            "partition": spec.pop("method"),
            **spec,
            "replace": spec_of(self.replace),
            **({"columns": list(self.columns)} if self.columns else {}),
            **({"by": list(self.by)} if self.by else {}),
            **({"small_strata": self.small_strata} if self.small_strata != "refuse" else {}),
        }


@dataclass(frozen=True, kw_only=True)
class MaskStep(Step):
    """Mask columns.

    Parameters
    ----------
    method
        A masking method.
    columns
        Columns that are masked; those of the method's `default_roles` if none are named.
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

    def coded(self, identifier: Variable) -> bool:
        return bool(self.method.coded(identifier))

    def carry_out(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        """Mask the columns."""
        change: StepResult = self.method.apply(records, columns, rng, progress)
        return replace(change, masked=tuple(columns))

    def as_mapping(self) -> dict[str, Any]:
        spec = spec_of(self.method)
        return {"mask": spec.pop("method"), **spec, **({"columns": list(self.columns)} if self.columns else {})}


STEPS: Mapping[str, type[Step]] = {"partition": PartitionStep, "mask": MaskStep}
"""The step that a method of a kind makes; its further keys in a plan are the step's fields."""

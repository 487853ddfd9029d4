"""The steps of a plan: each carries itself out on records and gives a result."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from shoal.data.partition import Progress
from shoal.data.records import Records
from shoal.methods import nested, spec_of
from shoal.step_result import Grouping, StepResult

SmallStrata = Literal["refuse", "merge"]
"""What happens to a stratum of fewer records than a group needs."""


@dataclass(frozen=True, kw_only=True)
class PartitionStep:
    """Partition the records, then replace inside every group.

    Parameters
    ----------
    method, replace
        A partition method and a replacement.
    columns
        Columns that are replaced; the quasi-identifiers if none are named.
    by
        Columns on which groups are formed; those that are replaced if none are named.
    small_strata
        What happens to a stratum under k: refuse or merge.
    """

    method: Any
    replace: Annotated[Any, nested("replace")]
    columns: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    small_strata: SmallStrata = "refuse"

    default_roles: ClassVar[tuple[str, ...]] = ("quasi-identifier",)
    own_cells: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return f"{self.method.method_name} + {self.replace.method_name}"

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
            "information loss in percent": _loss(loss, part.lower_bound),
            **part.facts,
            **change.facts,
            "loss": loss,
            **({} if part.lower_bound is None else {"lower_bound": part.lower_bound}),
        }
        grouping = Grouping(columns=tuple(columns), partition=part, rows=records.rows)
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
class MaskStep:
    """Mask columns.

    Parameters
    ----------
    method
        A masking method.
    columns
        Columns that are masked; those of the method's `default_roles` if none are named.
    """

    method: Any
    columns: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return str(self.method.method_name)

    @property
    def default_roles(self) -> tuple[str, ...]:
        roles: tuple[str, ...] = self.method.default_roles
        return roles

    @property
    def own_cells(self) -> bool:
        """Whether the method needs cells that no earlier step changed (see `Mask.own_cells`)."""
        return bool(self.method.own_cells)

    def carry_out(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        """Mask the columns."""
        change: StepResult = self.method.apply(records, columns, rng, progress)
        return replace(change, masked=tuple(columns))

    def as_mapping(self) -> dict[str, Any]:
        spec = spec_of(self.method)
        return {"mask": spec.pop("method"), **spec, **({"columns": list(self.columns)} if self.columns else {})}


def _loss(loss: float, bound: float | None) -> str:
    """'loss 4.74, at best 4.65': what was reached, and what no partition could go below."""
    return f"loss {loss:.4g}" + ("" if bound is None else f", at best {bound:.4g}")

"""The steps of a plan, which change the table."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from shoal.methods import nested, spec_of

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

    @property
    def name(self) -> str:
        return f"{self.method.method_name} + {self.replace.method_name}"

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

    def as_mapping(self) -> dict[str, Any]:
        spec = spec_of(self.method)
        return {"mask": spec.pop("method"), **spec, **({"columns": list(self.columns)} if self.columns else {})}

"""The parts of a plan: steps that change the table, and how it is written."""

from dataclasses import dataclass
from typing import Any

from shoal.methods import spec_of

FORMATS = ("csv", "parquet", "xlsx", "sav", "dta", "xpt")


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
    replace: Any
    columns: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    small_strata: str = "refuse"

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


@dataclass(frozen=True, kw_only=True)
class Output:
    """How the release is written.

    Parameters
    ----------
    format
        One of csv, parquet, xlsx, sav (SPSS), dta (Stata), xpt (SAS transport).
    shuffle
        Release the records in random order, so that their order tells nothing. Otherwise they stand in the order
        of the original, and whoever knows that order (of admission, of the alphabet) finds people by it.
    guard_formulas
        In CSV and Excel, put an apostrophe before text that a spreadsheet would run as a formula.
    """

    format: str = "csv"
    shuffle: bool = True
    guard_formulas: bool = False

    def as_mapping(self) -> dict[str, Any]:
        return {"format": self.format, "shuffle": self.shuffle, "guard_formulas": self.guard_formulas}

"""What the columns of a table are: their role in disclosure control and their level of measurement.

No column has a role by default: one that nobody classified is an error that lists it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, ConfigDict, RootModel, ValidationError, field_validator, model_validator

from shoal.data.hierarchy import Hierarchy
from shoal.errors import Mistake, SchemaError, quoted, unknown
from shoal.parameters import HoldsCells, Setting, TablePath, broken_rules

Role = Literal["identifier", "quasi-identifier", "confidential", "other", "weight", "household", "stratum"]
Level = Literal["continuous", "ordinal", "nominal"]
Scale = Literal["sd", "range", "mad", "rank", "none"]
Missing = Literal["refuse", "drop", "impute", "category", "keep"]

Policy = Literal["refuse", "report", "repair"]
"""What happens to a table that comes in with edit rules broken."""

ROLES: tuple[str, ...] = get_args(Role)
LEVELS: tuple[str, ...] = get_args(Level)

CHOICES: Mapping[str, tuple[str, ...]] = {"role": ROLES, "level": LEVELS}
"""Keys of a column that are answered with the nearest value there is."""


TREES = "a file's name, {nested: ...}, {intervals: [...]} or {paths: [...]}"
"""The forms of a hierarchy."""


class Column(BaseModel):
    """One column.

    Parameters
    ----------
    role
        What an intruder or an analyst does with it.
    level
        Level of measurement; by default numbers and dates are continuous, all else nominal.
    order
        The categories of an ordinal column from lowest to highest; by default the data's own order.
    hierarchy
        For a nominal column: a path to an ARX-style CSV file, or `{nested: {...}}`, or
        `{intervals: [5, 10, 50]}` for numbers.
    missing
        What happens to missing values: refuse the table (default), `drop` the record, `impute` median or
        mode, make them a `category` of their own, or `keep` them missing (default for columns with the role
        other or identifier).
    scale
        How distances standardise a continuous column: by mean and n-1 standard deviation (`sd`), `range`,
        median absolute deviation (`mad`), `rank`, or `none`.
    weight
        Factor of the column's squared distance in mixed records.
    decimals
        Round released values to so many decimals; 0 gives integers back as integers.
    label
        A description carried to the codebook and to formats that have labels.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    role: Role
    level: Level | None = None
    order: Annotated[tuple[str | int | float | bool, ...] | None, HoldsCells()] = None
    hierarchy: Annotated[str | dict[str, Any] | Hierarchy | None, TablePath()] = None
    missing: Missing | None = None
    scale: Scale = "sd"
    weight: Annotated[float, Gt(0), Setting()] = 1.0
    decimals: Annotated[int, Ge(0), Le(15)] | None = None
    label: Annotated[str | None, HoldsCells()] = None

    @model_validator(mode="before")
    @classmethod
    def _role_alone(cls, value: Any) -> Any:
        return {"role": value} if isinstance(value, str) else value

    @field_validator("order")
    @classmethod
    def _no_repeats(cls, order: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        if order is not None and len(set(order)) < len(order):
            raise ValueError("a list of different categories")
        return order

    @field_validator("hierarchy", mode="before")
    @classmethod
    def _file_or_tree(cls, hierarchy: Any) -> Any:
        if not isinstance(hierarchy, (str, Mapping, Hierarchy, type(None))):
            raise ValueError(TREES)
        return hierarchy

    @property
    def missing_policy(self) -> Missing:
        if self.missing is not None:
            return self.missing
        return "keep" if self.role in ("identifier", "other") else "refuse"

    def load_hierarchy(self, categories: Iterable[str], folder: Path) -> Hierarchy | None:
        """The hierarchy itself, its file looked up beside the plan, checked to hold every category."""
        values = list(categories)
        match self.hierarchy:
            case None:
                return None
            case Hierarchy():
                loaded = self.hierarchy
            case str():
                loaded = Hierarchy.from_csv(folder / self.hierarchy)
            case {"file": path}:
                loaded = Hierarchy.from_csv(folder / path)
            case {"nested": tree}:
                loaded = Hierarchy.from_nested(tree)
            case {"intervals": widths}:
                loaded = Hierarchy.from_intervals(_as_numbers(values), widths)
            case {"paths": paths}:
                if not isinstance(paths, (list, tuple)) or not all(isinstance(path, (list, tuple)) for path in paths):
                    raise SchemaError("the paths of a hierarchy must be a list of paths, each a list of labels.")
                loaded = Hierarchy(tuple(tuple(str(label) for label in path) for path in paths))
            case _:
                raise SchemaError(f"hierarchy must be {TREES}.")
        loaded.codes(values)
        return loaded


def mistakes(problems: Iterable[Any]) -> list[Mistake]:
    """What is wrong with the description of columns.

    Parameters
    ----------
    problems
        Of a pydantic ValidationError, the place of each counted from the column's name.
    """
    mistakes: list[Mistake] = []
    rules: dict[str, list[dict[str, Any]]] = {}
    for problem in problems:
        name, key = (*(str(part) for part in problem["loc"][:2]), "", "")[:2]
        if not problem["loc"]:
            mistakes.append(((), f"{problem['msg'].removeprefix('Value error, ')}."))
        elif problem["type"] == "extra_forbidden":
            mistakes.append(((name, key), f"column '{name}': {unknown('key', key, Column.model_fields)}"))
        elif problem["type"] == "missing" or not key:
            mistakes.append(((name,), f"column '{name}' needs a role: one of {', '.join(ROLES)}."))
        elif key in CHOICES:
            mistakes.append(((name, key), f"column '{name}': {unknown(key, problem['input'], CHOICES[key])}"))
        else:
            rules.setdefault(name, []).append({**problem, "loc": problem["loc"][1:]})
    for name, broken in rules.items():
        mistakes += [((name, key), f"column '{name}': {key} {r}.") for key, r in broken_rules(Column, broken).items()]
    return mistakes


def _as_numbers(categories: Iterable[str]) -> list[float]:
    try:
        return sorted(float(category) for category in categories)
    except ValueError:
        raise SchemaError("a hierarchy of intervals is for numbers, and the column holds text.") from None


class Schema(RootModel[dict[str, Column]]):
    """The columns of a table by name, every one with a role."""

    model_config = ConfigDict(frozen=True)

    @property
    def columns(self) -> dict[str, Column]:
        return self.root

    @model_validator(mode="before")
    @classmethod
    def _names_are_text(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        names = [str(name) for name in value]
        if again := sorted(name for name, times in Counter(names).items() if times > 1):
            raise ValueError(f"column '{again[0]}' occurs more than once, as a number and as text")
        return dict(zip(names, value.values()))

    @model_validator(mode="after")
    def _single_roles(self) -> Self:
        for role in ("weight", "household"):
            if len(names := self.names(role)) > 1:
                raise ValueError(f"at most one column may have the role '{role}'; got {quoted(names)}")
        return self

    @classmethod
    def of(cls, columns: "Schema | Mapping[str, Any]") -> "Schema":
        """From `{name: role}` or `{name: {role: ..., level: ...}}`.

        Raises
        ------
        SchemaError
            Naming every mistake.
        """
        if isinstance(columns, Schema):
            return columns
        try:
            return cls.model_validate(columns)
        except ValidationError as error:
            sentences = [sentence for _, sentence in mistakes(error.errors())]
            raise SchemaError(" ".join(sentence[0].upper() + sentence[1:] for sentence in sentences)) from None

    def names(self, *roles: str) -> tuple[str, ...]:
        return tuple(name for name, column in self.columns.items() if column.role in roles)

    @property
    def decimals(self) -> dict[str, int]:
        """Of the columns that are rounded."""
        return {name: column.decimals for name, column in self.columns.items() if column.decimals is not None}

    def check_covers(self, present: Iterable[str]) -> None:
        """Every column of the table is classified, and every classified column is in the table."""
        there = list(present)
        present = set(there)
        absent = [name for name in self.columns if name not in present]
        if unclassified := [name for name in there if name not in self.columns]:
            stray = f" The plan has {quoted(absent)}, which the table has not." if absent else ""
            raise SchemaError(
                f"Columns without a role: {quoted(unclassified)}. Give each one of: {', '.join(ROLES)}.{stray}"
            )
        if absent:
            raise SchemaError(f"The table has no column {quoted(absent)}; it has {quoted(there)}.")

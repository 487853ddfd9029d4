"""Descriptions of the columns of a table: their role in disclosure control and their level of measurement.

No column has a role by default: unclassified columns are an error that lists them, unless the key `*` describes all
columns that are not named.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from annotated_types import Ge, Gt, Le
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    RootModel,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from shoal.table.hierarchy import Hierarchy
from shoal.table.hierarchy_forms import check_in_plan, hierarchy_of, of_numbers, of_values
from shoal.vocabulary.errors import Mistake, SchemaError, quoted, unknown
from shoal.vocabulary.parameters import ForReaders, HoldsCells, Setting, TablePath, broken_rules
from shoal.vocabulary.registry import Spec

Role = Literal["identifier", "quasi-identifier", "confidential", "other", "weight", "person", "household", "stratum"]
Level = Literal["continuous", "ordinal", "nominal"]
Scale = Literal["sd", "range", "mad", "rank", "log", "none"]
Missing = Literal["refuse", "drop", "impute", "category", "keep"]

Policy = Literal["refuse", "report", "repair"]
"""Treatment of a table whose input breaks edit rules."""

ROLES: tuple[str, ...] = get_args(Role)
LEVELS: tuple[str, ...] = get_args(Level)

CHOICES: Mapping[str, tuple[str, ...]] = {"role": ROLES, "level": LEVELS}
"""Keys of a column for whose wrong values the nearest right one is suggested."""


UNITS: tuple[str, ...] = ("person", "household")
"""Roles of columns that number units of several records, from the smaller unit to the larger."""

WITHOUT_CATEGORIES = ("identifier", *UNITS, "stratum")
"""Roles of columns whose cells are names of nothing but themselves."""

ALL_OTHERS = "*"
"""Key that describes all columns that are not named."""

FOR_ALL_OTHERS = ("identifier", "quasi-identifier", "confidential", "other")
"""Roles that several columns can have."""


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
        For a nominal column: the name of an ARX-style CSV file or of a YAML file with a tree, or `{nested: {...}}`; for
        numbers `{intervals: [5, 10, 50]}` or `{rounding: [5, 10]}`, for codes `{masking: right}` or `{prefix: [3, 1]}`,
        for days `{dates: [month, year]}`, and `{priority: [...]}` for values of which the first keep their names.
    missing
        What happens to missing values: refuse the table (default), `drop` the record, `impute` median or
        mode, make them a `category` of their own, or `keep` them missing (default for columns with the role
        other or identifier).
    scale
        How distances standardise a continuous column: by mean and n-1 standard deviation (`sd`), `range`,
        median absolute deviation (`mad`), `rank`, the logarithms of positive numbers (`log`), or `none`.
    weight
        Factor of the column's squared distance in mixed records.
    decimals
        Round released values to so many decimals; 0 gives integers back as integers.
        Without it averages, and values moved to keep rules, have the decimals that the column came in with, if any.
    label
        A description carried to the codebook and to formats that have labels.
    release_key
        For a person or household: release its number, drawn anew among those released (true), or leave the column out
        (false).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    role: Role
    level: Level | None = None
    order: Annotated[tuple[str | int | float | bool, ...] | None, HoldsCells()] = None
    hierarchy: Annotated[str | Spec | Hierarchy | None, TablePath()] = None
    missing: Missing | None = None
    scale: Scale = "sd"
    weight: Annotated[float, Gt(0), Setting()] = 1.0
    decimals: Annotated[int, Ge(0), Le(15)] | None = None
    label: Annotated[str | None, ForReaders()] = None
    release_key: bool = True

    @field_validator("order")
    @classmethod
    def _no_repeats(cls, order: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        if order is not None and len(set(order)) < len(order):
            raise ValueError("a list of different categories")
        return order

    @field_validator("release_key")
    @classmethod
    def _key_of_a_unit(cls, release_key: bool, info: ValidationInfo) -> bool:
        if not release_key and info.data.get("role") not in UNITS:
            raise ValueError(f"true for a role other than {' and '.join(UNITS)}")
        return release_key

    @field_validator("hierarchy", mode="before")
    @classmethod
    def _known_form(cls, hierarchy: Any) -> Any:
        check_in_plan(hierarchy)
        return hierarchy

    @property
    def codes(self) -> bool:
        """True if the column's numbers are names of categories, and no hierarchy builds its labels from them."""
        if self.role in WITHOUT_CATEGORIES or self.level == "continuous":
            return False
        if self.hierarchy is not None and of_values(self.hierarchy):
            return False
        return self.level is not None or self.order is not None or self.hierarchy is not None

    @property
    def ranges(self) -> bool:
        """True if the column has numbers that steps turn into ranges."""
        if self.role in WITHOUT_CATEGORIES:
            return False
        if self.hierarchy is not None:
            return of_numbers(self.hierarchy)
        return self.level in (None, "continuous") and self.order is None

    @property
    def missing_policy(self) -> Missing:
        if self.missing is not None:
            return self.missing
        return "keep" if self.role in ("identifier", "other") else "refuse"

    def load_hierarchy(self, counts: Mapping[str, int], folder: Path) -> Hierarchy | None:
        """The hierarchy, with its file looked up in the plan's folder. Raises SchemaError if it lacks a category.

        Parameters
        ----------
        counts
            Number of records with each category.
        """
        if self.hierarchy is None:
            return None
        loaded = hierarchy_of(self.hierarchy, counts, folder)
        loaded.check_cells(list(counts))
        return loaded


def mistakes(problems: Iterable[Any]) -> list[Mistake]:
    """Mistakes in the description of columns.

    `problems`: the errors of a pydantic ValidationError, each located from the column's name.
    """
    mistakes: list[Mistake] = []
    rules: dict[str, list[Spec]] = {}
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


def default_unit(names: Callable[[str], Sequence[str]]) -> str:
    """The largest unit that a table numbers, by the names of its columns with a role; `record` where it has none."""
    return next((unit for unit in reversed(UNITS) if names(unit)), "record")


def _role_alone(value: Any) -> Any:
    return {"role": value} if isinstance(value, str) else value


ColumnOrRole = Annotated[Column, BeforeValidator(_role_alone, json_schema_input_type=Column | Role)]


class Schema(RootModel[dict[str, ColumnOrRole]]):
    """The columns of a table by name, each with a role; `*` describes all columns that are not named."""

    model_config = ConfigDict(frozen=True)

    @cached_property
    def columns(self) -> dict[str, Column]:
        """The columns that are named."""
        return {name: column for name, column in self.root.items() if name != ALL_OTHERS}

    @property
    def all_others(self) -> Column | None:
        """Description of the columns that are not named."""
        return self.root.get(ALL_OTHERS)

    def covering(self, present: Iterable[str]) -> "Schema":
        """The same schema, with the columns of a table that only `*` covers named as well."""
        others = self.all_others
        if others is None:
            return self
        return Schema({**self.columns, **{name: others for name in present if name not in self.columns}})

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
        if self.all_others is not None and self.all_others.role not in FOR_ALL_OTHERS:
            raise ValueError(
                f"column '{ALL_OTHERS}' stands for all that are not named, and may have the role "
                f"{', '.join(FOR_ALL_OTHERS[:-1])} or {FOR_ALL_OTHERS[-1]}; got '{self.all_others.role}'"
            )
        for role in ("weight", *UNITS):
            if len(names := self.names(role)) > 1:
                raise ValueError(f"at most one column may have the role '{role}'; got {quoted(names)}")
        return self

    @classmethod
    def of(cls, columns: "Schema | Mapping[str, Any]") -> "Schema":
        """A schema from `{name: role}` or `{name: {role: ..., level: ...}}`.

        Raises
        ------
        SchemaError
            With one sentence for every mistake.
        """
        if isinstance(columns, Schema):
            return columns
        try:
            return cls.model_validate(columns)
        except ValidationError as error:
            sentences = [sentence for _, sentence in mistakes(error.errors())]
            raise SchemaError(" ".join(sentence[0].upper() + sentence[1:] for sentence in sentences)) from None

    def names(self, *roles: str) -> tuple[str, ...]:
        """The named columns with one of the roles."""
        return tuple(name for name, column in self.columns.items() if column.role in roles)

    @property
    def kept_keys(self) -> tuple[str, ...]:
        """Columns that number units and are not released."""
        return tuple(name for name in self.names(*UNITS) if not self.columns[name].release_key)

    @property
    def decimals(self) -> dict[str, int]:
        """Decimals of the columns to be rounded."""
        return {name: column.decimals for name, column in self.columns.items() if column.decimals is not None}

    def check_covers(self, present: Iterable[str]) -> None:
        """Refuse a table with unclassified columns, or without a classified one."""
        there = list(present)
        present = set(there)
        absent = [name for name in self.columns if name not in present]
        if unclassified := [name for name in there if name not in self.columns]:
            stray = f" The plan has {quoted(absent)}, which the table lacks." if absent else ""
            raise SchemaError(
                f"Columns without a role: {quoted(unclassified)}. Give each one of: {', '.join(ROLES)}; or all of them "
                f"one under '{ALL_OTHERS}'.{stray}"
            )
        if absent:
            raise SchemaError(f"The table has no column {quoted(absent)}; it has {quoted(there)}.")


def unrounded(schema: Schema) -> Schema:
    """A schema without the decimals that columns are rounded to, which is done once, at the end."""
    columns = {name: column.model_copy(update={"decimals": None}) for name, column in schema.root.items()}
    return Schema.model_construct(root=columns)


def in_order_of(schema: Schema, categories: Mapping[str, Sequence[Any]], present: Callable[[str], set[Any]]) -> Schema:
    """A schema with the order of ordinal columns whose released categories are text that it does not order.

    Parameters
    ----------
    categories
        Of the released columns of text, from lowest to highest.
    present
        The categories of a column that were released: of others a release knows nothing.
    """
    ordered: dict[str, Column] = {}
    for name in schema.columns.keys() & categories.keys():
        column = schema.columns[name]
        if column.level == "ordinal" and categories[name]:
            released = present(name)
            if not released - {None} <= set(map(str, column.order or ())):
                texts = dict.fromkeys(map(str, categories[name]))
                order = tuple(text for text in texts if text in released)
                ordered[name] = column.model_copy(update={"order": order})
    return Schema.model_construct(root=schema.columns | ordered)

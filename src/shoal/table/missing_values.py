"""Missing values treated as a schema says: refused, dropped, filled in, kept, or taken for a category."""

from dataclasses import replace
from typing import NoReturn

import numpy as np

from shoal.table.records import Records
from shoal.table.schema import Schema
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError, plural
from shoal.vocabulary.facts import ByLabel


def treat_missing(records: Records, schema: Schema) -> tuple[Records, ByLabel]:
    """Records treated as a schema says, and what became of missing values, by column."""
    keep = np.ones(len(records), dtype=bool)
    facts: ByLabel = {}
    changed = []
    for variable in records.variables:
        policy = schema.columns[variable.name].missing_policy
        if policy == "category":
            check_nominal(variable)  # whatever its cells are: a refusal may not tell whether one is missing
        if variable.complete:
            continue
        count = int(variable.missing.sum())
        facts[variable.name] = {"missing": count, "policy": policy}
        match policy:
            case "refuse":
                refuse_missing(variable.name, count, variable.role)
            case "drop":
                keep &= ~variable.missing
            case "impute":
                changed.append(_impute(variable))
            case "category":
                changed.append(_as_category(variable))
    treated = records.with_variables(*changed)
    if not keep.all():
        facts["records dropped"] = int((~keep).sum())
        treated = treated.take(np.flatnonzero(keep))
    return treated, facts


def _impute(variable: Variable) -> Variable:
    present = variable.values[~variable.missing]
    if not len(present):
        refuse_empty(variable.name)
    lower_median = np.sort(present)[(len(present) - 1) // 2]  # a value of the column
    common = lower_median if variable.continuous else np.bincount(present).argmax()
    return variable.with_values(np.where(variable.missing, common, variable.values))


def refuse_missing(name: str, count: int, role: str) -> NoReturn:
    """Refuse a column that must be complete."""
    raise DataError(
        f"Column '{name}' has {plural(count, 'missing value')}; a column with the role {role} must be complete. "
        f"Set missing: drop, impute, category or keep for it."
    )


def refuse_empty(name: str) -> NoReturn:
    """Refuse to fill in the cells of a column that has none."""
    raise DataError(f"Column '{name}' has no value at all, so none can be imputed. Drop the column.")


def check_some(records: int) -> None:
    """Refuse a table to protect that has no records."""
    if not records:
        raise DataError("The table has no records. A release needs at least one.")


def check_some_left(records: int) -> None:
    """Refuse a table to protect of which no record is left after those with missing values were dropped."""
    if not records:
        raise DataError(
            "No record is left after those with missing values were dropped. "
            "Set missing: impute, category or keep for the columns that lack values."
        )


def check_nominal(variable: Variable) -> None:
    """Refuse to take missing cells for a category in a column that is not nominal."""
    if variable.level != "nominal":
        raise DataError(
            f"Column '{variable.name}' is {variable.level}; missing: category is for nominal columns. "
            f"Set missing: drop or impute."
        )


def _as_category(variable: Variable) -> Variable:
    codes = np.where(variable.missing, len(variable.categories), variable.values)
    return replace(variable, values=codes.astype(np.int32), categories=(*variable.categories, None))

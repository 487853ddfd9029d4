"""Forms in which a plan describes a hierarchy, and construction of the hierarchies.

    hierarchy: towns.csv                      rows in the format of ARX; towns.yaml: a tree
    hierarchy: {nested: {south: [Arles, Evora], north: [Bonn]}}
    hierarchy: {intervals: [5, 10, 50]}       numbers
    hierarchy: {rounding: [5, 10]}
    hierarchy: {masking: right}               codes
    hierarchy: {masking: {side: right, padding: "0"}}
    hierarchy: {prefix: [3, 1]}
    hierarchy: {dates: [month, year]}         days
    hierarchy: {priority: [Bonn, [Arles, Evora]]}

A file, a tree and paths list their leaves. The other forms are built from the values of the column. Since each label
follows from the value alone, they can also be built from the labels of a released column, so that anyone with the
release and the plan can prove the requirements. Two more forms, `order` and `frequency`, need the whole table: they are
built once, by `shoal hierarchy build` or from Python, and then named as a file.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from shoal.table.hierarchy import SEPARATOR, Hierarchy
from shoal.table.hierarchy_builders import ROOT, number_label, span_of, value_labels
from shoal.table.number_range import numbers_of
from shoal.vocabulary.errors import SchemaError, unknown

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")

Form = str | Mapping[str, Any] | Hierarchy
"""A hierarchy in a plan: a file's name, a mapping with one of the keys below, or the hierarchy itself."""


def _numbers(what: str, values: Iterable[str]) -> list[float]:
    if (numbers := numbers_of(values)) is None:
        raise SchemaError(f"a hierarchy of {what} is for numbers, and the column holds text.")
    return sorted(numbers)


def _paths(paths: Any) -> Hierarchy:
    if not isinstance(paths, (list, tuple)) or not all(isinstance(path, (list, tuple)) for path in paths):
        raise SchemaError("the paths of a hierarchy must be a list of paths, each a list of labels.")
    return Hierarchy(tuple(tuple(str(label) for label in path) for path in paths))


def _masking(values: Iterable[str], given: Any) -> Hierarchy:
    if not isinstance(given, Mapping):
        return Hierarchy.from_masking(values, given)
    if set(given) != {"side", "padding"}:
        raise SchemaError("masking must be left or right, or a mapping with side and padding.")
    return Hierarchy.from_masking(values, given["side"], given["padding"])


ITSELF: Mapping[str, Callable[[Any], Hierarchy]] = {"nested": Hierarchy.from_nested, "paths": _paths}
"""Constructors of the forms that list their leaves."""

OF_VALUES: Mapping[str, Callable[[Mapping[str, int], Any], Hierarchy]] = {
    "intervals": lambda counts, widths: Hierarchy.from_intervals(_numbers("intervals", counts), widths),
    "rounding": lambda counts, bases: Hierarchy.from_rounding(_numbers("rounding", counts), bases),
    "masking": _masking,
    "prefix": Hierarchy.from_prefix,
    "dates": Hierarchy.from_dates,
    "priority": Hierarchy.from_priority,
}
"""Constructors of the forms whose labels follow from each value alone."""

OF_TABLE: Mapping[str, Callable[[Mapping[str, int], Any], Hierarchy]] = {
    "order": Hierarchy.from_order,
    "frequency": Hierarchy.from_frequency,
}
"""Constructors of the forms whose labels follow from the whole column: its values, or their counts."""

IN_NUMBERS = ("intervals", "rounding")

IN_PLANS = (*ITSELF, "file", *OF_VALUES)


def form_of(form: Any) -> tuple[str, Any]:
    """The name of a form, and its argument. Raises SchemaError if there is no such form."""
    if isinstance(form, (str, Path)):
        return "file", form
    if not isinstance(form, Mapping) or len(form) != 1:
        raise SchemaError(f"hierarchy must be a file's name, or a mapping with one of the keys {', '.join(IN_PLANS)}.")
    [(name, value)] = form.items()
    if name not in IN_PLANS and name not in OF_TABLE:
        raise SchemaError(f"hierarchy: {unknown('form', name, (*IN_PLANS, *OF_TABLE))}")
    if name == "file" and not isinstance(value, (str, Path)):
        raise SchemaError("hierarchy: file must be a file's name.")
    return str(name), value


def hierarchy_of(form: Form, counts: Mapping[str, int], folder: Path) -> Hierarchy:
    """The hierarchy that a form describes for a column.

    `counts`: number of records with each value, written as categories are; `folder`: folder of the files. Raises
    SchemaError if the form is none, or does not fit such values.
    """
    if isinstance(form, Hierarchy):
        return form
    name, value = form_of(form)
    if name == "file":
        return Hierarchy.read(folder / value)
    return ITSELF[name](value) if name in ITSELF else {**OF_VALUES, **OF_TABLE}[name](counts, value)


def check_in_plan(form: Any) -> None:
    """Refuse a form that a plan cannot have. Raises ValueError with the rule, as pydantic expects."""
    if form is None or isinstance(form, Hierarchy):
        return
    try:
        name, _ = form_of(form)
    except SchemaError as error:
        raise ValueError(str(error).removeprefix("hierarchy must be ").removeprefix("hierarchy: ")) from None
    if name in OF_TABLE:
        raise ValueError(
            f"a form that a released file can be judged with, and {name} follows from the whole table; "
            f"write it to a file with shoal hierarchy build, and name the file"
        )


def of_values(form: Any) -> bool:
    """True if a form takes its leaves from the column's values."""
    return not isinstance(form, Hierarchy) and form_of(form)[0] not in (*ITSELF, "file")


def of_numbers(form: Any) -> bool:
    """True if a form is for numbers, so that its labels are ranges or multiples."""
    return not isinstance(form, Hierarchy) and form_of(form)[0] in IN_NUMBERS


def leaves_in(form: Form, labels: Iterable[str]) -> list[str]:
    """Leaves in the labels of a released column, from which a form can build its hierarchy.

    For intervals and multiples they are the numbers in the labels; for codes, days and priorities each label, or each
    member of a set of labels. Forms that list their leaves need none.
    """
    if not of_values(form):
        return []
    name, value = form_of(form)
    if name in IN_NUMBERS:
        return sorted({number_label(float(number)) for number in NUMBER.findall(" ".join(labels))})
    members = [member for label in labels for member in label.split(SEPARATOR) if member != ROOT]
    if name == "dates":  # a step may have left labels that are none
        return [label for label in value_labels(members) if span_of(label) is not None]
    if name == "priority":  # what is called other may be any of those that have a name
        members += [named for tier in value for named in (tier if isinstance(tier, (list, tuple)) else [tier])]
    return value_labels(members)

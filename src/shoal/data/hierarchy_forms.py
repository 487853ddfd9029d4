"""What a plan says of a hierarchy, and the hierarchy that it means.

    hierarchy: towns.csv                      rows as ARX has them; towns.yaml: a tree
    hierarchy: {nested: {south: [Arles, Evora], north: [Bonn]}}
    hierarchy: {intervals: [5, 10, 50]}       numbers
    hierarchy: {rounding: [5, 10]}
    hierarchy: {masking: right}               codes
    hierarchy: {prefix: [3, 1]}
    hierarchy: {dates: [month, year]}         days
    hierarchy: {priority: [Bonn, [Arles, Evora]]}

A file, a tree and paths have leaves of their own. The other forms are built from the values of the column; since a
label follows from the value alone, they are built of a released column from its labels, so that whoever has the release
and the plan can prove what is required. Two more need the whole table (`order`, `frequency`): they are built once, by
`shoal hierarchy build` or from Python, and named as a file.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from shoal.data.hierarchy import SEPARATOR, Hierarchy
from shoal.data.hierarchy_builders import ROOT, is_span, number_label, value_labels
from shoal.errors import SchemaError, unknown

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")

Form = str | Mapping[str, Any] | Hierarchy
"""A hierarchy as a plan has it: a file's name, a mapping with one of the keys below, or the hierarchy itself."""


def _numbers(what: str, values: Iterable[str]) -> list[float]:
    try:
        return sorted(float(value) for value in values)
    except ValueError:
        raise SchemaError(f"a hierarchy of {what} is for numbers, and the column holds text.") from None


def _paths(paths: Any) -> Hierarchy:
    if not isinstance(paths, (list, tuple)) or not all(isinstance(path, (list, tuple)) for path in paths):
        raise SchemaError("the paths of a hierarchy must be a list of paths, each a list of labels.")
    return Hierarchy(tuple(tuple(str(label) for label in path) for path in paths))


ITSELF: Mapping[str, Callable[[Any], Hierarchy]] = {"nested": Hierarchy.from_nested, "paths": _paths}
"""Forms that hold their leaves."""

OF_VALUES: Mapping[str, Callable[[Mapping[str, int], Any], Hierarchy]] = {
    "intervals": lambda counts, widths: Hierarchy.from_intervals(_numbers("intervals", counts), widths),
    "rounding": lambda counts, bases: Hierarchy.from_rounding(_numbers("rounding", counts), bases),
    "masking": Hierarchy.from_masking,
    "prefix": Hierarchy.from_prefix,
    "dates": Hierarchy.from_dates,
    "priority": Hierarchy.from_priority,
}
"""Forms whose labels follow from each value by itself, with what makes them of a column's values."""

OF_TABLE: Mapping[str, Callable[[Mapping[str, int], Any], Hierarchy]] = {
    "order": Hierarchy.from_order,
    "frequency": Hierarchy.from_frequency,
}
"""Forms whose labels follow from the whole column: from what values there are, or how many records have them."""

IN_NUMBERS = ("intervals", "rounding")

IN_PLANS = (*ITSELF, "file", *OF_VALUES)


def form_of(said: Any) -> tuple[str, Any]:
    """The name of a form, and what is said of it.

    Raises
    ------
    SchemaError
        If it is no form that there is.
    """
    if isinstance(said, (str, Path)):
        return "file", said
    if not isinstance(said, Mapping) or len(said) != 1:
        raise SchemaError(f"hierarchy must be a file's name, or a mapping with one of the keys {', '.join(IN_PLANS)}.")
    [(name, value)] = said.items()
    if name not in IN_PLANS and name not in OF_TABLE:
        raise SchemaError(f"hierarchy: {unknown('form', name, (*IN_PLANS, *OF_TABLE))}")
    if name == "file" and not isinstance(value, (str, Path)):
        raise SchemaError("hierarchy: file must be a file's name.")
    return str(name), value


def hierarchy_of(said: Form, counts: Mapping[str, int], folder: Path) -> Hierarchy:
    """The hierarchy that a form means for a column.

    Parameters
    ----------
    counts
        The column's values as categories are written, and how many records have each.
    folder
        Where a file is looked up.

    Raises
    ------
    SchemaError
        If it is none, or is not for such values.
    """
    if isinstance(said, Hierarchy):
        return said
    name, value = form_of(said)
    if name == "file":
        return Hierarchy.read(folder / value)
    return ITSELF[name](value) if name in ITSELF else {**OF_VALUES, **OF_TABLE}[name](counts, value)


def check_in_plan(said: Any) -> None:
    """Refuse a form that a plan cannot have.

    Raises
    ------
    ValueError
        With the rule, as pydantic wants it.
    """
    if said is None or isinstance(said, Hierarchy):
        return
    try:
        name, _ = form_of(said)
    except SchemaError as error:
        raise ValueError(str(error).removeprefix("hierarchy must be ").removeprefix("hierarchy: ")) from None
    if name in OF_TABLE:
        raise ValueError(
            f"a form that a released file can be judged with, and {name} follows from the whole table; "
            f"write it to a file with shoal hierarchy build, and name the file"
        )


def of_values(said: Any) -> bool:
    """Whether a form makes its leaves from the column's values."""
    return not isinstance(said, Hierarchy) and form_of(said)[0] not in (*ITSELF, "file")


def of_numbers(said: Any) -> bool:
    """Whether a form is for numbers, and its labels are ranges or multiples."""
    return not isinstance(said, Hierarchy) and form_of(said)[0] in IN_NUMBERS


def leaves_in(said: Form, labels: Iterable[str]) -> list[str]:
    """What of the labels of a released column stands for itself in the hierarchy that a form means for it.

    Of intervals and multiples the numbers in the labels; of codes, days and listed values each label, or each member of
    a set of them. None for forms that hold their leaves.
    """
    if not of_values(said):
        return []
    name, value = form_of(said)
    if name in IN_NUMBERS:
        return sorted({number_label(float(number)) for number in NUMBER.findall(" ".join(labels))})
    members = [member for label in labels for member in label.split(SEPARATOR) if member != ROOT]
    if name == "dates":  # a step may have left labels that are none
        return [label for label in value_labels(members) if is_span(label)]
    if name == "priority":  # what is called other may be any of those that have a name
        members += [named for tier in value for named in (tier if isinstance(tier, (list, tuple)) else [tier])]
    return value_labels(members)

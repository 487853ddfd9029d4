"""Facts of parts put together: those that add up, those that all parts share, orders of categories."""

from collections.abc import Sequence
from typing import Any

from shoal.vocabulary.errors import Refused
from shoal.vocabulary.facts import ByColumn, Count, Fact, Facts, Figure, Nested

ADD_UP = ("records", "cells")
"""Units of what belongs to one part each; categories and codes occur in several."""


def joined_facts(parts: Sequence[Facts]) -> dict[str, Fact]:
    """Facts of all parts together, without those that neither add up nor are the same in all."""
    labels = dict.fromkeys(label for facts in parts for label in facts)
    joined = {label: _joined([facts[label] for facts in parts if label in facts]) for label in labels}
    return {label: fact for label, fact in joined.items() if fact is not None}


def _joined(values: Sequence[Fact]) -> Fact | None:
    """One fact of all parts that have it; None where none can be made."""
    first = values[0]
    if all(isinstance(value, Nested) for value in values):
        return Nested(joined_facts([value.facts for value in values if isinstance(value, Nested)]))
    if all(isinstance(value, ByColumn) for value in values):
        return ByColumn(joined_facts([value.columns for value in values if isinstance(value, ByColumn)]))
    if isinstance(first, Count) and first.unit in ADD_UP:
        counts = [value for value in values if isinstance(value, Count)]
        whole = None if first.of is None else sum(count.of or 0 for count in counts)
        return Count(n=sum(count.n for count in counts), of=whole, unit=first.unit, influence=first.influence)
    if isinstance(first, Figure) and first.unit in ADD_UP and first.interval is None:
        figures = [value.value for value in values if isinstance(value, Figure)]
        return Figure(value=sum(figures), unit=first.unit, influence=first.influence, better=first.better)
    return first if all(value == first for value in values) else None


def merged_order(orders: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The order of all categories in which those of every part stand as the part has them.

    Raises
    ------
    Refused
        If parts contradict each other.
    """
    after: dict[Any, dict[Any, None]] = {category: {} for order in orders for category in order}
    before = dict.fromkeys(after, 0)
    for order in dict.fromkeys(orders):
        for label, later in zip(order, order[1:]):
            if later not in after[label]:
                after[label][later] = None
                before[later] += 1
    out: list[Any] = []
    ready = [category for category, count in before.items() if not count]
    while ready:
        category = ready.pop(0)
        out.append(category)
        for following in after[category]:
            before[following] -= 1
            if not before[following]:
                ready.append(following)
    if len(out) < len(after):
        raise Refused("The parts of the table order the categories of a column differently. Give the column an order.")
    return tuple(out)

"""Measures and bounds on figures over several linked tables, as a plan names them."""

from collections.abc import Iterator
from typing import Any

from shoal.judges.base import Measure
from shoal.plan.named import read_method
from shoal.privacy.gate import Gate
from shoal.vocabulary.errors import InputError, Mistake, PlanError
from shoal.vocabulary.registry import registered

KINDS = ("risk", "utility")


def measures_over_tables() -> list[str]:
    """Names of the measures that mean something over several tables."""
    return [entry.name for kind in KINDS for entry in registered(kind) if entry.cls.over_tables is not None]


def check_over_tables(measure: Measure) -> None:
    """Refuse a measure that means nothing over several tables."""
    if measure.over_tables is None:
        raise PlanError(
            f"{measure.method_name} is measured table by table, for it compares single records. Name it below a table; "
            f"over all tables there are {' and '.join(measures_over_tables())}."
        )


def check_bound(gate: Gate) -> Gate:
    """A bound on a measure that means something over several tables."""
    check_over_tables(gate.measure)
    return gate


def read_measures(section: Any) -> Iterator[Measure]:
    """The measures over all tables. Raises PlanError naming the place of a mistake."""
    if not isinstance(section or (), (list, tuple)):
        raise PlanError("measures", [(("measures",), "the section 'measures' must be a list.")])
    for number, item in enumerate(section or ()):
        try:
            measure: Measure = read_method(item, KINDS)
            check_over_tables(measure)
        except InputError as error:
            mistake: Mistake = (("measures", number), f"measures {number + 1}: {error}")
            raise PlanError(mistake[1], [mistake]) from None
        yield measure

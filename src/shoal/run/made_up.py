"""Linked tables whose persons are made up with all their rows, as the records that the first steps of a plan leave.

Rows that are made up are numbered after those of the table that came in, so that no row of theirs is anybody's.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from shoal.kernels.arrays import Longs, ints
from shoal.kernels.draws import keyed_generator
from shoal.plan.linked import LinkedPlan
from shoal.plan.steps import Step, settings_of
from shoal.plan.synthesis import Synthesis, made_columns
from shoal.replace.persons import MadeUp, made_up
from shoal.run.carry_out import SharedSteps
from shoal.table.links import Links
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.step_result import StepResult
from shoal.table.variable import Variable

MADE_UP = 1 << 29
"""Key of the random numbers of persons that are made up, beyond the number of any step."""


def made_up_tables(
    originals: Mapping[str, Microdata], plan: LinkedPlan, synthesis: Synthesis, links: Links, entropy: int
) -> tuple[Links, dict[str, SharedSteps]]:
    """The links of all rows, of those that came in and of those that are made up, and the first step of each table.

    Raises
    ------
    DataError
        If rows break a rule of the synthesis, or too few persons have any.
    """
    present = {name: np.zeros(size, dtype=bool) for name, size in links.sizes.items()}
    for name, original in originals.items():
        present[name][original.records.rows] = True
    kept = links.surviving(present)
    tables, rows = {}, {}
    for name, original in originals.items():
        records = original.records.take(kept[name][original.records.rows])
        tables[name], rows[name] = records.select(made_columns(plan.tables[name])), records.rows
    order = synthesis.order_rules(plan.keys, plan.edit_rules.rules)
    made = made_up(tables, links.taken(rows), synthesis.method, order, keyed_generator(entropy, MADE_UP))
    steps: dict[str, SharedSteps] = {}
    for name, size in links.sizes.items():
        records = _records(made, name, plan.person_column(name), size)
        steps[name] = {0: partial(_first, plan.tables[name].steps[0], records, made)}
    return links.beside(made.links), steps


def _records(made: MadeUp, name: str, person: str, size: int) -> Records:
    """The records of a table that are made up, each with the number of its person."""
    numbers = made.links.persons[name]
    persons = tuple(range(len(made.links.persons[next(iter(made.links.keys))])))
    whose = Variable(name=person, role="person", level="nominal", values=ints(numbers), categories=persons)
    return Records(variables=(*made.variables[name], whose), rows=_rows(len(numbers), size))


def _rows(n: int, size: int) -> Longs:
    return np.arange(size, size + n)


def _first(step: Step, made: Records, of_all: MadeUp, records: Records) -> StepResult:
    """The step that stands for the synthesis, in one of the tables."""
    settings = [settings_of(method) for method in (step.method, *step.further_methods.values())]
    facts = {key: fact for of_method in settings for key, fact in of_method.items()}
    return StepResult(records=made, masked=step.columns, facts={**facts, **of_all.facts})

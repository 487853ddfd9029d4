"""Steps that work on linked tables at once, after each table's own."""

from collections.abc import Mapping
from dataclasses import replace

from shoal.kernels.draws import keyed_generator
from shoal.plan.linked import LinkedPlan
from shoal.plan.steps import settings_of
from shoal.run.carry_out import Stepped
from shoal.table.links import Links
from shoal.table.step_result import StepResult
from shoal.vocabulary.errors import Refused
from shoal.vocabulary.progress import OnProgress

COMMON = 1 << 29
"""Key of the random numbers of these steps, beyond those of tables, keys and shifts."""


def after_common_steps(
    stepped: Mapping[str, Stepped], plan: LinkedPlan, links: Links, entropy: int, tell: OnProgress
) -> dict[str, Stepped]:
    """The tables after the steps of the whole plan, which work on their quasi-identifiers.

    `stepped`: the tables after their own steps, each row with its row above; `links`: of the rows that came in.
    """
    done = dict(stepped)
    for number, method in enumerate(plan.steps):
        tell(method.method_name, 0.0)
        tables = {name: table.course.records for name, table in done.items()}
        left = links.taken({name: records.rows for name, records in tables.items()})
        columns = {name: records.quasi_identifiers for name, records in tables.items()}
        results = method.over_tables(tables, left, columns, keyed_generator(entropy, COMMON, number))
        settings = settings_of(method)
        for name, result in results.items():
            if not len(result.records):
                raise Refused(
                    f"Nothing was released. {method.method_name} leaves no record of table '{name}', for in each "
                    f"group somebody has none. Take the table out of the plan, or lower k."
                )
            done[name] = _after(done[name], method.method_name, replace(result, facts={**settings, **result.facts}))
    return done


def _after(table: Stepped, step: str, result: StepResult) -> Stepped:
    course = replace(table.course, records=result.records, results=(*table.course.results, result))
    return replace(table, course=course.with_account(step, result.facts, result.changed))

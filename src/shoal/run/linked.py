"""Carry out a plan for several linked tables: each table's own plan, and what holds for all of them.

The steps of each table are carried out on it alone, after those of the table above and without the rows whose rows
above went, save that dates are moved by one shift a person for all tables, and that persons who are made up stand in
place of those who came in. Then the steps of the whole plan follow. Persons are left out until the requirements over
all tables hold, where the plan allows it. Only then are the tables concluded, and given the keys that they are
released with.
"""

import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from shoal.constraints.over_rows import RulesOverRows
from shoal.judges.evidence import Finding, Verdict
from shoal.judges.joined import Joined
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.kernels.draws import keyed_generator, seed_below
from shoal.mask.shift_dates import ShiftDates
from shoal.plan.linked import LinkedPlan
from shoal.plan.steps import Step, settings_of
from shoal.run.carry_out import NO_STEPS, Outcome, SharedSteps, Stepped, after_steps, check_seed, microdata
from shoal.run.common_steps import after_common_steps
from shoal.run.course import Course
from shoal.run.made_up import made_up_tables
from shoal.run.new_keys import NewKeys
from shoal.run.over_measures import bounded_over_tables, measured_over_tables
from shoal.run.over_rows import STAGE, admitted, as_known, checked, obeying
from shoal.run.over_tables import VerdictOverTables, judged_over_tables
from shoal.run.privacy_spent import private_steps
from shoal.table.files.table import Table
from shoal.table.laws import Laws
from shoal.table.links import Links, key_columns
from shoal.table.microdata import Microdata, eager
from shoal.table.records import Records
from shoal.table.step_result import StepResult
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError, InputError, ParameterError, Refused, plural, quoted
from shoal.vocabulary.facts import Facts
from shoal.vocabulary.progress import OnProgress

TABLES, SHIFTS = 1 << 26, 1 << 28
"""Keys of the random numbers of each table, and of shifts, beyond the number of any step and the keys of rows."""


NO_COLUMNS: Mapping[str, Collection[str]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedOutcome:
    """A plan for several tables carried out.

    Parameters
    ----------
    original_links
        Of the rows that came in, and after them of those that are made up.
    columns
        Columns of the tables that came in.
    before
        The tables that came in, joined.
    dropped
        Number of persons who were left out because a requirement failed on them; private.
    """

    plan: LinkedPlan
    entropy: int
    tables: Mapping[str, Outcome]
    columns: Mapping[str, list[str]]
    original_links: Links
    before: Joined
    rules: RulesOverRows
    dropped: int

    @cached_property
    def links(self) -> Links:
        """The links of the released rows."""
        return self.original_links.taken({name: done.released.rows for name, done in self.tables.items()})

    @cached_property
    def over_tables(self) -> list[VerdictOverTables]:
        """Verdicts on the requirements over persons."""
        return judged_over_tables(self.plan.requirements, self.stages)

    @property
    def bounded(self) -> list[Verdict]:
        """Verdicts on bounds on figures over all tables."""
        bounds = self.plan.bounds
        return bounded_over_tables(bounds, self.stages, self.before, self._pairs) if bounds else []

    @property
    def _pairs(self) -> Mapping[str, TablePair]:
        return {name: done.pair for name, done in self.tables.items()}

    def findings(self) -> list[Finding]:
        """Figures of the measures over all tables, those that are bounded too; of made-up persons, of their copies."""
        measures = self.plan.taken
        written = self.stages[0][0]
        return measured_over_tables(measures, written, self.before, self._pairs, self.entropy) if measures else []

    @cached_property
    def stages(self) -> list[tuple[Joined, Mapping[str, Laws]]]:
        """The released tables as they are judged: as written, and filled in; each with the laws of the original."""
        places = {name: np.arange(len(done.released)) for name, done in self.tables.items()}
        return _stages(self.tables, places, self.original_links, self.before, self.rules)

    def over_rows(self) -> list[Verdict]:
        """Verdicts on the rules over rows."""
        return checked(self.rules, {name: done.released for name, done in self.tables.items()}, self.links)


def carry_out_linked(
    tables: Mapping[str, Any],
    plan: LinkedPlan,
    seed: int | None,
    tell: OnProgress,
    fractional: Mapping[str, Collection[str]] = NO_COLUMNS,
) -> LinkedOutcome:
    """Carry a plan out on its tables.

    Parameters
    ----------
    tables
        Each as for `shoal.protect`, held whole, by the names that the plan gives them.
    fractional
        By table, as for `carry_out`.

    Raises
    ------
    InputError
        If a table or the plan cannot be used, or rows of one table have no row in another.
    Refused
        If a step refuses, or more persons would have to be left out than the plan allows.
    """
    check_seed(seed)
    if spending := [name for name, of_table in plan.tables.items() if private_steps(of_table)]:
        raise ParameterError(
            f"Tables {quoted(spending)} spend differential privacy, which is accounted for in one table only: who is "
            f"in several would lose more than each says. Release them by plans of their own."
        )
    entropy = secrets.randbits(128) if seed is None else int(seed)
    links = links_of(tables, plan)
    if empty := [name for name, size in links.sizes.items() if not size]:
        raise DataError(
            f"Tables {quoted(empty)} have no records, and a release needs one of each table. Take them out of the plan."
        )
    originals = {name: _original(tables[name], plan, links, name) for name in plan.keys}
    encoded = {name: original.encoded for name, original in originals.items()}
    rules, of_rules = admitted(plan.edit_rules, encoded, links)
    before = Joined.of(encoded, links)
    links, stepped = _after_steps(tables, originals, plan, links, entropy, tell)
    if of_rules:
        course = stepped[plan.root].course.with_account(f"input {STAGE}", of_rules)
        stepped[plan.root] = replace(stepped[plan.root], course=course)
    courses = obeying(rules, {name: done.course for name, done in stepped.items()}, links, STAGE)
    stepped = {name: replace(done, course=courses[name]) for name, done in stepped.items()}
    stepped, dropped = _without_failing(stepped, plan, links, before, rules)
    numbered = NewKeys.of(plan, links, stepped, entropy)
    columns = {name: eager(_cells(table))[0].columns for name, table in tables.items()}
    courses = obeying(
        rules, {name: _concluded(name, done) for name, done in stepped.items()}, links, f"{STAGE}, once more"
    )
    outcomes = {}
    for name, done in stepped.items():
        with in_table(name):
            own = fractional.get(name, ())
            outcomes[name] = numbered.released(name, done, columns[name], courses[name], own)
    return LinkedOutcome(
        plan=plan,
        entropy=entropy,
        tables=outcomes,
        columns=columns,
        original_links=links,
        before=before,
        rules=rules,
        dropped=dropped,
    )


def _after_steps(
    tables: Mapping[str, Any],
    originals: Mapping[str, Microdata],
    plan: LinkedPlan,
    links: Links,
    entropy: int,
    tell: OnProgress,
) -> tuple[Links, dict[str, Stepped]]:
    """The links of all rows, of those that came in and of those that are made up, and the tables after all steps.

    A row whose row above went is left out of the steps of its own table.
    """
    shared = _shifts(originals, plan, links, entropy)
    if plan.synthesis is not None:
        tell("making up persons", 0.0)
        links, shared = made_up_tables(originals, plan, plan.synthesis, links, entropy)
    stepped: dict[str, Stepped] = {}
    left: dict[str, Bools] = {}
    for number, (name, key) in enumerate(plan.keys.items()):
        present = None if key.parent is None else left[key.parent][links.above[name]]
        with in_table(name):
            done = after_steps(
                originals[name],
                plan.tables[name],
                seed_below(entropy, TABLES, number),
                partial(_within, tell, name),
                shared=shared.get(name, NO_STEPS),
                present=present if plan.synthesis is None else None,
            )
            done = done if plan.synthesis is None or present is None else done.kept(np.flatnonzero(present))
            left[name] = _left(done, links.sizes[name])
        stepped[name] = replace(done, typed=isinstance(tables[name], Table) and tables[name].types_from_cells)
    return links, after_common_steps(stepped, plan, links, entropy, tell)


@contextmanager
def in_table(name: str) -> Iterator[None]:
    """Name the table in the message of an error."""
    try:
        yield
    except (InputError, Refused) as error:
        error.args = (f"Table '{name}': {error}",)
        raise


def _within(tell: OnProgress, name: str, stage: str, fraction: float) -> None:
    tell(f"{name}: {stage}", fraction)


def _cells(table: Any) -> Any:
    return table.frame if isinstance(table, (Table, Microdata)) else table


def links_of(tables: Mapping[str, Any], plan: LinkedPlan) -> Links:
    """The links between tables, by their keys."""
    return Links.of({name: eager(_cells(tables[name]))[0] for name in plan.keys}, plan.keys)


def with_persons(table: Any, plan: LinkedPlan, links: Links, name: str) -> Any:
    """A table with the number of each record's person in place of its keys."""
    frame, kind = eager(_cells(table))
    column = plan.person_column(name)
    persons = nw.new_series(column, links.persons[name], nw.Int64, backend=frame.implementation)
    dropped = [key for key in key_columns(plan.keys, name, frame.columns) if key != column]
    frame = frame.drop(dropped).with_columns(persons)
    if isinstance(table, Table):
        return replace(table, frame=frame.to_native())
    return frame.to_native().lazy() if kind == "lazy" else frame.to_native()


def _original(table: Any, plan: LinkedPlan, links: Links, name: str) -> Microdata:
    with in_table(name):
        return microdata(with_persons(table, plan, links, name), plan.tables[name])


def _shifts(originals: Mapping[str, Microdata], plan: LinkedPlan, links: Links, entropy: int) -> dict[str, SharedSteps]:
    """The steps that shift dates, by table and number, all by the same days for each person."""
    steps: dict[str, tuple[int, Step, tuple[str, ...]]] = {}
    dates: list[tuple[Variable, Longs]] = []
    for name, original in originals.items():
        for number, step in enumerate(plan.tables[name].steps):
            if isinstance(step.method, ShiftDates):
                with in_table(name):
                    columns, records = step.changes(original.schema), original.records
                persons = links.persons[name][records.rows]
                dates += [(records[column], persons) for column in columns]
                steps[name] = number, step, columns
    if not dates:
        return {}
    method = next(iter(steps.values()))[1].method
    days, facts = method.shifts(dates, keyed_generator(entropy, SHIFTS))
    return {
        name: {number: partial(_shifted, step, columns, days, links.persons[name], facts)}
        for name, (number, step, columns) in steps.items()
    }


def _shifted(
    step: Step, columns: tuple[str, ...], days: Floats, persons: Longs, facts: Facts, records: Records
) -> StepResult:
    moved = step.method.moved(records, columns, days[persons[records.rows]])
    return StepResult(records=moved, masked=columns, facts={**settings_of(step.method), **facts})


def _left(done: Stepped, n: int) -> Bools:
    """Shape (n,); True for the rows of a table that are left after its steps."""
    rows = done.course.records.rows
    if len(np.unique(rows)) < len(rows):
        raise DataError("a step makes several rows of one, which cannot be linked. Leave it out.")
    left = np.zeros(n, dtype=bool)
    left[rows] = True
    return left


def _only(stepped: Mapping[str, Stepped], kept: Mapping[str, Bools]) -> dict[str, Stepped]:
    """The tables with some of their rows."""
    left = {}
    for name, done in stepped.items():
        with in_table(name):
            left[name] = done.kept(np.flatnonzero(kept[name]))
    return left


def _concluded(name: str, done: Stepped) -> Course:
    with in_table(name):
        return done.concluded()


def _without_failing(
    stepped: Mapping[str, Stepped], plan: LinkedPlan, links: Links, before: Joined, rules: RulesOverRows
) -> tuple[dict[str, Stepped], int]:
    """The tables without the persons on whom a requirement fails, and how many these are.

    Whoever is left out may leave others with too few alike, so all are judged again.
    """
    if not plan.suppress_persons or not plan.requirements:
        return dict(stepped), 0
    finished = {}
    for name, done in stepped.items():
        with in_table(name):
            finished[name] = done.outcome()
    people = len(finished[plan.root].released)
    dropped = np.zeros(links.sizes[plan.root], dtype=bool)
    while True:
        places = {
            name: np.flatnonzero(~dropped[links.persons[name][done.released.rows]]) for name, done in finished.items()
        }
        verdicts = judged_over_tables(plan.requirements, _stages(finished, places, links, before, rules))
        failing = np.logical_or.reduce([over.failing for over in verdicts])
        if not failing.any():
            break
        dropped[finished[plan.root].released.rows[places[plan.root][failing]]] = True
        if (count := int(dropped.sum())) > plan.suppress_persons * people * (1 + 1e-12):
            raise Refused(
                f"Nothing was released. At least {count:,} of {plural(people, 'person')} would have to be left out "
                f"before {', '.join(over.verdict.requirement for over in verdicts)} could hold, more than "
                f"suppress_persons: {plan.suppress_persons:g} allows. Make them alike first (profiles, in the steps of "
                f"the whole plan), coarsen what tells them apart (generalise, recode, truncate-records), or allow more."
            )
    kept = {name: ~dropped[persons] for name, persons in links.persons.items()}
    return _only(stepped, kept), int(dropped.sum())


def _stages(
    done: Mapping[str, Outcome], places: Mapping[str, Longs], links: Links, before: Joined, rules: RulesOverRows
) -> list[tuple[Joined, Mapping[str, Laws]]]:
    """Finished tables, of which only the records at some places are left, as they are judged."""
    left = links.taken({name: outcome.released.rows[places[name]] for name, outcome in done.items()})
    written = {name: outcome.released.take(places[name]) for name, outcome in done.items()}
    filled = {name: outcome.closure.records.take(places[name]) for name, outcome in done.items()}
    some = any(outcome.closure.filled for outcome in done.values())
    stages = [Joined.of(tables, left) for tables in as_known(rules, written, filled if some else None, left)]
    return [(joined, before.laws(joined)) for joined in stages]

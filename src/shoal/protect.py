"""Protect: a plan carried out, judged, and released only if everything that it requires was proved."""

import platform
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import shoal
from shoal.data.bins import distribution
from shoal.data.records import Records
from shoal.data.variable import Variable
from shoal.errors import ParameterError, PlanError
from shoal.facts import losses, private_form
from shoal.judges.evidence import RECORD_VERSION, Evidence
from shoal.parameters import ColumnName, Columns, holds
from shoal.plan import Plan
from shoal.plan.publication import hidden_cells, public_rule, public_schema, public_yaml, recorded
from shoal.publish import publish
from shoal.release import Account, ColumnAccount, Release, require
from shoal.run import Outcome, Stage, carry_out, taken_by

PACKAGES = ("numpy", "scipy", "polars", "narwhals", "pydantic")
"""Whose versions a record names: those that figures and files depend on."""

COPIES = 1 << 22
"""Key of the further copies' seeds, beyond the number of any step and measure."""

SOLE = ("identifier", "household")
"""Roles of columns in which everyone has a value of their own, so that they make no picture."""


def protect(
    table: Any,
    plan: Plan | Mapping[str, Any] | str | Path,
    *,
    seed: int | None = None,
    stage: Stage | None = None,
    source: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
) -> Release:
    """Protect a table as a plan says, and prove what the plan requires.

    Parameters
    ----------
    table
        A pandas, polars or pyarrow table, a DuckDB relation, or Microdata; never modified.
    plan
        A Plan, its sections as a mapping, or the path of a YAML file.
    seed
        Makes the release repeatable; drawn from the operating system where none is given. Treat it as a
        secret: whoever knows it can undo random masking.
    stage
        Called with the name of each step and the fraction of it that is done.
    source
        What to note about where the table came from.
    folder
        Where file names in the plan are looked up; by default beside the plan's file.

    Returns
    -------
    A release on which every requirement was proved.

    Raises
    ------
    Refused
        If a requirement does not hold on the finished table; the message says which, and by how much.
    InputError
        If the table or the plan cannot be used.
    """
    described = Plan.of(plan, folder)
    first = _made(table, described, seed, stage, source)
    if described.output.copies == 1:
        return first
    if any(True for step in first.account.steps for _ in losses(step.facts)):
        raise ParameterError(
            "output: copies must be 1 where a step spends differential privacy, as every copy spends it anew. Release "
            "one table, or take the private noise out of the plan."
        )
    further = tuple(
        _made(table, described, _seed_of_copy(first.account.seed, number), stage, source)
        for number in range(1, described.output.copies)
    )
    seeds = [copy.account.seed for copy in further]
    return replace(first, further=further, record={**first.record, "seeds of further copies": seeds})


def _seed_of_copy(entropy: int, number: int) -> int:
    """The seed of a further copy: by it alone, with `copies: 1`, the copy is made again."""
    words = np.random.SeedSequence(entropy, spawn_key=(COPIES, number)).generate_state(4)
    return sum(int(word) << (32 * place) for place, word in enumerate(words))


def _made(table: Any, plan: Plan, seed: int | None, stage: Stage | None, source: Mapping[str, Any] | None) -> Release:
    """One release, proved."""
    done = carry_out(table, plan, seed, stage)
    verdicts = require(done.verdicts())
    exact = _exact(done)
    evidence = Evidence(verdicts=tuple(verdicts), findings=done.findings())
    withheld = hidden_cells(done.plan, done.before, done.released)
    account = _account(done, evidence, withheld, exact)
    return Release(
        table=done.finished,
        evidence=evidence,
        account=account,
        record=_record(done, source, evidence, account),
        partition=done.partition,
        hidden=done.hidden,
        schema=public_schema(done.plan.schema, withheld),
        requirements=done.plan.requirements,
        rules=done.plan.constraints,
        output=done.plan.output,
        rows=done.released.rows,
        fingerprint=done.finished.fingerprint(),
        publisher=publish,
    )


def _account(done: Outcome, evidence: Evidence, withheld: set[str], exact: tuple[str, ...]) -> Account:
    """What reports tell, computed while the original is at hand."""
    plan, original, released = done.plan, done.before, done.released
    return Account(
        steps=done.accounts,
        columns=tuple(
            _column(done, variable, withheld) for variable in released.variables if variable.role not in SOLE
        ),
        plan_text=public_yaml(plan, withheld),
        requirements=tuple(
            public_rule(v.requirement, withheld) if v.requirement in plan.constraints else v.requirement
            for v in evidence.verdicts
        ),
        not_released=tuple(name for name in plan.schema.columns if name not in released),
        untouched=tuple(name for name in released.names() if name not in _touched(done)),
        unchanged=tuple(_unchanged(original, released)),
        missing=done.original.missing_facts,
        before=done.risk_before(),
        versions={
            "shoal": shoal.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        seed=done.entropy,
        about={key: public_rule(text, withheld) for key, text in plan.about.as_mapping().items()},
        exact=exact,
        singled_out={name: count for name in released.names("other") if (count := _singled_out(released, name))},
        proved=bool(plan.requirements) or _bought_everywhere(done),
    )


def _singled_out(released: Records, name: str) -> int:
    """The records that whoever knows the column as well as the quasi-identifiers finds alone."""
    keys = released.quasi_identifiers
    together = released.classes([*keys, name]).of_record == 1
    return int((together & (released.classes(keys).of_record > 1)).sum())


def _bought_everywhere(done: Outcome) -> bool:
    """Whether differential privacy was spent on every released column, which is a guarantee without a requirement."""
    bought = {name for account in done.accounts for loss in losses(account.facts) for name in loss.columns}
    return set(done.released.names()) <= bought


def _exact(done: Outcome) -> tuple[str, ...]:
    """The measures whose figures the plan publishes as they are.

    Raises
    ------
    PlanError
        If the plan names one that it does not take, or spends differential privacy, which pays for no figure.
    """
    if not (asked := done.plan.publish):
        return ()
    if any(True for account in done.accounts for _ in losses(account.facts)):
        raise PlanError(
            "publish: a step spends differential privacy, and a figure of the original is not paid for. "
            "Take the section publish out."
        )
    taken = tuple(measure.method_name for measure in taken_by(done.plan))
    if absent := [name for name in asked if name not in taken] if asked != "exact" else []:
        raise PlanError(f"publish: no release of this plan measures '{absent[0]}'. Name it in measures as well.")
    return taken if asked == "exact" else tuple(asked)


def _column(done: Outcome, released: Variable, withheld: set[str]) -> ColumnAccount:
    tables = {name: table[released.name] for name, table in _tables(done) if released.name in table}
    return ColumnAccount(
        name=released.name,
        label=public_rule(done.plan.schema.columns[released.name].label or "", withheld),
        role=released.role,
        level=released.level,
        released=distribution({"released": released}),
        both=distribution(tables) if len(tables) > 1 else None,
    )


def _tables(done: Outcome) -> tuple[tuple[str, Records], ...]:
    return ("original", done.before), ("released", done.released)


def _touched(done: Outcome) -> set[str]:
    """Columns that the plan changes, or may change, as everybody sees who reads it."""
    schema = done.plan.schema
    touched = {name for account in done.accounts for name in account.columns}
    for step in done.plan.steps:
        touched |= set(_named_by(step.method))
    touched |= {name for name, column in schema.columns.items() if column.missing in ("impute", "category")}
    touched |= {name for rule in done.plan.constraints for name in schema.columns if name in rule}
    return touched | set(schema.names("household"))


def _named_by(method: Any) -> Iterator[str]:
    """Columns that a method's parameters name."""
    for name, marker in holds(type(method)).items():
        if isinstance(marker, (ColumnName, Columns)):
            value = getattr(method, name)
            yield from (value,) if isinstance(value, str) else (value or ())


def _unchanged(original: Records, released: Records) -> Iterator[str]:
    """Columns whose cells are those of the original; whoever knows them can find the record by them."""
    order = np.argsort(original.rows)
    at = order[np.searchsorted(original.rows, released.rows, sorter=order)]
    for variable in released.variables:
        if variable.name not in original or variable.role == "household":
            continue
        before = original[variable.name].take(at)
        same_kind = before.continuous == variable.continuous
        if same_kind and np.array_equal(_cells(before), _cells(variable), equal_nan=variable.continuous):
            yield variable.name


def _cells(variable: Variable) -> Any:
    return variable.values if variable.continuous else np.array([*map(str, variable.categories), ""])[variable.values]


def _record(done: Outcome, source: Mapping[str, Any] | None, evidence: Evidence, account: Account) -> dict[str, Any]:
    original = done.original
    return {
        "version": RECORD_VERSION,
        "versions": account.versions,
        "input": {"records": len(original), "sha256 of cells": original.fingerprint(), **(source or {})},
        "missing values": original.missing_facts,
        "plan": recorded(done.plan),
        "seed": done.entropy,
        "published exactly": list(account.exact),
        "proved": account.proved,
        "steps": [{"step": a.step, "columns": list(a.columns), **private_form(a.facts)} for a in done.accounts],
        "evidence": evidence.as_mapping(),
    }

"""The account of a release for its reports, gathered while the original is at hand."""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import shoal
from shoal.judges.class_figures import MEANING
from shoal.judges.class_profile import ClassProfile
from shoal.judges.evidence import RECORD_VERSION, Evidence, Verdict
from shoal.judges.in_original_values import before_and_after
from shoal.judges.odd_values import odd_values
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.kernels.classes import class_sizes
from shoal.plan import Plan
from shoal.plan.context import CONTEXTS
from shoal.plan.publication import public_about, public_rule, public_sections, recorded
from shoal.privacy.base import PrivacyModel
from shoal.release import Account, ColumnAccount, SingledOut
from shoal.release.unchanged import differing, sets_unchanged, unchanged
from shoal.report.evidence import ColumnBefore, Reached
from shoal.run.carry_out import Outcome
from shoal.run.privacy_spent import private_steps
from shoal.table.bins import distribution, in_both
from shoal.table.files.json_text import Record
from shoal.table.records import MissingCells, Records
from shoal.table.schema import UNITS
from shoal.table.standardisation import deviation
from shoal.table.step_result import StepAccount
from shoal.table.variable import Variable
from shoal.vocabulary.facts import losses, private_form
from shoal.vocabulary.parameters import columns_named_by
from shoal.vocabulary.registry import Entry, build, plugins, registered

PACKAGES = ("numpy", "scipy", "polars", "narwhals", "pydantic")
"""Packages whose versions a record names: figures and files depend on them."""

SOLE = ("identifier", *UNITS)
"""Roles of columns with a value of their own for each person or household, which make no picture."""


def account_of(done: Outcome, evidence: Evidence, withheld: set[str], exact: tuple[str, ...]) -> Account:
    """The account of a plan carried out on a whole table; parameters as for `shared_account`."""
    plan, released = done.plan, done.released
    classes_before = ClassProfile.of(done.before, plan.reading)
    imputed = any(column.missing_policy == "impute" for column in plan.schema.columns.values())
    account = shared_account(
        plan,
        done.accounts,
        done.pair,
        evidence,
        withheld,
        exact,
        missing=done.original.missing_facts,
        seed=done.entropy,
        column_of=lambda name: counted_column(plan, done.pair, name, withheld, done.pair.place),
        alone_by=partial(alone, released),
    )
    return replace(
        account,
        before=done.risk_before() if evidence.findings else (),  # nothing to compare with
        classes=() if stands_for_nobody(account, released) else _profiles(done),
        classes_before=classes_before,
        violations_before=None if classes_before is None else classes_before.violations(imputed=imputed),
        reached=() if stands_for_nobody(account, released) else tuple(_reached(done)),
        odd_values=_odd_values(done),
        proved=account.proved or _bought_everywhere(done),
    )


def shared_account(
    plan: Plan,
    steps: tuple[StepAccount, ...],
    pair: TablePair,
    evidence: Evidence,
    withheld: set[str],
    exact: tuple[str, ...],
    *,
    missing: Mapping[str, Any],
    seed: int,
    column_of: Callable[[str], ColumnAccount],
    alone_by: Callable[[tuple[str, ...], tuple[str, ...]], int],
    packages: tuple[str, ...] = (),
) -> Account:
    """The account of a plan carried out, on a whole table or in parts.

    Parameters
    ----------
    pair
        The original and the released records, or a sample of both.
    withheld
        Texts and numbers of the plan to withhold from the public (`shoal.plan.publication.hidden_cells`).
    exact
        Measures whose exact figures are published.
    alone_by
        Counts the released records that are unique on some columns together with some further ones.
    packages
        Packages whose versions matter in addition to `PACKAGES`.
    """
    released, keys, same = pair.released, pair.released.quasi_identifiers, unchanged(pair)
    untouched = left_alone(plan, steps, released)
    accepted = tuple(name for name in plan.accept if name in released)
    moving_gaps = [a for a in steps if a.place is None or not plan.steps[a.place].leaves_gaps]
    return Account(
        steps=steps,
        columns=tuple(column_of(name) for name in released.names() if released[name].role not in SOLE),
        plan=public_sections(plan, withheld),
        requirements=tuple(
            public_rule(v.requirement, withheld) if v.requirement in plan.edit_rules.rules else v.requirement
            for v in evidence.verdicts
        ),
        not_released=tuple(name for name in plan.schema.columns if name not in released),
        untouched=untouched,
        unchanged=same,
        accepted=accepted,
        missing=missing,
        before=(),
        versions=versions_of((*PACKAGES, *packages, *plugins())),
        seed=seed,
        about=public_about(plan, withheld),
        exact=exact,
        singled_out=tuple(
            SingledOut(columns=names, alone=alone_by(names, ()), beside_keys=alone_by(names, keys))
            for names in sets_unchanged(untouched, same, accepted)
        ),
        proved=any(model.protects for model in plan.requirements),
        own_gaps=tuple(name for name in released.names() if name not in touched(plan, moving_gaps)),
        context=_of_context(plan, evidence.verdicts),
        made_anew=tuple(name for name in plan.made_anew if name in released),
        several_records=bool(plan.schema.names("person")),
    )


def _of_context(plan: Plan, verdicts: Sequence[Verdict]) -> str:
    """Sentences on the limits of the plan's context, by their titles, and on those that it states otherwise."""
    if plan.context is None:
        return ""
    usual = {model.method_name for model in plan.of_context}
    named = dict.fromkeys(v.requirement for m, v in zip(plan.requirements, verdicts) if m not in plan.of_context)
    own = [
        v.requirement for m, v in zip(plan.requirements, verdicts) if m.method_name in plan.limited_by_context - usual
    ]
    origin = CONTEXTS[plan.context].origin(synthetic=plan.is_synthetic)
    return (
        f"Limits usual for '{plan.context}' ({origin})"
        + (f", but for {'; '.join(own)}, which the plan states itself" if own else "")
        + (f", and beside them {'; '.join(more)}" if (more := [name for name in named if name not in own]) else "")
        + "."
    )


def record_of(
    account: Account, evidence: Evidence, plan: Plan, engine: str, table: Mapping[str, Any], blocks: Mapping[str, Any]
) -> Record:
    """The content of record.json, from which the release can be made again; private.

    Parameters
    ----------
    plan
        The plan as given, before files that it names were read.
    table
        Identification of the input table.
    blocks
        Cuts of the table into blocks, by step.
    """
    return {
        "version": RECORD_VERSION,
        "versions": account.versions,
        "input": table,
        "missing values": dict(account.missing),
        "plan": recorded(plan),
        "engine": engine,
        "seed": account.seed,
        "published exactly": list(account.exact),
        "proved": account.proved,
        "steps": [{"step": a.step, "columns": list(a.columns), **private_form(a.facts)} for a in account.steps],
        "evidence": evidence.as_mapping(),
        **({"blocks": dict(blocks)} if blocks else {}),
    }


def _odd_values(done: Outcome) -> dict[str, dict[str, int]]:
    averaged = done.course.averaged
    pairs = {v.name: (done.before[v.name], v) for v in done.released.variables if v.name in done.before}
    pairs = {name: both for name, both in pairs.items() if name not in unchanged(done.pair)}
    odd = {name: odd_values(before, after, averages=name in averaged) for name, (before, after) in pairs.items()}
    return {name: counts for name, counts in odd.items() if counts}


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """Versions of this package, of Python and of some other packages."""
    own = {"shoal": shoal.__version__, "python": platform.python_version()}
    return own | {name: _version(name) for name in packages}


@cache
def _version(package: str) -> str:
    """The version of a package, read once in a process: it is read with the whole description of the package."""
    return version(package)


def alone(released: Records, names: Sequence[str], beside: Sequence[str] = ()) -> int:
    """Number of records that are unique on some columns together with some further ones."""
    every = tuple(dict.fromkeys((*beside, *names)))
    if not beside or any(released[name].inexact for name in every):
        return released.uniques(every)[0]
    return released.alone([name for name in every if name not in beside], beside)


def _bought_everywhere(done: Outcome) -> bool:
    """True if differential privacy was spent on every released column: a guarantee without a requirement.

    Noise on cells has no bearing on which of them are missing, so none may be; a promise for whole records has.
    """
    whole = all(step.method.whole_records for step in private_steps(done.plan))
    bought = {name for account in done.accounts for loss in losses(account.facts) for name in loss.columns}
    names = done.released.names()
    return set(names) <= bought and (whole or done.before.complete_in(names))


def counted_column(
    plan: Plan, pair: TablePair, name: str, withheld: set[str], place: Longs | None = None
) -> ColumnAccount:
    """A column with counts of its cells, and what they were in the original; parameters as for `column_account`."""
    released = pair.released[name]
    return replace(
        column_account(plan, pair, name, withheld, place),
        missing=int(released.missing.sum()),
        distinct=(distinct := _distinct(released)),
        before=_before(pair, released, distinct),
    )


def _before(pair: TablePair, released: Variable, distinct: int) -> ColumnBefore | None:
    """A released column, which has so many values, compared with the original cells of the same records."""
    if pair.original is None or pair.place is None or released.name not in pair.original:
        return None
    same = released.name in unchanged(pair) and pair.original[released.name].like(released)
    before = released if same else pair.original[released.name].take(pair.place)
    changed = 0.0 if same or not len(released) else float(differing(before, released).mean())
    mean, spread = _shift(before, released) if before.continuous and released.continuous else (None, None)
    return {
        "missing": int(before.missing.sum()),
        "changed": changed,
        "distinct": _distinct(before) if changed else distinct,
        "mean": mean,
        "spread": spread,
    }


def _shift(before: Variable, released: Variable) -> tuple[float | None, float | None]:
    """Change of the mean, in standard deviations, and of the standard deviation, as a share; None without a scale."""
    x = before.once() if before.complete else before.once()[~before.missing]
    y = x if before is released else released.once()[~released.missing]
    own = deviation(x) if len(x) > 1 else 0.0
    if not own or len(y) < 2:
        return None, None
    return float((y - x.mean()).mean()) / own, (own if y is x else deviation(y)) / own - 1


def _distinct(variable: Variable) -> int:
    values = variable.given if variable.complete else variable.given[~variable.missing]
    values = values + 0 if values.dtype.kind == "f" else values  # -0.0 is 0.0
    return len(class_sizes([values], len(values)))


def column_account(
    plan: Plan, pair: TablePair, name: str, withheld: set[str], place: Longs | None = None
) -> ColumnAccount:
    """Distribution of the records over a released column, and over the original one.

    Parameters
    ----------
    place
        As for `before_and_after`.
    """
    original, released = pair.original, pair.released[name]
    shown, both = distribution({"released": released}), None
    if original is not None and name in original:
        same = name in unchanged(pair) and original[name].like(released) and pair.one_to_one
        both = in_both(shown) if same else before_and_after(original[name], released, place)
    return ColumnAccount(
        name=name,
        label=public_rule(plan.schema.columns[name].label or "", withheld),
        role=released.role,
        level=released.level,
        released=shown,
        both=both,
    )


def _profiles(done: Outcome) -> tuple[ClassProfile, ...]:
    """Class sizes by quasi-identifiers, under the plan's reading of missing cells and under `equal`."""
    records = done.closure.records
    readings: dict[MissingCells, None] = {done.plan.reading: None}
    if not all(records[name].complete for name in records.quasi_identifiers):
        readings["equal"] = None
    profiles = [ClassProfile.of(records, missing) for missing in readings]
    return tuple(profile for profile in profiles if profile is not None)


def stands_for_nobody(account: Account, released: Records) -> bool:
    """True if all quasi-identifiers were drawn anew, so that no class of released records hides anyone."""
    names = released.quasi_identifiers
    return bool(names) and set(names) <= set(account.made_anew)


def _reached(done: Outcome) -> Iterator[Reached]:
    """Levels of the privacy models that every release reports: the worse of the table as written and as filled in.

    Where cells are missing and the plan does not read them as `equal`, a model that reads them is reported under the
    plan's reading and under `equal`, so that no level contradicts what was proved.
    """
    if not done.released.quasi_identifiers:
        return
    pair = TablePair.of(None, done.released, known=done.closure)
    reading = done.plan.reading
    complete = done.closure.records.complete_in(done.released.quasi_identifiers)
    for entry, model in reported_models():
        if reading in MEANING and not complete and "missing" in entry.parameters:
            by_plan = replace(model, missing=reading)
            yield from level(by_plan, _judgements(by_plan, pair), f"{entry.title}, {MEANING[reading]}")
        yield from level(model, _judgements(model, pair), entry.title)


def _judgements(model: PrivacyModel, pair: TablePair) -> Iterator[Verdict]:
    """Verdicts on a release as written, and as filled in."""
    return map(model.judge, (pair, *pair.stages))


def reported_models() -> Iterator[tuple[Entry, Any]]:
    """The privacy models whose level every release reports, required or not."""
    for entry in registered("privacy"):
        if entry.cls.reported:
            yield entry, build("privacy", {"method": entry.name, **entry.cls.emptily})


def level(model: PrivacyModel, verdicts: Iterable[Verdict], title: str) -> Iterator[Reached]:
    """The level of a privacy model, if it has one: the worst of some verdicts."""
    if levels := [verdict.achieved for verdict in verdicts if verdict.achieved is not None]:
        worst = min(levels) if model.better == "higher" else max(levels)
        yield {
            "model": model.method_name,
            "question": model.question,
            "title": title,
            "value": worst,
            "better": model.better,
        }


def touched(plan: Plan, accounts: Iterable[StepAccount]) -> set[str]:
    """Columns that the plan changes or may change, as any reader of the plan can see."""
    schema = plan.schema
    touched = {name for account in accounts for name in account.columns}
    for step in plan.steps:
        touched |= set(columns_named_by(step.method))
    touched |= {name for name, column in schema.columns.items() if column.missing in ("impute", "category")}
    touched |= {name for rule in plan.edit_rules.rules for name in schema.columns if name in rule}
    return touched | set(schema.names(*UNITS))


def left_alone(plan: Plan, accounts: Iterable[StepAccount], released: Records) -> tuple[str, ...]:
    """Released columns that the plan does not touch; keys of linked tables are numbered anew."""
    changed = touched(plan, accounts)
    return tuple(name for name in released.names() if name not in changed and name in plan.schema.columns)

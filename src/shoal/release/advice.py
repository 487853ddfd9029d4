"""Advice on requirements that do not hold, computed where possible."""

from collections.abc import Iterator, Sequence

from shoal.judges.evidence import Verdict
from shoal.plan.steps import PartitionStep
from shoal.privacy.base import PrivacyModel
from shoal.privacy.k_anonymity import KAnonymity
from shoal.release.refusal import Advice, general_advice
from shoal.run.carry_out import Outcome
from shoal.table.schema import default_unit
from shoal.vocabulary.errors import in_digits, plural

MOST = 3
"""Most columns whose removal is suggested."""

FOR_PEOPLE = (
    "Blank cells until it holds (mask: suppress, with this one under the step's requirements, and missing: wildcard in "
    "both), make labels coarser (generalise), or leave out records (suppress-records)."
)


def advice_on(done: Outcome, verdicts: Sequence[Verdict]) -> tuple[Advice, ...]:
    """Advice on the verdicts that do not hold.

    Parameters
    ----------
    verdicts
        Verdicts on the plan's requirements, in order, followed by those on its rules.
    """
    models = [*done.plan.requirements, *[None] * len(verdicts)]
    failed = [(model, verdict) for model, verdict in zip(models, verdicts) if not verdict.holds]
    return tuple(remedy for model, verdict in failed for remedy in _remedies(done, model, verdict))


def _remedies(done: Outcome, model: PrivacyModel | None, verdict: Verdict) -> Iterator[Advice]:
    if model is None:
        return  # no advice is computed for an edit rule
    if not verdict.protects:
        yield general_advice(verdict)
        yield _explore(verdict)
    elif isinstance(model, KAnonymity):
        yield from _for_classes(done, model, verdict)
    else:
        yield from _larger_groups(done, verdict.requirement, None)
        if model.blanked_for:
            yield Advice(requirement=verdict.requirement, remedy=FOR_PEOPLE)
        yield _explore(verdict)


def _explore(verdict: Verdict) -> Advice:
    return Advice(
        requirement=verdict.requirement,
        remedy="Let several plans be tried (the section explore, with this requirement in the plan); those that "
        "meet it lie on the frontier.",
    )


def _for_classes(done: Outcome, model: KAnonymity, verdict: Verdict) -> Iterator[Advice]:
    """Advice to form larger groups, drop columns or drop records, each with the number of records left below k."""
    records = (done.closure.informed or done.closure).records
    keys = records.quasi_identifiers if model.columns is None else model.columns

    def below(names: Sequence[str]) -> int:
        return int((records.matching(names, model.missing) < model.k).sum())

    yield from _larger_groups(done, verdict.requirement, model.k)
    if model.identifiers or model.unit == "person":
        yield from _for_units(done, model, verdict)
        return
    concerned = below(keys)
    if not concerned:  # it is households that are too few
        return
    left = {name: below([key for key in keys if key != name]) for name in keys if len(keys) > 1}
    helpful = [name for name in sorted(left, key=lambda name: left[name]) if left[name] < concerned]
    for name in helpful[:MOST]:
        yield Advice(
            requirement=verdict.requirement,
            remedy=f"Make '{name}' coarser (recode, generalise), or leave it out.",
            effect=f"Without it {left[name]:,} of the {plural(concerned, 'record')} would still have too few alike.",
        )
    yield Advice(
        requirement=verdict.requirement,
        remedy=f"Blank cells (mask: suppress, k: {model.k}), or leave out records (mask: suppress-records).",
        effect=f"{concerned:,} of {plural(len(records), 'record')} are concerned "
        f"({in_digits(100 * concerned / len(records), 3)} %).",
    )


def _for_units(done: Outcome, model: KAnonymity, verdict: Verdict) -> Iterator[Advice]:
    """Advice to group by the unit that is counted, or to give this requirement to the steps that take one."""
    for step in done.plan.steps:
        unit = getattr(step, "unit", None) or default_unit(done.plan.schema.names)
        apart = unit != model.unit and (model.unit, unit) != (
            "person",
            "household",
        )  # of which each holds whole persons
        if isinstance(step, PartitionStep) and apart and step.method.by_household:
            whose = "persons" if model.unit == "person" else "its values"
            remedy = f"Say unit: {model.unit} in the step {step.name}, which then forms groups of {whose}."
            yield Advice(requirement=verdict.requirement, remedy=remedy)
    yield Advice(
        requirement=verdict.requirement,
        remedy="Make labels coarser (mask: generalise), or leave out records (mask: suppress-records), with this one "
        "under the step's requirements.",
    )
    if "all records" in verdict.requirement:
        remedy = (
            "Make the records of persons alike (mask: profiles), or limit their number (mask: truncate-records), for "
            "that is known, too."
        )
        yield Advice(requirement=verdict.requirement, remedy=remedy)


def _larger_groups(done: Outcome, requirement: str, k: int | None) -> Iterator[Advice]:
    """Advice to raise k in the steps whose k may be too small."""
    for step in done.plan.steps:
        chosen = getattr(step.method, "k", None)
        if isinstance(chosen, int) and (k is None or chosen < k):
            least = "a larger one" if k is None else f"at least {k}"
            yield Advice(requirement=requirement, remedy=f"The step {step.name} has k = {chosen}; give it {least}.")

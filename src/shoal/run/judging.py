"""The judging of a finished table: the pair that judges compare, verdicts, cautions, and figures of measures."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from shoal.judges.base import Measure
from shoal.judges.closure import Closure
from shoal.judges.evidence import Finding, Verdict
from shoal.judges.table_pair import TablePair
from shoal.judges.units import KnownLess, RepeatedIdentifier, repeated, telling_column
from shoal.kernels.arrays import Longs
from shoal.kernels.draws import keyed_generator
from shoal.plan import Plan
from shoal.plan.files import with_files
from shoal.privacy.base import PrivacyModel
from shoal.privacy.gate import Gate
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.of_units import UnitModel
from shoal.run.privacy_spent import private_steps
from shoal.table.laws import NO_LAWS, Laws
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.step_result import StepTrace
from shoal.vocabulary.progress import OnProgress
from shoal.vocabulary.registry import registered

MEASURES, MEASURES_BEFORE = 1 << 20, 1 << 21
"""Keys of the measures' random numbers, on the release and on the original, beyond the number of any step."""


def pair_of(
    plan: Plan,
    before: Records | None,
    released: Records,
    partition: Partition | None,
    filled: Closure,
    hidden: Mapping[str, Partition] | None,
    units: Mapping[str, Longs] | None = None,
    *,
    traced: bool = False,
) -> TablePair:
    """Both tables, as a plan has them judged.

    Parameters
    ----------
    partition
        The groups of the last partition step.
    hidden
        As from `groups_by_column`; None where it is not known what was done.
    units, traced
        As in `TablePair`; it is traced where it is known what was done, too.
    """
    repaired = StepTrace(columns=tuple(plan.schema.columns), reads=None)  # a rule may move any cell by any other
    admitted = (repaired,) if plan.edit_rules.rules and plan.broken_rules == "repair" else ()
    return TablePair.of(
        before,
        released,
        partition,
        filled,
        hidden,
        missing=plan.reading,
        made_anew=plan.made_anew,
        traces=(*admitted, *(step.trace(plan.schema) for step in plan.steps)),
        units=units,
        traced=traced or hidden is not None,
    )


def laws_known(plan: Plan, before: Records | None, released: Records) -> Laws:
    """The laws of the original by which a release is judged.

    None where differential privacy is spent, which would have to pay for a refusal that they lead to.
    """
    return NO_LAWS if before is None or private_steps(plan) else Laws.for_release(before, released)


def judged(plan: Plan, pair: TablePair) -> list[Verdict]:
    """Verdicts on the plan's requirements, for a release and its closure."""
    names = tuple(r.identifier for r in repeated_in(plan, pair) if isinstance(r, RepeatedIdentifier))
    return [of_records(model, model.verdict_on(pair), names) for model in plan.ready.requirements]


def of_records(model: PrivacyModel, verdict: Verdict, repeated: tuple[str, ...]) -> Verdict:
    """A model's verdict, which says that it counts records where identifiers repeat."""
    return replace(verdict, of_records=repeated) if model.counts_records else verdict


def repeated_in(plan: Plan, pair: TablePair) -> tuple[RepeatedIdentifier | KnownLess, ...]:
    """The plan's identifiers that repeat, with what the classes of a release hold of their values."""
    return pair.once("repeated", lambda: tuple(_of_units(plan, pair)))


def _of_units(plan: Plan, pair: TablePair) -> Iterator[RepeatedIdentifier | KnownLess]:
    yield from repeated(pair, plan.schema.names("identifier"), k_asked(plan))
    yield from repeated(pair, plan.schema.names("person"), k_asked(plan), persons=True)
    of_persons = [m for m in plan.requirements if isinstance(m, UnitModel) and m.unit == "person"]
    less = [m for m in of_persons if m.knowing not in (None, "all records")]
    if less and (column := telling_column(pair, "person")) is not None:
        asked = tuple(f"{model.method_name}{model.of_units(model.knowing_of(pair))}" for model in less)
        yield KnownLess(identifier=column, asked=asked, own=column == pair.column_of("person"))
    for model in plan.requirements:
        if isinstance(model, UnitModel) and not model.knows_profiles:
            asked = (f"{model.method_name} of {model.units_in_words}",)
            for name in model.identifiers:
                if pair.column_of(name) is not None:
                    yield KnownLess(identifier=name, asked=asked, own=True, unit=name)
    yield from households_known(plan)


def households_known(plan: Plan) -> Iterator[KnownLess]:
    """The requirements that look at less than all records of a household, though its number is released."""
    models = [m for m in plan.requirements if isinstance(m, UnitModel) and not m.knows_households]
    if models and not set(plan.schema.names("quasi-identifier")) <= set(plan.made_anew):
        for name in set(plan.schema.names("household")) - plan.taken_out:
            asked = tuple(f"{model.method_name} of {model.units_in_words}" for model in models)
            yield KnownLess(identifier=name, asked=asked, own=True, unit="household")


def k_asked(plan: Plan) -> int:
    """The largest k that a requirement asks of classes; 2 where none does."""
    return max((model.k for model in plan.requirements if isinstance(model, KAnonymity)), default=2)


def measured(plan: Plan, pair: TablePair, entropy: int, tell: OnProgress) -> tuple[Finding, ...]:
    """Findings of the measures on a release, each with random numbers of its own."""
    measures = taken_by(plan)
    findings = []
    for number, measure in enumerate(measures):
        tell(f"measuring {measure.method_name}", number / len(measures))
        ready = with_files(measure, plan.folder)
        findings.append(ready.finding_on(pair, keyed_generator(entropy, MEASURES, number)))
    tell("judging", 1.0)
    return tuple(findings)


def taken_by(plan: Plan) -> list[Measure]:
    """All cheap measures and those that the plan names, in its requirements too; in the order of their findings."""
    cheap = [e.cls() for kind in ("risk", "utility") for e in registered(kind) if e.cls.cheap]
    named = list(plan.measures)
    for gate in plan.requirements:
        if isinstance(gate, Gate) and not any(gate.measure.same_as(measure) for measure in named):
            named.append(gate.measure)
    names = {measure.method_name for measure in named}
    return [measure for measure in cheap if measure.method_name not in names] + named

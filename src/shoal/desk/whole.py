"""A plan carried out on a whole table, judged, and released only if every requirement was proved."""

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shoal.judges.evidence import Evidence
from shoal.kernels.draws import seed_below
from shoal.plan import Plan
from shoal.plan.admission import admit
from shoal.plan.guess import known_by
from shoal.plan.publication import hidden_cells, public_schema
from shoal.privacy.base import PrivacyModel
from shoal.release import WholeRelease, not_proved
from shoal.release.account import account_of, left_alone, record_of
from shoal.release.advice import advice_on
from shoal.release.evidence_file import private_evidence
from shoal.release.given_back import refuse_given_back
from shoal.release.publish import publish
from shoal.release.singled_out import refuse_singled_out
from shoal.release.unchanged import nearly_unchanged, unchanged
from shoal.run.carry_out import Outcome, carry_out
from shoal.run.judging import taken_by
from shoal.run.parts.in_blocks import Runs
from shoal.run.privacy_spent import columns_not_looked_at, private_steps
from shoal.table.files.table import Table
from shoal.table.microdata import Microdata
from shoal.table.step_result import StepAccount
from shoal.vocabulary.errors import ParameterError, PlanError
from shoal.vocabulary.progress import OnProgress, shown

if TYPE_CHECKING:
    from shoal.desk.keeping import Keeping

UNKEPT = (
    "The plan has a ledger, by which only shoal protect judges a release. Take the section ledger out to try the plan "
    "without it."
)

ROUNDS = 10
"""Times that a plan is carried out, at most, each time with more persons withheld for m-invariance."""

COPIES = 1 << 22
"""Key of the further copies' seeds, beyond the number of any step and measure."""


def protect_whole(
    table: Any,
    plan: Plan,
    *,
    seed: int | None = None,
    stage: OnProgress | None = None,
    source: Mapping[str, Any] | None = None,
    run: Runs | None = None,
    keeping: "Keeping | None" = None,
) -> WholeRelease:
    """Protect a table that is held whole, and prove what the plan requires.

    `run` is as for `carry_out`; `keeping` is the ledger that the plan asks for; the other parameters are as for
    `shoal.protect`.
    """
    with shown(stage) as tell:
        if plan.ledger is not None and keeping is None:
            raise ParameterError(UNKEPT)
        make = partial(_proved_release, table, plan, stage=tell, source=source, run=run, keeping=keeping)
        return _copies(make, plan, seed)


def _copies(make: Callable[..., WholeRelease], described: Plan, seed: int | None) -> WholeRelease:
    """The release, with its further copies."""
    admit(described)
    if described.output.copies > 1 and private_steps(described):
        raise ParameterError(
            "output: copies must be 1 where a step spends differential privacy, as every copy spends it anew. Release "
            "one table, or take the private noise out of the plan."
        )
    first = make(seed)
    if described.output.copies == 1:
        return first
    seeds = [seed_below(first.account.seed, COPIES, number) for number in range(1, described.output.copies)]
    further = tuple(make(seed) for seed in seeds)
    if fractional := _of_two_types((first, *further)):  # one codebook is for all copies
        first, *others = (make(seed, fractional=fractional) for seed in (first.account.seed, *seeds))
        further = tuple(others)
    return replace(first, further=further, record={**first.record, "seeds of further copies": seeds})


def _of_two_types(copies: Sequence[WholeRelease]) -> set[str]:
    """Columns that are integers in one copy and floats in another, as types follow from the released cells."""
    frame = copies[0].table.frame
    return {
        name for name in frame.columns if any(copy.table.frame[name].dtype != frame[name].dtype for copy in copies[1:])
    }


def _proved_release(
    table: Any,
    plan: Plan,
    seed: int | None,
    *,
    stage: OnProgress,
    source: Mapping[str, Any] | None,
    run: Runs | None,
    keeping: "Keeping | None",
    fractional: Collection[str] = (),
) -> WholeRelease:
    """One release, proved."""
    for _ in range(ROUNDS):
        hold_back = keeping if keeping is not None and keeping.rules.hold_back else None
        done = carry_out(table, plan, seed, stage, fractional, run, hold_back)
        pending = None if keeping is None else keeping.pending(done)
        more = None if keeping is None or pending is None else keeping.withholding_more(pending)
        if more is None:
            break
        keeping = more
    verdicts = (*done.verdicts(), *(() if pending is None else pending.verdicts))
    if not all(verdict.holds for verdict in verdicts):
        refused = release_of(done, Evidence(verdicts=verdicts, findings=(), of_records=done.of_records), (), source)
        raise not_proved(verdicts, advice_on(done, verdicts), private_evidence(refused))
    refuse_unanswered(done, table)
    exact = exact_measures(done.plan, done.accounts)
    evidence = Evidence(verdicts=verdicts, findings=done.findings(), of_records=done.of_records)
    return replace(release_of(done, evidence, exact, source), pending=pending)


def refuse_unanswered(done: Outcome, table: Any, further: tuple[PrivacyModel, ...] = ()) -> None:
    """Refuse a release in which nobody answers for unchanged columns that single people out.

    `further`: requirements on the table in addition to those of its plan.
    """
    if done.pair.place is None:
        return  # all records are made up, and no cell is a version of one person's
    original = done.before.without(columns_not_looked_at(done.plan))  # what nobody pays for may not stop a release
    tables = original, done.released, done.pair.place
    frame = done.original.frame.to_polars()
    given = replace(table, frame=frame) if isinstance(table, Table) else Table(frame=frame)
    same = (*left_alone(done.plan, done.accounts, done.released), *filter(original.__contains__, unchanged(done.pair)))
    nearly = tuple(filter(original.__contains__, nearly_unchanged(done.pair, done.plan.made_anew)))
    refuse_singled_out(
        done.plan, same, nearly, partial(known_by, given), len(done.released), done.released.uniques, further
    )
    refuse_given_back(done.plan, same, nearly, tables, further)


def release_of(
    done: Outcome,
    evidence: Evidence,
    exact: tuple[str, ...],
    source: Mapping[str, Any] | None,
    further: Set[str] = frozenset(),
) -> WholeRelease:
    """The release of a plan carried out and judged; `further`: texts of the plan to withhold beside its own cells."""
    withheld = hidden_cells(done.plan, None if private_steps(done.plan) else done.before, done.released) | further
    account = account_of(done, evidence, withheld, exact)
    return WholeRelease(
        table=done.finished,
        evidence=evidence,
        account=account,
        record=record_of(account, evidence, done.plan, "whole", _input(done.original, source), done.course.blocks),
        partition=done.partition,
        hidden=done.hidden,
        schema=public_schema(done.schema, withheld),
        requirements=done.plan.requirements,
        reading=done.plan.reading,
        rules=done.plan.edit_rules,
        trees=done.trees,
        output=done.plan.output,
        rows=done.released.rows,
        units=done.units,
        fingerprint=done.finished.fingerprint(),
        publisher=publish,
        describe=private_evidence,
    )


def exact_measures(plan: Plan, accounts: Sequence[StepAccount]) -> tuple[str, ...]:
    """The measures whose exact figures the plan publishes.

    Raises PlanError if the plan names a measure that it does not take, or spends differential privacy, which pays for
    no figure.
    """
    if not (chosen := plan.publish):
        return ()
    if private_steps(plan):
        raise PlanError(
            "publish: a step spends differential privacy, which does not pay for a figure of the original. "
            "Take the section publish out."
        )
    measured = tuple(measure.method_name for measure in taken_by(plan))
    if absent := [name for name in chosen if name not in measured] if chosen != "exact" else []:
        raise PlanError(f"publish: no release of this plan measures '{absent[0]}'. Name it in measures as well.")
    return measured if chosen == "exact" else tuple(chosen)


def _input(original: Microdata, source: Mapping[str, Any] | None) -> dict[str, Any]:
    """Identification of the input table."""
    return {"records": len(original), "sha256 of cells": original.fingerprint(), **(source or {})}

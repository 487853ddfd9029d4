"""Several linked tables protected by one plan, or judged."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.desk.audit_whole import pair_and_verdicts
from shoal.desk.files_of_tables import files_for
from shoal.desk.given import BYTES_A_CELL, Given, check_fits
from shoal.desk.keeping_linked import LinkedKeeping
from shoal.desk.whole import exact_measures, refuse_unanswered, release_of
from shoal.judges.evidence import RECORD_VERSION, Evidence, Verdict
from shoal.judges.table_pair import TablePair
from shoal.judges.units import ORDER, KnownLess, telling_column
from shoal.ledger.pending import PendingEntry
from shoal.plan.linked import LinkedPlan
from shoal.plan.publication import hidden_in_parts, public_rule, recorded
from shoal.privacy.of_units import UnitModel
from shoal.release import not_proved
from shoal.release.directory import check_free, check_writable
from shoal.release.evidence_file import private_evidence
from shoal.release.linked import (
    LinkedRelease,
    account_of_tables,
    linked_verdict,
    of_table,
    over_released,
    publish_linked,
)
from shoal.release.value import WholeRelease
from shoal.run.linked import LinkedOutcome, carry_out_linked, in_table, links_of, with_persons
from shoal.run.over_copies import CopiesTogether, carried_out, judged_together
from shoal.table.files.table import Table
from shoal.table.links import Links
from shoal.table.parts.session import allowance
from shoal.vocabulary.errors import DataError, quoted
from shoal.vocabulary.progress import OnProgress, shown

WHOLE = "Linked tables are held whole, for what is promised to a person is about the rows of all of them."

ALONE = CopiesTogether()


def protect_linked(
    tables: Any,
    plan: LinkedPlan,
    out: str | Path | None = None,
    *,
    seed: int | None = None,
    memory: str | int | None = None,
    overwrite: bool = False,
    unproved: bool = False,
    stage: OnProgress | None = None,
    reading: Mapping[str, Any] | None = None,
    frontier: Mapping[str, Any] | None = None,
    ledger: str | Path | None = None,
    after: Sequence[str | Path] = (),
) -> LinkedRelease:
    """Protect several linked tables as a plan says; parameters as for `shoal.protect`.

    `tables`: by name, their files, or the folder that these are in.
    """
    if out is not None:
        check_writable(Path(out))
        check_free(Path(out), overwrite=overwrite)
    keeping = LinkedKeeping.of(plan, ledger, after)
    given = given_tables(tables, plan, reading)
    allowed = allowance(memory)
    read = _in_memory(given, allowed)
    with shown(stage) as tell:
        done, *further = copies = carried_out(read, plan, seed, tell)
        hold = all(over.verdict.holds for over in done.over_tables)  # or it is refused, whatever came before
        pending = keeping.pending(done, read[plan.root]) if keeping is not None and hold else None
        origins = {name: table.origin for name, table in given.items()}
        release = _proved(done, read, origins, pending, judged_together(copies))
        release = _with_further(release, [_proved(copy, read, origins, None) for copy in further])
    if out is not None:
        labels = {name: table for name, table in read.items() if isinstance(table, Table)}
        publish_linked(release, out, overwrite=overwrite, labels=labels, frontier=frontier, unproved=unproved)
    return release


def assess_linked(
    tables: Any, plan: LinkedPlan, *, seed: int | None = None, stage: OnProgress | None = None
) -> Evidence:
    """The verdicts and figures of a plan on its tables, of one copy; parameters as for `shoal.assess`."""
    read = tables_in_memory(tables, plan)
    with shown(stage) as tell:
        done = carry_out_linked(read, plan, seed, tell)
        over = [over.verdict for over in done.over_tables]
        shared = (*over, *done.bounded, *done.over_rows(), linked_verdict(done.links, plan))
        own = [of_table(name, verdict) for name, outcome in done.tables.items() for verdict in outcome.verdicts()]
        cautions = tuple(_cautions(plan, {name: outcome.pair for name, outcome in done.tables.items()}))
        return Evidence(verdicts=(*shared, *own), findings=tuple(done.findings()), of_records=cautions)


def tables_in_memory(tables: Any, plan: LinkedPlan, reading: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The tables of a plan, read into memory; parameters as for `given_tables`."""
    return _in_memory(given_tables(tables, plan, reading), allowance(None))


def _in_memory(given: Mapping[str, Given], memory: int) -> dict[str, Any]:
    """The tables in memory; refused before any is read if all of them together may need more than is allowed."""
    if len(given) > 1:
        cells = {name: table.cells for name, table in given.items()}
        together, most = sum(cells.values()), max(cells, key=lambda name: cells[name])
        fitting = f"{100 * memory // max(together * BYTES_A_CELL, 1)} %"
        check_fits(
            f"The tables {quoted(given)} may need {{}} held whole, {cells[most] * BYTES_A_CELL >> 20:,} MB of it for "
            f"'{most}'",
            together,
            memory,
            f"About {fitting} of the persons, each with all rows, would fit; or leave columns out that nobody needs. "
            f"{WHOLE}",
        )
    return {name: table.in_memory(memory, (WHOLE,)) for name, table in given.items()}


def given_tables(
    tables: Any, plan: LinkedPlan, reading: Mapping[str, Any] | None = None, *, judged: bool = False
) -> dict[str, Given]:
    """The tables that a plan names: of a mapping, of several files, or files of a folder.

    Raises DataError or FileError naming those that are not there.
    """
    if isinstance(tables, Mapping):
        if set(tables) != set(plan.keys):
            raise DataError(f"The plan is for the tables {quoted(plan.keys)}; got {quoted(map(str, tables))}.")
        return {name: Given.of(tables[name], reading, judged=judged) for name in plan.keys}
    files = files_for(tables, plan.keys, {} if judged else plan.files)
    return {name: Given.of(file, reading, judged=judged) for name, file in files.items()}


def _with_further(first: LinkedRelease, further: Sequence[LinkedRelease]) -> LinkedRelease:
    """A release with its further copies."""
    if not further:
        return first
    tables = {
        name: replace(own, further=tuple(copy.tables[name] for copy in further)) for name, own in first.tables.items()
    }
    record = {**first.record, "seeds of further copies": [copy.account.seed for copy in further]}
    return replace(first, tables=tables, further=tuple(further), record=record)


def _proved(
    done: LinkedOutcome,
    read: Mapping[str, Any],
    origins: Mapping[str, Mapping[str, Any]],
    pending: PendingEntry | None,
    together: CopiesTogether = ALONE,
) -> LinkedRelease:
    """The release of all tables. Raises Refused if a requirement over all tables, or on one of them, does not hold."""
    over = [over.verdict for over in done.over_tables]
    over += () if pending is None else pending.verdicts
    rows = (*done.over_rows(), linked_verdict(done.links, done.plan))
    shared = (*over, *done.bounded, *together.verdicts, *rows)
    own = {name: tuple(outcome.verdicts()) for name, outcome in done.tables.items()}
    verdicts = (*shared, *(of_table(name, verdict) for name, some in own.items() for verdict in some))
    if not all(verdict.holds for verdict in verdicts):
        raise not_proved(verdicts)
    releases: dict[str, WholeRelease] = {}
    before, released = ([getattr(o, of) for o in done.tables.values()] for of in ("before", "released"))
    rules = _public_rules(done)
    for name, outcome in done.tables.items():
        with in_table(name):
            refuse_unanswered(outcome, read[name], done.plan.requirements)
        exact = exact_measures(outcome.plan, outcome.accounts)
        evidence = Evidence(verdicts=(*own[name], *shared), findings=outcome.findings(), of_records=outcome.of_records)
        of_others = hidden_in_parts(outcome.plan, lambda: before, lambda: released)
        release = release_of(outcome, evidence, exact, origins[name], of_others)
        account = replace(
            release.account,
            proved=release.account.proved or done.plan.protects,
            requirements=tuple(rules.get(shown, shown) for shown in release.account.requirements),
            not_released=tuple(column for column in release.account.not_released if column in done.columns[name]),
            several_records=name != done.plan.root,
        )
        releases[name] = replace(release, account=account)
    cautions = tuple(_cautions(done.plan, {name: outcome.pair for name, outcome in done.tables.items()}))
    findings = (*done.findings(), *together.findings)
    evidence = Evidence(verdicts=verdicts, findings=findings, of_records=cautions)
    return replace(_together(done, releases, evidence, rules), pending=pending)


def _public_rules(done: LinkedOutcome) -> dict[str, str]:
    """The rules over tables as the public reads them, without cells that only the original has."""
    rules, outcomes = done.plan.edit_rules, done.tables.values()
    if not rules.rules:
        return {}
    holding = replace(done.plan.tables[done.plan.root], edit_rules=rules)
    hidden = hidden_in_parts(holding, lambda: [o.before for o in outcomes], lambda: [o.released for o in outcomes])
    return {rule: public_rule(rule, hidden) for rule in rules.rules}


def _together(
    done: LinkedOutcome, releases: Mapping[str, WholeRelease], evidence: Evidence, rules: Mapping[str, str]
) -> LinkedRelease:
    plan = done.plan
    account = account_of_tables(releases, plan, evidence, done.entropy, rules)
    record = {
        "version": RECORD_VERSION,
        "versions": account.versions,
        "input": {name: release.record["input"] for name, release in releases.items()},
        "plan": plan.sections({n: recorded(outcome.plan) for n, outcome in done.tables.items()}, plan.edit_rules.rules),
        "engine": "whole",
        "seed": done.entropy,
        "proved": account.proved,
        "persons left out": done.dropped,
        "evidence": evidence.as_mapping(),
        "tables": {name: dict(release.record) for name, release in releases.items()},
    }
    each = (model for of_plan in plan.tables.values() for model in of_plan.requirements)
    return LinkedRelease(
        evidence=evidence,
        account=account,
        record=record,
        requirements=(*plan.requirements, *plan.bounds, *each),
        publisher=publish_linked,
        describe=private_evidence,
        tables=releases,
        plan=plan,
        links=done.links,
    )


def _cautions(plan: LinkedPlan, pairs: Mapping[str, TablePair]) -> Iterator[KnownLess]:
    """Cautions that more is known of a person, or of a household, than a requirement takes to be."""
    less = [model for model in plan.requirements if model.knowing not in (None, "all records")]
    if less and plan.release_keys:
        yield KnownLess(identifier=str(plan.keys[plan.root].key), asked=_asked(less), own=True)
    for name, pair in pairs.items() if less and not plan.release_keys else ():
        if (column := telling_column(pair, "person")) is not None:
            yield KnownLess(identifier=column if column == ORDER else f"{name}.{column}", asked=_asked(less), own=False)
    root = plan.tables[plan.root]
    of_persons = [m for m in plan.requirements if not replace(m, knowing=m.knowing or "all records").knows_households]
    for name in set(root.schema.names("household")) - root.taken_out if of_persons else ():
        yield KnownLess(identifier=name, asked=_asked(of_persons), own=True, unit="household")


def _asked(models: Sequence[UnitModel]) -> tuple[str, ...]:
    return tuple(f"{model.method_name}{model.of_units(model.knowing or 'all records')}" for model in models)


def audit_linked(
    tables: Any, plan: LinkedPlan, *, memory: str | int | None = None, reading: Mapping[str, Any] | None = None
) -> Evidence:
    """Prove or refute the requirements of a plan on released tables, whoever made them; as `shoal.audit`.

    `tables`: by name, their files, or the folder that these are in.

    Raises
    ------
    DataError
        If the tables have no keys, or rows whose row above is not there.
    """
    allowed = allowance(memory)
    given = given_tables(tables, plan, reading, judged=True)
    read = _in_memory(given, allowed)
    links, judged = judged_as_released(read, plan)
    verdicts = over_released({name: pair for name, (pair, _) in judged.items()}, links, plan)
    verdicts += [linked_verdict(links, plan)]
    own = [of_table(name, verdict) for name, (_, some) in judged.items() for verdict in some]
    cautions = tuple(_cautions(plan, {name: pair for name, (pair, _) in judged.items()}))
    return Evidence(verdicts=(*verdicts, *own), findings=(), of_records=cautions)


def judged_as_released(
    read: Mapping[str, Any], plan: LinkedPlan
) -> tuple[Links, dict[str, tuple[TablePair, list[Verdict]]]]:
    """The links of released tables, and each table with the verdicts on its own requirements."""
    links = links_of(read, plan)
    judged = {}
    for name, table in read.items():
        with in_table(name):
            judged[name] = pair_and_verdicts(with_persons(table, plan, links, name), plan.tables[name])
    return links, judged

"""A release of several linked tables: each a release of its own, and what was proved on persons over all of them.

    release/patients.csv, stays.csv, drugs.csv      the tables, with keys numbered anew
    release/evidence.json, report.html              what was proved, over all tables and in each
    release/patients/, stays/, drugs/               codebook, evidence and report of each table
    release/copies/1/patients.csv, ...              in place of the tables above, where there are several copies
    private/patients/, stays/, drugs/               what may not leave the building, by table

What is proved over all tables is proved again on the files as they were written, joined by the keys in them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.constraints.over_rows import RulesOverRows
from shoal.judges.evidence import Evidence, Verdict
from shoal.judges.joined import Joined
from shoal.judges.table_pair import TablePair
from shoal.plan.linked import LinkedPlan
from shoal.release.directory import into_place
from shoal.release.evidence_file import private_evidence, public_evidence, read_evidence
from shoal.release.publish import (
    check_as_proved,
    check_proved,
    write_evidence,
    write_private,
    write_public,
    write_record,
)
from shoal.release.refusal import require
from shoal.release.review import Review, approval_of, contents, published
from shoal.release.value import Account, Pending, Release, WholeRelease
from shoal.report.became import counts_kept
from shoal.report.evidence import EvidenceFile, TableOfSeveral
from shoal.run.linked import links_of
from shoal.run.over_measures import bounded_over_tables
from shoal.run.over_rows import as_known, checked
from shoal.run.over_tables import NO_LAWS, judged_over_tables
from shoal.table.files.table import Table
from shoal.table.links import Links
from shoal.vocabulary.errors import plural
from shoal.vocabulary.facts import of_release


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedRelease(Release):
    """A release of several linked tables.

    Parameters
    ----------
    tables
        The release of each table, that of persons first.
    plan
        The plan of all.
    links
        Which released row belongs to which.
    further
        The other copies, if the plan asks for several; each is a release proved by itself.
    pending
        Enters the release in the plan's ledger when it is written; None without a ledger.

    Other parameters are those of `Release`, for all tables together.
    """

    tables: Mapping[str, WholeRelease]
    plan: LinkedPlan = field(repr=False)
    links: Links = field(repr=False)
    further: "tuple[LinkedRelease, ...]" = field(default=(), repr=False)
    pending: Pending | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"Release of {counted(self.links)}\n{self.evidence!r}"

    @property
    def records(self) -> int:
        """Number of released records of all tables."""
        return sum(release.records for release in self.tables.values())

    @property
    def data(self) -> dict[str, Any]:
        """The protected tables, each as the kind of frame given as input."""
        return {name: release.data for name, release in self.tables.items()}

    def to_frames(self) -> dict[str, pl.DataFrame]:
        """The protected tables as polars frames."""
        return {name: release.to_frame() for name, release in self.tables.items()}

    def to_frame(self) -> pl.DataFrame:
        """The protected table of persons as a polars frame."""
        return self.tables[self.plan.root].to_frame()

    @property
    def copies(self) -> "tuple[LinkedRelease, ...]":
        """This release and all further ones of the same plan, as `shoal.combine_tables` takes their data."""
        return (self, *self.further)


def counted(links: Links) -> str:
    """Numbers of persons and records, in words."""
    root, *others = links.sizes
    tables = [f"{plural(links.sizes[name], 'record')} in '{name}'" for name in others]
    return ", ".join([f"{plural(links.sizes[root], 'person')} in '{root}'", *tables])


def linked_verdict(links: Links, plan: LinkedPlan) -> Verdict:
    """The verdict that every row has its row above; `Links` refuses tables of which that is false."""
    made_up = "" if plan.synthesis is None else " All are made up, so that no row is anybody's."
    return Verdict(
        requirement="linked tables",
        holds=True,
        required=0,
        achieved=0,
        sentence=f"Every row has its row above: {counted(links)}.{made_up}",
        facts=of_release({name: plural(size, "record") for name, size in links.sizes.items()}),
        influence=0,
        protects=False,
    )


def of_table(name: str, verdict: Verdict) -> Verdict:
    """The verdict on one table, as one of several."""
    return replace(verdict, requirement=f"{name}: {verdict.requirement}")


def account_of_tables(
    tables: Mapping[str, WholeRelease], plan: LinkedPlan, evidence: Evidence, seed: int, rules: Mapping[str, str]
) -> Account:
    """The account of several tables; columns and steps have the name of their table before them.

    What is counted by record, such as the records that unchanged columns single out, stands in each table's report.
    `rules`: the rules over tables as the public reads them.
    """
    accounts = {name: release.account for name, release in tables.items()}
    first, public = accounts[plan.root], {**_public_requirements(tables), **rules}
    plans = {name: account.plan for name, account in accounts.items()}

    def every(columns: str) -> tuple[str, ...]:
        return tuple(f"{name}.{column}" for name, account in accounts.items() for column in getattr(account, columns))

    return replace(
        first,
        steps=tuple(
            replace(step, step=f"{name}: {step.step}", columns=tuple(f"{name}.{c}" for c in step.columns), place=None)
            for name, account in accounts.items()
            for step in account.steps
        ),
        columns=tuple(
            replace(column, name=f"{name}.{column.name}")
            for name, account in accounts.items()
            for column in account.columns
        ),
        plan=plan.sections(plans, tuple(rules.values()), public=True),
        requirements=tuple(public.get(verdict.requirement, verdict.requirement) for verdict in evidence.verdicts),
        not_released=every("not_released"),
        untouched=(),
        unchanged=(),
        own_gaps=every("own_gaps"),
        accepted=(),
        made_anew=every("made_anew"),
        missing={name: account.missing for name, account in accounts.items()},
        before=(),
        seed=seed,
        exact=(),
        proved=plan.protects,
        singled_out=(),
        odd_values={
            f"{name}.{column}": odd for name, account in accounts.items() for column, odd in account.odd_values.items()
        },
        classes=(),
        classes_before=None,
        violations_before=None,
        reached=(),
        context="",
        several_records=True,
    )


def _public_requirements(tables: Mapping[str, WholeRelease]) -> dict[str, str]:
    """The requirements on single tables as the public reads them, by their whole texts."""
    return {
        of_table(name, verdict).requirement: f"{name}: {shown}"
        for name, release in tables.items()
        for verdict, shown in zip(release.evidence.verdicts, release.account.requirements)
    }


def publish_linked(
    release: LinkedRelease,
    directory: str | Path,
    *,
    overwrite: bool = False,
    labels: Any = None,
    frontier: Mapping[str, Any] | None = None,
    unproved: bool = False,
    approval: Review | str | Path | None = None,
) -> Path:
    """Write the two folders of a release of several tables; as `shoal.publish` for one.

    Parameters
    ----------
    labels
        The input tables, by name, for their column and value labels.
    frontier
        The content of frontier.json, if the plan was chosen by an exploration; the private report shows it.
    """
    check_proved(release, unproved=unproved)
    approved = None if approval is None else approval_of(release, approval)
    with into_place(directory, overwrite=overwrite) as temporary:
        public, private = temporary / "release", temporary / "private"
        files: dict[str, str] = {}
        shown: dict[Path, list[TableOfSeveral]] = {public: [], private: []}
        read: list[dict[str, tuple[Table, TablePair]]] = [{} for _ in release.copies]
        for name, of in release.tables.items():
            check_as_proved(of)
            (public / name).mkdir()
            (private / name).mkdir()
            own = None if labels is None else labels.get(name)
            proved = write_public(of, public / name, own, None, _files(name, release, public))
            for tables_of_copy, pair in zip(read, proved, strict=True):
                tables_of_copy[name] = pair
            write_private(of, private / name, None, own)
            for folder, tables in shown.items():
                tables.append(table_of_several(release, name, read_evidence(folder / name / "evidence.json")))
            files |= read_evidence(public / name / "evidence.json")["sha256"]
        for copy, tables_of_copy in zip(release.copies, read, strict=True):
            _prove_files(copy, tables_of_copy)
        content: EvidenceFile = {**public_evidence(release, files=files), "tables": shown[public]}
        if approved is not None:
            content["approval"] = published(approved)
        write_evidence(content, public)
        write_evidence({**private_evidence(release, frontier=frontier), "tables": shown[private]}, private)
        if release.pending is not None:
            release.pending.record(temporary, release.account)
        write_record(release.record if approved is None else {**release.record, "approval": approved}, temporary)
    return Path(directory)


@contents.register
def _(release: LinkedRelease) -> tuple[tuple[str, ...], EvidenceFile, EvidenceFile]:
    cells = tuple(of.fingerprint for copy in release.copies for of in copy.tables.values())
    each = [(public_evidence(of, files={}), private_evidence(of)) for of in release.tables.values()]
    public, private = (
        [table_of_several(release, name, content) for name, content in zip(release.tables, of_tables, strict=True)]
        for of_tables in zip(*each)
    )
    return (
        cells,
        {**public_evidence(release, files={}), "tables": public},
        {**private_evidence(release), "tables": private},
    )


def _files(name: str, release: LinkedRelease, public: Path) -> list[str]:
    """The files of a table, of all copies, in the public folder and without their endings."""
    if not release.further:
        return [name]
    folders = [f"copies/{number + 1}" for number in range(len(release.copies))]
    for folder in folders:
        (public / folder).mkdir(parents=True, exist_ok=True)
    return [f"{folder}/{name}" for folder in folders]


def table_of_several(release: LinkedRelease, name: str, content: EvidenceFile) -> TableOfSeveral:
    """A table in the evidence of all, from its own evidence."""
    private, numbers = content["private"], release.links.persons[name]
    return {
        "name": name,
        "persons": len(np.unique(numbers)) if release.plan.release_keys else None,
        "records": content["records"],
        "left as they came": private["released unchanged"] if private else content["left as they came"],
        "kept": next((m for m in content["measures"] if m["kind"] == "utility" and counts_kept(m)), None),
    }


def _prove_files(release: LinkedRelease, read: Mapping[str, tuple[Table, TablePair]]) -> None:
    """Prove the requirements over all tables on the files, joined by their own keys where they have these."""
    tables = {name: table for name, (table, _) in read.items()}
    links = links_of(tables, release.plan) if release.plan.release_keys else release.links
    require(over_released({name: pair for name, (_, pair) in read.items()}, links, release.plan, everything=False))


def over_released(
    pairs: Mapping[str, TablePair], links: Links, plan: LinkedPlan, *, everything: bool = True
) -> list[Verdict]:
    """Verdicts on the requirements and the rules over released tables.

    `everything`: False to leave out bounds on figures that need the original.
    """
    rules = RulesOverRows(rules=plan.edit_rules.rules, numbers={})
    written = {name: pair.released for name, pair in pairs.items()}
    filled = {name: pair.closure.records for name, pair in pairs.items()}
    some = any(pair.closure.filled for pair in pairs.values())
    known = as_known(rules, written, filled if some else None, links)
    stages = [(Joined.of(tables, links), NO_LAWS) for tables in known]
    over = [judged.verdict for judged in judged_over_tables(plan.requirements, stages)]
    bounds = [gate for gate in plan.bounds if everything or not gate.needs_original]
    return [*over, *bounded_over_tables(bounds, stages, None, pairs), *checked(rules, written, links)]

"""Publish: a release as two folders, proved again on the file as it was written.

`release/` may leave the building, `private/` may not. Everything is written to a temporary place and moved into the
directory at once; an interrupted run leaves the directory as it was. A release is recognised by its record, and only
files that its record names are ever replaced.
"""

import json
import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from shoal.constraints import Constraints
from shoal.constraints.of_persons import PersonRules
from shoal.judges.closure import closure
from shoal.judges.evidence import RECORD_VERSION
from shoal.judges.refinement import with_trees
from shoal.judges.table_pair import TablePair
from shoal.plan import Plan
from shoal.plan.codebook import codebook
from shoal.plan.lines import dump_yaml
from shoal.plan.publication import moved
from shoal.release import OF, WHOSE, LargeRelease, Release, WholeRelease, require
from shoal.release.directory import RECORD, files_in, into_place
from shoal.release.evidence_file import private_evidence, public_evidence
from shoal.release.review import Approved, Review, approval_of, approve, published
from shoal.report.evidence import EvidenceFile
from shoal.report.exploration import FrontierFile
from shoal.report.frontier_page import frontier_page
from shoal.report.page import page
from shoal.table.files.atomic import atomic_file
from shoal.table.files.checksums import sha256_of
from shoal.table.files.csv_text import escape_formulas
from shoal.table.files.json_text import write_json
from shoal.table.files.names import slug
from shoal.table.files.residue import codes_of
from shoal.table.files.table import Table
from shoal.table.files.tables import FOR_SPREADSHEETS, lost_columns, read_table, write_table
from shoal.table.files.value_labels import RANGES_IN_CODES, WITH_LABELS, Coding, code_text, codings, in_codes, in_words
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.schema import UNITS
from shoal.vocabulary.errors import DataError, FileError, Refused, plural, quoted

if TYPE_CHECKING:
    from shoal.plan.linked import LinkedPlan

UNPROVED = (
    "Nothing was written: the plan requires nothing that protects anybody (a k of 1 demands nothing), so nothing would "
    "have been proved. Add a requirement, as in "
    "requirements: [{privacy: k-anonymity, k: 5}], or say that you want a release without proof "
    "(--unproved; from Python unproved=True)."
)


def publish(
    release: Release,
    directory: str | Path,
    *,
    overwrite: bool = False,
    labels: Table | None = None,
    frontier: Mapping[str, Any] | None = None,
    unproved: bool = False,
    approval: Review | str | Path | None = None,
) -> Path:
    """Write `release/`, which may leave the building, and `private/`, which may not.

    The table is read back from its file and judged again before anything is replaced; an interrupted run leaves the
    directory as it was.

    Parameters
    ----------
    directory
        A directory that does not exist or is empty. A release in it is overwritten on request, and nothing else is.
    labels
        The input table, for its column and value labels.
    frontier
        The content of frontier.json, if the plan was chosen by an exploration; the private report shows it.
    unproved
        Write a release on which nothing was proved, since the plan requires nothing. Every file of it says so.
    approval
        The review by which a second person approved this very release (`shoal.review`), or its file: both folders
        say who approved what and when, the private one with all comments.

    Raises
    ------
    Refused
        If a requirement does not hold on the file as written, or if nothing protects the release.
    InputError
        If nobody approved the review, or another release was approved.
    DataError
        If the table was changed since it was proved.
    FileError
        If the directory cannot be written, or holds anything that is not part of a release.
    """
    if not isinstance(release, (LargeRelease, WholeRelease)):
        return release.publisher(
            release, directory, overwrite=overwrite, labels=labels, unproved=unproved, approval=approval
        )
    check_proved(release, unproved=unproved)
    with into_place(directory, overwrite=overwrite) as temporary:
        if isinstance(release, LargeRelease):  # it is written, and proved on its files
            shutil.copytree(release.directory, temporary, dirs_exist_ok=True)
        else:
            approved = None if approval is None else approval_of(release, approval)
            _write(release, temporary, labels, frontier, approved)
    if approval is not None and isinstance(release, LargeRelease):
        approve(directory, approval)
    return Path(directory)


def _write(
    release: WholeRelease,
    folder: Path,
    labels: Table | None,
    frontier: Mapping[str, Any] | None,
    approved: Approved | None,
) -> None:
    """Write both folders of a release that holds its table."""
    check_as_proved(release)
    write_public(release, folder / "release", labels, approved)
    write_private(release, folder / "private", frontier, labels)
    if release.pending is not None:
        release.pending.record(folder, release.account)
    write_record(release.record if approved is None else {**release.record, "approval": approved}, folder)


def check_as_proved(release: WholeRelease) -> None:
    """Refuse a release whose table was changed since it was proved."""
    if any(Microdata.finished(r.table.frame, r.schema).fingerprint() != r.fingerprint for r in release.copies):
        raise DataError(
            "The table was changed after it was proved, so the proofs do not hold for it. Copy "
            "release.data to work on it."
        )


def check_proved(release: Release, *, unproved: bool = False) -> None:
    """Refuse a release that nothing protects, unless it was asked for."""
    if not (release.account.proved or unproved):
        raise Refused(UNPROVED)


class PublishableFrontier(Protocol):
    """The parts of an exploration that are written (`shoal.explore` returns one)."""

    @property
    def recommended(self) -> str | None: ...
    @property
    def plans(self) -> "Mapping[str, Plan | LinkedPlan]": ...
    def as_mapping(self) -> FrontierFile: ...


def publish_frontier(frontier: PublishableFrontier, directory: str | Path) -> Path:
    """Write frontier.json, the page frontier.html, all candidates' plans, and the recommended one as plan.yaml."""
    folder = Path(directory)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "plans").mkdir(exist_ok=True)
    content = frontier.as_mapping()
    texts = {f"plans/{slug(name)}.yaml": _from_there(plan, folder / "plans") for name, plan in frontier.plans.items()}
    texts |= {"frontier.json": json.dumps(content, indent=2) + "\n", "frontier.html": frontier_page(content)}
    if frontier.recommended is None:
        (folder / "plan.yaml").unlink(missing_ok=True)  # one that was recommended before
    else:
        texts["plan.yaml"] = _from_there(frontier.plans[frontier.recommended], folder)
    for name, text in texts.items():
        with atomic_file(folder / name, 0o600) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return folder


def _from_there(plan: "Plan | LinkedPlan", folder: Path) -> str:
    """The plan as a file in a folder, from which its own files are found."""
    if isinstance(plan, Plan):
        return dump_yaml(moved(plan, folder))
    ledger = plan.ledger
    if ledger is not None and ledger.file is not None:
        there = os.path.relpath(plan.folder / ledger.file, folder)
        plan = replace(plan, ledger=ledger.model_copy(update={"file": there}))
    of_tables = {name: moved(own, folder) for name, own in plan.tables.items()}
    return dump_yaml(plan.sections(of_tables, plan.edit_rules.rules))


def write_public(
    release: WholeRelease, folder: Path, labels: Table | None, approved: Approved | None, data: Sequence[str] = ()
) -> list[tuple[Table, TablePair]]:
    """Write the public folder of a release that holds its table, and prove the release on its files.

    Parameters
    ----------
    data
        Paths of the data files of all copies from the folder above, without their endings; `data`, or `data-1` and so
        on, in the folder itself by default.

    Returns
    -------
    Of each copy the table as read back, and the pair on which it was proved.
    """
    root = folder.parent if data else folder
    data = data or [f"data-{number + 1}" if release.further else "data" for number in range(len(release.copies))]
    coded = _codings(release, labels)
    measures = _measures(release, labels, coded)
    table = replace(in_codes(_labelled(release, labels), coded), measures=measures)
    written, proved = {}, []
    for name, copy in zip(data, release.copies, strict=True):
        path = root / f"{name}.{release.output.format}"
        labelled = _labelled(copy, labels)
        write_table(
            replace(in_codes(labelled, coded), measures=measures), path, guard_formulas=release.output.guard_formulas
        )
        proved.append(_prove_file(copy, labelled.frame, path, coded))
        written[path.relative_to(root).as_posix()] = sha256_of(path)
    write_json(folder / "codebook.json", codebook(release.table.schema, table, len(table.frame), RECORD_VERSION))
    content = public_evidence(release, files=written, labels=table.value_labels, titles=table.labels)
    if approved is not None:
        content["approval"] = published(approved)
    write_evidence(content, folder)
    return proved


def _labelled(release: WholeRelease, labels: Table | None) -> Table:
    """The released table with labels of its columns (the plan's before the file's) and of the codes in it.

    Household numbers are new, so the file's labels of their codes no longer apply.
    """
    frame = release.table.frame.to_polars()
    described = {n: c.label for n, c in release.schema.columns.items() if c.label and n in frame.columns}
    if labels is None:
        return Table(frame=frame, labels=described)
    reasons = _reasons(release, frame, labels)
    coded = set(frame.columns) - set(release.schema.names(*UNITS))
    return Table(
        frame=frame,
        labels={n: text for n, text in labels.labels.items() if n in frame.columns} | described,
        value_labels={n: _occurring(frame[n], v, reasons.get(n)) for n, v in labels.value_labels.items() if n in coded},
        reasons=reasons,
        missing_codes={n: codes for n, codes in labels.missing_codes.items() if n in coded},
        title=labels.title,
    )


MEASURE = {"nominal": "nominal", "ordinal": "ordinal", "continuous": "scale"}
"""SPSS names of the levels of measurement."""


def _measures(release: WholeRelease, labels: Table | None, coded: Collection[str]) -> dict[str, str]:
    """SPSS levels of measurement: those of the input columns, otherwise the plan's.

    A column of numbers that became text, or codes of ranges, gets another level.
    """
    came = {} if labels is None else labels.measures
    measures = {}
    for name, dtype in release.table.frame.to_polars().schema.items():
        column = release.schema.columns[name]
        measure = came.get(name) or MEASURE.get(column.level or "")
        if measure == "scale" and (name in coded or not (dtype.is_numeric() or dtype.is_temporal())):
            measure = "ordinal" if name in coded else "nominal"
        if measure is not None:
            measures[name] = measure
    return measures


def _codings(release: WholeRelease, labels: Table | None) -> dict[str, Coding]:
    """Codes for columns of labelled codes that steps left as text, if the format can hold value labels."""
    if labels is None or release.output.format not in WITH_LABELS:
        return {}
    orders = {n: c.order if c.level == "ordinal" else None for n, c in release.schema.columns.items() if c.codes}
    ranges = release.output.format in RANGES_IN_CODES
    numbers = {n for n, c in release.schema.columns.items() if c.ranges and ranges}
    return codings([copy.table.frame.to_polars() for copy in release.copies], labels, orders, numbers)


def _reasons(release: WholeRelease, frame: pl.DataFrame, labels: Table) -> dict[str, pl.Series]:
    """Codes of the reasons why cells are missing, of columns in which no cell was blanked or moved.

    Columns whose cells a requirement compares are left out: in these all missing cells were proved as one.
    """
    named = {name for model in release.requirements for name in model.reads}
    compared = named | set(release.schema.names("quasi-identifier"))
    reasons = {}
    for name in release.account.own_gaps:
        if name in labels.reasons and name in frame.columns and name not in compared:
            codes = labels.reasons[name].gather(release.rows.tolist()).set(frame[name].is_not_null(), None)
            if codes.null_count() < len(codes):
                reasons[name] = codes
    return reasons


def _occurring(column: pl.Series, value_labels: Mapping[Any, str], reasons: pl.Series | None) -> dict[Any, str]:
    """Labels of the codes that were released; another label could be that of one person's code."""
    present = codes_of(column, reasons)
    return {code: label for code, label in value_labels.items() if code_text(code) in present}


def _prove_file(
    release: WholeRelease, frame: pl.DataFrame, path: Path, coded: Mapping[str, Coding]
) -> tuple[Table, TablePair]:
    """Prove the requirements on the cells read back from the file, as finely as the file tells them apart."""
    table = in_words(_read_back(path, len(release.rows)), coded)
    finished = Microdata.finished(table.frame, release.schema, table.spellings).encoded
    finished = with_trees(replace(finished, rows=release.rows), release.trees)
    written = _as_in_file(release.table.encoded, finished)
    rules = Constraints.parse(release.rules.of_records, written, released=True)
    of_persons = PersonRules.parse(release.rules.of_persons, None)
    persons = TablePair.of(None, finished, units=release.units).units_by("person")

    def deduce(records: Records) -> Records:
        return of_persons.deduced(rules.deduced(records), persons)

    filled = closure(written, deduce, release.trees)
    pair = TablePair.of(None, finished, release.partition, filled, missing=release.reading, units=release.units)
    of_cells = [model for model in release.requirements if not model.of_account]
    provable = [model for model in of_cells if model.identifiers or not model.needs_original]
    obeyed = rules.as_written().check(written) + of_persons.check(written, persons)
    require([model.verdict_on(pair) for model in provable] + obeyed)
    guarded = release.output.guard_formulas and release.output.format in FOR_SPREADSHEETS
    if lost := lost_columns(escape_formulas(frame) if guarded else frame, table.frame):
        raise FileError(
            f"The format {path.suffix[1:]} does not keep {plural(len(lost), 'column')} as released: "
            f"{quoted(lost)}. Choose parquet{', or csv' * (path.suffix != '.csv')}."
        )
    return table, pair


def _as_in_file(released: Records, read: Records) -> Records:
    """The released records, with the numbers that the file gives back in place of those that were written.

    Categories stay those of the release, since rules name them; the file gives them back as they are or not at all.
    """
    numbers = [read[v.name] for v in released.variables if v.continuous and v.name in read and read[v.name].continuous]
    records = released.with_variables(*(released[v.name].with_values(v.values) for v in numbers))
    return replace(records, rows=read.rows)


def _read_back(path: Path, n: int) -> Table:
    """The table read back from a file that was just written; some libraries do not notice a full disk."""
    try:
        table = read_table(path, judged=True)
    except FileError:
        table = Table(frame=pl.DataFrame())
    if len(table.frame) != n:
        count = f"{len(table.frame):,}" if table.frame.width else "none"
        raise FileError(
            f"Output '{path}' was not written whole ({count} of {plural(n, 'record')} can be read back). "
            f"Make room, or choose another place or format."
        )

    return table


def write_private(
    release: WholeRelease, folder: Path, frontier: Mapping[str, Any] | None, labels: Table | None
) -> None:
    codes, titles = ({}, {}) if labels is None else (labels.value_labels, labels.labels)
    content = private_evidence(release, frontier=frontier, labels=codes, titles=titles)
    write_evidence(content, folder)
    groups = {"row": release.rows}
    if release.partition is not None:
        groups["group"] = release.partition.labels.astype(np.int64)
    groups |= {OF + name: part.labels.astype(np.int64) for name, part in release.hidden.items()}
    groups |= {WHOSE + name: numbers for name, numbers in release.units.items()}
    write_table(Table(frame=pl.DataFrame(groups)), folder / "partition.parquet")
    by_record = {
        f"{finding.measure}: {key}": np.asarray(values)
        for finding in release.evidence.findings
        for key, values in {"risk": finding.record_risk, **finding.by_record}.items()
        if values is not None
    }
    if by_record:
        write_table(Table(frame=pl.DataFrame({"row": release.rows, **by_record})), folder / "risk.parquet")


def write_evidence(content: EvidenceFile, folder: Path) -> None:
    """Write evidence.json for programs, and the report for people."""
    write_json(folder / "evidence.json", content)
    (folder / "report.html").write_text(page(content), encoding="utf-8")


def write_record(record: Mapping[str, Any], folder: Path) -> None:
    """Write the record, which names all files of the release, and close the private folder to others."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    files = sorted({*files_in(folder), RECORD.as_posix()})
    write_json(folder / RECORD, {**record, "files": files, "made": created})
    for path in (folder / "private").rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)

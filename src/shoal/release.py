"""A release: a protected table on which everything that was promised has been proved, or none at all."""

import hashlib
import platform
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.constraints import Constraints
from shoal.data.microdata import Microdata
from shoal.data.partition import Partition
from shoal.data.records import Records
from shoal.errors import DataError, FileError, Refused, plural, quoted
from shoal.files.atomic import atomic_directory
from shoal.files.csv_text import escape_formulas
from shoal.files.json_text import write_json
from shoal.files.tables import FOR_SPREADSHEETS, Table, lost_columns, read_table, write_table
from shoal.judges.evidence import RECORD_VERSION, Evidence, Finding, Verdict
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.plan import Plan
from shoal.plan.publication import recorded
from shoal.report.dossier import Dossier
from shoal.report.evidence_file import evidence_file
from shoal.report.page import private_page, public_page
from shoal.run import Outcome, Stage, carry_out, judged, measured

OF = "group of "
"""What comes before a column's name where its groups are written."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """A protected table with its evidence and its record.

    Parameters
    ----------
    table
        The protected table with its schema.
    evidence
        What was proved and measured on it; may be published.
    record
        What is needed to make the release again: versions, plan, seed, figures of every step; private.
    partition
        The groups of the last partition step, by row of the release; private. None if there was none.
    hidden
        For each column that a step changed, the groups inside which it was replaced; private.
    """

    table: Microdata
    evidence: Evidence
    record: Mapping[str, Any] = field(repr=False)
    partition: Partition | None
    hidden: Mapping[str, Partition] = field(repr=False)
    plan: Plan = field(repr=False)
    dossier: Dossier = field(repr=False)
    rows: Longs = field(repr=False)
    fingerprint: str = field(repr=False)

    def __repr__(self) -> str:
        n, columns = len(self.table), len(self.table.frame.columns)
        return f"Release of {plural(n, 'record')} and {plural(columns, 'column')}\n{self.evidence!r}"

    @property
    def data(self) -> Any:
        """The protected table in the kind that came in."""
        return self.table.native

    def write(
        self,
        directory: str | Path,
        *,
        overwrite: bool = False,
        labels: Table | None = None,
        frontier: Mapping[str, Any] | None = None,
    ) -> Path:
        """Write `release/`, which may leave the building, and `private/`, which may not.

        The table is read back from its file and judged again before anything takes its place; an
        interrupted run leaves the directory as it was.

        Parameters
        ----------
        directory
            Must not exist or be empty; a release that it holds is overwritten on request, and nothing else is.
        labels
            The table that came in, for its column and value labels.
        frontier
            The content of frontier.json, if the plan was chosen by an exploration; the report shows it.

        Raises
        ------
        Refused
            If a requirement does not hold on the file as written.
        DataError
            If the table was changed since it was proved.
        """
        if Microdata.finished(self.table.frame, self.plan.schema).fingerprint() != self.fingerprint:
            raise DataError(
                "The table was changed after it was proved, so the proofs do not hold for it. Copy "
                "release.data to work on it."
            )
        target = Path(directory)
        if target.is_dir() and any(target.iterdir()) and not is_release(target):
            raise FileError(
                f"Output '{target}' holds something that is no release, which is never replaced. "
                f"Name another directory."
            )
        with atomic_directory(target, overwrite=overwrite) as temporary:
            public, private = temporary / "release", temporary / "private"
            public.mkdir()
            private.mkdir(mode=0o700)
            self._write_public(public, labels, frontier)
            self._write_private(private)
        return target

    def _write_public(self, folder: Path, labels: Table | None, frontier: Mapping[str, Any] | None) -> None:
        frame = self.table.frame.to_polars()
        kept = set(frame.columns)
        table = Table(
            frame=frame,
            labels={n: c.label for n, c in self.plan.schema.columns.items() if c.label and n in kept}
            | ({n: text for n, text in labels.labels.items() if n in kept} if labels else {}),
            value_labels={n: _occurring(frame[n], v) for n, v in labels.value_labels.items() if n in kept}
            if labels
            else {},
        )
        path = folder / f"data.{self.plan.output.format}"
        write_table(table, path, guard_formulas=self.plan.output.guard_formulas)
        self._prove_file(path)
        write_json(folder / "codebook.json", self._codebook(table))
        written = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}
        write_json(folder / "evidence.json", evidence_file(self.dossier, files=written, frontier=frontier))
        page = public_page(self.dossier, files=written, frontier=frontier)
        (folder / "report.html").write_text(page, encoding="utf-8")

    def _prove_file(self, path: Path) -> None:
        back = _read_back(path, len(self.rows), self.plan.schema.names("quasi-identifier"))
        finished = Microdata.finished(back, self.plan.schema)
        _require(
            [
                model.judge(TablePair.of(None, replace(finished.encoded, rows=self.rows), self.partition))
                for model in self.plan.requirements
                if not model.needs_original
            ]
        )
        if lost := lost_columns(self._as_written(), back):
            raise FileError(
                f"The format {path.suffix[1:]} does not keep {plural(len(lost), 'column')} as released: "
                f"{quoted(lost)}. Choose parquet{', or csv' * (path.suffix != '.csv')}."
            )

    def _as_written(self) -> pl.DataFrame:
        frame = self.table.frame.to_polars()
        output = self.plan.output
        return escape_formulas(frame) if output.guard_formulas and output.format in FOR_SPREADSHEETS else frame

    def _codebook(self, table: Table) -> dict[str, Any]:
        return {
            "version": RECORD_VERSION,
            "records": len(table.frame),
            "columns": [
                {
                    "name": name,
                    "role": self.table.schema.columns[name].role,
                    "type": str(table.frame[name].dtype),
                    "label": table.labels.get(name),
                    "values": {str(code): text for code, text in table.value_labels.get(name, {}).items()} or None,
                    "decimals": self.table.schema.columns[name].decimals,
                }
                for name in table.frame.columns
            ],
        }

    def _write_private(self, folder: Path) -> None:
        made = datetime.now(UTC).isoformat(timespec="seconds")
        write_json(folder / "record.json", {**self.record, "made": made})
        (folder / "report.html").write_text(private_page(self.dossier), encoding="utf-8")
        groups = {"row": self.rows}
        if self.partition is not None:
            groups["group"] = self.partition.labels.astype(np.int64)
        groups |= {OF + name: part.labels.astype(np.int64) for name, part in self.hidden.items()}
        write_table(Table(frame=pl.DataFrame(groups)), folder / "partition.parquet")
        by_record = {
            f"{finding.measure}: {key}": np.asarray(values)
            for finding in self.evidence.findings
            for key, values in {"risk": finding.record_risk, **finding.by_record}.items()
            if values is not None
        }
        if by_record:
            write_table(Table(frame=pl.DataFrame({"row": self.rows, **by_record})), folder / "risk.parquet")
        for path in folder.iterdir():
            path.chmod(0o600)


def _occurring(column: pl.Series, value_labels: Mapping[Any, str]) -> dict[Any, str]:
    """Labels of the codes that were released; that of another could be of what one person had."""
    held = set(column.drop_nulls().unique().to_list())
    return {code: label for code, label in value_labels.items() if code in held}


def is_release(directory: Path) -> bool:
    """Whether a directory is a release that may be replaced; anything else is left alone."""
    return directory.is_dir() and {p.name for p in directory.iterdir()} == {"release", "private"}


def _read_back(path: Path, n: int, apart: Collection[str]) -> pl.DataFrame:
    """The cells of a file that has just been written; some libraries do not notice a full disk."""
    try:
        back = read_table(path, apart=apart).frame
        held = f"{len(back):,}"
    except FileError:
        back, held = pl.DataFrame(), "none"
    if len(back) != n:
        raise FileError(
            f"Output '{path}' was not written whole ({held} of {plural(n, 'record')} can be read back). "
            f"Make room, or choose another place or format."
        )
    return back


def protect(
    table: Any,
    plan: Plan | Mapping[str, Any] | str | Path,
    *,
    seed: int | None = None,
    stage: Stage | None = None,
    source: Mapping[str, Any] | None = None,
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
    done = carry_out(table, plan, seed, stage)
    verdicts = _require(done.verdicts())
    evidence = Evidence(verdicts=tuple(verdicts), findings=done.findings())
    record = _record(done, source, evidence)
    dossier = Dossier(
        plan=done.plan,
        verdicts=evidence.verdicts,
        findings=evidence.findings,
        original=done.before,
        released=done.released,
        versions=record["versions"],
        steps=tuple(done.run.told),
        seed=done.entropy,
        before=done.risk_before(),
        missing=done.original.missing_facts,
    )
    return Release(
        table=done.finished,
        evidence=evidence,
        record=record,
        partition=done.partition,
        hidden=done.hidden,
        plan=done.plan,
        dossier=dossier,
        rows=done.released.rows,
        fingerprint=done.finished.fingerprint(),
    )


def assess(
    table: Any, plan: Plan | Mapping[str, Any] | str | Path, *, seed: int | None = None, stage: Stage | None = None
) -> Evidence:
    """What a plan would prove, refute and measure on a table; makes no release, so it refuses none.

    Parameters are those of `protect`.
    """
    done = carry_out(table, plan, seed, stage)
    return Evidence(verdicts=tuple(done.verdicts()), findings=done.findings())


def audit(
    table: Any,
    plan: Plan | Mapping[str, Any] | str | Path,
    *,
    original: Any = None,
    private: str | Path | None = None,
    seed: int = 0,
) -> Evidence:
    """Prove or refute a plan's requirements on a released table, whoever made it.

    Parameters
    ----------
    table
        The released table, or the path of its file. A file is read so that cells that it writes differently
        stay different.
    plan
        Only its columns, requirements, measures and constraints matter.
    original
        The table the release was made from; risk and loss are measured only where it is given.
    private
        The private folder of the release, which says what original record each released one came from and how
        records were grouped. Without it both tables must hold the same records in the same order, and the plan
        must say so: `output: {shuffle: false}`.
    seed
        For measures that sample.

    Raises
    ------
    DataError
        If the table has no records, for then everything would hold.
    InputError
        If a table, the plan or the private folder cannot be used.
    """
    plan = Plan.of(plan)
    if isinstance(table, (str, Path)):
        table = read_table(table, apart=plan.schema.names("quasi-identifier")).frame
    released = Microdata.finished(table, plan.schema).encoded
    if not len(released):
        raise DataError("The released table has no records, so nothing can be proved on it. Check the file.")
    partition, before = None, None
    hidden: Mapping[str, Partition] = {}
    if private is not None:
        released, partition, hidden = _as_recorded(released, Path(private))
    if original is not None:
        before = Microdata.of(original, plan.schema, plan.folder).records
        if private is None:
            _check_paired(before, released, plan)
    verdicts = judged(plan, released, before, partition, hidden)
    verdicts += Constraints.parse(plan.constraints, released, released=True).check(released)
    if left := [name for name in released.names("identifier") if not plan.coded(released[name])]:
        verdicts.append(
            Verdict(
                influence=0,
                requirement="no identifiers",
                holds=False,
                required=0,
                achieved=len(left),
                sentence=f"The table still has {plural(len(left), 'identifier')}: {quoted(left)}. Take them out.",
            )
        )
    findings: tuple[Finding, ...] = ()
    if before is not None:
        findings = measured(plan, before, released, partition, seed, lambda text, fraction: None)
    return Evidence(verdicts=tuple(verdicts), findings=findings)


def _as_recorded(released: Records, private: Path) -> tuple[Records, Partition | None, dict[str, Partition]]:
    """The released records with the rows they came from, their last groups, and those of each changed column."""
    path = private / "partition.parquet"
    told = read_table(path).frame
    if "row" not in told.columns or len(told) != len(released):
        raise FileError(f"'{path}' does not belong to the released table, which has {len(released):,} records.")
    groups = {name: Partition.of(told[name].to_numpy()) for name in told.columns if name != "row"}
    hidden = {name.removeprefix(OF): part for name, part in groups.items() if name.startswith(OF)}
    return replace(released, rows=told["row"].to_numpy().astype(np.int64)), groups.get("group"), hidden


def _check_paired(original: Records, released: Records, plan: Plan) -> None:
    if plan.output.shuffle:
        raise DataError(
            "The plan releases records in random order, so they cannot be compared with the original's one by one. "
            "Give the private folder of the release, or set output: {shuffle: false} if the order was kept."
        )
    if len(original) != len(released):
        raise DataError(
            f"The original has {len(original):,} records and the release {len(released):,}; records can only be "
            f"compared where both have the same, in the same order. Leave out the original, or give the private folder."
        )


def _require(verdicts: list[Verdict]) -> list[Verdict]:
    failed = [verdict for verdict in verdicts if not verdict.holds]
    if failed:
        raise Refused(
            "Nothing was released. "
            + " ".join(
                f"{v.requirement} does not hold (required {v.required:g}, achieved "
                f"{'nothing' if v.achieved is None else format(v.achieved, 'g')}): {v.sentence}"
                for v in failed
            )
        )
    return verdicts


def _record(done: Outcome, source: Mapping[str, Any] | None, evidence: Evidence) -> dict[str, Any]:
    packages = ("numpy", "scipy", "polars", "narwhals", "pydantic")
    original = done.original
    return {
        "version": RECORD_VERSION,
        "versions": {
            "shoal": shoal.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in packages},
        },
        "input": {"records": len(original), "sha256 of cells": original.fingerprint(), **(source or {})},
        "missing values": original.missing_facts,
        "plan": recorded(done.plan),
        "seed": done.entropy,
        "steps": done.run.told,
        "evidence": evidence.as_mapping(),
    }

"""Run a plan: a table in, a proved release out, or a refusal.

The order of events is always the same. The table becomes records; the steps change them one after another,
each with random numbers of its own; edit constraints are restored and values rounded; identifiers are taken
out; the records become a table again. Only then is the table judged, as it would be written, and if one
requirement does not hold there is no release.
"""

import hashlib
import json
import platform
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

import shoal
from shoal.constraints import Constraints
from shoal.errors import DataError, Refused
from shoal.evidence import Finding, Verdict
from shoal.files.atomic import atomic_directory
from shoal.files.tables import Table, read_table, write_table
from shoal.groups import Partition
from shoal.kernels.arrays import Longs
from shoal.methods import registered
from shoal.microdata import Microdata
from shoal.plan import MaskStep, PartitionStep, Plan
from shoal.records import Records
from shoal.report.dossier import Dossier
from shoal.report.page import private_page, public_page

RECORD_VERSION = 1
"""Version of the layout of record.json and evidence.json."""

Stage = Callable[[str, float], None]
"""Called with what is being done and the fraction of it that is done."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What was proved and what was measured on the finished table."""

    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """True only where every requirement was proved."""
        return all(verdict.holds for verdict in self.verdicts)

    def as_mapping(self) -> dict[str, Any]:
        """For evidence.json: everything public, nothing about single records."""
        figures = [{k: v for k, v in asdict(finding).items() if k != "private"} for finding in self.findings]
        content = {
            "version": RECORD_VERSION,
            "requirements": [asdict(verdict) for verdict in self.verdicts],
            "measures": figures,
        }
        return cast(dict[str, Any], _plain(content))


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
    """

    table: Microdata
    evidence: Evidence
    record: Mapping[str, Any] = field(repr=False)
    partition: Partition | None
    plan: Plan = field(repr=False)
    dossier: Dossier = field(repr=False)
    rows: Longs = field(repr=False)

    @property
    def data(self) -> Any:
        """The protected table in the kind that came in."""
        return self.table.native

    def write(
        self, directory: str | Path, *, overwrite: bool = False, labels: Table | None = None,
        frontier: Mapping[str, Any] | None = None,
    ) -> Path:
        """Write `release/`, which may leave the building, and `private/`, which may not.

        The table is read back from its file and judged again before anything takes its place; an
        interrupted run leaves the directory as it was.

        Parameters
        ----------
        directory
            Must not exist, be empty, or be overwritten on request.
        labels
            The table that came in, for its column and value labels.
        frontier
            The content of frontier.json, if the plan was chosen by an exploration; the report shows it.

        Raises
        ------
        Refused
            If a requirement does not hold on the file as written.
        """
        target = Path(directory)
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
            described="",
            labels={n: c.label for n, c in self.plan.schema.columns.items() if c.label and n in kept}
            | ({n: text for n, text in labels.labels.items() if n in kept} if labels else {}),
            value_labels={n: v for n, v in labels.value_labels.items() if n in kept} if labels else {},
        )
        path = folder / f"data.{self.plan.output.format}"
        write_table(table, path, guard_formulas=self.plan.output.guard_formulas)
        self._prove_file(path)
        _write_json(folder / "codebook.json", self._codebook(table))
        _write_json(folder / "evidence.json", self.evidence.as_mapping())
        written = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}
        page = public_page(self.dossier, files=written, frontier=frontier)
        (folder / "report.html").write_text(page, encoding="utf-8")

    def _prove_file(self, path: Path) -> None:
        finished = Microdata.finished(read_table(path).frame, self.plan.schema)
        _require([model.judge(replace(finished.encoded, rows=self.rows), None, self.partition)
                  for model in self.plan.requirements if not model.needs_original])

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
        _write_json(folder / "record.json", {**self.record, "made": made})
        (folder / "report.html").write_text(private_page(self.dossier), encoding="utf-8")
        groups = {"row": self.rows}
        if self.partition is not None:
            groups["group"] = self.partition.labels.astype(np.int64)
        pl.DataFrame(groups).write_parquet(folder / "partition.parquet")
        by_record = {
            f"{finding.measure}: {key}": np.asarray(values)
            for finding in self.evidence.findings for key, values in finding.private.items()
            if np.ndim(values) == 1 and len(values) == len(self.rows)
        }
        if by_record:
            pl.DataFrame({"row": self.rows, **by_record}).write_parquet(folder / "risk.parquet")
        for path in folder.iterdir():
            path.chmod(0o600)


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
    done = _carry_out(table, plan, seed, stage)
    verdicts = _require(done.verdicts())
    evidence = Evidence(verdicts=tuple(verdicts), findings=done.findings())
    record = _record(done, source, evidence)
    dossier = Dossier(
        plan=done.plan, verdicts=evidence.verdicts, findings=evidence.findings, original=done.before,
        released=done.released, versions=record["versions"], steps=tuple(done.run.told), seed=done.entropy,
        before=done.risk_before(),
        missing=done.original.missing_facts,
    )
    return Release(table=done.finished, evidence=evidence, record=record, partition=done.partition, plan=done.plan,
                   dossier=dossier, rows=done.released.rows)


def assess(
    table: Any, plan: Plan | Mapping[str, Any] | str | Path, *, seed: int | None = None, stage: Stage | None = None
) -> Evidence:
    """What a plan would prove, refute and measure on a table; makes no release, so it refuses none.

    Parameters are those of `protect`.
    """
    done = _carry_out(table, plan, seed, stage)
    return Evidence(verdicts=tuple(done.verdicts()), findings=done.findings())


def audit(
    table: Any, plan: Plan | Mapping[str, Any] | str | Path, *, original: Any = None, seed: int = 0
) -> Evidence:
    """Prove or refute a plan's requirements on a released table, whoever made it.

    Parameters
    ----------
    table
        The released table.
    plan
        Only its columns, requirements, measures and constraints matter.
    original
        The table the release was made from, with the same records in the same order; risk and loss are
        measured only where it is given.
    seed
        For measures that sample.
    """
    plan = Plan.of(plan)
    released = Microdata.finished(table, plan.schema).encoded
    before = None
    if original is not None:
        before = Microdata.of(original, plan.schema, plan.folder).records
    verdicts = [model.judge(released, before, None) for model in plan.requirements]
    verdicts += Constraints.parse(plan.constraints, released).check(released)
    findings: tuple[Finding, ...] = ()
    if before is not None:
        if len(before) != len(released):
            raise DataError(
                f"The original has {len(before):,} records and the release {len(released):,}; records can only be "
                f"compared where both have the same, in the same order. Leave out the original."
            )
        findings = _findings(plan, before, released, None, seed, lambda text, fraction: None)
    return Evidence(verdicts=tuple(verdicts), findings=findings)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Done:
    """A plan carried out: the finished table, and what is needed to judge it."""

    plan: Plan
    entropy: int
    tell: Stage
    run: "_Run"
    original: Microdata
    before: Records
    finished: Microdata
    released: Records

    @property
    def partition(self) -> Partition | None:
        return self.run.partition(self.released.rows)

    def verdicts(self) -> list[Verdict]:
        self.tell("proving", 0.0)
        models = [model.judge(self.released, self.before, self.partition) for model in self.plan.requirements]
        return models + self.run.constraints.check(self.released)

    def risk_before(self) -> dict[str, Finding]:
        """The cheap measures of risk, taken on the original as if it were released."""
        self.tell("measuring the original", 0.0)
        measures = [e.cls() for e in registered("risk") if e.cls.cheap]
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(1 << 21,)))
        return {m.method_name: m.judge(self.before, self.before, None, rng) for m in measures}

    def findings(self) -> tuple[Finding, ...]:
        return _findings(self.plan, self.before, self.released, self.partition, self.entropy, self.tell)


def _carry_out(
    table: Any, plan: Plan | Mapping[str, Any] | str | Path, seed: int | None, stage: Stage | None
) -> _Done:
    plan = Plan.of(plan)
    tell = stage or (lambda text, fraction: None)
    original = table if isinstance(table, Microdata) else Microdata.of(table, plan.schema, plan.folder)
    if not len(original):
        raise DataError("The table has no records. A release needs at least one.")
    entropy = secrets.randbits(128) if seed is None else int(seed)
    before = original.records
    run = _Run(plan=plan, entropy=entropy, tell=tell, constraints=Constraints.parse(plan.constraints, before))
    records = run.finish(run.steps(run.check_input(before)))
    finished = Microdata.finished(original.rebuild(records).native, plan.schema)
    return _Done(plan=plan, entropy=entropy, tell=tell, run=run, original=original, before=before,
                 finished=finished, released=replace(finished.encoded, rows=records.rows))


class _Run:
    """The steps of one release, and what they have to tell."""

    def __init__(self, *, plan: Plan, entropy: int, tell: Stage, constraints: Constraints) -> None:
        self.plan = plan
        self.entropy = entropy
        self.tell = tell
        self.constraints = constraints
        self.told: list[dict[str, Any]] = []
        self.groups: tuple[Partition, Longs] | None = None

    def generator(self, number: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(number,)))

    def check_input(self, records: Records) -> Records:
        """The input against the constraints, treated as the plan says."""
        change = self.constraints.admit(records, self.plan.broken_rules)
        if change.facts["broken"]:
            self.told.append({"step": "input constraints", **change.facts})
        return change.records

    def steps(self, records: Records) -> Records:
        for number, step in enumerate(self.plan.steps):
            self.tell(step.name, 0.0)
            records = self._step(step, number, records)
            self.tell(step.name, 1.0)
        spent = [told["epsilon"] for told in self.told if "epsilon" in told]
        if spent:  # differential privacy composes: the losses of the steps add up
            self.told.append({"step": "privacy loss", "columns": [], "epsilon of all steps": sum(spent)})
        return records

    def _step(self, step: PartitionStep | MaskStep, number: int, records: Records) -> Records:
        columns = self._columns(step)
        rng = self.generator(number)

        def progress(fraction: float) -> None:
            self.tell(step.name, fraction)

        if isinstance(step, MaskStep):
            change = step.method.apply(records.targeting(columns), rng, progress)
            self._note(step, columns, change.facts)
            return change.records  # type: ignore[no-any-return]
        by = step.by or columns
        part = step.method.partition(
            records.targeting(by), seed=rng, small_strata=step.small_strata, progress=progress
        )
        change = step.replace.apply(records.targeting(columns), part, rng, progress)
        self.groups = part, records.rows
        loss = part.information_loss(records.matrix(by))
        facts = {"groups": part.n_groups, "smallest group": part.k, "largest group": int(part.sizes.max()),
                 "information loss of the partition in percent": loss, **part.facts, **change.facts}
        self._note(step, columns, facts)
        return change.records  # type: ignore[no-any-return]

    def _columns(self, step: PartitionStep | MaskStep) -> tuple[str, ...]:
        """The columns a step names, or those of the roles that its method is for."""
        roles = step.method.default_roles if isinstance(step, MaskStep) else ("quasi-identifier",)
        return step.columns or self.plan.schema.names(*roles)

    def _note(self, step: PartitionStep | MaskStep, columns: tuple[str, ...], facts: Mapping[str, Any]) -> None:
        self.told.append({"step": step.name, "columns": list(columns), **facts})

    def finish(self, records: Records) -> Records:
        """Constraints restored and rounded, identifiers out, households renumbered, order shuffled."""
        decimals = {n: c.decimals for n, c in self.plan.schema.columns.items() if c.decimals is not None}
        if self.plan.constraints:
            change = self.constraints.repair(records)
            records = self.constraints.round(change.records, decimals)
            self.told.append({"step": "constraints", **change.facts})
        handled = {name for step in self.plan.steps if isinstance(step, MaskStep) for name in self._columns(step)}
        records = records.without(set(self.plan.schema.names("identifier")) - handled)
        rng = self.generator(len(self.plan.steps))
        for name in records.names("household"):
            records = records.with_variables(_renumbered(records[name], rng))
        return records.take(rng.permutation(len(records))) if self.plan.output.shuffle else records

    def partition(self, rows: Longs) -> Partition | None:
        """The last partition, for the records that are still there, in their order."""
        if self.groups is None:
            return None
        part, at = self.groups
        if len(rows) == len(at) and (rows == at).all():
            return part
        place = np.full(int(at.max()) + 1, -1)
        place[at] = np.arange(len(at))
        return Partition.of(part.labels[place[rows]])


def _renumbered(variable: Any, rng: np.random.Generator) -> Any:
    """Household numbers say who lives together and nothing else: random numbers from 1."""
    order = rng.permutation(len(variable.categories))
    numbers = tuple(range(1, len(order) + 1))
    return replace(variable, values=order[variable.values].astype(np.int32), categories=numbers)


def _require(verdicts: list[Verdict]) -> list[Verdict]:
    failed = [verdict for verdict in verdicts if not verdict.holds]
    if failed:
        raise Refused(
            "Nothing was released. " + " ".join(
                f"{v.requirement} does not hold (required {v.required:g}, achieved "
                f"{'nothing' if v.achieved is None else format(v.achieved, 'g')}): {v.sentence}" for v in failed
            )
        )
    return verdicts


def _findings(
    plan: Plan, before: Records, released: Records, partition: Partition | None, entropy: int, tell: Stage
) -> tuple[Finding, ...]:
    measures = [e.cls() for room in ("risk", "utility") for e in registered(room) if e.cls.cheap]
    named = {m.method_name for m in plan.measures}
    measures = [m for m in measures if m.method_name not in named] + list(plan.measures)
    findings = []
    for number, measure in enumerate(measures):
        tell(f"measuring {measure.method_name}", number / len(measures))
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(1 << 20, number)))
        findings.append(measure.judge(before, released, partition, rng))
    tell("judging", 1.0)
    return tuple(findings)


def _record(done: _Done, source: Mapping[str, Any] | None, evidence: Evidence) -> dict[str, Any]:
    packages = ("numpy", "scipy", "polars", "narwhals", "pydantic")
    original = done.original
    return {
        "version": RECORD_VERSION,
        "versions": {"shoal": shoal.__version__, "python": platform.python_version(),
                     **{name: version(name) for name in packages}},
        "input": {"records": len(original), "sha256 of cells": original.fingerprint(), **(source or {})},
        "missing values": original.missing_facts,
        "plan": done.plan.as_mapping(),
        "seed": done.entropy,
        "steps": done.run.told,
        "evidence": evidence.as_mapping(),
    }


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(_plain(content), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """What JSON knows; a figure that is not finite becomes null."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, Mapping):
        return {str(key): _plain(below) for key, below in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(below) for below in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)

"""The two folders of a large release, written part by part and proved on the files as written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import polars as pl

from shoal.judges.class_profile import ClassProfile
from shoal.judges.evidence import RECORD_VERSION, Evidence, Finding
from shoal.judges.units import KnownLess, RepeatedIdentifier
from shoal.plan import Plan
from shoal.plan.codebook import codebook
from shoal.plan.guess import known_by
from shoal.plan.publication import hidden_in_parts, public_rule, public_schema
from shoal.privacy.base import ClassModel
from shoal.proof.bounded import refuse_bounded
from shoal.proof.given_away import refuse_given_away
from shoal.proof.in_parts import Judged
from shoal.proof.narrowed import refuse_narrowed
from shoal.proof.repeated_in_parts import repeated_in_parts
from shoal.proof.sampled import DROPPED, SampleOfClasses, as_written
from shoal.release import Account, LargeRelease, require
from shoal.release.account import (
    alone,
    column_account,
    counted_column,
    left_alone,
    level,
    record_of,
    reported_models,
    shared_account,
    stands_for_nobody,
)
from shoal.release.evidence_file import private_evidence, public_evidence
from shoal.release.given_back import refuse_given_back
from shoal.release.publish import publish, write_evidence, write_record
from shoal.release.singled_out import refuse_singled_out
from shoal.release.unchanged import nearly_unchanged, unchanged
from shoal.report.evidence import Reached
from shoal.risk.class_risk import LookalikeRisk
from shoal.run.judging import MEASURES, households_known, k_asked, of_records, pair_of, taken_by
from shoal.run.parts.admission import class_models
from shoal.run.parts.finishing import released_files
from shoal.run.parts.outcome import LargeOutcome
from shoal.table.files.checksums import sha256_of
from shoal.table.files.csv_text import write_csv
from shoal.table.files.json_text import write_json
from shoal.table.files.table import Table
from shoal.table.files.tables import lost_columns
from shoal.table.parts.encoding import encoded, frame_of
from shoal.table.parts.moments import WholeTable
from shoal.table.parts.session import session
from shoal.table.parts.source import Source, plain
from shoal.table.parts.stage import GROUP, OWN, ROW, Stage, write_part
from shoal.table.records import Records
from shoal.table.schema import Schema
from shoal.vocabulary.errors import FileError, plural, quoted

TEXT = "VARCHAR"
"""DuckDB's type of text."""

GROUPS = "groups"
"""The folder of what original record each released one came from, and how records were grouped."""


def write_release(
    done: LargeOutcome,
    plan: Plan,
    source: Source,
    folder: Path,
    target: Path,
    exact: tuple[str, ...],
    frontier: Mapping[str, Any] | None = None,
) -> LargeRelease:
    """Write both folders, judging what was written.

    Parameters
    ----------
    plan
        As it was given, before files that it names were read.
    folder
        A temporary one (`shoal.release.directory.into_place`), which takes the place of `target` afterwards.
    exact
        Measures whose figures are published as they are.
    frontier
        The content of frontier.json, if the plan was chosen by an exploration.

    Raises
    ------
    Refused
        If a requirement does not hold.
    """
    public, private = folder / "release", folder / "private"
    files, written = _write_table(done, source, public)
    refuse_given_away(written, done.schema, done.run.memory, done.run.spill, done.before)
    refuse_narrowed(written, done.schema, done.run.folder, done.run.memory, done.run.spill)
    refuse_bounded(written, done.schema, done.before)
    run, proof = done.run, done.run.journal.place("proof", anew=True)
    judged = Judged.of(written, done.schema, run.folder, proof, source.connection, run.memory, run.tell)
    models = class_models(done.plan)
    verdicts, figures = judged.judged(models, [m for m in taken_by(done.plan) if isinstance(m, LookalikeRisk)])
    require(verdicts)
    repeated = tuple(repeated_in_parts(done.before, done.plan.schema.names("identifier"), k_asked(done.plan)))
    names = tuple(column.identifier for column in repeated)
    verdicts = [of_records(model, verdict, names) for model, verdict in zip(models, verdicts, strict=True)]
    sample = _sample(done, judged)
    _refuse_singled_out(done, sample, judged, written)
    findings = _findings(done, sample, figures)
    cautions: tuple[RepeatedIdentifier | KnownLess, ...] = (*repeated, *households_known(done.plan))
    evidence = Evidence(verdicts=tuple(verdicts), findings=findings, of_records=cautions)
    withheld = _withheld(done, plan, written)
    account = _account(done, plan, evidence, withheld, exact, sample, judged)
    release = LargeRelease(
        size=written.records,
        evidence=evidence,
        account=account,
        record=record_of(account, evidence, plan, run.engine.name, _input(done, source), done.private),
        requirements=plan.requirements,
        directory=target,
        publisher=publish,
        describe=private_evidence,
    )
    empty = Table(frame=pl.DataFrame(schema=written.schema), labels=_labels(plan, written, withheld))
    schema = public_schema(Schema.model_construct(root={n: plan.schema.columns[n] for n in written.columns}), withheld)
    write_json(public / "codebook.json", codebook(schema, empty, written.records, RECORD_VERSION))
    write_evidence(public_evidence(release, files=files), public)
    write_evidence(private_evidence(release, frontier=frontier), private)
    _write_groups(done.finished, private / GROUPS)
    write_record(release.record, folder)
    return release


def _write_table(done: LargeOutcome, source: Source, public: Path) -> tuple[dict[str, str], Stage]:
    """The released files with their checksums, and the table that they give back."""
    output = done.plan.output
    if output.format == "parquet":
        place = public / "data"
        place.mkdir()
        paths = list(released_files(done.finished, place))
        written, retyped = Stage.of(paths, done.run.engine), list[str]()
    else:
        paths = [public / "data.csv"]
        _write_csv(done.finished, paths[0], guard=output.guard_formulas)
        written, retyped = _read_back(paths[0], source, done)
    if written.records != done.finished.records:
        raise FileError(
            f"Output '{public}' was not written whole ({written.records:,} of "
            f"{plural(done.finished.records, 'record')} can be read back). Make room, or choose another place."
        )
    if lost := _lost(done.finished, written, retyped):
        raise FileError(
            f"The format {output.format} does not keep {plural(len(lost), 'column')} as released: {quoted(lost)}. "
            f"Choose parquet."
        )
    return {str(path.relative_to(public)): sha256_of(path) for path in paths}, written


def _write_csv(stage: Stage, path: Path, *, guard: bool) -> None:
    names = [name for name in stage.schema if name not in OWN]
    with path.open("wb") as file:
        for number, chunk in enumerate(stage.chunks(names)):
            write_csv(chunk, file, guard_formulas=guard, header=number == 0)


def _read_back(path: Path, source: Source, done: LargeOutcome) -> tuple[Stage, list[str]]:
    """A file that has just been written, in parts, and its columns that reading gives another type than they have.

    Text of digits or dates, truth values and times are again what they are released as.
    """
    parts, place = [], done.run.journal.place("read-back", anew=True)
    back = Source.of(path, source.connection, {"delimiter": ","}, judged=True)
    types = dict(zip(back.columns, map(str, back.query.types), strict=True))
    texts = [n for n, dtype in done.finished.schema.items() if dtype == pl.String and types.get(n, TEXT) != TEXT]
    truths = [n for n, dtype in done.finished.schema.items() if dtype == pl.Boolean and types.get(n) == TEXT]
    times = [n for n, dtype in done.finished.schema.items() if dtype == pl.Time and types.get(n) == TEXT]
    as_released = (
        pl.col(texts).cast(pl.String),
        pl.col(truths) == "true",
        pl.col(times).str.to_time("%H:%M:%S%.f", strict=False),
    )
    for number, chunk in enumerate(back.chunks()):
        parts.append(place / f"part-{number:05d}.parquet")
        write_part(plain(chunk).with_columns(*as_released), parts[-1])
    return Stage.of(parts, done.run.engine), [*texts, *truths, *times]


def _lost(released: Stage, written: Stage, doubtful: Sequence[str]) -> list[str]:
    """Columns that a file does not give back as they were written; cells of columns that kept their type are the same.

    `doubtful`: columns whose cells are compared whatever their type.
    """
    types, back = released.schema, written.schema
    if absent := [name for name in types if name not in OWN and name not in back]:
        return absent
    names = [name for name in types if name not in OWN and (name in doubtful or back[name] != types[name])]
    pairs = _in_step(released.chunks(names), written.chunks(names)) if names else ()
    lost = {name for pair in pairs for name in lost_columns(*pair)}
    return [name for name in names if name in lost]


def _in_step(
    first: Iterable[pl.DataFrame], second: Iterable[pl.DataFrame]
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Two tables of as many records, each in parts of its own, as pairs of parts with the same records."""
    further, waiting = iter(second), pl.DataFrame()
    for part in first:
        while len(waiting) < len(part):
            waiting = pl.concat([waiting, next(further)]) if len(waiting) else next(further)
        yield part, waiting[: len(part)]
        waiting = waiting[len(part) :]


def _sample(done: LargeOutcome, judged: Judged) -> SampleOfClasses:
    return SampleOfClasses.drawn(
        done.before,
        done.plan.schema,
        done.finished,
        judged.whole,
        done.run.folder,
        done.rows,
        done.run.generator(DROPPED),
        lambda released, original: pair_of(
            done.plan, original, released, None, as_written(released), None, traced=True
        ),
    )


def _refuse_singled_out(done: LargeOutcome, sample: SampleOfClasses, judged: Judged, written: Stage) -> None:
    """Refuse a release in which nobody answers for unchanged columns that single people out.

    Words and values of confidential columns are those of the plan and of the first part.
    """
    plan = done.plan
    tables = sample.original, sample.released, sample.tables.pairing

    @cache
    def given() -> Table:
        labels = {n: c.label for n, c in plan.schema.columns.items() if c.label}
        return Table(frame=frame_of(done.before.parts[:1]), labels=labels)

    same = (*left_alone(plan, done.accounts, sample.released), *unchanged(sample.tables))
    nearly = nearly_unchanged(sample.tables, plan.made_anew)
    counted = sample.released.uniques if sample.complete else judged.table.uniques
    refuse_singled_out(plan, same, nearly, lambda name: known_by(given(), name), written.records, counted)
    refuse_given_back(plan, same, nearly, tables)


def _findings(done: LargeOutcome, sample: SampleOfClasses, figures: Sequence[Finding]) -> tuple[Finding, ...]:
    """Class-based figures of the whole release, all others on the sample, in the order of a release in memory."""
    whole = iter(figures)
    nobody = set(sample.released.quasi_identifiers) <= set(done.plan.made_anew)
    findings = []
    measures = taken_by(done.plan)
    for number, measure in enumerate(measures):
        done.run.tell(f"measuring {measure.method_name}", number / len(measures))
        if isinstance(measure, LookalikeRisk) and not nobody:
            findings.append(next(whole))
        else:
            findings.append(sample.finding(measure, done.run.generator(MEASURES, number)))
    return tuple(findings)


def _withheld(done: LargeOutcome, plan: Plan, written: Stage) -> set[str]:
    """Values in the plan that may be cells of the original and are not in the release."""

    def parts(stage: Stage) -> Iterator[Records]:
        keep = {n: c.model_copy(update={"missing": "keep"}) for n, c in done.plan.schema.columns.items()}
        for path in stage.parts:
            frame = frame_of((path,))
            described = {name: keep[name] for name in frame.columns if name not in OWN}
            if stage is written:
                described = {
                    n: c.model_copy(update={"level": None, "order": None, "hierarchy": None})
                    for n, c in described.items()
                }
            yield encoded(frame, WholeTable(schema=Schema.model_construct(root=described)), done.run.folder)[1]

    return hidden_in_parts(plan, lambda: parts(done.before), lambda: parts(written))


def _account(
    done: LargeOutcome,
    plan: Plan,
    evidence: Evidence,
    withheld: set[str],
    exact: tuple[str, ...],
    sample: SampleOfClasses,
    judged: Judged,
) -> Account:
    """Account of the release; charts, and the columns that are unchanged, are those of the sample."""
    account = shared_account(
        plan,
        done.accounts,
        sample.tables,
        evidence,
        withheld,
        exact,
        missing=done.missing,
        seed=done.run.entropy,
        column_of=lambda name: (
            counted_column(plan, sample.tables, name, withheld)
            if sample.complete
            else column_account(plan, sample.tables, name, withheld)
        ),
        alone_by=(
            partial(alone, sample.released)
            if sample.complete
            else lambda names, beside: judged.table.uniques(names, beside)[0]
        ),
        packages=("duckdb", "pyarrow"),
    )
    if not judged.whole.schema.names("quasi-identifier"):
        return account
    imputed = any(column.missing_policy == "impute" for column in plan.schema.columns.values())
    before, risks = _of_original(done)
    nobody = stands_for_nobody(account, sample.released)
    return replace(
        account,
        classes=() if nobody else (judged.profile(),),
        classes_before=before,
        violations_before=before.violations(imputed=imputed),
        before=risks,
        reached=() if nobody else tuple(_reached(judged)),
    )


def _reached(judged: Judged) -> Iterator[Reached]:
    """The levels that the release has of the models that every release reports."""
    models = [(entry, model) for entry, model in reported_models() if isinstance(model, ClassModel)]
    verdicts, _ = judged.judged([model for _, model in models])
    for (entry, model), verdict in zip(models, verdicts, strict=True):
        yield from level(model, [verdict], entry.title)


def _of_original(done: LargeOutcome) -> tuple[ClassProfile, tuple[Finding, ...]]:
    """Class sizes of the original by quasi-identifiers, and its risks as if it were released."""
    run, columns = done.run, done.plan.schema.columns
    looked_at = ("quasi-identifier", "weight")
    schema = {
        n: columns[n].model_copy(update={} if columns[n].role in looked_at else {"role": "other"})
        for n in done.before.columns
    }
    with session(run.memory, run.spill) as connection:
        original = Judged.of(
            done.before,
            Schema.model_construct(root=schema),
            run.folder,
            run.journal.place("original", anew=True),
            connection,
            run.memory,
            run.tell,
        )
        cheap = [m for m in taken_by(done.plan) if isinstance(m, LookalikeRisk) and m.cheap]
        return original.profile(), tuple(original.judged([], cheap)[1])


def _labels(plan: Plan, written: Stage, withheld: set[str]) -> dict[str, str]:
    columns = plan.schema.columns
    return {name: public_rule(columns[name].label or "", withheld) for name in written.columns if columns[name].label}


def _input(done: LargeOutcome, source: Source) -> dict[str, Any]:
    """Identification of the input table."""
    files = {file.path: sha256_of(Path(file.path)) for file in source.files}
    return {"records": done.rows, "table": source.name, "sha256": files, "read as": dict(source.reading)}


def _write_groups(finished: Stage, place: Path) -> None:
    """The row of each released record in the table that came in, and its group, part by part as the table itself."""
    place.mkdir(mode=0o700)
    grouped = GROUP in finished.schema
    for number, chunk in enumerate(finished.chunks((ROW, GROUP) if grouped else (ROW,)), 1):
        names = {ROW: "row", GROUP: "group"} if grouped else {ROW: "row"}
        write_part(chunk.rename(names), place / f"part-{number:05d}.parquet")

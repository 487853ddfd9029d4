"""The studio's two processes: one keeps the table and the releases, the other carries plans out.

A cancelled run ends its process and nothing is lost, since the table and all releases are with the keeper, which also
answers every question of the screens meanwhile.
"""

import os
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from secrets import randbits
from tempfile import TemporaryDirectory
from typing import Any

import shoal
from shoal.desk.given import Given
from shoal.desk.whole import protect_whole
from shoal.judges.evidence import Evidence
from shoal.plan.lines import plain
from shoal.release import NotProved
from shoal.release.directory import check_free, check_writable
from shoal.release.evidence_file import private_evidence, private_figure, public_evidence
from shoal.release.refusal import Unanswered
from shoal.release.review import Approved, Review, approval_of
from shoal.report.became import became
from shoal.report.decision import decision
from shoal.report.frontier_marks import numbered
from shoal.report.headlines import main_measure
from shoal.report.page import page
from shoal.studio import profile, variables
from shoal.studio.arguments import Answer
from shoal.studio.beginnings import beginnings, forecast, only
from shoal.studio.lattices import lattice_of
from shoal.studio.parcels import ParcelHolder
from shoal.studio.preview import preview
from shoal.studio.session import RunResult
from shoal.studio.showing import Showing, plan_of
from shoal.studio.standing import promise_of, variants_tried
from shoal.studio.worker import Report
from shoal.table.examples import example
from shoal.table.files.json_text import as_json
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table
from shoal.vocabulary.errors import FileError, InputError, Refused
from shoal.vocabulary.registry import KINDS, entry, load, registered


class Keeper(Showing):
    """Keeps the table and the releases, and answers questions about them."""

    def __init__(self) -> None:
        super().__init__()
        self._exposure: profile.KeyExposure | None = None
        self._writing: Future[str] | None = None

    def open(self, path: str, how: Mapping[str, Any], report: Report) -> Answer:
        """Read a file by its path."""
        report("reading the file", 0.0)
        return self._hold(read_table(Path(path).expanduser(), **how), Path(path).name, report)

    def take_file(self, parcel: int, name: str, how: Mapping[str, Any], report: Report) -> Answer:
        """Read a file that was dropped on the page and came in pieces; its cells are never written to disk."""
        report("reading the file", 0.0)
        with as_file(self._all_of(parcel), Path(name).name) as path:
            try:
                table = read_table(path, **how)
            except FileError as error:  # the place is of no use to anyone
                raise FileError(str(error).replace(str(path), path.name)) from None
        return self._hold(table, Path(name).name, report)

    def open_example(self, n: int, report: Report) -> Answer:
        """Open the built-in example: an invented hospital."""
        return self._hold(Table(frame=example("hospital", n=n, seed=1), described="made by shoal"), "example", report)

    def _hold(self, table: Table, source: str, report: Report) -> Answer:
        report("looking at the columns", 0.5)
        facts, text = profile.facts(table, source), profile.draft(table, source)
        self._table, self._exposure, self._releases = table, profile.KeyExposure(table.frame), {}
        self._order = profile.Order()
        self._hands.submit(load)  # which takes seconds, and is needed by the time that a result is looked at
        return {"facts": facts, "text": text}

    def close(self) -> None:
        """Forget the table and the releases."""
        self._table, self._exposure, self._releases, self._counting = None, None, {}, {}
        self._order = profile.Order()

    def pack_table(self) -> None:
        """Pack the table for the other process."""
        self._pack(self.table)

    def exposure(self, levels: Mapping[str, str | None]) -> Answer | None:
        """See `profile.KeyExposure.of`; None while it is still being counted."""
        if (exposure := self._exposure) is None:
            raise InputError("No table is open. Open one first.")
        answer: Answer | None = self._later(f"{id(exposure)} {levels}", lambda: exposure.of(levels))
        return answer

    def keep(self, parcel: int, number: int, also: list[int]) -> None:
        """Keep a release that came in pieces; of the earlier ones keep those in `also`."""
        self._releases = {n: r for n, r in self._releases.items() if n in also}
        self._releases[number] = self._unpack(parcel)

    def review_text(self, run: int, by: str, private: bool) -> str:
        """A release as one file for a second person."""
        return shoal.review(self.release(run), by, private=private).text

    def approval(self, run: int, review: str) -> Approved:
        """The approval of a release, from the review that came back."""
        return approval_of(self.release(run), Review.of_text(review))

    def export(self, run: int, directory: str, overwrite: bool, review: str) -> None:
        """Start to write both folders of a release, proved again on the file; `exported` tells when that is done."""
        self._writing = self._hands.submit(self._write, run, directory, overwrite, review)

    def exported(self) -> str | None:
        """The directory as it was named; None while it is being written."""
        return None if self._writing is None or not self._writing.done() else self._writing.result()

    def _write(self, run: int, directory: str, overwrite: bool, review: str) -> str:
        target = Path(directory).expanduser()
        check_writable(target)
        check_free(target, overwrite=overwrite)
        approval = Review.of_text(review) if review else None
        shoal.publish(self.release(run), target, overwrite=overwrite, labels=self.table, approval=approval)
        return directory

    def report_page(self, run: int, private: bool) -> str:
        """The report of a release as a page."""
        release = self.release(run)
        return page(private_evidence(release) if private else public_evidence(release, files={}))


class Runner(ParcelHolder):
    """Carries plans out on the table."""

    def __init__(self) -> None:
        super().__init__()
        self._table: Future[Table] | None = None
        self._beginnings: tuple[str, Answer] = ("", {})

    def take(self, parcel: int) -> None:
        """Take the table to work on, which came in pieces."""
        self._table, self._beginnings = self._unpack(parcel), ("", {})

    def close(self) -> None:
        """Forget the table."""
        self._table = None

    @property
    def table(self) -> Table:
        if self._table is None:
            raise InputError("No table is open. Open one first.")
        return self._table.result()

    def protect(self, text: str, folder: str, seed: int | None, source: str, report: Report) -> tuple[RunResult, bool]:
        """Carry a plan out. The result to show, and True if it was released; then the release itself is packed."""
        plan = plan_of(text, folder)
        seed = randbits(128) if seed is None else seed
        if Given.of(self.table).in_parts(plan):
            raise InputError(
                "For the size of the table, or because the plan says so, this table is worked on in parts, which are "
                "files; the studio writes no cell to disk. Set exact: true in the plan, or carry it out with shoal "
                "protect."
            )
        try:
            release = protect_whole(
                self.table, plan, seed=seed, stage=report, source={"file": source, "read as": self.table.described}
            )
        except Refused as refusal:
            report("measuring what was refused", 0.9)
            evidence = shoal.assess(self.table, plan, seed=seed)
            return _refused(evidence, refusal), False
        content = private_evidence(release, labels=self.table.value_labels, titles=self.table.labels)
        kept_by = main_measure(content, "utility")
        result: RunResult = {
            "requirements": content["requirements"],
            "measures": content["measures"],
            "reached": content["reached"],
            "columns": content["columns"],
            "steps": content["steps"],
            "private": content["private"],
            "decision": asdict(decision(content)),
            "became": {of.name: of.words for of in became(content, kept_by)},
            "records": content["records"],
            "refusal": "",
            "advice": [],
            "unanswered": {},
            "seed": str(seed),
        }
        self._pack(release)
        return result, True

    def preview(self, text: str, folder: str, step: int) -> Answer:
        """See `preview.preview`."""
        seen = preview(self.table, plan_of(text, folder), step)
        for column in seen["columns"]:
            column["labels"] = variables.code_labels(self.table, column["name"])
        return seen

    def lattice(self, text: str, folder: str, step: int, around: list[int] | None) -> Answer:
        """See `lattices.lattice_of`."""
        return lattice_of(self.table, plan_of(text, folder), step, around)

    def forecast(self, text: str, folder: str, spec: Any) -> Answer:
        """See `beginnings.forecast`."""
        return forecast(self.table, only(plan_of(text, folder), [], keeps_requirements=True), spec)

    def beginnings(self, text: str, folder: str) -> Answer:
        """See `beginnings.beginnings`; what steps there are already does not matter."""
        plan = only(plan_of(text, folder), [], keeps_requirements=True)
        key = str(plan.as_mapping())
        if self._beginnings[0] != key:
            self._beginnings = (key, beginnings(self.table, plan))
        return self._beginnings[1]

    def variants(self, text: str, folder: str) -> Answer:
        """See `standing.variants_tried`; the steps as a person would write them."""
        tried = variants_tried(self.table, plan_of(text, folder))
        for variant in tried["variants"]:
            variant["steps"] = [brief(step) for step in variant["steps"]]
        return tried

    def explore(self, text: str, folder: str, scratch: str, report: Report) -> Answer:
        """Try many plans; the figures of each are kept in `scratch` meanwhile."""
        plan = plan_of(text, folder)

        def progress(done: int, total: int, name: str) -> None:
            report(f"{done} of {total} candidates {name}".strip(), done / max(total, 1))

        frontier = shoal.explore(self.table, plan, scratch, progress=progress)
        return {
            **(content := frontier.as_mapping()),
            "promise": promise_of(plan),
            "numbers": {point["name"]: number for number, point in numbered(content).items()},
            "steps": {
                name: [brief(step) for step in candidate.as_mapping()["steps"]]
                for name, candidate in frontier.plans.items()
            },
        }


def _refused(evidence: Evidence, refusal: Refused) -> RunResult:
    return {
        "requirements": as_json([verdict.private_form() for verdict in evidence.verdicts]),
        "measures": as_json([private_figure(finding) for finding in evidence.findings]),
        "decision": None,
        "became": {},
        "reached": [],
        "columns": [],
        "steps": [],
        "private": None,
        "records": 0,
        "refusal": str(refusal),
        "advice": [asdict(advice) for advice in refusal.advice] if isinstance(refusal, NotProved) else [],
        "unanswered": refusal.reasons if isinstance(refusal, Unanswered) else {},
        "seed": "",
    }


def brief(step: Mapping[str, Any]) -> Answer:
    """A step as a person would write it, without parameters that have their defaults."""
    kind = next(kind for kind in ("partition", "mask") if kind in step)
    defaults = entry(kind, step[kind]).parameters
    return {
        key: _named(value) for key, value in step.items() if key == kind or plain(value) != plain(defaults.get(key))
    }


def _named(value: Any) -> Any:
    """A method among the parameters; its name alone if all its parameters have their defaults."""
    if not isinstance(value, Mapping) or "method" not in value:
        return value
    kinds = [kind for kind in KINDS if any(e.name == value["method"] for e in registered(kind))]
    defaults = entry(kinds[0], value["method"]).parameters if len(kinds) == 1 else {}
    chosen = {key: _named(below) for key, below in value.items() if key == "method" or below != defaults.get(key)}
    return chosen if len(chosen) > 1 else chosen["method"]


@contextmanager
def as_file(pieces: list[bytes], name: str) -> Any:
    """A path by which readers find some bytes: in memory if the system can, else in a folder of the owner only."""
    with TemporaryDirectory(prefix="shoal-") as folder:
        path = Path(folder) / name
        if not hasattr(os, "memfd_create"):
            with path.open("wb") as file:
                file.writelines(pieces)
            yield path
            return
        memory = os.memfd_create("table")
        with os.fdopen(memory, "wb") as file:
            file.writelines(pieces)
            file.flush()
            pieces.clear()
            path.symlink_to(f"/proc/{os.getpid()}/fd/{memory}")
            yield path

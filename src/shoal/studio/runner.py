"""The studio's process that carries plans out. A cancelled run ends it, and nothing is lost: see `holders`."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, replace
from importlib import import_module
from secrets import randbits
from typing import Any

import shoal
from shoal.desk.given import Given
from shoal.desk.keeping import Keeping
from shoal.desk.whole import protect_whole
from shoal.judges.evidence import Evidence
from shoal.plan import Plan
from shoal.plan.lines import plain
from shoal.release import NotProved
from shoal.release.evidence_file import private_evidence, private_figure
from shoal.release.linked import table_of_several
from shoal.release.refusal import Unanswered
from shoal.report.became import became
from shoal.report.decision import decision
from shoal.report.evidence import EvidenceFile
from shoal.report.frontier_marks import numbered
from shoal.report.headlines import main_measure
from shoal.studio import linked, variables
from shoal.studio.arguments import Answer
from shoal.studio.beginnings import Trial, forecast, only
from shoal.studio.kept import Kept
from shoal.studio.lattices import lattice_of
from shoal.studio.parcels import ParcelHolder
from shoal.studio.preview import preview
from shoal.studio.session import RunResult
from shoal.studio.showing import linked_plan_of, plan_of
from shoal.studio.standing import promise_of, variants_tried
from shoal.studio.worker import Report
from shoal.table.files.json_text import as_json
from shoal.table.files.table import Table
from shoal.vocabulary.errors import InputError, Refused
from shoal.vocabulary.registry import KINDS, entry, registered


class Runner(ParcelHolder):
    """Carries plans out on the table."""

    def __init__(self) -> None:
        super().__init__()
        self._tables: Future[dict[str, Table]] | None = None
        self._trial: Kept[Trial] = Kept()
        self._linked: linked.LinkedTables | None = None

    def take(self, parcel: int) -> None:
        """Take the tables to work on, which came in pieces."""
        self._tables, self._trial, self._linked = self._unpack(parcel), Kept(), None
        self._hands.submit(import_module, "scipy.optimize")  # which takes long, and the first trial or run needs

    def close(self) -> None:
        """Forget the tables."""
        self._tables, self._trial, self._linked = None, Kept(), None

    @property
    def tables(self) -> dict[str, Table]:
        """The tables by name; one that is alone has the empty name."""
        if self._tables is None:
            raise InputError("No table is open. Open one first.")
        return self._tables.result()

    @property
    def table(self) -> Table:
        """The table that is alone."""
        if "" not in self.tables:
            raise InputError("This is tried on one table, and several are open.")
        return self.tables[""]

    def protect(
        self, text: str, folder: str, seed: int | None, source: str, report: Report, after: Sequence[str] = ()
    ) -> tuple[RunResult, bool]:
        """Carry a plan out, after earlier releases whose ledgers it carries on.

        The result to show, and True if it was released; then the release itself is packed.
        """
        seed = randbits(128) if seed is None else seed
        if "" not in self.tables:
            return self._protect_linked(text, folder, seed, report, after)
        plan = plan_of(text, folder)
        if Given.of(self.table).in_parts(plan):
            raise InputError(
                "For the size of the table, or because the plan says so, this table is worked on in parts, which are "
                "files; the studio writes no cell to disk. Set exact: true in the plan, or carry it out with shoal "
                "protect."
            )
        keeping = None if plan.ledger is None and not after else Keeping.of(plan, None, after)
        described = {"file": source, "read as": self.table.described}
        try:
            release = protect_whole(self.table, plan, seed=seed, stage=report, source=described, keeping=keeping)
        except Refused as refusal:
            report("measuring what was refused", 0.9)
            evidence = shoal.assess(self.table, plan, seed=seed)
            if isinstance(refusal, NotProved):
                evidence = replace(evidence, verdicts=refusal.verdicts)  # those beside earlier releases as well
            return _refused(evidence, refusal), False
        self._pack(release)
        return _proved(private_evidence(release, labels=self.table.value_labels, titles=self.table.labels), seed), True

    def _protect_linked(
        self, text: str, folder: str, seed: int, report: Report, after: Sequence[str]
    ) -> tuple[RunResult, bool]:
        """As `protect`, for several tables."""
        plan = linked_plan_of(text, folder)
        try:
            release = linked.run(self.tables, plan, seed, report, after)
        except Refused as refusal:
            verdicts = refusal.verdicts if isinstance(refusal, NotProved) else ()
            return _refused(Evidence(verdicts=verdicts, findings=()), refusal), False
        self._pack(release)
        of_each = linked.evidence_of_each(release, self.tables)
        several = [table_of_several(release, name, content) for name, content in of_each.items()]
        result = _proved({**private_evidence(release), "tables": several}, seed)
        return {**result, "columns": [], "tables": linked.shown(of_each)}, True

    def preview(self, text: str, folder: str, step: int, of: str = "") -> Answer:
        """See `preview.preview`; of one of several tables its own steps are carried out on it alone.

        Of a step over all tables see `linked.persons_previewed`.
        """
        if "" in self.tables:
            table, own = self.table, plan_of(text, folder)
        else:
            self._linked = self._linked or linked.LinkedTables(self.tables)
            plan = linked_plan_of(text, folder)
            if not of:
                return linked.persons_previewed(self._linked, plan, step)
            table, own = self._linked.of_persons(plan, of)
        seen = preview(table, own, step)
        for column in seen["columns"]:
            column["labels"] = variables.code_labels(table, column["name"])
        return seen

    def lattice(self, text: str, folder: str, step: int, around: list[int] | None) -> Answer:
        """See `lattices.lattice_of`."""
        return lattice_of(self.table, plan_of(text, folder), step, around)

    def forecast(self, text: str, folder: str, spec: Any) -> Answer:
        """See `beginnings.forecast`."""
        return forecast(self.table, only(plan_of(text, folder), [], keeps_requirements=True), spec)

    def beginnings(self, text: str, folder: str, methods: list[str] | None) -> Answer:
        """See `beginnings.Trial`; what steps there are already does not matter."""
        plan = only(plan_of(text, folder), [], keeps_requirements=True)
        trial = self._trial.of((self.table,), str(plan.as_mapping()), lambda: Trial.of(self.table, plan))
        return trial.beginnings(methods)

    def variants(self, text: str, folder: str) -> Answer:
        """See `standing.variants_tried`; the steps as a person would write them."""
        tried = variants_tried(self.table, plan_of(text, folder))
        for variant in tried["variants"]:
            variant["steps"] = [brief(step) for step in variant["steps"]]
        return tried

    def explore(self, text: str, folder: str, scratch: str, report: Report) -> Answer:
        """Try many plans; the figures of each are kept in `scratch` meanwhile."""
        plan = plan_of(text, folder) if "" in self.tables else linked_plan_of(text, folder)
        given = self.table if isinstance(plan, Plan) else {name: self.tables[name] for name in plan.tables}

        def progress(done: int, total: int, name: str) -> None:
            report(f"{done} of {total} candidates {name}".strip(), done / max(total, 1))

        frontier = shoal.explore(given, plan, scratch, progress=progress)
        return {
            **(content := frontier.as_mapping()),
            "promise": promise_of(plan) if isinstance(plan, Plan) else "",
            "numbers": {point["name"]: number for number, point in numbered(content).items()},
            "steps": {
                name: [brief(step) for step in candidate.as_mapping()["steps"]]
                for name, candidate in frontier.plans.items()
            },
            "steps of tables": {
                name: {
                    table: [brief(step) for step in of.get("steps", ())]
                    for table, of in candidate.as_mapping().get("tables", {}).items()
                }
                for name, candidate in frontier.plans.items()
            },
        }

    def persons(self, text: str, folder: str) -> Answer:
        """See `linked.exposed`."""
        return linked.exposed(self.tables, linked_plan_of(text, folder))


def _proved(content: EvidenceFile, seed: int) -> RunResult:
    kept_by = main_measure(content, "utility")
    return {
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
        "tables": [],
        "copies": content["copies"],
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
        "tables": [],
        "copies": 0,
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

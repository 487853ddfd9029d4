"""The settings with which a method begins when it is added to a plan: those that work on the table, found by trying.

Every method is tried on a sample of the table with settings that follow from the plan (the k that is required, the
roles and levels of the columns) and else from the method's own example. The first that work are offered; where none
work, the method's own sentence says why.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.judges.closure import Closure
from shoal.judges.table_pair import TablePair
from shoal.kernels.elementary import decade, power_of_ten
from shoal.plan import Plan
from shoal.plan.lines import plain
from shoal.privacy.k_anonymity import KAnonymity
from shoal.run.carry_out import carry_out, microdata
from shoal.studio.arguments import Answer
from shoal.table.files.table import Table
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.schema import Schema
from shoal.utility.information_kept import InformationKept
from shoal.vocabulary.errors import ShoalError
from shoal.vocabulary.registry import Entry, Spec, registered

MOST_RECORDS = 40
"""Records of the sample, or so many times k: enough to see whether a method works, and few enough for all of them."""

FORECAST = 200
"""Records of the sample of a forecast."""

GROUPS = 8
"""Groups of k records that the sample has at least."""

K = 5
"""Records that share their values, where the plan requires nothing."""

SEED = 1
"""Of whatever is drawn to be tried or shown, so that the same is seen again."""

STEPS = ("partition", "mask")

MASKED = ("quasi-identifier", "confidential")
"""Roles of the columns that a method begins with."""

OF_MODELS = ("l", "t", "p", "beta")
"""Parameters that a method shares with a privacy model."""

OF_DATES = re.compile(r"\bdates?\b", re.I)

SEARCH: Mapping[str, object] = {"moves": 0, "starts": 1, "search": "greedy"}
"""Parameters that say how long a method searches, and how little is enough to see whether it works."""

MOVES = 400
"""Moves a record that show what a search comes to; beyond them little is gained at once."""

SHORT_SEARCH: Mapping[str, object] = {**SEARCH, "moves": MOVES * FORECAST}
"""How little is enough for a forecast."""

PER_TABLE = ("bounds",)
"""Parameters that say what the table may not be asked for: bounds that come from it give its ends away."""


def forecast(table: Table, plan: Plan, spec: Spec) -> Answer:
    """What a step would do alone: records alone with what others may know, before and after, and information kept.

    It is counted on a few records and with a short search, so that the answer comes at once.
    """
    some = _sampled(table, plan, FORECAST)
    briefly = _with_search(spec, SHORT_SEARCH)
    done = carry_out(some, only(plan, [briefly]), SEED, None)
    before, after = done.before, done.released
    keys = [name for name in before.quasi_identifiers if name in after]
    anew = done.plan.made_anew
    as_it_stands = Closure(records=after, filled={})  # what the release gives away is not asked here
    pair = TablePair.of(before, after, known=as_it_stands, made_anew=anew, traced=True)
    kept = InformationKept().finding_on(pair, np.random.default_rng(SEED))
    return {
        "records": len(before),
        "left": len(after),
        "short": briefly != spec,
        "alone": [_alone(records, keys) for records in (before, after)] if set(keys) - set(anew) else None,
        "kept": kept.value,
    }


def _alone(records: Records, keys: Sequence[str]) -> int:
    return int((records.classes(keys).of_record == 1).sum())


def _sampled(table: Table, plan: Plan, least: int) -> Table:
    """Some records of the largest stratum, with whole households or persons."""
    frame, most = table.frame, max(least, GROUPS * k_of(plan))
    for name in (name for name in plan.schema.names("stratum") if name in frame.columns):
        frame = frame.filter(pl.col(name) == frame[name].mode().sort()[0])
    return replace(table, frame=some_of(frame, plan.schema, most))


def some_of(frame: pl.DataFrame, schema: Schema, most: int) -> pl.DataFrame:
    """Some records of a table, with whole households or persons: about so many, or all if they are no more."""
    units = [name for role in ("household", "person") for name in schema.names(role) if name in frame.columns]
    if len(frame) <= most or not units:
        return frame if len(frame) <= most else frame.sample(most, seed=SEED)
    whole = frame[units[0]].unique(maintain_order=True)
    drawn = whole.sample(max(1, len(whole) * most // len(frame)), seed=SEED)
    return frame.filter(pl.col(units[0]).is_in(drawn.implode()))


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A sample of a table and the plan to which a method is to be added."""

    table: Table
    plan: Plan
    _begun: dict[str, Answer] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, table: Table, plan: Plan) -> "Trial":
        return cls(table=_sampled(table, plan, MOST_RECORDS), plan=plan)

    def beginnings(self, asked: Collection[str] | None = None) -> dict[str, Answer]:
        """By kind and name of some methods, all by default, the settings with which each begins, or why it cannot."""
        entries = {f"{entry.kind}/{entry.name}": entry for entry in registered() if entry.kind in STEPS}
        names = list(entries) if asked is None else [name for name in asked if name in entries]
        for name in names:
            if name not in self._begun:
                self._begun[name] = self.beginning(entries[name])
        return {name: self._begun[name] for name in names}

    def beginning(self, entry: Entry) -> Answer:
        """The settings of a method that work; else the reason why none do, which is that of the usual columns."""
        reason = _reason(entry)
        for parameters in () if reason else self._parameters(entry):
            for columns in self._columns(entry):
                spec = {entry.kind: entry.name, **parameters, **({"columns": list(columns)} if columns else {})}
                try:
                    self._try(_with_search(spec, SEARCH))
                except ShoalError as error:
                    reason = reason if columns else str(error)
                else:
                    return {"spec": spec}
        return {"reason": reason}

    def _try(self, spec: Spec) -> None:
        carry_out(self._encoded, only(self.plan, [spec]), SEED, None)

    def _parameters(self, entry: Entry) -> Iterator[Spec]:
        """Parameters to try: what is needed, and then what the method's example has besides."""
        stated = {name: self._stated(name, entry) for name in entry.parameters}
        needed = {name: stated[name] for name, default in entry.parameters.items() if default is MISSING}
        if None not in needed.values():
            yield needed
            more = {name: value for name in entry.example if (value := stated[name]) is not None}
            if more != needed:
                yield {**more, **needed}
            if "rare" in entry.parameters:  # categories have no bands, but few records
                yield {"rare": 2 * k_of(self.plan), "other": "other"}

    def _stated(self, name: str, entry: Entry) -> Any:
        """The value of a parameter: from the plan's requirements, the table, or the method's example."""
        if name in PER_TABLE:
            return None
        if name == "base":
            return self._base
        if name == "k":
            return k_of(self.plan)
        required = [
            getattr(model, name) for model in self.plan.requirements if name in OF_MODELS and hasattr(model, name)
        ]
        if required and name in entry.example:
            return required[0]
        return plain(_with_k(entry.example.get(name), k_of(self.plan)))

    @property
    def _base(self) -> float:
        """A tenth of the power of ten of the least spread among the numbers that are masked."""
        numbers = [self._records[name] for name in self._of(*MASKED, continuous=True)]
        spreads = [float(np.nanstd(variable.values)) for variable in numbers]
        base = float(power_of_ten(decade(min((s for s in spreads if s > 0), default=10.0))))
        return int(base) if base >= 1 else base

    def _columns(self, entry: Entry) -> Iterator[tuple[str, ...]]:
        """Columns to try: the usual ones, then those of some level and role."""
        dates = tuple(v.name for v in self._records.variables if v.unit and v.role in MASKED)
        numbers = tuple(name for name in self._of(*MASKED, continuous=True) if name not in dates)
        categories, secrets = self._of(MASKED[0], continuous=False), self._of(MASKED[1], continuous=False)
        keys = self._of(MASKED[0], continuous=True)
        grouped = (keys, keys[:1], categories)
        masked = (numbers, dates, numbers[:1], categories, secrets)
        if entry.kind == "partition":
            alone = not entry.cls.by_household and bool(self.plan.schema.names("household", "person"))
            yield from dict.fromkeys([(), *filter(None, () if alone else grouped)])
        elif dates and OF_DATES.search(entry.title):
            yield dates
        else:
            yield from dict.fromkeys([(), *filter(None, masked)])

    def _of(self, *roles: str, continuous: bool) -> tuple[str, ...]:
        return tuple(v.name for v in self._records.variables if v.role in roles and v.continuous is continuous)

    @cached_property
    def _encoded(self) -> Microdata:
        """The table in numbers, which no method changes."""
        return microdata(self.table, self.plan)

    @property
    def _records(self) -> Records:
        return self._encoded.records


def only(plan: Plan, steps: Sequence[Spec], *, keeps_requirements: bool = False) -> Plan:
    """A plan with other steps, which measures nothing, and requires nothing unless it keeps what it requires."""
    mapping = {**plan.as_mapping(), "steps": list(steps), "measures": []}
    for section in ("explore", "publish", "output", *([] if keeps_requirements else ["requirements", "for"])):
        mapping.pop(section, None)
    return Plan.of(mapping, plan.folder)


def _with_search(spec: Spec, search: Mapping[str, object]) -> Spec:
    """A step with parameters of its search, where it states none."""
    entries = [entry for kind in STEPS for entry in registered(kind) if spec.get(kind) == entry.name]
    return {**{name: search[name] for entry in entries for name in search if name in entry.parameters}, **spec}


def k_of(plan: Plan) -> int:
    """The largest k that the plan requires."""
    return max((model.k for model in plan.requirements if isinstance(model, KAnonymity)), default=K)


def _with_k(value: Any, k: int) -> Any:
    """An example's value, with the k of the plan in a method that it holds."""
    if isinstance(value, Mapping) and "method" in value and "k" in value:
        return {**value, "k": k}
    return value


def _reason(entry: Entry) -> str:
    """Why a method cannot begin by itself, whatever the table."""
    if any(entry.parameters.get(name) is MISSING for name in PER_TABLE):
        return "Needs bounds of each column that do not come from the table: state them in its settings."
    return ""

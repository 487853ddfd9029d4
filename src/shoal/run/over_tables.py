"""Requirements on persons, proved or refuted on linked tables.

Each requirement is judged by the model that it is of on one table, on a table made of the linked ones
(`shoal.judges.joined`): one row for each record, with the profile of its person where all records are known, else with
the rows that it hangs on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from shoal.judges.closure import Closure
from shoal.judges.evidence import Verdict
from shoal.judges.joined import PERSON, Joined
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Bools, Longs
from shoal.privacy.base import unproved
from shoal.privacy.of_units import UnitModel
from shoal.table.laws import Laws
from shoal.table.records import Records
from shoal.vocabulary.errors import NoFigure, quoted
from shoal.vocabulary.facts import OfRelease

NO_LAWS: Mapping[str, Laws] = MappingProxyType({})
FILLED = "With cells filled in that the tables give away together: "


@dataclass(frozen=True, kw_only=True, eq=False)
class VerdictOverTables:
    """A verdict over linked tables, and the persons on whom it fails.

    Parameters
    ----------
    failing
        Shape (persons,); empty of True where the requirement holds, or says of nobody that it fails on them.
    """

    verdict: Verdict
    failing: Bools


def judged_over_tables(
    models: Sequence[UnitModel], stages: Sequence[tuple[Joined, Mapping[str, Laws]]]
) -> list[VerdictOverTables]:
    """Verdicts on requirements over persons.

    Parameters
    ----------
    stages
        The tables as written, and as each fills itself in, with the laws of the original.
    """
    filled = [stage for joined, laws in stages for stage in joined.stages(laws)]
    return [_over(model, filled) for model in models]


def _over(model: UnitModel, stages: Sequence[Joined]) -> VerdictOverTables:
    """The verdict on the tables as written, unless it fails once cells are filled in."""
    written, *filled = (_at(model, joined) for joined in stages)
    if not written.verdict.holds:
        return written
    for over in filled:
        if not over.verdict.holds:
            return replace(over, verdict=replace(over.verdict, sentence=FILLED + over.verdict.sentence))
    return written


def _at(model: UnitModel, joined: Joined) -> VerdictOverTables:
    """The verdict on joins as they stand: that on the table on which it is worst."""
    knowing = model.knowing or "all records"
    named = f"{model.method_name}{model.of_units(knowing)} in {quoted(joined.links.keys)}"
    try:
        tables = list(_tables(model, joined))
    except NoFigure as reason:
        return VerdictOverTables(verdict=unproved(named, model.limit, str(reason)), failing=_nobody(joined))
    if not tables:
        why = "No released table has a column that is confidential."
        return VerdictOverTables(verdict=unproved(named, model.limit, why), failing=_nobody(joined))
    on_one = replace(model, knowing=knowing, order=None)
    verdicts = [(on_one.named(on_one.judge(_pair(records))), persons) for records, persons in tables]
    failing = np.zeros(joined.people, dtype=bool)
    for verdict, persons in verdicts:
        if verdict.failing is not None:
            failing[persons[verdict.failing]] = True
    worst = min((verdict for verdict, _ in verdicts), key=lambda verdict: _goodness(model, verdict))
    in_order = "" if model.order is None else f" in order of '{model.order}'"
    verdict = replace(
        worst,
        requirement=f"{worst.requirement}{in_order}, over {quoted(joined.links.keys)}",
        holds=all(verdict.holds for verdict, _ in verdicts),
        facts={"persons": OfRelease(joined.people), "records of all tables": OfRelease(joined.records), **worst.facts},
        failing=None,
        influence=0,
    )
    return VerdictOverTables(verdict=verdict, failing=failing)


def _goodness(model: UnitModel, verdict: Verdict) -> tuple[bool, float]:
    if verdict.achieved is None:
        return verdict.holds, -np.inf
    return verdict.holds, verdict.achieved if model.better == "higher" else -verdict.achieved


def _nobody(joined: Joined) -> Bools:
    return np.zeros(joined.people, dtype=bool)


def _pair(records: Records) -> TablePair:
    return TablePair.of(None, records, known=Closure(records=records, filled={}))


def _tables(model: UnitModel, joined: Joined) -> Iterator[tuple[Records, Longs]]:
    """The tables to judge a requirement on, each with the person of every row."""
    if model.unit == "household" and joined.households is None:
        raise NoFigure(model.uncounted())
    reads_confidential = "confidential" in model.reads
    if model.knowing in ("one record", 1):
        tables = [joined.of_records(name) for name in joined.joins]
    elif model.knows_profiles and model.knowing != "all records":
        tables = [joined.of_branches()]
    elif reads_confidential:
        tables = [joined.of_profiles(name, model.order) for name in joined.joins]
    else:
        tables = [joined.of_all(model.order)]
    for records in tables:
        if len(records) and (records.confidential or not reads_confidential):
            yield records, records[PERSON].values.astype(np.int64)

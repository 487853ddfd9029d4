"""An exploration: every candidate tried once, and the frontier of their figures."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from shoal.desk.frontier.candidates import Axes, Candidate, axes_of, candidates, unprotected
from shoal.desk.frontier.choice import CandidateOutcome, pareto_of, point_of, recommend
from shoal.desk.frontier.of_tables import linked_axes, linked_candidates, linked_unprotected
from shoal.desk.frontier.workers import CandidateResult, carried_out
from shoal.desk.linked import tables_in_memory
from shoal.judges.base import Measure
from shoal.plan import Plan
from shoal.plan.any_plan import any_plan
from shoal.plan.linked import LinkedPlan
from shoal.report.display import Picture, displayed
from shoal.report.exploration import FrontierFile
from shoal.report.frontier_marks import axes as axes_of_map
from shoal.report.frontier_marks import marks, numbered
from shoal.report.frontier_page import frontier_parts
from shoal.report.page import map_of
from shoal.run.carry_out import microdata
from shoal.run.linked import links_of, with_persons
from shoal.table.files.checksums import sha256_of
from shoal.table.files.kept_results import KeptResults
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import DataError, plural
from shoal.vocabulary.facts import Better
from shoal.vocabulary.parameters import TablePath, holds
from shoal.vocabulary.progress import shown

POINTS = "points"
"""The folder in which the figures of candidates are kept."""

LAYOUT = 2
"""Version of the layout in which the figures of a candidate are kept."""


@dataclass(frozen=True, kw_only=True)
class Frontier:
    """The outcome of an exploration.

    Parameters
    ----------
    points
        All candidates, in the order of the plan.
    unprotected
        The table as it is, judged by the same measures.
    axes
        The two measures.
    better
        The better direction on each of them, as the measures declare it.
    pareto
        Names of the candidates on the frontier, ordered by risk: no other is better on one axis and no worse on the
        other. Only candidates that satisfy the requirements and have both figures take part; of equal ones the first.
    recommended
        Name of the recommended candidate, None if no candidate takes part; `because` gives the reason.
    """

    points: tuple[CandidateOutcome, ...]
    unprotected: CandidateOutcome
    axes: Axes
    better: tuple[Better, Better]
    pareto: tuple[str, ...]
    recommended: str | None
    because: str
    plans: Mapping[str, Plan | LinkedPlan]

    def as_mapping(self) -> FrontierFile:
        """The exploration for frontier.json."""
        axes = self.axes.as_mapping()
        axes["risk"]["better"], axes["utility"]["better"] = self.better
        return {
            "version": 1,
            "risk": self.axes.risk.method_name,
            "utility": self.axes.utility.method_name,
            "axes": axes,
            "better": list(self.better),
            "unprotected": {"risk": self.unprotected.risk, "utility": self.unprotected.utility},
            "pareto": list(self.pareto),
            "recommended": self.recommended,
            "because": self.because,
            "points": [point.as_mapping() for point in self.points],
        }

    def to_frame(self) -> pl.DataFrame:
        """One row a candidate: its number on the map, its figures, and its standing."""
        rows = [
            {"number": number, **{key: value for key, value in point.items() if key not in ("reason", "figures")}}
            for number, point in numbered(self.as_mapping()).items()
        ]
        texts = dict.fromkeys(("name", "method"), pl.String)
        numbers = dict.fromkeys(("risk", "utility"), pl.Float64)
        return pl.DataFrame(
            rows, schema={"number": pl.Int64, **texts, **numbers, "holds": pl.Boolean, "standing": pl.String}
        )

    def plot(self) -> Any:
        """Risk against loss of every candidate, with the unprotected table, as a chart.

        Raises DataError if no candidate has both figures.
        """
        content = self.as_mapping()
        drawn = map_of(marks(content), *axes_of_map(content))
        if drawn is None:
            raise DataError("No candidate has both figures, so there is nothing to draw. Compare by other measures.")
        return Picture(drawn.chart)

    def _repr_html_(self) -> str:
        return displayed("parts/frontier.html", private=True, **frontier_parts(self.as_mapping()))


def explore(
    table: Any,
    plan: Plan | LinkedPlan | Mapping[str, Any] | str | Path,
    directory: str | Path,
    *,
    seed: int = 0,
    workers: int = 1,
    progress: "OnCandidate | None" = None,
    folder: str | Path | None = None,
) -> Frontier:
    """Try every candidate of a plan and find the frontier of risk and utility.

    Parameters
    ----------
    table
        The table to protect; for a plan with `tables`, as for `protect`.
    plan
        A plan with the section `explore`.
    directory
        Directory in which the figures of each candidate are kept; figures there for the same data, plan and seed are
        not computed again. Private: it belongs beside the data.
    seed
        Seed, the same for all candidates, so that each can be repeated by `protect` with its plan.
    workers
        Processes that work side by side.
    progress
        Called with the number of finished candidates, the number of all, and the name of the last. Without it, a
        notebook shows a bar after a second of work.
    folder
        Folder in which files that the plan names are looked up; by default that of the plan's file.
    """
    asked = any_plan(plan, folder)
    tries, bare, axes, table = _asked(asked, table)
    kept = KeptResults(Path(directory) / POINTS)
    keys = _keys((bare, *tries), table, axes, seed)
    results: dict[str, CandidateResult] = {name: kept[key] for name, key in keys.items() if key in kept}
    todo = [candidate for candidate in (bare, *tries) if candidate.name not in results]
    with _reporting(progress) as tell:
        tell(len(results), len(keys), "")
        for name, result in carried_out(todo, table, seed, workers):
            kept[keys[name]] = results[name] = result
            tell(len(results), len(keys), name)
    return _frontier(asked, tries, bare, axes, results)


def explored_so_far(table: Any, plan: Plan | LinkedPlan, directory: str | Path, *, seed: int = 0) -> Frontier | None:
    """The frontier of the candidates whose figures are in the directory; None without one, or the table's own figures.

    Parameters are those of `explore`, which was interrupted.
    """
    tries, bare, axes, table = _asked(plan, table)
    kept = KeptResults(Path(directory) / POINTS)
    keys = _keys((bare, *tries), table, axes, seed)
    results: dict[str, CandidateResult] = {name: kept[key] for name, key in keys.items() if key in kept}
    tried = [candidate for candidate in tries if candidate.name in results]
    if not tried or bare.name not in results:
        return None
    frontier = _frontier(plan, tried, bare, axes, results)
    so_far = f"{len(tried)} of {plural(len(tries), 'candidate')} {'was' if len(tried) == 1 else 'were'} tried so far."
    return replace(frontier, because=f"{so_far} {frontier.because}")


def _frontier(
    asked: Plan | LinkedPlan,
    tries: Sequence[Candidate],
    bare: Candidate,
    axes: Axes,
    results: Mapping[str, CandidateResult],
) -> Frontier:
    tried = [(candidate, results[candidate.name]) for candidate in (bare, *tries)]
    better = _direction(tried, axes.risk), _direction(tried, axes.utility)
    points = tuple(point_of(c, results[c.name], axes) for c in tries)
    pareto = pareto_of(points, better)
    names = axes.risk.method_name, axes.utility.method_name
    recommended, because = recommend(points, pareto, better, names, axes.utility.tells_nothing)
    return Frontier(
        points=points,
        unprotected=point_of(bare, results[bare.name], axes),
        axes=axes,
        better=better,
        pareto=pareto,
        recommended=recommended,
        because=because,
        plans={c.name: replace(c.plan, explore=asked.explore) for c in tries},
    )


def listed(table: Any, plan: Plan | LinkedPlan, directory: str | Path, *, seed: int = 0) -> dict[str, bool]:
    """The candidates that `explore` would try, each with True if its figures are in the directory; writes nothing.

    Raises InputError if the table or the plan cannot be used.
    """
    tries, bare, axes, table = _asked(plan, table)
    kept = KeptResults(Path(directory) / POINTS)
    keys = _keys((bare, *tries), table, axes, seed)
    return {candidate.name: keys[candidate.name] in kept for candidate in tries}


def _asked(plan: Plan | LinkedPlan, table: Any) -> tuple[list[Candidate], Candidate, Axes, Any]:
    """The candidates, the table without protection, the axes, and the table, or tables, as they are tried."""
    if isinstance(plan, LinkedPlan):
        return linked_candidates(plan), linked_unprotected(plan), linked_axes(plan), tables_in_memory(table, plan)
    return candidates(plan), unprotected(plan), axes_of(plan), table


def _keys(tries: Sequence[Candidate], table: Any, axes: Axes, seed: int) -> dict[str, str]:
    """The key under which the figures of each candidate are kept."""
    plan = tries[0].plan
    if isinstance(plan, LinkedPlan):
        links = links_of(table, plan)
        fingerprint = [sha256(place.tobytes()).hexdigest() for place in links.above.values()]
        for name, of_table in plan.tables.items():
            fingerprint += _fingerprint(with_persons(table[name], plan, links, name), of_table)
    else:
        fingerprint = list(_fingerprint(table, plan))
    return {candidate.name: _key(candidate, axes, seed, fingerprint) for candidate in tries}


def _fingerprint(table: Any, plan: Plan) -> Iterator[str]:
    original = microdata(table, plan)
    yield original.fingerprint()
    yield repr(original.value_labels)
    yield from _beside(original, plan)


OnCandidate = Callable[[int, int, str], None]


@contextmanager
def _reporting(progress: OnCandidate | None) -> Iterator[OnCandidate]:
    """The given callback; without one, a bar in a notebook."""
    if progress is not None:
        yield progress
        return
    with shown(None) as stage:
        yield lambda done, total, name: stage(f"{done} of {total} {name}".strip(), done / max(total, 1))


def _direction(tried: Iterable[tuple[Candidate, CandidateResult]], axis: Measure) -> Better:
    """The better direction on an axis, as the measure itself declared it."""
    directions = (candidate.value_of(result["better"], axis) for candidate, result in tried)
    return next((better for better in directions if better), axis.better)


def _beside(original: Microdata, plan: Plan) -> Iterator[str]:
    """The contents of files that the plan names: hierarchies, and further tables of measures."""
    for variable in original.encoded.variables:
        if variable.hierarchy is not None:
            yield repr(variable.hierarchy.paths)
    for measure in plan.measures:
        for name, marker in holds(type(measure)).items():
            value = getattr(measure, name)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(marker, TablePath) and isinstance(item, (str, Path)):
                    path = plan.folder / item
                    yield sha256_of(path)


def _key(candidate: Candidate, axes: Axes, seed: int, fingerprint: Sequence[str]) -> str:
    content = [LAYOUT, candidate.plan.as_mapping(), axes.as_mapping(), seed, fingerprint, shoal.__version__]
    return sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:24]

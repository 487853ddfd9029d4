"""An exploration: every candidate tried once, and the frontier of what they came to."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import shoal
from shoal.data.microdata import Microdata
from shoal.files.kept_results import KeptResults
from shoal.frontier.candidates import Candidate, axes_of, candidates
from shoal.frontier.choice import Point, pareto_of, point_of, recommend
from shoal.frontier.workers import carried_out
from shoal.parameters import TablePath, holds
from shoal.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Frontier:
    """The outcome of an exploration.

    Parameters
    ----------
    points
        All candidates, in the order of the plan.
    pareto
        Names of those than which no other is better on one axis and no worse on the other, by risk; only candidates
        that satisfy the requirements and have both figures take part. Of equal ones the first.
    recommended
        Name of the one to take, None if no candidate takes part; `because` says why.
    """

    points: tuple[Point, ...]
    risk: str
    utility: str
    better: tuple[str, str]
    pareto: tuple[str, ...]
    recommended: str | None
    because: str
    plans: Mapping[str, Plan]

    def as_mapping(self) -> dict[str, Any]:
        """For frontier.json."""
        return {
            "version": 1,
            "risk": self.risk,
            "utility": self.utility,
            "better": list(self.better),
            "pareto": list(self.pareto),
            "recommended": self.recommended,
            "because": self.because,
            "points": [asdict(p) for p in self.points],
        }


def explore(
    table: Any,
    plan: Plan | Mapping[str, Any] | str | Path,
    directory: str | Path,
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
    folder: str | Path | None = None,
) -> Frontier:
    """Try every candidate of a plan and find the frontier of risk and utility.

    Parameters
    ----------
    table
        The table to protect.
    plan
        With the section `explore`.
    directory
        Where the figures of each candidate are kept; what is there already for the same data, plan and seed
        is not computed again. Private: it belongs beside the data.
    seed
        The same for all candidates, so that each can be repeated by `protect` with its plan.
    workers
        Processes that work side by side.
    progress
        Called with how many are done, how many there are, and the name of the last.
    folder
        Where file names in the plan are looked up; by default beside the plan's file.
    """
    plan = Plan.of(plan, folder)
    tries, axes = candidates(plan), axes_of(plan)
    original = Microdata.of(table, plan.schema, plan.folder)
    kept = KeptResults(Path(directory) / "points")
    fingerprint = [original.fingerprint(), *_beside(original, plan)]
    keys = {c.name: _key(c, axes, seed, fingerprint) for c in tries}
    results: dict[str, dict[str, Any]] = {name: kept[key] for name, key in keys.items() if key in kept}
    tell = progress or (lambda done, total, name: None)
    tell(len(results), len(tries), "")
    for name, result in carried_out([c for c in tries if c.name not in results], table, seed, workers):
        kept[keys[name]] = results[name] = result
        tell(len(results), len(tries), name)
    better = _direction(results.values(), axes[0]), _direction(results.values(), axes[1])
    points = tuple(point_of(c, results[c.name], axes) for c in tries)
    pareto = pareto_of(points, better)
    recommended, because = recommend(points, pareto, better, axes)
    return Frontier(
        points=points,
        risk=axes[0],
        utility=axes[1],
        better=better,
        pareto=pareto,
        recommended=recommended,
        because=because,
        plans={c.name: c.plan for c in tries},
    )


def _direction(results: Iterable[Mapping[str, Any]], axis: str) -> str:
    """Whether lower or higher is better, as the measure itself said."""
    return next((str(result["better"][axis]) for result in results if axis in result["better"]), "lower")


def _beside(original: Microdata, plan: Plan) -> Iterator[str]:
    """What the files hold that the plan names: hierarchies, and the further tables of measures."""
    for variable in original.encoded.variables:
        if variable.hierarchy is not None:
            yield repr(variable.hierarchy.paths)
    for measure in plan.measures:
        for name, marker in holds(type(measure)).items():
            value = getattr(measure, name)
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(marker, TablePath) and isinstance(one, (str, Path)):
                    path = plan.folder / one
                    yield hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _key(candidate: Candidate, axes: tuple[str, str], seed: int, fingerprint: Sequence[str]) -> str:
    content = [candidate.plan.as_mapping(), axes, seed, fingerprint, shoal.__version__]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:24]

"""Many plans, one table: which of them give most for the risk they leave.

A plan's section `explore` names methods and ranges of parameters:

    explore:
      method: [mdav, refined, microhybrid, local-synthesis, rank-swap, noise]
      k: [3, 5, 10]
      p: [0.02, 0.1]
      variance: [0.05, 0.2]
      risk: distance-linkage
      utility: propensity

Every method is tried with every value of the ranges that are parameters of it; a method may also be given
as its own steps (`{name: [steps]}`) with lists as ranges. Each combination is a whole plan, carried out in a
process of its own and judged by `shoal.assess`. Its figures are written as soon as they are there, so that
an exploration that was interrupted goes on where it stopped.
"""

import hashlib
import json
import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import dist
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import Any

import shoal
from shoal.assess import assess
from shoal.data.microdata import Microdata
from shoal.errors import InputError, PlanError, ShoalError, unknown
from shoal.files.atomic import atomic_file
from shoal.methods import entry, registered
from shoal.parameters import TablePath, holds
from shoal.plan import Plan
from shoal.plan.lines import dump_yaml
from shoal.plan.publication import moved
from shoal.report.frontier_page import frontier_page

DEFAULT_RISK = "distance-linkage"
DEFAULT_UTILITY = "sse"
RECIPES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "microhybrid": ({"partition": "mdav", "replace": {"method": "ipso", "small": "merge"}},),
    "local-synthesis": ({"partition": "local-synthesis", "replace": "class-conditional"},),
    "refined": ({"partition": "refined", "start": "mdav"},),
}
"""What a name stands for beyond a step with the method of that name: k-microhybrid is a partition followed by IPSO
(Domingo-Ferrer & Gonzalez-Nicolas 2010, procedure 1), local synthesis draws inside its groups, and what is refined
is a partition by MDAV."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One plan to try.

    Parameters
    ----------
    name
        The method and what of the ranges was chosen, as in `mdav k=5`; no two candidates have the same.
    method
        The method's name alone.
    plan
        The whole plan.
    """

    name: str
    method: str
    plan: Plan


@dataclass(frozen=True, kw_only=True)
class Point:
    """What a candidate came to.

    Parameters
    ----------
    risk, utility
        The two figures that were asked for; None where one could not be computed, and `reason` says why.
    holds
        Whether every requirement of the plan was proved.
    figures
        All figures by measure.
    """

    name: str
    method: str
    risk: float | None
    utility: float | None
    holds: bool
    reason: str
    figures: Mapping[str, float | None]

    @property
    def comparable(self) -> bool:
        """Proved, and measured on both axes."""
        return self.holds and self.risk is not None and self.utility is not None


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


def write(frontier: Frontier, directory: str | Path) -> Path:
    """Write frontier.json, the page frontier.html, every candidate's plan, and the recommended one as plan.yaml."""
    folder = Path(directory)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "plans").mkdir(exist_ok=True)
    for name, plan in frontier.plans.items():
        _put_plan(folder / "plans" / f"{slug(name)}.yaml", plan)
    if frontier.recommended is None:
        (folder / "plan.yaml").unlink(missing_ok=True)  # one that was recommended before
    else:
        _put_plan(folder / "plan.yaml", frontier.plans[frontier.recommended])
    _put(folder / "frontier.json", json.dumps(frontier.as_mapping(), indent=2) + "\n")
    _put(folder / "frontier.html", frontier_page(frontier.as_mapping()))
    return folder


def slug(name: str) -> str:
    """A candidate's name as a file name: `mdav k=5` is `mdav-k-5`."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


def _put_plan(path: Path, plan: Plan) -> None:
    """The plan as a file that finds its own files from where it lies."""
    _put(path, dump_yaml(moved(plan, path.parent)))


def _put(path: Path, text: str) -> None:
    with atomic_file(path, 0o600) as temporary:
        temporary.write_text(text, encoding="utf-8")


def candidates(plan: Plan) -> list[Candidate]:
    """Every combination that a plan's section `explore` asks for.

    Raises
    ------
    PlanError
        If the section names an unknown method, or a range that no method has.
    """
    if plan.explore is None:
        raise PlanError(
            "explore needs the section 'explore' with at least one method, as in method: [mdav, rank-swap]."
        )
    ranges = plan.explore.ranges
    if empty := [key for key, choices in ranges.items() if not choices]:
        raise PlanError(f"explore: the range of '{empty[0]}' is empty. Give it values, or take it out.")
    axes = _axes(plan)
    used: set[str] = set()
    found: dict[str, Candidate] = {}
    for name, steps in plan.explore.candidates.items():
        for shown, made in _combinations(str(name), steps, ranges, used):
            mapping = {**plan.as_mapping(), "steps": [*_before(plan), *made]}
            mapping.pop("explore", None)
            candidate = Candidate(
                name=f"{name} {shown}".strip(), method=str(name), plan=_with_axes(Plan.of(mapping, plan.folder), axes)
            )
            twin = found.setdefault(slug(candidate.name), candidate)
            if twin.plan.as_mapping() != candidate.plan.as_mapping():
                raise PlanError(
                    f"explore: '{twin.name}' and '{candidate.name}' are two candidates whose plans would "
                    f"have one file name. Rename one."
                )
    if idle := sorted(set(ranges) - used):
        raise PlanError(f"explore: none of the methods has the parameter '{idle[0]}'. Take the range out.")
    return list(found.values())


def _before(plan: Plan) -> list[dict[str, Any]]:
    """Steps that every candidate shares: those the plan has anyway."""
    return [step.as_mapping() for step in plan.steps]


def _axes(plan: Plan) -> tuple[str, str]:
    """The names of the two measures that candidates are compared by."""
    explored = plan.explore
    axes = (explored.risk, explored.utility) if explored else (DEFAULT_RISK, DEFAULT_UTILITY)
    for kind, name in zip(("risk", "utility"), axes):
        entry(kind, name)
        if sum(m.method_name == name for m in plan.measures) > 1:
            raise PlanError(f"explore: {kind} is '{name}', which measures names more than once. Leave one of them.")
    return axes


def _with_axes(plan: Plan, axes: tuple[str, str]) -> Plan:
    """The plan with the two measures that were asked for among those that every release with it takes."""
    have = {m.method_name for m in plan.measures}
    asked = [entry(kind, name).cls for kind, name in zip(("risk", "utility"), axes) if name not in have]
    return replace(plan, measures=(*plan.measures, *(cls() for cls in asked if not cls.cheap)))


def _combinations(
    name: str, steps: Any, ranges: Mapping[str, list[Any]], used: set[str]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """What was chosen, as a text, and the steps that it makes."""
    given = [dict(step) for step in steps] if steps is not None else _steps_of(name)
    open_places: list[tuple[int, str, list[Any]]] = []
    for number, step in enumerate(given):
        kind = next((r for r in ("partition", "mask") if r in step), None)
        if kind is None:
            raise PlanError(f"explore: a step of '{name}' must name a partition or a mask.")
        known = entry(kind, step[kind]).parameters
        for key in known:
            if key in step and isinstance(step[key], list) and not _takes_lists(kind, step[kind], key):
                open_places.append((number, key, step[key]))
            elif key not in step and key in ranges:
                open_places.append((number, key, ranges[key]))
                used.add(key)
    keys = [key for _, key, _ in open_places]
    for values in product(*(choices for _, _, choices in open_places)):
        made = [dict(step) for step in given]
        chosen = []
        for (number, key, _), value in zip(open_places, values):
            made[number][key] = value
            chosen.append(f"{key}={value}" if keys.count(key) == 1 else f"{key}{number + 1}={value}")
        yield " ".join(chosen), made


def _takes_lists(kind: str, name: str, key: str) -> bool:
    return "array" in json.dumps(entry(kind, name).json_schema()["properties"].get(key, {}))


def _steps_of(name: str) -> list[dict[str, Any]]:
    if name in RECIPES:
        return [dict(step) for step in RECIPES[name]]
    for kind in ("partition", "mask"):
        if name in [e.name for e in registered(kind)]:
            return [{kind: name}]
    names = [e.name for kind in ("partition", "mask") for e in registered(kind)]
    raise PlanError(f"explore: {unknown('method', name, {*RECIPES, *names})}")


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
    tries, axes = candidates(plan), _axes(plan)
    original = Microdata.of(table, plan.schema, plan.folder)
    kept = Path(directory)
    kept.mkdir(mode=0o700, parents=True, exist_ok=True)
    (kept / "points").mkdir(exist_ok=True)
    fingerprint = [original.fingerprint(), *_beside(original, plan)]
    results: dict[str, dict[str, Any]] = {}
    todo = []
    for candidate in tries:
        path = kept / "points" / f"{_key(candidate, axes, seed, fingerprint)}.json"
        if path.is_file():
            results[candidate.name] = json.loads(path.read_text())
        else:
            todo.append((candidate, path))
    tell = progress or (lambda done, total, name: None)
    tell(len(results), len(tries), "")
    for name, path, result in _carried_out(todo, table, seed, workers):
        with atomic_file(path, 0o600) as temporary:
            temporary.write_text(json.dumps(result))
        results[name] = result
        tell(len(results), len(tries), name)
    better = _direction(results.values(), axes[0]), _direction(results.values(), axes[1])
    points = tuple(_point(c, results[c.name], axes) for c in tries)
    pareto = _pareto(points, better)
    recommended, because = _recommend(points, pareto, better, axes)
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


def _carried_out(
    todo: Sequence[tuple[Candidate, Path]], table: Any, seed: int, workers: int
) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    jobs = [(c.name, path, c.plan) for c, path in todo]
    if workers <= 1 or len(jobs) <= 1:
        for name, path, plan in jobs:
            yield name, path, _try(table, plan, seed)
        return
    context = get_context("spawn")
    lifeline, held = context.Pipe(duplex=False)
    with (
        held,
        ProcessPoolExecutor(
            workers, mp_context=context, initializer=_remember, initargs=(table, seed, lifeline)
        ) as pool,
    ):
        try:
            with _deaf_to_interrupts():
                running = {pool.submit(_try_remembered, plan): (name, path) for name, path, plan in jobs}
            for future in as_completed(running):
                yield *running[future], future.result()
        except BaseException:  # interrupted: no candidate that is under way is waited for
            held.close()  # at which the workers leave
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that start meanwhile never hear of a Ctrl-C, and print nothing about it; here it comes afterwards."""
    if not hasattr(signal, "pthread_sigmask"):  # as on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_remembered: dict[str, Any] = {}
"""What a worker process was given once, so that the table is not sent with every job."""


def _remember(table: Any, seed: int, lifeline: Connection) -> None:
    _remembered.update(table=table, seed=seed)
    Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    """Leave at once when the process that explores is interrupted or gone: its end of the pipe closes then."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(0)


def _try_remembered(plan: Plan) -> dict[str, Any]:
    return _try(_remembered["table"], plan, _remembered["seed"])


def _try(table: Any, plan: Plan, seed: int) -> dict[str, Any]:
    """Carry a plan out; a method that cannot be applied is a point without figures, and says why."""
    try:
        evidence = assess(table, plan, seed=seed)
    except ShoalError as refusal:
        return {"holds": False, "reason": str(refusal), "figures": {}, "better": {}}
    failed = " ".join(v.sentence for v in evidence.verdicts if not v.holds)
    figures: dict[str, float | None] = {}
    for finding in evidence.findings:
        figures[finding.title if finding.measure in figures else finding.measure] = finding.value
    return {
        "holds": all(verdict.holds for verdict in evidence.verdicts),
        "reason": failed,
        "figures": figures,
        "better": {f.measure: f.better for f in evidence.findings},
    }


def _beside(original: Microdata, plan: Plan) -> Iterator[str]:
    """What the files hold that the plan names: hierarchies, and the further tables of measures."""
    for variable in original.encoded.variables:
        if variable.hierarchy is not None:
            yield repr(variable.hierarchy.paths)
    for measure in plan.measures:
        for name, held in holds(type(measure)).items():
            value = getattr(measure, name)
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(held, TablePath) and isinstance(one, (str, Path)):
                    path = plan.folder / one
                    yield hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _key(candidate: Candidate, axes: tuple[str, str], seed: int, fingerprint: Sequence[str]) -> str:
    content = [candidate.plan.as_mapping(), axes, seed, fingerprint, shoal.__version__]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:24]


def _point(candidate: Candidate, result: Mapping[str, Any], axes: tuple[str, str]) -> Point:
    risk, utility = (result["figures"].get(axis) for axis in axes)
    reason = result["reason"]
    if not reason and (risk is None or utility is None):
        reason = f"{axes[0] if risk is None else axes[1]} could not be computed"
    return Point(
        name=candidate.name,
        method=candidate.method,
        risk=risk,
        utility=utility,
        holds=result["holds"],
        reason=reason,
        figures=result["figures"],
    )


def _signed(point: Point, better: Sequence[str]) -> tuple[float, float]:
    """Both axes turned so that lower is better."""
    if point.risk is None or point.utility is None:
        raise InputError(f"'{point.name}' has no figures to compare.")
    risk = point.risk if better[0] == "lower" else -point.risk
    return risk, point.utility if better[1] == "lower" else -point.utility


def _pareto(points: Sequence[Point], better: Sequence[str]) -> tuple[str, ...]:
    ranked = sorted((p for p in points if p.comparable), key=lambda p: _signed(p, better))
    kept: list[Point] = []
    for point in ranked:
        if not kept or _signed(point, better)[1] < _signed(kept[-1], better)[1]:
            kept.append(point)
    return tuple(p.name for p in kept)


def _recommend(
    points: Sequence[Point], pareto: Sequence[str], better: Sequence[str], axes: tuple[str, str]
) -> tuple[str | None, str]:
    """The point of the frontier nearest to the corner where both are best, axes scaled to the frontier; of equally
    near ones that with the better risk."""
    if not pareto:
        lacking = (
            "that satisfies every requirement has both figures"
            if any(p.holds for p in points)
            else "satisfies every requirement"
        )
        return None, f"No candidate {lacking}, so none can be recommended."
    if len(pareto) == 1:
        others = sum(p.comparable for p in points) > 1
        least = "at least as good on both axes as every other" if others else "the only"
        return pareto[0], f"'{pareto[0]}' is {least} candidate that satisfies every requirement and has both figures."
    on = [next(p for p in points if p.name == name) for name in pareto]
    places = [_signed(p, better) for p in on]
    low = [min(axis) for axis in zip(*places)]
    width = [max(axis) - least for axis, least in zip(zip(*places), low)]
    away = [dist([(v - least) / w for v, least, w in zip(place, low, width)], [0.0, 0.0]) for place in places]
    best = on[away.index(min(away))]
    tied = f"; of equally near ones it has the better {axes[0]}" if away.count(min(away)) > 1 else ""
    return best.name, (
        f"Of the {len(on)} candidates on the frontier, '{best.name}' is nearest to the best of both "
        f"({axes[0]} {best.risk:.4g}, {axes[1]} {best.utility:.4g}), each axis scaled to the frontier's range{tied}."
    )

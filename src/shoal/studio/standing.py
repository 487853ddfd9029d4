"""How a run stands beside all that is known: bounds on any plan, and plans with the same promises that lose less.

Such plans are other runs, candidates of the frontier, and variants that are tried beside a run: the same steps with a
stronger method in the place of one of them. They count only if they have the same columns, roles and requirements.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.desk.assess import assess
from shoal.plan import Plan
from shoal.plan.steps import LOSS
from shoal.report.forms import is_share, share
from shoal.studio.arguments import Answer
from shoal.studio.beginnings import SEED
from shoal.studio.session import Session, StudioRun
from shoal.table.files.table import Table
from shoal.vocabulary.errors import ShoalError
from shoal.vocabulary.registry import Spec

MEASURE = "information-kept"
"""The measure by which losses are compared; every result has it."""

MOST_RECORDS = 5_000
"""Records on which variants are tried, drawn from a larger table."""

LEAST_GAIN, MOST_LEFT = 0.05, 0.75
"""A plan loses much less if it loses so much less in all, and so little of the loss at most."""

BOUNDS = (
    ("loss", "no recoding with this k loses less than", "no labels with this k lose less than"),
    (LOSS, "information loss at best", "no groups of this size lose less than"),
)
"""Facts of steps: a loss in the measure of the step, the bound on it, and what the bound says."""

NOT_PROMISED = ("steps", "explore", "measures", "output", "publish", "seed")
"""Sections of a plan that promise nothing."""

OF_STEPS = ("columns", "by", "replace", "small_strata", "unit")
"""Settings of a step with a partition that are not the partition's."""

MOVES = 300
"""Moves a record with which groups are refined: they bring most of what the method's own budget of minutes does."""

LEAST_BETTER = 0.01
"""Share of a loss by which another plan must lose less to be named."""

Reading = Callable[[str], Plan | None]
"""The plan of a text, if it has no mistakes."""


def promise_of(plan: Plan) -> str:
    """What two plans must have in common for their losses to be compared."""
    sections = {key: value for key, value in plan.as_mapping().items() if key not in NOT_PROMISED}
    return json.dumps(sections, sort_keys=True, default=str)


def loss_of(run: StudioRun) -> float | None:
    """The share of the information that a run lost; None for a refused one."""
    values = [m["value"] for m in run.result["measures"] if m["measure"] == MEASURE]
    return 1.0 - values[0] if run.released and values and isinstance(values[0], float) else None


def _risk_of(run: StudioRun) -> str:
    """The risk at the head of the report; empty for a refused run."""
    decision: Any = run.result["decision"]
    return "" if decision is None else str(decision["headlines"][1]["value"])


def bounds_of(run: StudioRun) -> list[Answer]:
    """By step its loss in the step's own measure, and what no other step of its kind goes below."""
    return [
        {"step": step["step"], "loss": facts[loss], "bound": facts[bound], "says": says}
        for step in run.result["steps"]
        for loss, bound, says in BOUNDS
        if loss in (facts := step.get("facts", {})) and bound in facts
    ]


def standing(session: Session, run: StudioRun, tried: Answer | None, read: Reading) -> Answer:
    """The loss of a run, the bounds on it, the plans known to lose less, the least first, and the verdict beside them.

    Parameters
    ----------
    tried
        Variants of this run's plan, from `variants_tried`; None while they have not been tried.
    """
    loss, plan = loss_of(run), read(run.text)
    known: list[Answer] = []
    if loss is not None and plan is not None:
        promise = promise_of(plan)
        known += _runs(session, run, promise, read)
        known += _candidates(session.frontier, promise)
    own = None if tried is None else tried["loss"]
    known += [] if tried is None else tried["variants"]
    known = [other for other in known if _less(other["loss"], own if other["tried on"] else loss)]
    known.sort(key=lambda other: other["loss"])
    much = [other for other in known if _much_less(other["loss"], own if other["tried on"] else loss)]
    return {
        "run": run.number,
        "loss": loss,
        "risk": _risk_of(run),
        "bounds": bounds_of(run),
        "better": known[:3],
        "tried": None if tried is None else {key: tried[key] for key in ("records", "of", "loss", "names")},
        "verdict": _verdict(run, much[:1], own, loss),
    }


def _less(loss: float, of: float | None) -> bool:
    return of is not None and loss < (1 - LEAST_BETTER) * of


def _much_less(loss: float, of: float | None) -> bool:
    return of is not None and of - loss >= LEAST_GAIN and loss <= MOST_LEFT * of


def _runs(session: Session, run: StudioRun, promise: str, read: Reading) -> Iterator[Answer]:
    for other in session.runs:
        lost, plan = loss_of(other), read(other.text)
        if other.number != run.number and lost is not None and plan is not None and promise_of(plan) == promise:
            risk = _risk_of(other)
            yield {"name": f"run {other.number}", "loss": lost, "risk": risk, "text": other.text, "tried on": None}


def _candidates(frontier: Mapping[str, Any] | None, promise: str) -> Iterator[Answer]:
    if frontier is None or frontier.get("promise") != promise or frontier["axes"]["utility"]["measure"] != MEASURE:
        return
    for point in frontier["points"]:
        if point["holds"] and point["utility"] is not None:
            steps = frontier["steps"][point["name"]]
            axis, figure = frontier["axes"]["risk"], point["risk"]
            risk = "" if figure is None else f"{share(figure) if is_share(axis) else f'{figure:.3g}'} ({axis['title']})"
            lost = 1.0 - point["utility"]
            yield {"name": point["name"], "loss": lost, "risk": risk, "steps": steps, "tried on": None}


def _verdict(run: StudioRun, better: Sequence[Answer], own: float | None, loss: float | None) -> Answer | None:
    """The head of the report; open instead of green where a plan is known that loses much less."""
    if run.result["decision"] is None:
        return None
    verdict: Answer = {**run.result["decision"]}
    for other in better:
        of = own if other["tried on"] else loss
        where = f" (both tried on {other['tried on']:,} records)" if other["tried on"] else ""
        sentence = (
            f"{other['name'][:1].upper()}{other['name'][1:]} promises the same and loses {share(other['loss'])} of the "
            f"information instead of {share(of or 0.0)}{where}."
        )
        verdict["points"] = [*verdict["points"], {"label": "Loses less", "sentences": (sentence,)}]
        if verdict["status"] == "good":
            verdict |= {"status": "open", "heading": f"{verdict['heading']}, but {other['name']} loses much less"}
    return verdict


def variants(plan: Plan, records: int) -> dict[str, list[Spec]]:
    """By name the steps of a plan, for so many records, with a stronger method in the place of one of them."""
    steps = [step.as_mapping() for step in plan.steps]
    variants_by_name: dict[str, list[Spec]] = {}
    for place, step in enumerate(steps):
        name, stronger = _stronger(step, records)
        if stronger is not None:
            variants_by_name[name] = [*steps[:place], stronger, *steps[place + 1 :]]
    return variants_by_name


def _stronger(step: Spec, records: int) -> tuple[str, Spec | None]:
    if step.get("mask") == "generalise" and step["recoding"] == "full-domain":
        kept = {key: step[key] for key in ("mask", "columns", "k", "requirements", "suppression", "levels", "labels")}
        return "local recoding", {**{key: v for key, v in kept.items() if v not in (None, (), [])}, "recoding": "local"}
    if "k" in step and step.get("partition") not in (None, "refined", "univariate", "whole"):
        around = {key: step[key] for key in OF_STEPS if step.get(key)}
        own = {key: v for key, v in step.items() if key not in (*OF_STEPS, "partition") and v is not None}
        refined = {"partition": "refined", "k": step["k"], "start": {"method": step["partition"], **own}}
        return "refined groups", {**refined, "moves": MOVES * records, **around}
    return "", None


def variants_tried(table: Table, plan: Plan) -> Answer:
    """The loss of a plan, and of those variants that keep its requirements, on the same records."""
    of = len(table.frame)
    if of > MOST_RECORDS:
        table = replace(table, frame=table.frame.sample(MOST_RECORDS, seed=SEED))
    records = len(table.frame)
    variants_by_name = variants(plan, records)
    loss = _lost(table, plan, plan.as_mapping()["steps"]) if variants_by_name else None
    tried = []
    for name, steps in variants_by_name.items() if loss is not None else ():
        lost = _lost(table, plan, steps)
        if lost is not None:
            tried.append({"name": name, "loss": lost, "risk": "", "steps": steps, "tried on": records})
    return {"records": records, "of": of, "loss": loss, "variants": tried, "names": list(variants_by_name)}


def _lost(table: Table, plan: Plan, steps: Sequence[Spec]) -> float | None:
    """Share of the information that is lost; None if the steps cannot be carried out or a requirement fails."""
    mapping = {
        key: v for key, v in plan.as_mapping().items() if key not in ("explore", "publish", "output", "measures")
    }
    try:
        evidence = assess(table, Plan.of({**mapping, "steps": list(steps)}, plan.folder), seed=SEED)
    except ShoalError:  # what cannot be carried out on these records is no better neighbour
        return None
    kept = next((f.value for f in evidence.findings if f.measure == MEASURE), None)
    holds = all(verdict.holds for verdict in evidence.verdicts)
    return None if kept is None or not holds else 1.0 - kept


class Standings:
    """Standings of runs, with the variants that were tried, kept by the text of the plan."""

    def __init__(self) -> None:
        self._tried: dict[str, Answer] = {}
        self._one = asyncio.Lock()  # two places of a page ask at once

    def of(self, session: Session, number: int, read: Reading) -> Answer:
        """The standing of a run."""
        run = session.run(number)
        return standing(session, run, self._tried.get(run.text), read)

    async def tried(self, text: str, ask: Callable[[], Awaitable[Answer]]) -> None:
        """Try the variants of a plan's text, unless they were."""
        async with self._one:
            if text not in self._tried:
                self._tried[text] = await ask()

"""The search for a recoding: one node for the whole table, or classes that are recoded each on their own."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np

from shoal.kernels.classes import classes
from shoal.kernels.generalisation import Ladder, RecodingTable, anneal, best_node, cheapest_nodes, walk
from shoal.mask._generalisation.objective import Objective
from shoal.mask._generalisation.requirements import Requirements
from shoal.mask._generalisation.task import GeneralisationTask, KeyColumn, People, Recoding
from shoal.privacy.base import PrivacyModel
from shoal.table.prelude import Generator, Ints, Longs, Progress, ints, part_of, seed_of
from shoal.vocabulary.prelude import Count, Fact, Figure, OfOriginal, OfPlan, Refused, plural

PROPOSALS, MOST_PROPOSALS = 20, 1_000_000
"""Changes that annealing proposes by default: so many a record, and so many in all at most, a few seconds' worth. On
Adult they take the loss at k = 5 from .0501 to .0494."""

SMALL = 10_000_000
"""Nodes times combinations of a lattice up to which local recoding looks at the best node as well, half a second's."""

MORE = (10, 25, 50)
"""Per cent by which k is raised where annealing makes classes too small for what is required of the whole table."""

WALK = 0.1
"""Share of the progress that the walk takes, where annealing follows."""

FIRST = 0.5
"""Share of the progress that local recoding takes, where one that drops nothing may follow."""


Breaks = Callable[[Recoding, Sequence[PrivacyModel]], str | None]
"""The sentence of the first of some models that a recoding does not satisfy, if there is one."""


def most_suppressed(limit: float, n: int) -> int:
    """Records that may be suppressed at a limit given as a share of them; .07 of 100 are 7."""
    return int(limit * n * (1 + 1e-12))


def full_domain(
    task: GeneralisationTask,
    required: Requirements,
    limit: float,
    most_nodes: int,
    breaks: Breaks,
    progress: Progress,
    objective: Objective,
) -> Recoding:
    """The node of the lattice that loses least. Raises Refused if no node is allowed."""
    table, people, average, models = _limits(task, required, task.with_ladders(objective.ladders(task)))

    def ask(levels: list[int], formed: Ints) -> int:
        few = required.broken_by_counts(_released(task, table, levels, formed), table.rows)
        if few is None and breaks(_at_node(task, table, levels, formed), models) is None:
            return 1
        return -1 if limit == 0 and all(model.monotone for model in models) else 0

    best = best_node(
        table,
        required.k,
        required.check,
        dropped=objective.dropped(task),
        most=most_suppressed(limit, task.records),
        populations=people,
        ask=ask if models else None,
        aggregate=objective.number,
        weights=objective.weights,
        average=average,
        most_nodes=most_nodes,
        progress=progress,
    )
    if not best.levels:
        seen = "" if best.finished else f" among the {best.looked:,} combinations of levels that were looked at"
        raise Refused(
            f"generalise: no combination of levels{seen} keeps the requirements with at most {limit:g} of the records "
            f"suppressed. Lower k or relax the requirements, raise suppression, or use recoding: local."
        )
    recoding = _at_node(task, table, best.levels, best.classes)
    facts = {
        "levels": OfOriginal({c.variable.name: level + c.levels[0] for c, level in zip(task.columns, best.levels)}),
        **_search_facts(task, most_nodes),
        "finished": OfOriginal(best.finished),
        "nodes looked at": Count(n=best.looked, unit="nodes"),
        "no full-domain recoding loses less than": Figure(value=objective.of_total(task, best.bound)),
        **objective.facts(task, recoding),
    }
    loss = None if objective.plain else objective.of_total(task, best.loss)
    return replace(recoding, facts=facts, loss=loss)


def _limits(
    task: GeneralisationTask, required: Requirements, table: RecodingTable
) -> tuple[RecodingTable, list[People], float, list[PrivacyModel]]:
    """The table with the people of populations, the limits on these, the largest average risk, and all other models."""
    if task.apart is not None:
        return table, [], 1.0, list(required.of_table)
    if required.of_people:
        table, people = task.with_people(table, [limits for _, limits in required.of_people])
        return table, people, 1.0, _without(required.of_table, [model for model, _ in required.of_people])
    if len(required.check.bins):
        return table, [], 1.0, list(required.of_table)
    average = min((largest for _, largest in required.of_risk), default=1.0)
    return table, [], average, _without(required.of_table, [model for model, _ in required.of_risk])


def _without(models: Sequence[PrivacyModel], known: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    return [model for model in models if all(model is not other for other in known)]


def _released(task: GeneralisationTask, table: RecodingTable, levels: list[int], formed: Ints) -> Longs:
    """Shape (m,); the classes formed at a node, those that differ in their stratum alone united."""
    if task.apart is None:
        return formed.astype(np.int64)
    columns = enumerate(zip(table.ladders[:-1], levels))
    codes = [ladder.labels[level][table.leaves[:, j]] for j, (ladder, level) in columns]
    return np.where(formed < 0, -1, classes(codes, len(formed))[0])


def _at_node(task: GeneralisationTask, table: RecodingTable, levels: list[int], formed: Ints) -> Recoding:
    """The whole table at one node, with the classes formed there."""
    cells = np.array([level + column.levels[0] for column, level in zip(task.columns, levels)], dtype=np.int32)
    return Recoding(labels=formed[table.rows], levels=np.tile(cells, (len(task), 1)))


def local(
    task: GeneralisationTask,
    required: Requirements,
    limit: float,
    most_nodes: int,
    effort: int | None,
    breaks: Breaks,
    rng: Generator,
    progress: Progress,
) -> Recoding:
    """Classes found by a walk up the lattice and refined by annealing.

    What is required of the whole table is met by the least k with which a walk meets it. Where a model that compares
    classes with the table does not hold beside the records that are left, none is dropped that finds a class.

    Raises Refused if more records than allowed find no class, or no k meets what is required of the whole table.
    """
    most, again = most_suppressed(limit, len(task)), deepcopy(rng)
    chosen = _local(task, required, limit, most, most_nodes, effort, breaks, rng, part_of(progress, 0.0, FIRST))
    if not len(required.check.bins) or not dropped(task, chosen).n or breaks(chosen, required.models) is None:
        return chosen
    return _local(task, required, limit, 0, most_nodes, effort, breaks, again, part_of(progress, FIRST, 1 - FIRST))


def _local(
    task: GeneralisationTask,
    required: Requirements,
    limit: float,
    most: int,
    most_nodes: int,
    effort: int | None,
    breaks: Breaks,
    rng: Generator,
    progress: Progress,
) -> Recoding:
    """As `local`, dropping `most` records at most where they find a class."""
    proposals = min(PROPOSALS * len(task), MOST_PROPOSALS) if effort is None else effort * len(task)

    def walked(k: int) -> Recoding:
        part = part_of(progress, 0.0, WALK if proposals else 1.0)
        trail = walk(
            task.table, k, required.check, suppressed=task.suppressed, most=most, most_nodes=most_nodes, progress=part
        )
        facts = {"nodes visited": Count(n=trail.nodes, unit="nodes")}
        return Recoding(labels=trail.labels, levels=task.levels_of(trail.labels), facts=facts)

    k, start = _least_k(walked, required, breaks, len(task))
    _check_suppressed(task, start, required, limit)
    if task.table.nodes * len(task.table.leaves) <= SMALL and (whole := _at_best_node(task, required, most, breaks)):
        start = min(start, whole, key=task.mean_loss)

    def annealed(k: int, labels: Ints | Longs, first: float, share: float) -> Recoding:
        changed = anneal(
            task.table,
            k,
            required.check,
            ints(labels),
            suppressed=task.suppressed,
            most=most,
            proposals=proposals,
            seed=seed_of(rng),
            progress=part_of(progress, first, share),
        )
        return Recoding(labels=changed, levels=task.levels_of(changed), facts=start.facts)

    sizes = [k, *((k + max(k * more // 100, 1)) for more in MORE)] if required.of_table else [k]
    for number, size in enumerate(sizes if proposals else ()):
        first, share = WALK + (1 - WALK) * number / len(sizes), (1 - WALK) / len(sizes)
        refined = annealed(size, (start if size == k else walked(size)).labels, first, share)
        if dropped(task, refined).n <= most_suppressed(limit, len(task)) and breaks(refined, required.of_table) is None:
            start = min(start, refined, key=task.mean_loss)
            break
    asked = {"changes proposed": OfOriginal(proposals), "k of the classes": OfOriginal(k)}
    facts = {**_search_facts(task, most_nodes), **asked, **start.facts}
    return Recoding(labels=start.labels, levels=start.levels, facts=facts)


def _check_suppressed(task: GeneralisationTask, start: Recoding, required: Requirements, limit: float) -> None:
    lost = dropped(task, start).n
    if lost > most_suppressed(limit, len(task)):
        why = (
            "are in no class that keeps the requirements"
            if len(required.check.bins)
            else "share labels with too few others"
        )
        raise Refused(
            f"generalise: {plural(lost, 'record')} of {len(start.labels):,} {why} even at the greatest levels, "
            f"and at most {limit:g} of the records may be suppressed. Lower k or relax the requirements, raise "
            f"suppression, or allow greater levels."
        )


def _at_best_node(task: GeneralisationTask, required: Requirements, most: int, breaks: Breaks) -> Recoding | None:
    """The recoding of the best node, where it satisfies the models of the whole table."""
    objective = Objective(cells=task.loss)
    table = task.with_ladders(objective.ladders(task))
    best = best_node(table, required.k, required.check, dropped=objective.dropped(task), most=most)
    if not best.levels:
        return None
    labels = best.classes[table.rows]
    recoding = Recoding(labels=labels, levels=task.levels_of(labels))
    return recoding if breaks(recoding, required.of_table) is None else None


def _least_k(walked: Callable[[int], Recoding], required: Requirements, breaks: Breaks, n: int) -> tuple[int, Recoding]:
    """The least k, from the required one on, whose walk satisfies the models of the whole table, and that walk."""
    low, high = required.k - 1, required.k
    recoding = walked(high)
    if not required.of_table:
        return high, recoding
    while (broken := breaks(recoding, required.of_table)) is not None:
        if high >= n:
            raise Refused(f"generalise: even with one class of all records {broken} Relax the requirement.")
        low, high = high, min(2 * high, n)
        recoding = walked(high)
    while high - low > 1:
        middle = (low + high) // 2
        better = walked(middle)
        if breaks(better, required.of_table) is None:
            high, recoding = middle, better
        else:
            low = middle
    return high, recoding


def lower_bound(task: GeneralisationTask, k: int, recoding: Recoding, progress: Progress = None) -> float:
    """Mean loss of a cell that no recoding with classes of k records goes below; `recoding` is one of them."""
    known = task.losses(recoding.levels) * task.whole + task.constant
    costs = np.where(recoding.labels >= 0, known, np.inf)
    least = cheapest_nodes(task.table, k, costs, progress=progress) - task.constant
    return task.mean(np.clip(least, 0.0, task.whole)) / task.whole


def lower_bound_of_tight(task: GeneralisationTask, k: int, progress: Progress = None) -> float:
    """The bound for tight labels, of which all that is known is that they stand for every value of the class.

    Beside `ncp` only: a label stands for one value, or for two at least.
    """
    table = task.with_ladders([_one_or_two(column) for column in task.columns])
    least = cheapest_nodes(table, k, np.full(len(task), np.inf), progress=progress)
    return task.mean(np.clip(least, 0.0, task.whole)) / task.whole


def _one_or_two(column: KeyColumn) -> Ladder:
    """Two levels: what is released at the least level that is allowed, and all else; with the least that they lose."""
    units = column.labels[column.levels[0]]
    sizes = np.sort(np.bincount(units))
    unit, two = sizes[0] - 1, sizes[:2].sum() - 1
    losses = column.weight * np.array([unit, two]) / max(len(column.paths) - 1, 1)
    return Ladder(labels=ints([units, np.zeros_like(units)]), loss=np.repeat(losses[:, None], len(units), axis=1))


def dropped(task: GeneralisationTask, recoding: Recoding) -> Count:
    """The records of the table that are suppressed."""
    counts = np.bincount(recoding.labels < 0, weights=task.times, minlength=2)
    return Count(n=int(counts[1]), of=task.records, influence=None)


def _search_facts(task: GeneralisationTask, most_nodes: int) -> dict[str, Fact]:
    """Extent of a search. The number of nodes is private: a hierarchy's height may show how long the values are."""
    return {"nodes": Count(n=task.table.nodes, unit="nodes"), "most nodes": OfPlan(most_nodes)}

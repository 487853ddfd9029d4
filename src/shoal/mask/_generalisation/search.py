"""The search for a recoding: one node for the whole table, or classes that are recoded each on their own."""

from collections.abc import Callable

import numpy as np

from shoal.data.partition import Progress, part_of
from shoal.errors import Refused, plural
from shoal.facts import Count, Parameters
from shoal.kernels.arrays import Ints, Longs, ints, seed_of
from shoal.kernels.classes import classes
from shoal.kernels.generalisation import anneal, best_node, cheapest_nodes, walk
from shoal.mask._generalisation.requirements import Requirements
from shoal.mask._generalisation.task import Recoding, Task

PROPOSALS, MOST_PROPOSALS = 20, 1_000_000
"""Changes that annealing proposes by default: so many a record, and so many in all at most, a few seconds' worth. On
Adult they take the loss at k = 5 from .0501 to .0494."""

SMALL = 10_000_000
"""Nodes times combinations of a lattice up to which local recoding looks at the best node as well, half a second's."""

MORE = (10, 25, 50)
"""Per cent by which k is raised where annealing makes classes too small for what is required of the whole table."""

WALK = 0.1
"""Share of the progress that the walk takes, where annealing follows."""


Breaks = Callable[[Recoding], str | None]
"""The sentence of the model of the whole table that a recoding does not satisfy, if there is one."""


def room(limit: float, n: int) -> int:
    """Records that may be suppressed at a limit given as a share of them; .07 of 100 are 7."""
    return int(limit * n * (1 + 1e-12))


def full_domain(
    task: Task, required: Requirements, limit: float, most_nodes: int, breaks: Breaks, progress: Progress
) -> Recoding:
    """The node of the lattice that loses least.

    Raises
    ------
    Refused
        If no node is allowed.
    """

    def at(levels: list[int]) -> Recoding:
        return _at_node(task, required, levels)

    def ask(levels: list[int]) -> int:
        broken = breaks(at(levels))
        return 1 if broken is None else -1 if required.monotone and limit == 0 else 0

    found = best_node(
        task.table,
        required.k,
        required.check,
        suppressed=task.suppressed,
        most=room(limit, len(task)),
        ask=ask if required.of_table else None,
        most_nodes=most_nodes,
        progress=progress,
    )
    if not found.levels:
        seen = "" if found.finished else f" among the {found.looked:,} combinations of levels that were looked at"
        raise Refused(
            f"generalise: no combination of levels{seen} keeps the requirements with at most {limit:g} of the records "
            f"suppressed. Lower k or relax the requirements, raise suppression, or use recoding: local."
        )
    recoding = at(found.levels)
    scale = len(task) * task.suppressed
    constant = float(task.constant.sum())
    facts = {
        "levels": {c.variable.name: level + c.levels[0] for c, level in zip(task.columns, found.levels)},
        "search": Parameters({"nodes": task.table.nodes, "most nodes": most_nodes, "finished": found.finished}),
        "nodes looked at": found.looked,
        "no full-domain recoding loses less than": (found.bound - constant) / scale,
    }
    return Recoding(labels=recoding.labels, levels=recoding.levels, facts=facts)


def _at_node(task: Task, required: Requirements, levels: list[int]) -> Recoding:
    """The whole table at one node, classes that are not allowed suppressed."""
    codes = [
        ladder.labels[level][task.table.leaves[:, j]]
        for j, (ladder, level) in enumerate(zip(task.table.ladders, levels))
    ]
    ids, sizes = classes(codes, len(task.table.leaves))
    ids = ids[task.table.rows]
    allowed = np.bincount(ids, minlength=len(sizes)) >= required.k
    if required.by_class:
        allowed &= required.excess(ids, len(sizes)) <= 0
    cells = np.array([level + column.levels[0] for column, level in zip(task.columns, levels)], dtype=np.int32)
    return Recoding(labels=np.where(allowed[ids], ids, -1), levels=np.tile(cells, (len(task), 1)))


def local(
    task: Task,
    required: Requirements,
    limit: float,
    most_nodes: int,
    effort: int | None,
    breaks: Breaks,
    rng: np.random.Generator,
    progress: Progress,
) -> Recoding:
    """Classes found by a walk up the lattice and refined by annealing.

    What is required of the whole table is met by the least k with which a walk meets it.

    Raises
    ------
    Refused
        If more records than allowed find no class, or no k meets what is required of the whole table.
    """
    proposals = min(PROPOSALS * len(task), MOST_PROPOSALS) if effort is None else effort * len(task)
    most = room(limit, len(task))

    def walked(k: int) -> Recoding:
        part = part_of(progress, 0.0, WALK if proposals else 1.0)
        found = walk(
            task.table, k, required.check, suppressed=task.suppressed, most=most, most_nodes=most_nodes, progress=part
        )
        return Recoding(labels=found.labels, levels=task.levels_of(found.labels), facts={"nodes visited": found.nodes})

    k, start = _least_k(walked, required, breaks, len(task))
    _check_room(start, most, limit)
    if task.table.nodes * len(task.table.leaves) <= SMALL and (whole := _at_best_node(task, required, most, breaks)):
        start = min(start, whole, key=task.mean_loss)
    best = start

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
        if dropped(refined).n <= most and breaks(refined) is None:
            best = min(best, refined, key=task.mean_loss)
            break
    searched = Parameters({"nodes": task.table.nodes, "most nodes": most_nodes, "changes proposed": proposals})
    facts = {"search": searched, **best.facts, **({} if k == required.k else {"k of the classes": k})}
    return Recoding(labels=best.labels, levels=best.levels, facts=facts)


def _check_room(start: Recoding, most: int, limit: float) -> None:
    lost = dropped(start).n
    if lost > most:
        raise Refused(
            f"generalise: {plural(lost, 'record')} of {len(start.labels):,} share labels with too few others even at "
            f"the greatest levels, and at most {limit:g} of the records may be suppressed. Lower k or relax the "
            f"requirements, raise suppression, or allow greater levels."
        )


def _at_best_node(task: Task, required: Requirements, most: int, breaks: Breaks) -> Recoding | None:
    """The recoding of the best node, where it satisfies the models of the whole table."""
    found = best_node(task.table, required.k, required.check, suppressed=task.suppressed, most=most)
    if not found.levels:
        return None
    labels = _at_node(task, required, found.levels).labels
    recoding = Recoding(labels=labels, levels=task.levels_of(labels))
    return recoding if breaks(recoding) is None else None


def _least_k(walked: Callable[[int], Recoding], required: Requirements, breaks: Breaks, n: int) -> tuple[int, Recoding]:
    """The least k, from the required one on, whose walk satisfies the models of the whole table, and that walk."""
    low, high = required.k - 1, required.k
    found = walked(high)
    if not required.of_table:
        return high, found
    while (broken := breaks(found)) is not None:
        if high >= n:
            raise Refused(f"generalise: even with one class of all records {broken} Relax the requirement.")
        low, high = high, min(2 * high, n)
        found = walked(high)
    while high - low > 1:
        middle = (low + high) // 2
        better = walked(middle)
        if breaks(better) is None:
            high, found = middle, better
        else:
            low = middle
    return high, found


def lower_bound(task: Task, k: int, recoding: Recoding, progress: Progress = None) -> float:
    """Mean loss of a cell that no recoding with classes of k records goes below; `recoding` is one of them."""
    known = task.losses(recoding.levels) * task.suppressed + task.constant
    costs = np.where(recoding.labels >= 0, known, np.inf)
    least = cheapest_nodes(task.table, k, costs, progress=progress) - task.constant
    return float(np.clip(least, 0.0, task.suppressed).mean() / task.suppressed)


def dropped(recoding: Recoding) -> Count:
    """How many records are suppressed."""
    return Count(n=int((recoding.labels < 0).sum()), of=len(recoding.labels), influence=None)


def numbered(labels: Ints | Longs) -> Ints:
    """Shape (n,); the same classes numbered from 0 without a gap."""
    return ints(np.unique(labels, return_inverse=True)[1].ravel())

"""The lattice as a map, beside the search for its best node and a count by hand."""

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.mask._generalisation.lattice import Lattice, lattice
from shoal.mask._generalisation.task import GeneralisationTask
from shoal.plan import Plan
from shoal.run.carry_out import carry_out

PATHS = {
    "town": [[f"{area}{i}", area, "*"] for area in ("north", "south") for i in range(4)],
    "school": [[f"e{i}", f"E{i // 3}", "*"] for i in range(9)],
}


def people(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    laws = {name: rng.dirichlet(np.ones(len(paths))) for name, paths in PATHS.items()}
    return pl.DataFrame({name: [PATHS[name][i][0] for i in rng.choice(len(p), n, p=p)] for name, p in laws.items()})


def task_of(frame: pl.DataFrame) -> GeneralisationTask:
    columns = {name: {"role": "quasi-identifier", "hierarchy": {"paths": paths}} for name, paths in PATHS.items()}
    records = carry_out(frame, Plan.of({"columns": columns}, None), 1, None).before
    return GeneralisationTask.of(records, tuple(records[name] for name in PATHS), {}, "ncp")


def mapped(frame: pl.DataFrame, k: int = 5, **how: Any) -> Lattice:
    return lattice(task_of(frame), k, how.get("around", (0, 0)), how.get("most", 100), how.get("work", 10**9))


def test_every_node_is_counted_as_by_hand() -> None:
    frame = people()
    drawn = mapped(frame)
    assert (len(drawn.nodes), drawn.of) == (9, 9)
    for node in drawn.nodes:
        labels = [{path[0]: path[level] for path in PATHS[name]} for name, level in zip(PATHS, node.levels)]
        rows = [tuple(of[cell] for of, cell in zip(labels, row)) for row in frame.iter_rows()]
        sizes = Counter(rows)
        left = [size for size in sizes.values() if size >= 5]
        assert node.small == len(frame) - sum(left)
        assert node.smallest == min(left, default=0)
        assert node.average == pytest.approx(len(left) / sum(left))
        lost = []
        for row in rows:
            cells = []
            for label, of in zip(row, labels):
                stands_for = sum(other == label for other in of.values())
                cells.append((stands_for - 1) / (len(of) - 1))
            lost.append(sum(cells) / 2 if sizes[row] >= 5 else 1.0)
        assert node.loss == pytest.approx(sum(lost) / len(lost))


@pytest.mark.parametrize("suppression", [0.0, 0.05, 0.2])
def test_the_search_takes_the_node_that_loses_least(suppression: float) -> None:
    frame = people()
    columns = {name: {"role": "quasi-identifier", "hierarchy": {"paths": paths}} for name, paths in PATHS.items()}
    step = {"mask": "generalise", "columns": list(PATHS), "k": 5, "suppression": suppression}
    done = carry_out(frame, Plan.of({"columns": columns, "steps": [step]}, None), 1, None)
    facts = done.course.results[0].facts
    allowed = [node for node in mapped(frame).nodes if node.small <= suppression * len(frame)]
    best = min(allowed, key=lambda node: node.loss)
    assert facts["loss"].value == pytest.approx(best.loss)
    assert facts["levels"].value == dict(zip(PATHS, best.levels))


def test_a_large_lattice_is_a_neighbourhood() -> None:
    frame = people()
    some = mapped(frame, around=(1, 1), most=5)
    assert some.of == 9
    assert {node.levels for node in some.nodes} == {(1, 1), (0, 1), (1, 0), (2, 1), (1, 2)}
    assert {node.levels for node in mapped(frame, around=(2, 2), most=1).nodes} == {(2, 2)}
    combinations = len(frame.unique())
    assert len(mapped(frame, work=3 * combinations).nodes) == 3

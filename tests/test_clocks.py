"""Results do not depend on how busy a machine is: budgets are work, and clocks are read for progress alone."""

import itertools
import re
import time
from pathlib import Path

import numpy as np
import pytest

import shoal
from by_night import by_night
from shoal.kernels.partition import bounds
from shoal.vocabulary.registry import KINDS, registered

TIMED = {"seconds", "time_limit", "timeout", "deadline"}

METHODS = {
    "columns": shoal.Refined(start="mdav", k=3, moves=1000, finish="columns"),
    "t-closeness": shoal.TClosenessRefined(k=3, t=0.3, moves=3000),
    "l-diversity": shoal.LDiverse(k=3, l=2, moves=3000),
}


@pytest.mark.parametrize("name", METHODS)
def test_groups_are_the_same_whatever_the_clocks_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(1).lognormal(0, 1, (by_night(18, 30), 3))

    def labels() -> list[int]:
        return METHODS[name].partition(x, confidential=np.round(x[:, 0], 1), seed=1).labels.tolist()

    calm = labels()
    for clock in ("time", "monotonic", "perf_counter", "process_time"):
        days = itertools.count(1e6, 86_400.0)
        monkeypatch.setattr(time, clock, lambda days=days: next(days))
    assert labels() == calm


def test_no_method_takes_a_budget_of_seconds() -> None:
    assert not [e.name for kind in KINDS for e in registered(kind) if TIMED & e.parameters.keys()]


def test_no_kernel_and_no_solver_is_stopped_by_a_clock(project: Path) -> None:
    sources = [*(project / "native").rglob("*.?pp"), *(project / "src/shoal/kernels").rglob("*.py")]
    clock = re.compile("chrono|steady_clock|time_limit|monotonic|perf_counter")
    clocks = {path.name for path in sources if clock.search(path.read_text(encoding="utf-8"))}
    assert clocks == {"progress.hpp"}  # which says how far the work has got, and stops nothing


def test_a_finish_that_is_worse_than_what_annealing_found_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branch and bound that runs out of its budget may know nothing better than poor groups."""
    x = np.random.default_rng(2).lognormal(0, 1, (by_night(36, 60), 3))
    method = shoal.Refined(start="mdav", k=3, moves=4000, finish="columns")
    poor = bounds.groups_of(shoal.MDAV(k=3).partition(x).labels)
    annealed = []

    def given_up(groups, costs, n, *, nodes, start=(), cuts=()):
        if n < len(x):
            return None  # of a window
        annealed[:] = start
        return poor

    monkeypatch.setattr(bounds, "cheapest", given_up)
    part = method.partition(x, seed=1)
    assert sorted(bounds.groups_of(part.labels)) == sorted(annealed) != sorted(poor)

"""Explorations: all combinations, resumed where they stopped, repeated by protect, the frontier by definition."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import only_by_night
from shoal.desk.frontier import CandidateOutcome, candidates, explore, explored_so_far, workers
from shoal.desk.frontier.choice import pareto_of, recommend
from shoal.plan import Plan
from shoal.release.publish import publish_frontier
from shoal.table.files.names import slug
from shoal.vocabulary.errors import PlanError
from shoal.vocabulary.registry import build

COLUMNS = {"a": "quasi-identifier", "b": "quasi-identifier", "c": "confidential"}


def table(n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    a = rng.normal(size=n)
    return pl.DataFrame({"a": a, "b": a + rng.normal(size=n), "c": rng.normal(size=n)})


def plan(**explored: Any) -> dict[str, Any]:
    return {"columns": COLUMNS, "explore": explored or {"method": ["mdav", "noise"], "k": [2, 5], "variance": [0.1]}}


def test_ranges_go_to_the_methods_that_have_the_parameter() -> None:
    made = candidates(Plan.of(plan(method=["mdav", "noise", "microhybrid"], k=[2, 5], variance=[0.1, 0.2])))
    assert [c.name for c in made] == [
        "mdav k=2",
        "mdav k=5",
        "noise variance=0.1",
        "noise variance=0.2",
        "microhybrid k=2",
        "microhybrid k=5",
    ]
    assert made[1].plan.steps[0].method.k == 5


def test_own_steps_with_lists_as_ranges() -> None:
    steps = {
        "two steps": [
            {"partition": "mdav", "k": [3, 4], "columns": ["a"]},
            {"mask": "rank-swap", "p": [0.1, 0.2], "columns": ["b"]},
        ]
    }
    assert len(candidates(Plan.of(plan(method=steps)))) == 4


def test_no_two_candidates_have_one_name(tmp_path: Path) -> None:
    """By the last k alone, 3 then 2 and 5 then 2 were one candidate with the figures of either."""
    steps = [{"partition": "mdav", "columns": [name], "k": ks} for name, ks in (("a", [3, 5]), ("b", [2, 4]))]
    exploration = explore(table(), plan(method={"twice": steps}), tmp_path)
    assert [p.name for p in exploration.points] == [
        f"twice k1={first} k2={second}" for first in (3, 5) for second in (2, 4)
    ]
    assert len({(p.risk, p.utility) for p in exploration.points}) == 4
    assert [c.name for c in candidates(Plan.of(plan(method=["mdav", "mdav"], k=[3, 3])))] == ["mdav k=3"]


def test_a_plan_that_was_written_finds_its_hierarchy(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("x;*\ny;*\n")
    (tmp_path / "plan.yaml").write_text(
        "columns: {a: quasi-identifier, c: {role: quasi-identifier, level: nominal, hierarchy: c.csv}}\n"
        "explore: {method: [mdav], k: [2, 3], utility: propensity}\n"
    )
    frame = table().select("a", c=pl.Series(["x", "y"] * 30))
    exploration = explore(frame, tmp_path / "plan.yaml", tmp_path / "out")
    publish_frontier(exploration, tmp_path / "out")
    for one in exploration.points:
        again = shoal.assess(frame, tmp_path / "out" / "plans" / f"{slug(one.name)}.yaml", seed=0)
        figures = {f.measure: f.value for f in again.findings}
        assert (figures["distance-linkage"], figures["propensity"]) == (one.risk, one.utility)
    before = set((tmp_path / "out" / "points").iterdir())
    (tmp_path / "c.csv").write_text("x;z;*\ny;z;*\n")
    explore(frame, tmp_path / "plan.yaml", tmp_path / "out")
    assert (
        len(set((tmp_path / "out" / "points").iterdir()) - before) == 3
    )  # another hierarchy, other figures, and those of the unprotected table


def test_what_was_recommended_before_is_no_recommendation(tmp_path: Path) -> None:
    publish_frontier(explore(table(), plan(method=["mdav"], k=[3]), tmp_path), tmp_path)
    asked = {**plan(method=["mdav"], k=[3]), "requirements": [{"privacy": "k-anonymity", "k": 5}]}
    publish_frontier(explore(table(), asked, tmp_path), tmp_path)
    assert not (tmp_path / "plan.yaml").exists()


@pytest.mark.parametrize(
    ("explored", "message"),
    [
        ({"k": [3]}, "needs the key 'method'"),
        ({"method": ["mdaw"]}, "Unknown method 'mdaw'; did you mean 'mdav'"),
        ({"method": ["mdav"], "k": [3], "variance": [0.1]}, "none of the methods has the parameter 'variance'"),
        ({"method": ["mdav"], "k": []}, "the range of 'k' is empty"),
        ({"method": ["mdav"], "k": [3], "risk": 5}, "risk must be a measure: its name, or a mapping"),
        ({"method": ["mdav"], "k": [3], "risk": {"method": "suda3"}}, "Unknown risk measure 'suda3'"),
        ({"method": ["mdav"], "k": [3], "risk": "sse"}, "Unknown risk measure 'sse'"),
        ({"method": {"": [{"partition": "mdav", "k": 3}]}}, "the name of a candidate is empty"),
        ({"method": ["mdav"], "utility": "propensity"}, "stands under measures more than once"),
        ({"method": {"A b": [{"partition": "mdav", "k": 3}], "a-b": [{"partition": "mdav", "k": 5}]}}, "one file name"),
    ],
)
def test_what_cannot_be_explored(explored: dict[str, Any], message: str) -> None:
    measures = [{"utility": "propensity"}, {"utility": "propensity", "model": "cart"}]
    with pytest.raises(PlanError, match=message):
        candidates(Plan.of({**plan(**explored), "measures": measures}))


def test_any_measure_steers_with_any_parameters(tmp_path: Path) -> None:
    """The same measure with two parameters: the figure is that of the one that was asked for."""
    linkage = {"method": "distance-linkage", "metric": "mahalanobis", "direction": "original to released"}
    asked = plan(method=["mdav"], k=[3], risk=linkage, utility="class-size")
    explored = explore(table(), {**asked, "measures": [{"risk": "distance-linkage"}]}, tmp_path)
    again = shoal.assess(table(), explored.plans["mdav k=3"], seed=0)
    figures = {f.title: f.value for f in again.findings}
    assert explored.points[0].risk == figures[explored.axes.risk.heading]
    assert [f.measure for f in again.findings].count("distance-linkage") == 2
    assert explored.points[0].utility == figures["Size of the classes"]
    content = explored.as_mapping()
    assert "mahalanobis" in content["axes"]["risk"]["title"]


def test_a_measure_that_differs_by_rules_alone_steers_by_its_own(tmp_path: Path) -> None:
    """Rules may name cells, so titles do not have them: two measures have one title, and each its figure."""
    broken, kept = {"rules": ["c <= -1000"]}, {"rules": ["c >= -1000"]}
    asked = plan(method=["mdav"], k=[3], utility={"method": "inconsistencies", **broken})
    explored = explore(table(), {**asked, "measures": [{"utility": "inconsistencies", **kept}]}, tmp_path)
    assert explored.points[0].utility == 1
    assert "1000" not in json.dumps(explored.as_mapping()["axes"])


def test_the_unprotected_table_is_a_landmark_and_no_candidate(tmp_path: Path) -> None:
    explored = explore(table(), plan(method=["mdav"], k=[3]), tmp_path)
    assert (explored.unprotected.risk, explored.unprotected.utility) == (1.0, 0.0)
    assert explored.unprotected not in explored.points
    assert list(explored.plans) == ["mdav k=3"]


def point(name: str, risk: float | None, utility: float | None, *, holds: bool = True) -> CandidateOutcome:
    return CandidateOutcome(name=name, method=name, risk=risk, utility=utility, holds=holds, reason="", figures={})


def test_the_frontier_by_definition() -> None:
    rng = np.random.default_rng(1)
    points = [point(str(i), *map(float, rng.integers(0, 8, 2))) for i in range(30)]
    pareto = set(pareto_of(points, ("lower", "lower")))
    for one in points:
        beaten = any(
            o.risk <= one.risk
            and o.utility <= one.utility  # type: ignore[operator]
            and (o.risk, o.utility) != (one.risk, one.utility)
            for o in points
        )
        twins = {o.name for o in points if (o.risk, o.utility) == (one.risk, one.utility)}
        assert bool(twins & pareto) == (not beaten)
    higher = [point("x", 0.1, 5.0), point("y", 0.1, 7.0), point("refused", 0.0, 9.0, holds=False), point("z", None, 1)]
    assert pareto_of(higher, ("lower", "higher")) == ("y",)


@pytest.mark.parametrize(
    ("points", "recommended", "because"),
    [
        ([point("x", 0.1, 5.0, holds=False)], None, "No candidate satisfies every requirement"),
        ([point("x", 0.1, None), point("y", 0.1, 1, holds=False)], None, "No candidate that satisfies every"),
        ([point("x", 0.1, 5.0), point("y", 0.0, 0.0, holds=False)], "x", "'x' is the only candidate that satisfies"),
        ([point("x", 0.1, 5.0), point("y", 0.1, 6.0)], "x", "'x' is at least as good on both axes as every other"),
        ([point("x", 0.2, 5.0), point("y", 0.1, 6.0)], "y", "of equally near ones it has the better r"),
        (
            [point("x", 0.4, 5.0), point("y", 0.2, 5.5), point("z", 0.1, 7.0)],
            "y",
            "3 candidates on the frontier, 'y' is",
        ),
    ],
)
def test_the_reason_of_a_recommendation_is_true(
    points: list[CandidateOutcome], recommended: str | None, because: str
) -> None:
    pareto = pareto_of(points, ("lower", "lower"))
    name, reason = recommend(points, pareto, ("lower", "lower"), ("r", "u"))
    assert name == recommended
    assert because in reason
    assert ("equally near" in reason) == ("equally near" in because)


@pytest.mark.parametrize(
    ("losses", "recommended", "because"),
    [
        ((103.0, 180.0), None, "loses as much as a table in which all records are alike"),
        ((40.0, 103.0), "a", "'a' is the only candidate on the frontier that loses less than"),
        ((103.0,), None, "so none can be recommended"),
    ],
)
def test_what_tells_nothing_is_never_recommended(losses: tuple[float], recommended: str | None, because: str) -> None:
    points = [point(name, 0.3 - 0.1 * i, loss) for i, (name, loss) in enumerate(zip("ab", losses))]
    tells_nothing = build("utility", {"method": "sse"}).tells_nothing
    chosen, reason = recommend(points, pareto_of(points, ("lower",) * 2), ("lower",) * 2, ("r", "sse"), tells_nothing)
    assert chosen == recommended
    assert because in reason


def test_every_point_is_made_again_from_its_plan(tmp_path: Path) -> None:
    exploration = explore(table(), plan(), tmp_path, seed=3)
    publish_frontier(exploration, tmp_path)
    for one in exploration.points:
        again = shoal.assess(table(), tmp_path / "plans" / f"{slug(one.name)}.yaml", seed=3)
        figures = {f.measure: f.value for f in again.findings}
        assert figures["sse"] == one.utility
        if "distance-linkage" in figures:
            assert figures["distance-linkage"] == one.risk
    assert exploration.recommended in exploration.pareto
    assert (tmp_path / "plan.yaml").read_text() == exploration.plans[exploration.recommended].as_yaml()  # type: ignore[index]
    page = (tmp_path / "frontier.html").read_text()
    assert "default-src 'none'" in page
    assert "<svg" in page


def test_what_is_there_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = explore(table(), plan(), tmp_path, seed=3)

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(workers, "assess", never)
    assert explore(table(), plan(), tmp_path, seed=3).points == first.points
    with pytest.raises(AssertionError, match="computed again"):
        explore(table(), plan(), tmp_path, seed=4)


def test_a_method_that_cannot_be_applied_is_a_point_with_a_reason(tmp_path: Path) -> None:
    exploration = explore(table(), plan(method=["mdav"], k=[3, 100]), tmp_path)
    assert not exploration.points[1].holds
    assert "k must be an integer" in exploration.points[1].reason
    assert exploration.pareto == ("mdav k=3",)


def test_requirements_that_fail_keep_a_point_off_the_frontier(tmp_path: Path) -> None:
    asked = {**plan(method=["mdav"], k=[2, 6]), "requirements": [{"privacy": "k-anonymity", "k": 5}]}
    assert explore(table(), asked, tmp_path).pareto == ("mdav k=6",)


@pytest.mark.slow
def test_killed_half_way_it_goes_on(tmp_path: Path) -> None:
    data, ranges, out = tmp_path / "in.csv", tmp_path / "plan.yaml", tmp_path / "out"
    table(400).write_csv(data)
    ranges.write_text(Plan.of(plan(method=["mdav"], k=list(range(2, 22)))).as_yaml())
    command = [sys.executable, "-m", "shoal", "-q", "explore", str(data), "--plan", str(ranges), "--out", str(out)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    while process.poll() is None and len(list(out.glob("points/*.json"))) < 3:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=300)  # until the process that it watched has ended, too
    kept = {p: p.stat().st_mtime_ns for p in out.glob("points/*.json")}
    assert kept
    subprocess.run(command, env=environment, check=True)
    assert all(p.stat().st_mtime_ns == made for p, made in kept.items())
    assert len(json.loads((out / "frontier.json").read_text())["points"]) == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "status"), [pytest.param(signal.SIGINT, 130, marks=only_by_night), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_no_worker_outlives_an_exploration_that_was_stopped(tmp_path: Path, sent: signal.Signals, status: int) -> None:
    data, ranges, out = tmp_path / "in.csv", tmp_path / "plan.yaml", tmp_path / "out"
    table(400).write_csv(data)
    ranges.write_text(
        Plan.of(
            plan(
                method={
                    "short": [{"partition": "mdav", "k": 3}],
                    "long": [{"partition": "refined", "start": "mdav", "k": [3, 4, 5], "moves": 10**12}],
                }
            )
        ).as_yaml()
    )
    command = [
        sys.executable,
        "-m",
        "shoal",
        "-q",
        "explore",
        str(data),
        "--plan",
        str(ranges),
        "--out",
        str(out),
        "--workers",
        "2",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.PIPE)
    while process.poll() is None and len(list(out.glob("points/*.json"))) < 2:  # the short one and the table as it is
        time.sleep(0.02)
    os.killpg(process.pid, sent) if sent == signal.SIGINT else process.kill()  # a terminal tells the workers too
    _, written = process.communicate(timeout=300)  # until the last process that holds the pipe has left
    assert process.returncode == status
    if sent == signal.SIGINT:  # and nothing of semaphores that were left behind
        assert written.decode() == (
            "Interrupted; finished candidates are kept, and the same command goes on from there.\n"
        )
        assert "1 of 4 candidates was tried so far" in json.loads((out / "frontier.json").read_text())["because"]
    assert len(list(out.glob("points/*.json"))) == 2


def test_an_exploration_that_was_stopped_gives_the_best_so_far(tmp_path: Path) -> None:
    """The frontier of those that were tried, which a whole one replaces; nothing without any of them."""
    assert explored_so_far(table(), Plan.of(plan()), tmp_path, seed=1) is None

    def stop(done: int, total: int, name: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(table(), plan(), tmp_path, seed=1, progress=stop)
    some = explored_so_far(table(), Plan.of(plan()), tmp_path, seed=1)
    every = explore(table(), plan(), tmp_path, seed=1)
    assert some is not None and some.because.startswith(f"2 of {len(every.points)} candidates were tried so far.")
    assert some.points == every.points[:2] and some.unprotected == every.unprotected
    assert set(some.plans) == {point.name for point in some.points}
    assert some.recommended in {*some.pareto, None}


def test_the_methods_of_the_documentation_stand_for_whole_plans() -> None:
    names = ["mdav", "refined", "microhybrid", "local-synthesis", "rank-swap", "noise"]
    made = candidates(Plan.of(plan(method=names, k=[5], p=[0.1], variance=[0.1])))
    assert [c.method for c in made] == names
    steps = {c.method: c.plan.as_mapping()["steps"][0] for c in made}
    assert steps["refined"]["start"]["method"] == "mdav"
    assert steps["refined"]["k"] == 5
    assert steps["local-synthesis"]["replace"]["method"] == "class-conditional"


def test_workers_change_nothing(tmp_path: Path) -> None:
    alone = explore(table(), plan(), tmp_path / "one", seed=1, workers=1)
    together = explore(table(), plan(), tmp_path / "two", seed=1, workers=2)
    assert alone.points == together.points


@pytest.mark.parametrize(
    ("method", "rule"),
    [
        (3, "list of names"),
        ("mdav", "list of names"),
        ([{"partition": "mdav"}], "list of names"),
        ({"mine": {"k": [3]}}, "'mine' must be a list of steps"),
        ({"mine": ["mdav"]}, "'mine' must be a list of steps"),
    ],
)
def test_a_section_that_names_no_methods_says_what_it_must_hold(method: Any, rule: str) -> None:
    with pytest.raises(PlanError, match=rule):
        candidates(Plan.of(plan(method=method)))


def test_an_unknown_method_is_answered_with_each_name_once() -> None:
    with pytest.raises(PlanError, match="Unknown method") as caught:
        candidates(Plan.of(plan(method=["mdaw"])))
    names = str(caught.value).split("Known: ")[1].rstrip(".").split(", ")
    assert len(set(names)) == len(names)


def test_what_is_required_to_be_differentially_private_is_not_chosen_by_the_table(tmp_path: Path) -> None:
    """The attack: with one seed, a record more or less decides which private noises are on the frontier.

    With the requirement nothing is tried, whatever the table.
    """
    bounds = {name: [-3, 3] for name in COLUMNS}
    noise = {"mask": "laplace", "columns": list(COLUMNS), "bounds": bounds, "epsilon": [0.5, 8]}
    asked = plan(method={"noisy": [noise]})
    tables = table(20), table(20)[1:]
    frontiers = [shoal.explore(frame, asked, tmp_path / str(len(frame))).pareto for frame in tables]
    assert frontiers[0] != frontiers[1]
    required = {**asked, "requirements": [{"privacy": "differential", "epsilon": 8}]}
    for frame in tables:
        with pytest.raises(PlanError, match="no step pays for what the choice of one of them tells"):
            shoal.explore(frame, required, tmp_path / "required")
    assert not (tmp_path / "required").exists()


def test_a_plan_that_was_chosen_by_the_table_is_not_made_differentially_private_afterwards(tmp_path: Path) -> None:
    """Explored without the requirement, a candidate's plan says so: with the requirement added it is refused."""
    noise = {"mask": "laplace", "columns": list(COLUMNS), "bounds": {name: [-3, 3] for name in COLUMNS}}
    explored = shoal.explore(table(20), plan(method={"noisy": [{**noise, "epsilon": [8]}]}), tmp_path)
    publish_frontier(explored, tmp_path)
    chosen = Plan.read(tmp_path / "plans" / f"{slug(explored.points[0].name)}.yaml").as_mapping()
    required = {**chosen, "requirements": [{"privacy": "differential", "epsilon": 8}]}
    for use in (shoal.protect, shoal.assess, shoal.fit):
        with pytest.raises(PlanError, match="in a plan without the section explore"):
            use(table(20), required)
    written_anew = {key: content for key, content in required.items() if key != "explore"}
    assert Plan.of(written_anew).explore is None

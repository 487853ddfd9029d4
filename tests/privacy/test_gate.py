"""Figures of measures as requirements."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair
from shoal.plan import Plan
from shoal.privacy.gate import Gate
from shoal.risk.distance_linkage import DistanceLinkage
from shoal.risk.individual import IndividualRisk
from shoal.risk.journalist import Journalist
from shoal.risk.prosecutor import Prosecutor
from shoal.risk.robust_intervals import RobustIntervals
from shoal.table.microdata import Microdata
from shoal.utility.sse import SSE
from shoal.vocabulary.errors import ParameterError, PlanError, Refused

FRAME = pl.DataFrame(np.random.default_rng(1).normal(size=(400, 3)), schema=["a", "b", "c"])
PLAN = {
    "columns": {"a": "quasi-identifier", "b": "quasi-identifier", "c": "confidential"},
    "steps": [{"partition": "mdav", "k": 5}],
}


def verdict(gate: Gate, released: pl.DataFrame = FRAME) -> Verdict:
    before, after = (Microdata.of(frame, PLAN["columns"]).records for frame in (FRAME, released))
    return gate.verdict_on(TablePair.of(before, after))


def test_the_bound_is_put_on_the_far_end_of_the_interval() -> None:
    noisy = FRAME + pl.DataFrame(np.random.default_rng(2).normal(size=(400, 3)) * 0.3, schema=FRAME.columns)
    finding = DistanceLinkage().measure(FRAME, noisy, confidential=["c"])
    assert finding.interval is not None and finding.value is not None
    between = (finding.value + finding.interval.high) / 2
    refuted = verdict(Gate(measure=DistanceLinkage(), at_most=between), noisy)
    assert not refuted.holds
    assert refuted.achieved == finding.interval.high
    assert verdict(Gate(measure=DistanceLinkage(), at_most=finding.interval.high), noisy).holds
    assert not verdict(Gate(measure=DistanceLinkage(), at_least=finding.value), noisy).holds
    assert verdict(Gate(measure=DistanceLinkage(), at_least=finding.interval.low), noisy).holds


def test_a_figure_without_an_interval_may_equal_the_bound() -> None:
    moved = FRAME.with_columns(pl.col("a") + 0.5)
    value = SSE().measure(FRAME, moved, confidential=["c"]).value
    assert value is not None
    assert verdict(Gate(measure=SSE(), at_most=value), moved).holds
    refuted = verdict(Gate(measure=SSE(), at_most=value * 0.999), moved)
    assert not refuted.holds and not refuted.protects
    assert refuted.requirement == f"Information loss by squared error at most {value * 0.999:g}"


def test_without_a_figure_nothing_is_proved() -> None:
    lacking = verdict(Gate(measure=Journalist(), at_most=1.0))
    assert not lacking.holds
    assert lacking.achieved is None
    assert lacking.sentence.startswith("There is no figure, which proves nothing. The table has no sampling weight")


def test_a_plan_refuses_what_exceeds_the_bound() -> None:
    passes = {**PLAN, "requirements": [{"risk": "individual-risk", "at most": 0.2}, {"utility": "sse", "at most": 90}]}
    release = shoal.protect(FRAME, passes, seed=1)
    assert [v.holds for v in release.evidence.verdicts] == [True, True]
    assert [v.protects for v in release.evidence.verdicts] == [True, False]
    assert release.account.proved
    fails = {**PLAN, "requirements": [{"risk": "individual-risk", "threshold": 0.5, "at most": 0.1}]}
    with pytest.raises(Refused, match=r"\(threshold 0.5\) at most 0.1 does not hold"):
        shoal.protect(FRAME, fails, seed=1)


def test_a_bound_on_a_loss_alone_protects_nobody() -> None:
    release = shoal.protect(FRAME, {**PLAN, "requirements": [{"utility": "sse", "at most": 90}]}, seed=1)
    assert not release.account.proved


def test_the_measure_of_a_gate_is_among_the_findings_once() -> None:
    gate = {"utility": "propensity", "at most": 0.2}
    plan = {**PLAN, "requirements": [gate, {"privacy": "k-anonymity", "k": 5}]}
    measured = [f.measure for f in shoal.protect(FRAME, plan, seed=1).evidence.findings]
    assert measured.count("propensity") == 1
    both = {**plan, "measures": [{"utility": "propensity"}]}
    assert [f.measure for f in shoal.protect(FRAME, both, seed=1).evidence.findings].count("propensity") == 1


def test_a_plan_gives_itself_back() -> None:
    bounded = {"risk": "individual-risk", "threshold": 0.3, "missing": "wildcard", "at most": 0.05}
    plan = Plan.of({**PLAN, "requirements": [bounded, {"privacy": "k-anonymity", "k": 3}]})
    again = Plan.of(plan.as_mapping())
    assert again.requirements == plan.requirements
    gate = plan.requirements[0]
    assert isinstance(gate, Gate)
    assert gate.measure == IndividualRisk(threshold=0.3, missing="wildcard")
    assert plan.as_mapping()["requirements"][0]["at most"] == 0.05


@pytest.mark.parametrize(
    ("requirement", "sentence"),
    [
        ({"risk": "individual-risk"}, "individual-risk: a requirement needs a finite number, 'at most' or"),
        ({"risk": "individual-risk", "at most": "low"}, "a requirement needs a finite number"),
        ({"risk": "individual-risk", "at most": 0.1, "at least": 0}, "a requirement needs a finite number"),
        ({"risk": "individual-risks", "at most": 0.1}, "did you mean 'individual-risk'"),
        ({"risk": "individual-risk", "at_most": 0.1}, "as in {risk: individual-risk, at most: 0.05}"),
        ({"risk": "individual-risk", "at most": 0.1, "limit": 1}, "Unknown parameter of individual-risk 'limit'"),
        ({"risk": "individual-risks", "at_most": 0.1}, "did you mean 'individual-risk'"),
        ({"partition": "mdav"}, "exactly one of the keys 'privacy', 'risk', 'utility'"),
    ],
)
def test_a_gate_that_cannot_be_read_is_refused(requirement: dict, sentence: str) -> None:
    with pytest.raises(PlanError, match="requirements 1") as error:
        Plan.of({**PLAN, "requirements": [requirement]})
    assert sentence in str(error.value)
    with pytest.raises(ParameterError):
        Gate(measure=IndividualRisk())


def test_the_schema_knows_bounds_of_measures_but_not_of_models() -> None:
    definitions = Plan.json_schema()["$defs"]
    bounded = [d for d in definitions.values() if d.get("title") == "Individual risk of re-identification"]
    assert sorted("at most" in d["properties"] for d in bounded) == [False, True]  # as a measure, as a requirement
    models = [d for d in definitions.values() if d.get("title") == "k-anonymity"]
    assert not any("at most" in d["properties"] for d in models)


def test_a_gate_is_proved_on_the_file_and_by_an_audit(tmp_path) -> None:
    plan = {**PLAN, "requirements": [{"risk": "individual-risk", "at most": 0.2}], "output": {"shuffle": False}}
    release = shoal.protect(FRAME, plan, seed=1)
    release.write(tmp_path / "out")
    evidence = shoal.audit(tmp_path / "out" / "release" / "data.csv", plan)
    assert evidence.holds
    assert not shoal.audit(FRAME, plan).holds
    linked = {**plan, "requirements": [{"risk": "distance-linkage", "at most": 1}]}
    assert not shoal.audit(FRAME, linked).holds  # the original is not at hand
    assert shoal.audit(FRAME, linked, original=FRAME).holds


def test_a_bound_is_put_on_the_table_as_released_and_once_filled_in() -> None:
    """Filled in, three homes make one class of six in the town; as released, the blank cells are a class of two."""
    roles = {"home": "household", "town": {"role": "quasi-identifier", "missing": "keep"}}
    frame = pl.DataFrame({"home": [1, 1, 2, 2, 3, 3], "town": ["A", None, "A", None, "A", "A"]})
    table = Microdata.of(frame, roles).records
    pair = TablePair.of(table, table)
    assert pair.closure.filled
    assert Gate(measure=Prosecutor(), at_most=1 / 2).verdict_on(pair).achieved == 1 / 2
    assert not Gate(measure=Prosecutor(), at_most=0.49).verdict_on(pair).holds


@pytest.mark.parametrize(
    ("gate", "protects"),
    [
        (Gate(measure=DistanceLinkage(), at_most=0.2), True),
        (Gate(measure=DistanceLinkage(), at_least=0.2), False),  # as risky as that, or more
        (Gate(measure=DistanceLinkage(), at_most=1), False),  # what every release satisfies
        (Gate(measure=DistanceLinkage(), at_most=5), False),
        (Gate(measure=RobustIntervals(), at_most=0.3), True),
        (Gate(measure=SSE(), at_most=1), False),
    ],
)
def test_only_a_bound_that_keeps_a_risk_small_protects(gate: Gate, protects: bool) -> None:
    assert gate.protects == protects


@pytest.mark.parametrize("bound", [float("inf"), float("-inf"), float("nan"), True, "0.1", None])
def test_a_bound_is_a_finite_number(bound) -> None:
    with pytest.raises(ParameterError, match="needs a finite number, 'at most' or 'at least', as in"):
        Gate(measure=DistanceLinkage(), at_most=bound)

"""Measures that count who matches whom: what a missing cell matches, and tables in which nobody stands."""

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import only_by_night
from shoal.judges.table_pair import NO_PEOPLE, NO_VERSIONS, TablePair
from shoal.risk.class_risk import ClassRisk, in_full
from shoal.risk.individual import IndividualRisk
from shoal.risk.population import lookalikes
from shoal.risk.prosecutor import Prosecutor
from shoal.risk.sample_uniques import SampleUniques
from shoal.table.microdata import Microdata
from shoal.table.records import MissingCells, Records
from shoal.vocabulary import registry
from shoal.vocabulary.registry import registered

KEYS = ("sex", "town")
CLASS_RISKS = [entry for entry in registered("risk") if issubclass(entry.cls, ClassRisk)]


def survey() -> Records:
    """Of six records, the third may be anyone's in town x, the fourth anyone at all."""
    frame = pl.DataFrame(
        {
            "sex": ["f", "f", None, None, "m", "m"],
            "town": ["x", "x", "x", None, "y", "z"],
            "weight": [10.0, 20, 30, 40, 50, 60],
            "home": [1, 2, 3, 4, 5, 6],
        }
    )
    roles = {key: {"role": "quasi-identifier", "missing": "keep"} for key in KEYS}
    return Microdata.of(frame, {**roles, "weight": "weight", "home": "household"}).records


def naive(records: Records, missing: MissingCells) -> tuple[list[int], list[float]]:
    """Who matches whom, record by record."""
    rows = list(zip(*(records[key].values.tolist() for key in KEYS)))
    sizes, weights = [], []
    for i, mine in enumerate(rows):
        matches = [i]
        for j, other in enumerate(rows):
            pairs = list(zip(mine, other))
            alike = {
                "equal": all(a == b for a, b in pairs),
                "wildcard": all(a == b or a < 0 or b < 0 for a, b in pairs),
                "nothing": min(other) >= 0 and all(a == b or a < 0 for a, b in pairs),
            }[missing]
            if j != i and alike:
                matches.append(j)
        sizes.append(len(matches))
        weights.append(float(records.weights[matches].sum()))
    return sizes, weights


@pytest.mark.parametrize("missing", ["equal", "wildcard", "nothing"])
def test_lookalikes_and_their_weights(missing: MissingCells) -> None:
    records = survey()
    alike = lookalikes(records, missing)
    sizes, weights = naive(records, missing)
    assert alike.sizes.tolist() == sizes
    assert alike.population.tolist() == weights
    assert Prosecutor(missing=missing).measure(records, records).value == 1 / min(sizes)


def test_both_readings_are_told_where_they_differ() -> None:
    finding = SampleUniques(missing="wildcard").measure(survey(), survey())
    assert finding.value == 0  # the fourth record matches everybody
    assert finding.details["missing"] == "wildcard"
    assert finding.details["by what a missing cell matches"] == {"equal": 4 / 6, "wildcard": 0.0, "nothing": 2 / 6}
    assert finding.sentence.endswith(
        "A missing cell is taken to match every value; the figure would be 66.7 % if it matched missing cells alone, "
        "33.3 % if its record matched no other."
    )
    complete = survey().take(np.array([0, 1, 4, 5]))
    assert "missing" not in SampleUniques(missing="wildcard").measure(complete, complete).details


QUICK = [
    pytest.param(entry, id=entry.name, marks=[only_by_night] * (entry.name == "population-uniques"))
    for entry in CLASS_RISKS
]
"""By day without the one that fits models of a population, which reads missing cells as the others do."""


@pytest.mark.parametrize("entry", QUICK)
def test_a_wildcard_never_raises_the_risk(entry) -> None:
    example = {"population": 2000} if entry.name == "population-uniques" else {}
    values = [
        entry.cls(missing=missing, **example).measure(survey(), survey()).value for missing in ("wildcard", "equal")
    ]
    assert values[0] <= values[1]


def test_a_release_is_measured_as_its_requirement_reads_it() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({key: rng.geometric(0.4, 300).astype(str) for key in ("a", "b", "c")})
    plan = {
        "columns": {key: {"role": "quasi-identifier", "level": "nominal"} for key in frame.columns},
        "steps": [{"mask": "suppress", "k": 3, "missing": "wildcard"}],
        "requirements": [{"privacy": "k-anonymity", "k": 3, "missing": "wildcard"}],
    }
    release = shoal.protect(frame, plan, seed=1)
    figures = {f.measure: f for f in release.evidence.findings}
    assert figures["prosecutor"].value <= 1 / 3
    assert figures["sample-uniques"].value == 0
    assert figures["sample-uniques"].details["by what a missing cell matches"]["equal"] > 0
    assert (
        figures["individual-risk"].value < figures["individual-risk"].details["by what a missing cell matches"]["equal"]
    )
    plan["requirements"] = [{"privacy": "k-anonymity", "k": 1}]
    strict = {f.measure: f for f in shoal.protect(frame, plan, seed=1).evidence.findings}
    assert strict["prosecutor"].value == 1


@pytest.mark.parametrize("entry", [*QUICK, registry.entry("risk", "suda2")], ids=lambda entry: entry.name)
def test_nobody_stands_in_a_table_that_was_made_as_a_whole(entry) -> None:
    records = survey()
    finding = entry.cls().finding_on(TablePair.of(records, records, made_anew=KEYS), np.random.default_rng(0))
    assert finding.value is None
    assert finding.reason == NO_PEOPLE
    half = entry.cls().finding_on(TablePair.of(records, records, made_anew=("sex",)), np.random.default_rng(0))
    assert half.reason != NO_PEOPLE


def test_a_fully_synthetic_release_has_no_risk_by_classes() -> None:
    frame = pl.DataFrame(np.random.default_rng(2).normal(size=(60, 3)), schema=["a", "b", "c"])
    plan = {
        "columns": {"a": "quasi-identifier", "b": "quasi-identifier", "c": "confidential"},
        "steps": [{"partition": "whole", "replace": "ipso", "columns": ["a", "b"], "by": ["a", "b"]}],
        "requirements": [{"privacy": "k-anonymity", "k": 1}],
    }
    findings = {f.measure: f for f in shoal.protect(frame, plan, seed=1).evidence.findings}
    assert {findings[e.name].reason for e in CLASS_RISKS if e.name in findings} == {NO_PEOPLE}
    assert findings["distance-linkage"].value is not None
    assert findings["interval-disclosure"].value is not None, "of the column that stays"
    assert findings["sse"].value is not None
    kept = {**plan, "steps": [{**plan["steps"][0], "columns": ["a"], "by": ["a"]}]}
    assert IndividualRisk.method_name in {
        f.measure for f in shoal.protect(frame, kept, seed=1).evidence.findings if f.value is not None
    }


@pytest.mark.parametrize(
    "replacement",
    [
        {"method": "local-noise", "variance": 0.01},
        {"method": "local-microaggregation", "k": 3},
        {"method": "local-rank-swap", "p": 0.1},
        {"method": "muralidhar-sarathy", "alpha": 0.9},
    ],
    ids=lambda one: one["method"],
)
def test_what_keeps_a_share_of_each_value_still_stands_for_persons(replacement) -> None:
    frame = pl.DataFrame(np.random.default_rng(2).normal(size=(60, 2)), schema=["a", "b"])
    plan = {
        "columns": dict.fromkeys("ab", "quasi-identifier"),
        "steps": [{"partition": "whole", "replace": replacement}],
    }
    release = shoal.protect(frame, plan, seed=1)
    assert next(f for f in release.evidence.findings if f.measure == "prosecutor").value is not None
    assert release.account.classes


def test_a_table_made_anew_has_no_figure_that_compares_records() -> None:
    frame = pl.DataFrame(np.random.default_rng(2).normal(size=(60, 2)), schema=["a", "b"]).with_columns(
        c=pl.Series(list("xy") * 30)
    )
    plan = {"columns": dict.fromkeys("abc", "quasi-identifier"), "steps": [{"partition": "whole", "replace": "cart"}]}
    release = shoal.protect(frame, plan, seed=1)
    findings = {f.measure: f for f in release.evidence.findings}
    for name in ("interval-disclosure", "sse", "il1s", "label-loss"):
        assert (findings[name].reason, findings[name].clipped) == (NO_VERSIONS, None), name
    assert findings["publisher-payout"].reason == NO_PEOPLE
    assert findings["univariate-change"].value is not None
    assert (release.account.classes, release.account.reached) == ((), ())
    assert release.account.made_anew == ("a", "b", "c")


def test_levels_reached_agree_with_what_was_proved() -> None:
    """One of a kind beside four: its blank cell matches every value, as the plan reads it, or none but itself."""
    frame = pl.DataFrame({"town": ["a"] * 4 + ["b"]})
    towns = {"town": {"role": "quasi-identifier", "missing": "keep"}}
    for required, levels in (
        ("wildcard", [("k-anonymity, a missing cell matching every value", 5), ("k-anonymity", 1)]),
        ("equal", [("k-anonymity", 1)]),
    ):
        model = {"privacy": "k-anonymity", "k": 5 if required == "wildcard" else 1, "missing": required}
        plan = {"columns": towns, "steps": [{"mask": "suppress", "k": 5, "missing": "wildcard"}]}
        plan["requirements"] = [model]
        release = shoal.protect(frame, plan, seed=1)
        reached = [
            (level["title"], level["value"]) for level in release.account.reached if level["model"] == "k-anonymity"
        ]
        assert reached == levels


@pytest.mark.parametrize(("number", "text"), [(0.0, "0"), (4.214, "4.21"), (99.94, "99.9"), (20_000.4, "20,000")])
def test_expected_records_are_written_without_powers_of_ten(number, text) -> None:
    assert in_full(number) == text

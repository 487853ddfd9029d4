"""Figures over linked tables: what is taken on the joins, bounded, written and refused."""

import copy
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.plan.linked import LinkedPlan
from shoal.release import publish
from shoal.table.linked_examples import TABLES_PLAN
from shoal.vocabulary.errors import PlanError, Refused

QI = {"role": "quasi-identifier", "level": "nominal"}
KNOWN = {"risk": "known-records", "most": 2}


@pytest.fixture(autouse=True)
def without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are drawn elsewhere; a page a table would be most of the time."""
    monkeypatch.setattr(publish, "page", lambda content: "")


def tables() -> dict[str, pl.DataFrame]:
    """Ann and Bob are alike, Cem and Dea are; of Eve two stays in ward a tell her, of Fay a drug."""
    patients = pl.DataFrame({"patient": list("ABCDEF"), "sex": ["f", "f", "m", "m", "f", "f"]})
    stays = pl.DataFrame(
        {"stay": range(8), "patient": list("AABBEEFF"), "ward": ["a", "b", "b", "a", "a", "a", "a", "b"]}
    )
    drugs = pl.DataFrame({"stay": [1, 2, 7], "drug": ["p", "p", "q"]})
    return {"patients": patients, "stays": stays, "drugs": drugs}


def plan(**more: Any) -> dict[str, Any]:
    return {
        "tables": {
            "patients": {"key": "patient", "columns": {"sex": QI}},
            "stays": {"key": "stay", "parent": "patients", "columns": {"ward": QI}},
            "drugs": {"parent": "stays", "columns": {"drug": QI}},
        },
        "requirements": [{"privacy": "k-anonymity", "k": 1}],
        **more,
    }


def singled_out(given: dict[str, pl.DataFrame], m: int) -> float:
    """By hand: mean share of the sets of m rows of a person, each with what hangs on it, that nobody else has."""
    rows: dict[str, list[Any]] = {}
    for patient, sex in given["patients"].iter_rows():
        rows[patient] = [("patient", sex)]
        for stay, owner, ward in given["stays"].iter_rows():
            if owner == patient:
                below = tuple(sorted(drug for of, drug in given["drugs"].iter_rows() if of == stay))
                rows[patient].append(("stay", sex, ward, below))
    alone = []
    for own in rows.values():
        sets = list(combinations(own, min(m, len(own))))
        having = [sum(all(other.count(x) >= s.count(x) for x in s) for other in rows.values()) for s in sets]
        alone.append(sum(count == 1 for count in having) / len(sets))
    return sum(alone) / len(alone)


def test_known_records_are_of_the_join_and_counted_by_hand() -> None:
    release = shoal.protect(
        tables(), plan(measures=[KNOWN, {"risk": "known-records", "most": 1}]), seed=1, unproved=True
    )
    two, one = (finding.value for finding in release.evidence.findings)
    assert two == pytest.approx(singled_out(tables(), 2))
    assert one == pytest.approx(singled_out(tables(), 1))
    assert 0 < one < two < 1
    assert release.evidence.findings[0].title.endswith("over 'patients', 'stays', 'drugs'")


def test_a_bound_is_kept_or_refuses_and_is_judged_again_from_the_files(tmp_path: Path) -> None:
    share = singled_out(tables(), 2)
    kept = plan(requirements=[{**KNOWN, "at most": share + 0.001}, {"utility": "k-marginal", "at least": 1000}])
    release = shoal.protect(tables(), kept, tmp_path / "out", seed=1, unproved=True)
    verdicts = release.evidence.verdicts[:2]
    assert [verdict.achieved for verdict in verdicts] == [pytest.approx(share), 1000]
    again = shoal.audit(tmp_path / "out/release", kept).verdicts[:2]
    assert again[0].achieved == pytest.approx(share)
    assert (again[1].holds, again[1].achieved) == (False, None), "without the original there is no loss"
    with pytest.raises(Refused, match=r"singled out by some of their records .* at most 0.1 does not hold"):
        shoal.protect(tables(), plan(requirements=[{**KNOWN, "at most": 0.1}]), seed=1, unproved=True)
    private = (tmp_path / "out/private/evidence.json").read_text()
    assert "k-marginal score, over 'patients', 'stays', 'drugs'" in private


def test_marginals_are_of_columns_of_a_parent_and_of_a_child() -> None:
    """Wards are drawn anew among stays: each table alone is as it was, and the join of ward and sex is not."""
    given = tables()
    given["stays"] = given["stays"].with_columns(ward=pl.Series(["a", "a", "a", "a", "b", "b", "b", "b"]))
    swapped = plan(measures=[{"utility": "k-marginal", "columns": ["patients.sex", "stays.ward"]}])
    drawn = {"steps": [{"mask": "permute", "columns": ["ward"]}], "measures": [{"utility": "k-marginal", "order": 1}]}
    swapped["tables"]["stays"] = {**swapped["tables"]["stays"], **drawn}
    given["patients"] = given["patients"].with_columns(sex=pl.Series(["f", "f", "m", "m", "m", "m"]))
    release = shoal.protect(given, swapped, seed=2, unproved=True)
    (over,) = release.evidence.findings
    own = next(f for f in release.tables["stays"].evidence.findings if f.measure == "k-marginal")
    assert own.value == 1000
    frames = release.to_frames()
    joined = [t["stays"].join(t["patients"], on="patient") for t in (given, frames)]
    counts = [{(s, w): n for s, w, n in j.group_by("sex", "ward").len().iter_rows()} for j in joined]
    difference = sum(abs(counts[0].get(c, 0) - counts[1].get(c, 0)) for c in {*counts[0], *counts[1]}) / 8
    assert difference > 0
    assert over.value == pytest.approx(500 * (2 - difference))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measures": [{"risk": "suda2"}]}, "measures 1: suda2 is measured table by table, for it"),
        ({"measures": {"risk": "suda2"}}, "the section 'measures' must be a list"),
        ({"measures": [{"risk": "known-record"}]}, "measures 1: .*did you mean 'known-records'"),
        ({"requirements": [{"risk": "individual-risk", "at most": 0.1}]}, "individual-risk is measured"),
        ({"requirements": [{"utility": "k-marginal"}]}, "k-marginal: a requirement needs a finite number"),
    ],
)  # fmt: skip
def test_what_means_nothing_over_tables_is_refused_at_once(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        LinkedPlan.of({**plan(), **change})


def test_copies_of_persons_who_are_released() -> None:
    """Eve and Fay are alone with all their rows, and both stand in the release as they are."""
    described = plan(measures=[{"risk": "unique-exact-matches"}, {"risk": "replicated-uniques"}])
    copies, replicated = shoal.protect(tables(), described, seed=1, unproved=True).evidence.findings
    assert copies.value == 1
    assert replicated.value == pytest.approx(2 / 6)
    assert copies.title == "Unique records that stand in the release, of persons, over 'patients', 'stays', 'drugs'"


def test_columns_that_no_join_has_give_no_figure() -> None:
    described = plan(measures=[{"utility": "k-marginal", "columns": ["stays.ward", "stays.floor"]}])
    (finding,) = shoal.protect(tables(), described, seed=1, unproved=True).evidence.findings
    assert finding.value is None
    assert "has the columns that it is taken on" in finding.reason


def test_a_written_plan_has_the_same_bounds_and_measures() -> None:
    described = LinkedPlan.of(plan(measures=[KNOWN], requirements=[{**KNOWN, "at most": 0.5}, "k-anonymity"][:1]))
    again = LinkedPlan.of(described.as_mapping())
    assert again.bounds == described.bounds
    assert again.measures == described.measures
    assert again.requirements == ()


def test_of_the_invented_hospital() -> None:
    """5-anonymous by all records known, so that no set of records singles anybody out."""
    described = copy.deepcopy(TABLES_PLAN)
    described["measures"] = [KNOWN, {"utility": "k-marginal"}]
    release = shoal.protect(shoal.example_tables(1_000), described, seed=1)
    known, marginal = release.evidence.findings
    assert known.value == 0
    assert 300 < (marginal.value or 0) < 1000


def test_classes_of_persons_and_what_is_kept_of_all_columns() -> None:
    """Ann and Bob are alike, Cem and Dea, and nobody is like Eve or like Fay: four classes of six persons."""
    measures = [{"risk": "marketer"}, {"risk": "sample-uniques"}, {"risk": "prosecutor"}]
    findings = shoal.protect(tables(), plan(measures=measures), seed=1, unproved=True).evidence.findings
    assert [finding.value for finding in findings] == [pytest.approx(4 / 6), pytest.approx(2 / 6), 1]
    assert findings[1].sentence == "33.3 % of the persons have records, all taken together, that nobody else has."
    alike = plan(steps=[{"mask": "profiles", "k": 2}], measures=[*measures, {"utility": "information-kept"}])
    alike["tables"].pop("drugs")  # which hardly anybody has
    release = shoal.protect({name: tables()[name] for name in ("patients", "stays")}, alike, seed=1, unproved=True)
    marketer, uniques, prosecutor, kept = release.evidence.findings
    assert (uniques.value, prosecutor.value) == (0, pytest.approx(1 / 2))
    assert marketer.value <= 1 / 2
    own = [next(f for f in of.evidence.findings if f.measure == kept.measure) for of in release.tables.values()]
    assert kept.value == pytest.approx(sum(finding.value for finding in own) / 2)
    assert f"Information kept, over 2 columns of all tables: {100 * kept.value:.3g} %; " in kept.sentence
    bounded = {**alike, "requirements": [{"risk": "prosecutor", "at most": 0.4}]}
    with pytest.raises(Refused, match=r"of persons, over 'patients', 'stays' at most 0.4 does not hold"):
        shoal.protect({name: tables()[name] for name in ("patients", "stays")}, bounded, seed=1)
    with pytest.raises(PlanError, match="prosecutor over all tables takes no threshold"):
        LinkedPlan.of(plan(measures=[{"risk": "prosecutor", "threshold": 0.1}]))

"""What every registered method must keep, whoever wrote it."""

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.judges.evidence import Finding, Verdict
from shoal.privacy.base import ClassModel
from shoal.risk.class_risk import LookalikeRisk
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import ParameterError
from shoal.vocabulary.facts import ByColumn, Fact, Nested
from shoal.vocabulary.parameters import HoldsCells, holds
from shoal.vocabulary.registry import Entry, build, registered, spec_of

TREE = {"nested": {"acute": ["a", "b"], "chronic": ["c"]}}

ALL = registered()


def ids(entry: Entry) -> str:
    return f"{entry.kind}-{entry.name}"


def made(entry: Entry) -> Any:
    """The method with the parameters of its example."""
    missing = {name for name, default in entry.parameters.items() if default is MISSING} - set(entry.example)
    assert not missing, (
        f"{entry.name} has no example: give @method(..., example={{...}}) values for {', '.join(sorted(missing))}"
    )
    return entry.cls(**entry.example)


def columns_of(entry: Entry) -> list[str]:
    return list(entry.example_columns) or ["age", "size"]


def roles_for(entry: Entry, roles: Mapping[str, Any]) -> dict[str, Any]:
    """The roles of a plan's columns; all but a method's own are identifiers where its promise is for whole records."""
    apart = getattr(entry.cls, "whole_records", False)
    return {name: "identifier" if apart and name not in columns_of(entry) else said for name, said in roles.items()}


def table(n: int = 60) -> Microdata:
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "size": np.round(rng.lognormal(1, 0.5, n), 2),
            "income": np.round(rng.lognormal(3, 1, n), 2),
            "sex": rng.choice(["f", "m"], n),
            "illness": rng.choice(["a", "b", "c"], n),
        }
    )
    return Microdata.of(
        frame,
        {
            "age": "quasi-identifier",
            "size": "quasi-identifier",
            "sex": "quasi-identifier",
            "income": "confidential",
            "illness": {"role": "confidential", "hierarchy": TREE},
        },
    )


def content(records: Records) -> list[Any]:
    return [(v.name, v.categories, v.values.tobytes()) for v in records.variables] + [records.rows.tobytes()]


@pytest.mark.parametrize("entry", ALL, ids=ids)
def test_it_is_described(entry: Entry) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.name)
    assert entry.title
    assert entry.source
    assert entry.cls.__doc__
    for name in entry.parameters:
        assert re.search(rf"^\s*(\w+, )*{name}(, \w+)*$", entry.cls.__doc__, re.M), f"docstring lacks parameter {name}"
    json.dumps(entry.json_schema())
    assert getattr(shoal, entry.cls.__name__) is entry.cls


@pytest.mark.parametrize("entry", ALL, ids=ids)
def test_it_declares_how_it_scales(entry: Entry) -> None:
    allowed = {
        "partition": {"blocks", "memory"},
        "replace": {"blocks", "memory"},
        "mask": {"rows", "combinations", "sorting", "memory"},
        "privacy": {"classes", "memory"},
        "risk": {"classes", "sample", "memory"},
        "utility": {"sample", "memory"},
    }
    inherited = entry.kind not in ("mask", "privacy")  # kinds with a way of their own, from which a method may depart
    assert inherited or "scales" in vars(entry.cls), f"{entry.name}: declare scales, as in scales = 'memory'"
    assert entry.cls.scales in allowed[entry.kind]
    assert issubclass(entry.cls, (ClassModel, LookalikeRisk)) or entry.cls.scales != "classes"


@pytest.mark.parametrize("entry", ALL, ids=ids)
def test_it_has_a_test_and_stands_in_the_reference(entry: Entry, project: Path) -> None:
    _, folder, file = entry.cls.__module__.split(".")
    test = project / "tests" / folder / f"test_{file}.py"
    assert test.is_file(), f"{entry.name} has no test: write tests/{folder}/test_{file}.py"
    assert "\ndef test_" in test.read_text(), f"tests/{folder}/test_{file}.py tests nothing"
    page = project / "docs" / "reference" / "methods" / f"{entry.name}.md"
    assert page.is_file(), f"{entry.name} has no page in docs/reference/methods: run python docs/generate.py"


@pytest.mark.parametrize("entry", ALL, ids=ids)
def test_it_is_made_again_from_its_mapping(entry: Entry) -> None:
    method = made(entry)
    assert spec_of(build(entry.kind, json.loads(json.dumps(spec_of(method))))) == spec_of(method)


@pytest.mark.parametrize("entry", ALL, ids=ids)
def test_unknown_parameters_are_refused(entry: Entry) -> None:
    with pytest.raises(ParameterError, match=f"Unknown parameter of {entry.name} 'no_such_parameter'"):
        entry.cls(no_such_parameter=1)


STEPS = {"minimum": -1, "exclusiveMinimum": 0, "maximum": 1, "exclusiveMaximum": 0}
"""How far beyond a limit of the JSON schema the nearest whole step outside lies."""


def outside(entry: Entry) -> list[tuple[str, Any]]:
    """Values just outside the limits that the parameters are annotated with, and words none of them knows."""
    beyond: list[tuple[str, Any]] = []
    for name, schema in entry.json_schema()["properties"].items():
        kinds = [schema, *schema.get("anyOf", ())]
        beyond += [(name, kind[limit] + step) for kind in kinds for limit, step in STEPS.items() if limit in kind]
        free = any(kind.get("type") == "object" or kind == {"type": "string"} for kind in kinds)
        if any("enum" in kind for kind in kinds) and not free:
            beyond.append((name, "no such word"))
    return beyond


OUTSIDE = [(entry, name, value) for entry in ALL for name, value in outside(entry)]


@pytest.mark.parametrize(
    ("entry", "name", "value"), OUTSIDE, ids=[f"{ids(entry)}-{name}={value}" for entry, name, value in OUTSIDE]
)
def test_values_outside_the_limits_are_refused(entry: Entry, name: str, value: Any) -> None:
    given = {key: getattr(made(entry), key) for key in entry.parameters}
    with pytest.raises(ParameterError, match=rf"{entry.name}: {name} must be ") as refusal:
        entry.cls(**{**given, name: value})
    may_be_a_cell = isinstance(holds(entry.cls)[name], HoldsCells)
    assert str(refusal.value).endswith(f"; got {value!r}.") is not may_be_a_cell


def untyped(facts: Mapping[str, Any], within: str = "") -> list[str]:
    """The labels of what is told without saying what it is, so that nobody knows how it may be shown."""
    labels = []
    for label, fact in facts.items():
        if isinstance(fact, Nested):
            labels += untyped(fact.facts, f"{within}{label}: ")
        elif isinstance(fact, ByColumn):
            labels += untyped(fact.columns, f"{within}{label}: ")
        elif not isinstance(fact, Fact):
            labels.append(within + label)
    return labels


def check_typed(entry: Entry, *tables: Mapping[str, Any]) -> None:
    for facts in tables:
        assert not untyped(facts), (
            f"{entry.name} tells '{untyped(facts)[0]}' as it is: make it a fact of shoal.vocabulary.facts, as Count, "
            f"Share, Figure, OfPlan, OfRelease, or OfOriginal where nobody has bounded it"
        )


@pytest.mark.parametrize("entry", registered("partition"), ids=ids)
def test_partitions(entry: Entry) -> None:
    records, columns = table().records, columns_of(entry)
    before = content(records)
    method = made(entry)
    one, two = (method.partition(records, columns=columns, seed=5) for _ in range(2))
    assert one.labels.tolist() == two.labels.tolist()
    assert content(records) == before
    assert one.k >= method.smallest
    check_typed(entry, one.facts)
    json.dumps(one.details, allow_nan=False)


def thirds(records: Records) -> Partition:
    return Partition.of(np.arange(len(records)) // 20)


GROUPS = {"fuzzy-centre": lambda records: shoal.FuzzyCMeans(k=3).partition(records, columns=["age", "size"], seed=1)}
"""Partitions, for replacements that need another than three groups of twenty."""


def applied(entry: Entry, columns: list[str], seed: int) -> tuple[Any, Any]:
    records = table().records
    before = content(records)
    method, rng = made(entry), np.random.default_rng(seed)
    if entry.kind == "mask":
        change = method.apply(records, columns, rng)
    else:
        change = method.apply(records, columns, GROUPS.get(entry.name, thirds)(records), rng)
    assert content(records) == before
    return records, change


@pytest.mark.parametrize("entry", registered("replace") + registered("mask"), ids=ids)
def test_replacements_and_masks(entry: Entry) -> None:
    columns = columns_of(entry)
    records, change = applied(entry, columns, 3)
    _, again = applied(entry, columns, 3)
    assert content(change.records) == content(again.records)
    check_typed(entry, change.facts)
    json.dumps(change.details, allow_nan=False, default=float)
    untouched = [name for name in records.names() if name not in columns]
    if len(change.records) == len(records) and not getattr(entry.cls, "whole_records", False):
        for name in untouched:
            assert np.array_equal(change.records[name].values, records[name].values, equal_nan=True)
    for variable in change.records.variables:
        if variable.continuous:
            assert np.isfinite(variable.values[~variable.missing]).all()
        else:
            assert variable.values.max(initial=-1) < len(variable.categories)


@pytest.mark.parametrize("entry", registered("privacy"), ids=ids)
def test_privacy_models_never_hold_by_accident(entry: Entry) -> None:
    """One record a class and one value a class: no model of this house is satisfied by that."""
    frame = pl.DataFrame({"q": [float(i) for i in range(12)], "c": ["x"] * 6 + ["y"] * 6})
    verdict = made(entry).check(frame, confidential="c")
    assert isinstance(verdict, Verdict)
    assert not verdict.holds
    assert verdict.sentence
    check_typed(entry, verdict.facts)


NEED_MORE = {
    "density-ratio": "holdout",
    "downcoding": "no categorical column with a hierarchy",
    "closest-record": "holdout",
    "gaps": "person",
    "household-risk": "household",
    "household-uniques": "household",
    "intersection": "other release",
    "journalist": "sampling weight",
    "known-records": "person",
    "log-linear-risk": "sampling weights",
    "lower-bound": "partition",
    "membership-inference": "holdout",
    "population-uniques": "sampling weights",
    "records-per-person": "person",
    "shadow-models": "holdout",
    "transitions": "person",
}
"""Measures that have no figure on the table of these tests, and what their reason says is lacking."""


@pytest.mark.parametrize("entry", registered("risk") + registered("utility"), ids=ids)
def test_measures_stay_in_their_range_and_repeat(entry: Entry) -> None:
    before = table()
    after = before.rebuild(
        shoal.Centroid()
        .apply(before.records, ["age", "size"], Partition.of(np.arange(60) // 6), np.random.default_rng(0))
        .records
    )
    released = Microdata.finished(after.native, before.schema).encoded
    method = made(entry)
    findings = [method.measure(before.records, released, seed=2) for _ in range(2)]
    assert isinstance(findings[0], Finding)
    assert findings[0].value == findings[1].value
    if entry.name in NEED_MORE:
        assert findings[0].value is None
        assert NEED_MORE[entry.name] in findings[0].reason
    else:
        assert findings[0].value is not None, f"what does it lack? ({findings[0].reason}) Say so in NEED_MORE."
        low, high = findings[0].limits
        assert low - 1e-12 <= findings[0].value <= high + 1e-12
        assert findings[0].sentence
    check_typed(entry, findings[0].facts, findings[0].by_column.columns if findings[0].by_column else {})
    json.dumps(findings[0].details, default=str)

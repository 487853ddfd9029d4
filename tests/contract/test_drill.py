"""Whoever adds a method writes one file: what becomes of methods that nobody has heard of.

A method of each kind is entered in the registry for the length of a test, with nothing said of it anywhere else. The
contract tests must run on it as they are, and say in clear words what is missing.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import pytest
from annotated_types import Ge

import shoal
from contract import test_methods as contract
from contract.test_parameters import unclassified
from shoal import methods
from shoal.data.partition import Partition, Progress
from shoal.data.records import Records
from shoal.facts import Count
from shoal.judges.evidence import Finding, Verdict
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import ints
from shoal.mask.base import Mask
from shoal.methods import Entry, method
from shoal.parameters import Setting
from shoal.partition.base import Partitioner
from shoal.privacy.base import PrivacyModel
from shoal.replace.base import Replacement
from shoal.risk.base import RiskMeasure
from shoal.step_result import StepResult
from shoal.utility.base import UtilityMeasure
from test_docs import test_every_source_stands_in_the_literature as check_sources

UNBOUNDED = "values beyond ten steps"


def enter_all() -> None:
    """One new method of each kind, as six files would hold them."""

    @method("ten-steps", title="Rounding to steps", source="nobody (2026)", example={"step": 10.0})
    class TenSteps(Mask):
        """Rounds to a step.

        Parameters
        ----------
        step
            The step.
        """

        step: Annotated[float, Setting()]

        def apply(
            self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
        ) -> StepResult:
            changed = [records[name].with_values(np.round(records[name].values / self.step)) for name in columns]
            beyond = int((records[columns[0]].values > 10 * self.step).sum()) if len(columns) else 0
            return StepResult(
                records=records.with_variables(*changed), facts={UNBOUNDED: Count(n=beyond, unit="values")}
            )

    @method("first-member", title="The first of the group", source="nobody (2026)")
    class FirstMember(Replacement):
        """Everyone gets the values of the group's first member."""

        def apply(
            self,
            records: Records,
            columns: Sequence[str],
            partition: Partition,
            rng: np.random.Generator,
            progress: Progress = None,
        ) -> StepResult:
            rows = np.array([members[0] for members in partition.members()])[partition.labels]
            changed = [records[name].with_values(records[name].values[rows]) for name in columns]
            return StepResult(records=records.with_variables(*changed))

    @method("runs", title="Runs of k rows", source="nobody (2026)", example={"k": 3})
    class Runs(Partitioner):
        """Rows in the order of the table, k by k.

        Parameters
        ----------
        k
            Rows in a group.
        """

        k: Annotated[int, Ge(1)]

        def assign(
            self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress
        ) -> Partition:
            last = len(records) // self.k - 1
            return Partition(labels=ints(np.minimum(np.arange(len(records)) // self.k, last)))

    @method("no-ones", title="Nobody alone", source="nobody (2026)")
    class NoOnes(PrivacyModel):
        """No class holds a single record."""

        def judge(self, pair: TablePair) -> Verdict:
            smallest = int(pair.released.class_sizes(pair.released.quasi_identifiers).min())
            sentence = f"The smallest class holds {smallest}."
            return Verdict(
                requirement="nobody alone", holds=smallest > 1, required=2, achieved=smallest, sentence=sentence
            )

    @method("share-alone", title="Share of records alone", source="nobody (2026)")
    class ShareAlone(RiskMeasure):
        """The share of released records alone in their class."""

        def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
            sizes = pair.released.class_sizes(pair.released.quasi_identifiers)
            return self.finding(float((sizes == 1).sum() / len(pair.released)), "So many are alone.")

    @method("cells-kept", title="Share of records lost", source="nobody (2026)")
    class CellsKept(UtilityMeasure):
        """The share of the records that is not released."""

        def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
            return self.finding(1 - len(pair.released) / len(pair.before), "So many are gone.")


NEW = {
    "mask": "ten-steps",
    "replace": "first-member",
    "partition": "runs",
    "privacy": "no-ones",
    "risk": "share-alone",
    "utility": "cells-kept",
}


@pytest.fixture
def registry() -> Iterator[dict[str, Entry]]:
    """The new methods by kind; the registry is as before when the test is over."""
    methods.load()
    before = dict(methods._entries)
    enter_all()
    yield {kind: methods.entry(kind, name) for kind, name in NEW.items()}
    methods._entries.clear()
    methods._entries.update(before)


@pytest.mark.parametrize("kind", NEW)
def test_the_contract_runs_on_a_method_that_nobody_has_heard_of(kind: str, registry: dict[str, Entry]) -> None:
    entry = registry[kind]
    assert entry in methods.registered(kind)
    contract.test_it_is_described(entry)
    contract.test_it_is_made_again_from_its_mapping(entry)
    contract.test_unknown_parameters_are_refused(entry)
    assert not unclassified(entry.cls)
    for name, value in contract.outside(entry):
        contract.test_values_outside_the_limits_are_refused(entry, name, value)
    by_kind: dict[str, Any] = {
        "mask": contract.test_replacements_and_masks,
        "replace": contract.test_replacements_and_masks,
        "partition": contract.test_partitions,
        "privacy": contract.test_privacy_models_never_hold_by_accident,
    }
    by_kind.get(kind, contract.test_measures_stay_in_their_range_and_repeat)(entry)


def test_a_plan_takes_them_and_no_unbounded_fact_is_public(registry: dict[str, Entry], tmp_path: Path) -> None:
    age = [*range(20, 58), 101, 102]
    frame = pl.DataFrame({"age": [float(a) for a in age], "size": [1.0, 2.0] * 20})
    plan = {
        "columns": {"age": "quasi-identifier", "size": "quasi-identifier"},
        "steps": [{"mask": "ten-steps", "step": 10.0, "columns": ["age"]}, {"partition": "runs", "k": 4}],
        "requirements": [{"privacy": "no-ones"}],
        "measures": [{"risk": "share-alone"}, {"utility": "cells-kept"}],
    }
    shoal.protect(frame, plan, seed=1).write(tmp_path / "out")
    shown = {folder: _texts(tmp_path / "out" / folder) for folder in ("release", "private")}
    assert UNBOUNDED in shown["private"]
    assert '"values beyond ten steps": 2' in shown["private"]
    assert UNBOUNDED not in shown["release"]


def _texts(folder: Path) -> str:
    return "\n".join(path.read_text() for path in folder.rglob("*") if path.suffix in (".json", ".html", ".yaml"))


def test_what_a_new_method_lacks_is_said(registry: dict[str, Entry], project: Path) -> None:
    with pytest.raises(AssertionError, match=r"runs has no test: write tests/partition/test_runs\.py"):
        contract.test_it_has_a_test_and_stands_in_the_reference(_as_in_a_file(registry["partition"]), project)

    @method("bare", title="Bare", source="nobody (2026)")
    class Bare(Mask):
        """Says nothing of its parameter."""

        threshold: float

        def apply(
            self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
        ) -> StepResult:
            return StepResult(records=records, facts={"records seen": len(records)})

    bare = methods.entry("mask", "bare")
    with pytest.raises(AssertionError, match=r"bare names nobody \(2026\): add the work to docs/references\.md"):
        check_sources(bare, project)
    with pytest.raises(AssertionError, match=r"bare has no example: give @method\(.*\) values for threshold"):
        contract.made(bare)
    with pytest.raises(AssertionError, match="docstring lacks parameter threshold"):
        contract.test_it_is_described(bare)
    assert unclassified(bare.cls)[0].startswith("Bare.threshold: ")
    bare.example["threshold"] = 1.0
    with pytest.raises(AssertionError, match=r"bare tells 'records seen' as it is: make it a fact of shoal\.facts"):
        contract.test_replacements_and_masks(bare)


def _as_in_a_file(entry: Entry) -> Entry:
    entry.cls.__module__ = f"shoal.{entry.kind}.{entry.name}"
    return entry

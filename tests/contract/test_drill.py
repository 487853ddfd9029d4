"""Whoever adds a method writes one file: what becomes of methods that nobody has heard of.

A method of each kind is entered in the registry for the length of a test, with nothing said of it anywhere else. The
contract tests must run on it as they are, and say in clear words what is missing.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from contract import test_methods as contract
from contract.test_parameters import unclassified
from shoal.mask.base import Mask
from shoal.report.decision import decision
from shoal.report.dossier_parts import dossier_parts
from shoal.report.page import release_map
from shoal.table.partition import Progress
from shoal.table.records import Records
from shoal.table.step_result import StepResult
from shoal.vocabulary import registry as methods
from shoal.vocabulary.registry import Entry, method
from test_docs import test_every_source_stands_in_the_literature as check_sources

SIX = Path(__file__).parent / "six_methods.py"
UNBOUNDED = "values beyond ten steps"

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
    sys.modules.pop("contract.six_methods", None)
    importlib.import_module("contract.six_methods")
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


ASK = """
import json, sys
from click.testing import CliRunner
import polars as pl
import shoal
from shoal.cli import cli
from shoal.studio.forms import catalogue

out, plan = sys.argv[1], json.loads(sys.argv[2])
frame = pl.DataFrame({"age": [float(a) for a in range(20, 60)], "size": [1.0, 2.0] * 20})
shoal.protect(frame, plan, seed=1).write(out)
shown = {" ".join(words): CliRunner().invoke(cli, words).output for words in (["methods"], ["schema", "plan"])}
shown["studio"] = json.dumps(catalogue())
CliRunner().invoke(cli, ["dossier", out, "--private", "--out", out + ".html"], catch_exceptions=False)
print(json.dumps(shown))
"""


def test_a_package_brings_methods_along_by_an_entry_point(tmp_path: Path) -> None:
    """One file in a package of its own; the methods stand on the command line, in the schema, studio and reports."""
    package, described = tmp_path / "pond.py", tmp_path / "pond-1.5.dist-info"
    package.write_text(SIX.read_text("utf-8"), "utf-8")
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: pond\nVersion: 1.5\n")
    (described / "entry_points.txt").write_text("[shoal.methods]\nsix = pond\n")
    plan = {
        "columns": {"age": "quasi-identifier", "size": "quasi-identifier"},
        "steps": [
            {"mask": "ten-steps", "step": 10.0, "columns": ["age"]},
            {"partition": "runs", "k": 4, "replace": "first-member"},
        ],
        "requirements": [{"privacy": "no-ones"}],
        "measures": [{"risk": "share-alone"}, {"utility": "cells-kept"}],
    }
    done = ask(tmp_path, ASK, str(tmp_path / "out"), json.dumps(plan))
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    for name in NEW.values():
        assert name in shown["methods"] and name in shown["schema plan"] and name in shown["studio"]
    report = (tmp_path / "out" / "private" / "report.html").read_text("utf-8")
    dossier = (tmp_path / "out.html").read_text("utf-8")
    for title in ("nobody alone", "Share of records alone", "Share of records lost"):
        assert title in report and title in dossier
    check_what_they_declare(json.loads((tmp_path / "out" / "private" / "evidence.json").read_text("utf-8")))
    record = json.loads((tmp_path / "out" / "private" / "record.json").read_text("utf-8"))
    assert record["versions"]["pond"] == "1.5"

    package.write_text("raise OSError('a secret')\n")
    broken = ask(tmp_path, "import shoal; shoal.protect({'a': [1]}, {'steps': [{'mask': 'sample'}]})")
    assert "The methods of the package 'pond' cannot be loaded (OSError in pond)." in broken.stderr
    package.write_text(SIX.read_text("utf-8").replace('"runs"', '"mdav"'), "utf-8")
    twice = ask(tmp_path, "import shoal; shoal.protect({'a': [1]}, {'steps': [{'mask': 'sample'}]})")
    assert "Two modules have a partition 'mdav': shoal.partition.mdav and pond." in twice.stderr


def check_what_they_declare(content: Any) -> None:
    """The head of the report, its map and the dossier, drawn from a file by what the methods say of themselves."""
    smallest, _, _, loss = decision(content).headlines
    assert (smallest.limit, smallest.kept) == ("at least 2", True)
    assert (loss.value, loss.note) == ("0", "Share of records lost, of all that came in")
    drawn = release_map(content)
    assert drawn is not None and (drawn.marks[0].kind, drawn.marks[0].loss) == ("unprotected", 0.0)
    (singling_out, linkability, _, _) = dossier_parts(content)[1].questions
    assert any("Nobody alone reached: 4 (higher" in statement.text for statement in singling_out.statements)
    assert any("Share of records alone: 0" in statement.text for statement in linkability.statements)
    made_anew: Any = {**content, "made anew": ["age", "size"]}
    without = [one for one in content["measures"] if not one["of_made_up"]]
    attacked = "No attack on made-up records was measured"
    assert attacked not in " ".join(decision(made_anew).sentences)
    assert attacked in " ".join(decision({**made_anew, "measures": without}).sentences)


def ask(beside: Path, program: str, *given: str) -> "subprocess.CompletedProcess[str]":
    """Run a program where a package lies on the path."""
    path = os.pathsep.join([str(beside), *(p for p in sys.path if p)])
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
    return subprocess.run([sys.executable, "-c", program, *given], capture_output=True, text=True, env=environment)


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
    with pytest.raises(AssertionError, match=r"bare tells 'records seen' as it is: make it a fact of shoal\.voc"):
        contract.test_replacements_and_masks(bare)


def _as_in_a_file(entry: Entry) -> Entry:
    entry.cls.__module__ = f"shoal.{entry.kind}.{entry.name}"
    return entry

"""Forms follow from the registry: every parameter has a control, and a new method appears by itself."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shoal.plan import Plan
from shoal.studio.forms import catalogue
from shoal.vocabulary.registry import registered

CONTROLS = {
    "integer",
    "number",
    "truth",
    "choice",
    "text",
    "column",
    "columns",
    "method",
    "file",
    "secret",
    "yaml",
    "rows",
    "matrix",
    "methods",
} | {"entries", "several", "list"}


@pytest.fixture(scope="module")
def offered() -> dict[str, Any]:
    return catalogue()


def test_every_parameter_of_every_method_has_a_control(offered: dict[str, Any]) -> None:
    fields = {(m["kind"], m["name"]): {f["name"]: f for f in m["fields"]} for m in offered["methods"]}
    for entry in registered():
        assert entry.parameters.keys() <= fields[entry.kind, entry.name].keys()
    assert {f["control"] for of_one in fields.values() for f in of_one.values()} <= CONTROLS


def test_hardly_any_parameter_needs_yaml(offered: dict[str, Any]) -> None:
    controls = [f["control"] for m in offered["methods"] for f in m["fields"]]
    assert controls.count("yaml") < 0.025 * len(controls)


@pytest.mark.parametrize(
    ("kind", "method", "name", "expected"),
    [
        ("mask", "suppress", "importance", {"control": "entries", "lists": False, "alone": False}),
        ("mask", "top-code", "value", {"control": "entries", "lists": False, "alone": True}),
        ("mask", "recode", "groups", {"control": "entries", "lists": True, "alone": False}),
        ("mask", "laplace", "bounds", {"control": "entries", "lists": True, "alone": False}),
        ("mask", "recode", "cuts", {"control": "list"}),
        ("mask", "noise", "kind", {"control": "choice"}),
        ("mask", "suppress", "subsets", {"control": "rows"}),
        ("mask", "suppress", "requirements", {"control": "methods"}),
        ("mask", "pram", "matrix", {"control": "matrix"}),
        ("utility", "inconsistencies", "rules", {"control": "yaml"}),  # rules have commas of their own
        ("partition", "gaussian-mixture", "models", {"control": "several"}),
    ],
)
def test_what_a_schema_allows_has_its_control(
    offered: dict[str, Any], kind: str, method: str, name: str, expected: dict[str, Any]
) -> None:
    form = next(m for m in offered["methods"] if (m["kind"], m["name"]) == (kind, method))
    field = next(f for f in form["fields"] if f["name"] == name)
    assert {key: field[key] for key in expected} == expected
    assert bool(field["choices"]) == (field["control"] in ("choice", "several"))


def test_every_method_says_what_it_does(offered: dict[str, Any]) -> None:
    assert [m["name"] for m in offered["methods"] if not m["summary"].endswith((".", ":"))] == []


def test_the_catalogue_is_json(offered: dict[str, Any]) -> None:
    assert json.loads(json.dumps(offered)) == offered


def test_every_goal_has_a_method_and_every_mask_but_few_a_goal(offered: dict[str, Any]) -> None:
    assert [goal["goal"] for goal in offered["goals"] if not goal["methods"]] == []
    reached = {name for goal in offered["goals"] for name in goal["methods"]}
    masks = {m["name"] for m in offered["methods"] if m["kind"] == "mask"}
    assert len(masks - reached) <= 3


def test_limits_come_from_the_schema(offered: dict[str, Any]) -> None:
    mdav = next(m for m in offered["methods"] if (m["kind"], m["name"]) == ("partition", "mdav"))
    k = next(f for f in mdav["fields"] if f["name"] == "k")
    assert (k["control"], k["required"], k["minimum"]) == ("integer", True, 1)
    assert k["help"]


def test_what_a_step_says_beside_its_method_is_offered(offered: dict[str, Any]) -> None:
    mdav = next(m for m in offered["methods"] if (m["kind"], m["name"]) == ("partition", "mdav"))
    by_name = {f["name"]: f for f in mdav["fields"]}
    assert (by_name["replace"]["control"], by_name["replace"]["of"]) == ("method", "replace")
    assert by_name["columns"]["control"] == by_name["by"]["control"] == "columns"
    assert by_name["small_strata"]["choices"] == ["refuse", "merge"]
    assert (by_name["unit"]["control"], by_name["unit"]["choices"]) == ("column", ["record", "person", "household"])
    of_model = next(m for m in offered["methods"] if (m["kind"], m["name"]) == ("privacy", "k-anonymity"))
    unit = next(f for f in of_model["fields"] if f["name"] == "unit")
    assert (unit["control"], unit["choices"], unit["default"]) == ("column", ["record", "person", "household"], None)


NEW = '''
"""Rounding up, invented by a test."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from shoal.mask.base import Mask
from shoal.vocabulary.registry import method
from shoal.vocabulary.parameters import ColumnName


@method("invented-rounding", title="Invented rounding", source="")
class InventedRounding(Mask):
    """Make values coarser by rounding them up.

    Parameters
    ----------
    base
        What is rounded to a multiple of.
    beside
        The column that decides.
    """

    base: Annotated[int, Ge(2)]
    beside: Annotated[str | None, ColumnName()] = None

    def apply(self, records: Any, columns: Sequence[str], rng: np.random.Generator, progress: Any = None) -> Any:
        raise NotImplementedError
'''


def test_a_new_mask_file_appears_by_itself(tmp_path: Path) -> None:
    """One file in a folder of masks, and nothing else: it is in the catalogue, and a plan may name it."""
    (tmp_path / "invented_rounding.py").write_text(NEW)
    program = (
        "import json, sys, shoal.mask\n"
        "shoal.mask.__path__.append(sys.argv[1])\n"
        "from shoal.studio.forms import catalogue\n"
        "offered = catalogue()\n"
        "found = next(m for m in offered['methods'] if m['name'] == 'invented-rounding')\n"
        "goals = [g['goal'] for g in offered['goals'] if 'invented-rounding' in g['methods']]\n"
        "print(json.dumps([found, goals]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True, env=environment
    )
    form, goals = json.loads(done.stdout)
    assert form["summary"] == "Make values coarser by rounding them up."
    assert {f["name"]: f["control"] for f in form["fields"]} == {
        "base": "integer",
        "beside": "column",
        "columns": "columns",
    }
    assert goals == ["Make values coarser"]


def test_what_the_draft_guesses_fits_the_forms(offered: dict[str, Any]) -> None:
    roles = set(offered["roles"])
    plan = Plan.of({"columns": dict.fromkeys(roles - {"weight"}, "other") | {"weight": "weight"}})
    assert set(plan.schema.columns) == roles

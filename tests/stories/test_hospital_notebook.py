"""A hospital's analyst works in a notebook: looks first, protects, sees the price, hands over; executed by nbclient.

Every picture is there, nothing warns, the refusal of the first plan says what would help, and what is handed over
can be proved by whoever gets it.
"""

import os
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal

CELLS = [
    "import warnings; warnings.simplefilter('error')\nimport polars as pl, shoal\n"
    "stays = shoal.example('hospital', n=240, seed=8).select('patient', 'age', 'sex', 'area', 'diagnosis', 'charge')",
    "roles = {'patient': 'identifier', 'age': 'quasi-identifier', 'sex': 'quasi-identifier',\n"
    "         'area': 'quasi-identifier', 'diagnosis': 'confidential',\n"
    "         'charge': {'role': 'confidential', 'decimals': 2}}\n"
    "exposed = shoal.exposure(stays, shoal.Plan.of({'columns': roles}))\nexposed.fewer_than",
    "plan = {'columns': roles, 'steps': [{'partition': 'mdav', 'k': 3}],\n"
    "        'requirements': [{'privacy': 'k-anonymity', 'k': 5}, {'utility': 'il1s', 'at most': 100}],\n"
    "        'measures': [{'risk': 'distance-linkage'}, {'utility': 'sse'}]}\n"
    "try:\n    shoal.protect(stays, plan, seed=1)\nexcept shoal.Refused as refusal:\n"
    "    reason = refusal\nreason.to_frame()['remedy'].to_list()",
    "plan['steps'][0]['k'] = 5\nrelease = shoal.protect(stays, plan, seed=1)\nrelease",
    "release.plot('age')",
    "release.evidence.plot()",
    "folder = release.write('handed-over')\nsorted(path.name for path in (folder / 'release').iterdir())",
    "shoal.audit('handed-over/release/data.csv', plan)",
]
LOOKED_AT, ADVICE, SHOWN, SPREAD, RISKS, WRITTEN, PROVED = range(1, 8)


@pytest.mark.slow
def test_a_release_from_a_notebook(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute(env=environment)
    outputs: list[list[dict[str, Any]]] = [cell["outputs"] for cell in notebook["cells"]]
    assert not [out for given in outputs for out in given if out["output_type"] in ("stream", "error")], "a warning"
    results = [[out["data"] for out in given if out["output_type"] == "execute_result"] for given in outputs]
    data = [given[-1] if given else {} for given in results]  # a bar may stand before the result

    alone = eval(data[LOOKED_AT]["text/plain"])
    assert alone[2] <= alone[3] <= alone[5]
    assert alone[5] > 100, "raw, most persons are among fewer than five alike"
    assert any("give it at least 5" in remedy for remedy in eval(data[ADVICE]["text/plain"]))
    assert "For you to judge" in data[SHOWN]["text/html"]
    for cell in (SPREAD, RISKS):
        picture = data[cell]
        assert "image/svg+xml" in picture or "vegaEmbed" in picture.get("text/html", ""), list(picture)
    assert {"data.csv", "report.html", "evidence.json", "codebook.json"} <= set(eval(data[WRITTEN]["text/plain"]))
    assert "5-anonymity" in data[PROVED]["text/plain"]
    released = pl.read_csv(tmp_path / "handed-over" / "release" / "data.csv")
    assert released.columns == ["age", "sex", "area", "diagnosis", "charge"]
    assert released.group_by("age", "sex", "area").len()["len"].min() >= 5
    roles = {"age": "quasi-identifier", "sex": "quasi-identifier", "area": "quasi-identifier"}
    plan = {"columns": {**roles, "*": "other"}, "requirements": [{"privacy": "k-anonymity", "k": 5}]}
    assert shoal.audit(tmp_path / "handed-over" / "release" / "data.csv", plan).holds

"""A notebook as a person would write it, executed in a kernel: what is shown, and that nothing warns."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.desk.frontier import explore
from shoal.judges.evidence import Evidence
from shoal.vocabulary.errors import NoFigure

CELLS = {
    "begin": "import warnings; warnings.simplefilter('error')\nimport shoal\ntable = shoal.example(n=120, seed=1)\n"
    "from shoal.table.examples import PLAN\nplan = shoal.Plan.of(PLAN)",
    "plan": "plan",
    "release": "release = shoal.protect(table, plan, seed=1); release",
    "evidence": "release.evidence",
    "map": "release.plot()",
    "column": "release.plot('age')",
    "risks": "release.evidence.plot()",
    "frames": "[len(one.to_frame()) for one in (plan, release, release.evidence)]",
    "explored": "ranges = {'method': ['mdav'], 'k': [3, 6]}\n"
    "frontier = shoal.explore(table, {'columns': PLAN['columns'], 'explore': ranges}, 'explored'); frontier",
    "frontier map": "frontier.plot()",
    "comparison": "comparison = shoal.compare(release, release); comparison",
    "comparison map": "comparison.plot()",
    "dossier": "shoal.dossier(release)",
    "refused": "shoal.protect(table, {**PLAN, 'requirements': [{'privacy': 'k-anonymity', 'k': 9}]}, seed=1)",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What each cell gives back."""
    import nbformat
    from nbclient import NotebookClient

    cells = [nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    notebook = nbformat.v4.new_notebook(cells=cells)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    NotebookClient(
        notebook,
        timeout=600,
        allow_errors=True,
        resources={"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}},
    ).execute(env=environment)
    return dict(zip(CELLS, (cell["outputs"] for cell in notebook["cells"])))


LOADED = re.compile(r"""(src|href)=["']?(https?:)?//|url\(["']?(https?:)?//|<script""")
"""What makes a browser ask for something, or run what may."""


def shown(outputs: list[dict[str, Any]], kind: str) -> Any:
    """The result of a cell in one of its forms."""
    return next(out["data"][kind] for out in outputs if out["output_type"] == "execute_result")


@pytest.mark.slow
def test_nothing_warns_and_only_the_refusal_is_an_error(outputs: dict[str, list[dict[str, Any]]]) -> None:
    errors = {name: out for name, given in outputs.items() for out in given if out["output_type"] == "error"}
    assert list(errors) == ["refused"], errors
    streams = [out for given in outputs.values() for out in given if out["output_type"] == "stream"]
    assert streams == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("plan", "quasi-identifier"),
        ("release", "For you to judge"),
        ("evidence", "Disclosure risk"),
        ("explored", "Every plan"),
        ("comparison", "Levels reached, required or not"),
        ("dossier", "Singling out"),
    ],
)
def test_values_are_shown_as_parts_of_the_report(
    outputs: dict[str, list[dict[str, Any]]], cell: str, words: str
) -> None:
    page = shown(outputs[cell], "text/html")
    assert words in page
    assert 'class="shoal cell"' in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/", "")


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["map", "column", "risks", "frontier map", "comparison map"])
def test_pictures_are_drawn_here(outputs: dict[str, list[dict[str, Any]]], cell: str) -> None:
    """As SVG, and in no form that a notebook draws by a program from the network."""
    data = next(out["data"] for out in outputs[cell] if out["output_type"] == "execute_result")
    assert set(data) == {"image/svg+xml", "text/plain"}
    assert not LOADED.search(data["image/svg+xml"])


@pytest.mark.slow
def test_frames_and_the_refusals_table(outputs: dict[str, list[dict[str, Any]]]) -> None:
    columns, records, figures = json.loads(shown(outputs["frames"], "text/plain"))
    assert (columns, records) == (18, 120)
    assert figures > 20
    error = next(out for out in outputs["refused"] if out["output_type"] == "error")
    assert error["ename"] == "NotProved"
    assert "give it at least 9" in "\n".join(error["traceback"])
    assert "protect.py" not in "\n".join(error["traceback"])


PLAN = {
    "columns": {"a": "quasi-identifier", "b": "confidential"},
    "steps": [{"partition": "mdav", "k": 3}],
    "requirements": [{"privacy": "k-anonymity", "k": 3}],
}
FRAME = pl.DataFrame({"a": [float(i % 17) for i in range(40)], "b": [float(i * i % 23) for i in range(40)]})


def test_a_picture_is_a_specification_for_others_too() -> None:
    release = shoal.protect(FRAME, PLAN, seed=1)
    for picture in (release.plot(), release.plot("a"), release.evidence.plot()):
        assert "<svg" in picture._repr_svg_()
        assert "--after:#1f6fb2" in picture._repr_svg_()
        assert pytest.importorskip("altair").Chart.from_dict(picture.to_dict()).to_dict()["$schema"]


def test_a_limit_on_any_measure_leaves_a_map() -> None:
    """What is limited stands on the axes, if it is known of the table as it came; else what readers know best."""
    for limits, risk, loss in (
        ([{"utility": "il1s", "at most": 100}], "Prosecutor", "Absolute change"),
        ([{"utility": "class-size", "at most": 100}], "Prosecutor", "Information kept"),
        ([{"risk": "marketer", "at most": 1}], "Marketer", "Information kept"),
    ):
        requirements = [*PLAN["requirements"], *limits]
        chart = shoal.protect(FRAME, {**PLAN, "requirements": requirements}, seed=1).plot().to_dict()
        axes = chart["layer"][0]["encoding"]
        assert risk in axes["x"]["axis"]["title"]
        assert loss in axes["y"]["axis"]["title"]


def test_frames_have_every_figure(tmp_path: Path) -> None:
    release = shoal.protect(FRAME, PLAN, seed=1)
    evidence = release.evidence.to_frame()
    assert evidence.filter(kind="requirement").select("name", "value", "required", "holds").row(0) == (
        "k-anonymity",
        float(release.evidence.verdicts[0].achieved or 0),
        3.0,
        True,
    )
    assert evidence.filter(pl.col("kind") != "requirement")["value"].to_list() == [
        finding.value for finding in release.evidence.findings
    ]
    assert release.to_frame().equals(release.data)
    frontier = explore(FRAME, {**PLAN, "steps": [], "explore": {"method": ["mdav"], "k": [3, 5]}}, tmp_path)
    assert frontier.to_frame()["name"].to_list() == [point.name for point in _by_risk(frontier)]
    compared = shoal.compare(release, release).to_frame()
    assert compared["release 1"].equals(compared["release 2"].alias("release 1"))
    assert compared.filter(figure="k-anonymity")["best"].to_list() == [["release 1", "release 2"]]


def _by_risk(frontier: Any) -> list[Any]:
    on = sorted((p for p in frontier.points if p.name in frontier.pareto), key=lambda p: p.risk)
    return [*on, *(p for p in frontier.points if p.name not in frontier.pareto)]


def test_evidence_without_figures_is_shown_and_not_drawn() -> None:
    nothing = Evidence(verdicts=(), findings=())
    assert "None." in nothing._repr_html_()
    with pytest.raises(NoFigure, match="nothing to draw"):
        nothing.plot()


def test_nothing_of_a_notebook_is_imported_elsewhere() -> None:
    program = (
        "import shoal, polars as pl, sys\n"
        "frame = pl.DataFrame({'a': [1.0, 2.0, 3.0, 4.0]})\n"
        "shoal.protect(frame, {'columns': {'a': 'quasi-identifier'}}, seed=1)\n"
        "print(*[name for name in ('IPython', 'altair', 'docx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""

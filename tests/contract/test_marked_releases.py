"""Every registered method in a plan that is carried out and written: no mark of the original is in `release/`.

The table has one person with cells that nobody else has: the highest and the lowest numbers, a category of each
nominal column, a day, a name. The same marks are planted in every parameter that may hold a cell, and in the plan's
constraints, hierarchies, orders and labels; folders and keys are marked too. What is in the original and in no
released cell must then be in no file, whether packed, compressed or binary. Every plan ends with a microaggregation
of all columns, so that the marked cells themselves are gone and whatever is found has leaked by another way.
"""

import json
import struct
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import shoal
from by_night import NIGHT
from contract.test_marked_values import files as packed_files
from contract.test_methods import ALL, columns_of, roles_for
from shoal.plan import publication
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table
from shoal.vocabulary.parameters import HoldsCells, KeyFile, Secret, TablePath
from shoal.vocabulary.registry import Entry

HIGH, LOW, SMALL, PAY = 731.5, -811.5, 0.0625, 864.5
VISITS, REGION = 97743, 86617
DAY = date(1921, 3, 4)
SEX, ILLNESS, GRADE, NAME = "zyxwvut", "plughxyz", "qwxyzzy", "mxyzptlk"
FOLDER, KEY = "mayerhofer", "feedfacecafebeef" * 4
NUMBERS = (HIGH, LOW, SMALL, PAY, VISITS, REGION)
MARKS = (*map(str, NUMBERS), DAY.isoformat(), SEX, ILLNESS, GRADE, NAME, FOLDER, KEY)

N = 60


def table() -> pl.DataFrame:
    """The marked person is the last of sixty; the others are many enough in every category."""
    rng = np.random.default_rng(5)
    others = N - 2
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(N - 2)] + [NAME, "person last"],
            "age": [*(rng.integers(20, 70, others) + 0.25), HIGH, LOW],
            "size": [*np.round(1 + rng.lognormal(1, 0.5, others), 2), 1.75, SMALL],
            "sex": [*rng.choice(["f", "m"], others), SEX, "f"],
            "grade": [*rng.choice(["low", "mid", "top"], others), GRADE, "mid"],
            "day": [*(date(1980, 1, 1) + timedelta(days=int(i)) for i in rng.integers(0, 3000, others)), DAY, DAY],
            "visits": [*rng.integers(0, 30, others), VISITS, 3],
            "region": [*rng.integers(1, 4, others), REGION, 1],
            "income": [*np.round(10 + rng.lognormal(2, 0.3, others), 2), PAY, 15.5],
            "illness": [*rng.choice(["a", "b", "c"], others), ILLNESS, "a"],
        }
    )


COLUMNS: dict[str, Any] = {
    "name": "identifier",
    "age": {"role": "quasi-identifier", "label": f"age, {LOW} to {HIGH}"},
    "size": {"role": "quasi-identifier", "label": f"not under {SMALL}"},
    "sex": {"role": "quasi-identifier", "hierarchy": {"nested": {"known": ["f", "m"], "rare": [SEX]}}},
    "grade": {"role": "quasi-identifier", "level": "ordinal", "order": ["low", "mid", "top", GRADE]},
    "day": {"role": "quasi-identifier", "label": f"since {DAY}"},
    "visits": {"role": "quasi-identifier", "label": f"0 to {VISITS}"},
    "region": {"role": "quasi-identifier", "level": "nominal", "label": f"{REGION} is one person's"},
    "income": {"role": "confidential", "label": f"'{PAY}' at most"},
    "illness": {"role": "confidential", "hierarchy": {"file": f"{FOLDER}/illness.csv"}},
}
RULES = [f"age <= {HIGH}", f"size >= {SMALL}", f"age >= {LOW}", f"income <= {PAY}"]
EVERYTHING = [name for name in COLUMNS if name != "name"]

PLANTED: dict[str, list[dict[str, Any]]] = {
    "entropy-fuzzy-c-means": [{"k": 3, "constraints": [f"age <= {HIGH}"]}],
    "fuzzy-c-means": [{"k": 3, "constraints": [f"age <= {HIGH}"]}],
    "bottom-code": [{"value": {"age": LOW, "size": SMALL}}, {"value": {"age": LOW}, "replace": "label", "label": SEX}],
    "top-code": [{"value": {"age": HIGH}}, {"value": {"age": HIGH}, "replace": "label", "label": SEX}],
    "laplace": [{"epsilon": 100.0, "bounds": {"age": [LOW, HIGH], "size": [SMALL, 20]}}],
    "staircase": [{"epsilon": 100.0, "bounds": {"age": [LOW, HIGH], "size": [SMALL, 20]}}],
    "geometric": [{"epsilon": 1.0, "bounds": {"visits": [0, VISITS]}}],
    "noise": [{"kind": "restricted", "variance": 0.1, "bounds": {"age": [LOW, HIGH]}}],
    "pram": [{"matrix": {"sex": [[1 - SMALL, SMALL, 0.0], [SMALL, 1 - SMALL, 0.0], [0.5, 0.5, 0.0]]}}],
    "pseudonymise": [{"key": KEY}, {"key_file": f"{FOLDER}/secret.key"}],
    "recode": [
        {"cuts": [30.0, HIGH]},
        {"width": HIGH},
        {"groups": {"all": [1, 2, 3, REGION]}},
        {"groups": {"all": [1, 2, 3, REGION]}, "other": SEX},
    ],
    "generalise": [{"k": 3}, {"k": 3, "target": "income"}],
    "closest-record": [{"holdout": f"{FOLDER}/holdout.csv"}],
    "membership-inference": [{"holdout": f"{FOLDER}/holdout.csv"}],
    "density-ratio": [{"holdout": f"{FOLDER}/holdout.csv", "reference": f"{FOLDER}/holdout.csv"}],
    "shadow-models": [{"holdout": f"{FOLDER}/holdout.csv", "shadows": 4}],
    "intersection": [{"others": [f"{FOLDER}/holdout.csv"]}],
    "k-map": [{"k": 1, "population": f"{FOLDER}/population.csv"}],
    "delta-presence": [{"largest": 1.0, "population": f"{FOLDER}/population.csv"}],
}
"""Whole parameter sets of the methods whose parameters may hold marks, with marks in them."""

MARKED_COLUMNS = {
    "bottom-code": ["age", "size"],
    "pram": ["sex"],
    "pseudonymise": ["name"],
    "remove-identifiers": ["name"],
    "noise": ["age"],
    "geometric": ["visits"],
    "latent-class": ["sex", "illness"],
    "suppress": ["sex"],
}

WITH = {
    "fuzzy-centre": {"partition": "fuzzy-c-means", "k": 3, "columns": ["age", "size"]},
    "class-conditional": {"partition": "local-synthesis", "k": 5, "columns": ["age", "size", "sex"]},
}
"""Partitions that a replacement needs."""

MADE_COARSE = {"suppress": ["sex"], "generalise": ["illness"]}
"""Columns whose marks a mask takes away for good, and which a microaggregation does not take afterwards."""

SHOWN_BY_CELLS = {("recode", "cuts"): {str(HIGH)}, ("recode", "width"): {str(HIGH)}}
"""Marks that the plan itself makes names of released categories: the ends of their intervals."""


def variants(entry: Entry) -> list[dict[str, Any]]:
    return PLANTED.get(entry.name, [dict(entry.example)])


CASES = [(entry, parameters) for entry in ALL for parameters in variants(entry)]
MEASURES = [case for case in CASES if case[0].kind in ("risk", "utility")]
MODELS = [case for case in CASES if case[0].kind == "privacy" and not case[0].cls.of_account]
ONE_EACH = [(entry, variants(entry)[-1]) for entry in ALL]
BY_ITSELF = CASES if NIGHT else [case for case in ONE_EACH if case not in (*MEASURES, *MODELS)]
"""By day measures are carried out many at once, and so are privacy models; of other methods one variant is."""


def plan_of(entry: Entry, parameters: dict[str, Any], ending: str) -> dict[str, Any]:
    named = {entry.kind: entry.name, **parameters}
    if entry.name == "differential":  # it holds where it is paid for
        spending = next(each for each in ALL if each.name == "private-marginals")
        return {**plan_of(spending, dict(spending.example), ending), "requirements": [named]}
    steps: list[dict[str, Any]] = []
    if entry.name in ("latent-class", "local-synthesis"):  # a common ancestor could not be averaged again
        named["replace"] = "permutation"
    if entry.kind in ("partition", "mask"):
        steps = [{**named, "columns": worked_on(entry, parameters)}]
    elif entry.kind == "replace":
        grouped = WITH.get(entry.name, {"partition": "mdav", "k": 12, "columns": ["age", "size"]})
        steps = [{**grouped, "replace": {"method": entry.name, **parameters}}]
    if getattr(entry.cls, "whole_records", False):
        return {"columns": roles_for(entry, COLUMNS), "steps": steps, "output": {"format": ending}}
    coarse = [name for name in EVERYTHING if name not in MADE_COARSE.get(entry.name, ())]
    in_words = "label" in parameters or "cuts" in parameters or "width" in parameters
    required = {"privacy": "k-anonymity", "k": 5, "columns": ["day"]}
    return {
        "columns": COLUMNS,
        "steps": [*steps, *last(coarse, whole=entry.kind == "privacy")],
        "requirements": [required, *([named] if entry.kind == "privacy" else [])],
        "measures": [named] if entry.kind in ("risk", "utility") else [],
        "constraints": [rule for rule in RULES if not (in_words and "age" in rule)],
        "accept": ["sex", "region"] if entry.name == "suppress" else [],
        "output": {"format": ending},
    }


def worked_on(entry: Entry, parameters: dict[str, Any]) -> list[str]:
    if entry.name in ("recode", "top-code", "bottom-code"):
        return ["region"] if "groups" in parameters else list(parameters.get("value", ["age"]))
    return MARKED_COLUMNS.get(entry.name, columns_of(entry))


def last(columns: list[str], *, whole: bool) -> list[dict[str, Any]]:
    """Every column microaggregated; for a privacy model in a single class, so that none of them is refused."""
    if not whole:
        return [{"partition": "mdav", "k": 5, "columns": columns}]
    known = [name for name in columns if name not in ("income", "illness")]
    return [
        {"partition": "mdav", "k": N, "columns": known},
        {"partition": "mdav", "k": 5, "columns": ["income", "illness"]},
    ]


FORMATS = ("csv", "parquet", "xlsx", "sav", "dta", "xpt", "rds")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files lie that the plans name."""
    folder = tmp_path_factory.mktemp("plan")
    (folder / FOLDER).mkdir()
    table().tail(20).write_csv(folder / FOLDER / "holdout.csv")
    (folder / FOLDER / "illness.csv").write_text(f"a;acute;*\nb;acute;*\nc;chronic;*\n{ILLNESS};chronic;*\n")
    alike = next(entry for entry in ALL if entry.name == "k-anonymity")  # a population in which nobody stands out
    released = shoal.protect(table(), plan_of(alike, {"k": 3}, "csv"), seed=1, folder=folder).data
    released.with_columns(table()["sex"], table()["illness"]).write_csv(folder / FOLDER / "population.csv")
    key = folder / FOLDER / "secret.key"
    key.write_text(KEY, encoding="ascii")
    key.chmod(0o600)
    return folder


def contents(release: Path) -> Iterator[tuple[str, bytes]]:
    """Every file, what is inside packed ones, and what a Parquet file holds beside its cells."""
    yield from packed_files(release).items()
    for path in release.glob("*.parquet"):
        dictionaries = pq.read_table(path, read_dictionary=list(pq.read_schema(path).names))
        for column in dictionaries.itercolumns():
            for chunk in column.chunks:
                yield f"{path.name}, dictionary", str(getattr(chunk, "dictionary", "")).encode()
        yield f"{path.name}, metadata", str(pq.read_metadata(path).to_dict()).encode()


def forms(mark: str) -> list[bytes]:
    written = [mark.encode(), mark.encode("utf-16-le")]
    if mark in map(str, NUMBERS):
        written += [struct.pack(order + "d", float(mark)) for order in "<>"]
    return written


def leaks(release: Path) -> set[tuple[str, str]]:
    return {(name, mark) for name, text in contents(release) for mark in MARKS if any(f in text for f in forms(mark))}


LABELS = Table(
    frame=table(),
    labels={"sex": "the sex of a person"},
    value_labels={"region": {1: "north", 2: "south", REGION: f"only {NAME}"}},
)


def written(sections: dict[str, Any], folder: Path, out: Path) -> Path:
    return shoal.protect(table(), sections, seed=1, folder=folder).write(out, labels=LABELS) / "release"


def name_of(case: tuple[Entry, dict[str, Any]]) -> str:
    return f"{case[0].kind}-{case[0].name}-{'-'.join(case[1])}"


@pytest.mark.parametrize("number", range(len(BY_ITSELF)), ids=[name_of(case) for case in BY_ITSELF])
def test_no_mark_leaves_with_any_method(number: int, folder: Path, tmp_path: Path) -> None:
    """Any refusal fails it: every method is carried out, written and searched."""
    entry, parameters = BY_ITSELF[number]
    release = written(plan_of(entry, parameters, FORMATS[number % len(FORMATS)]), folder, tmp_path / "out")
    leaked = {mark for _, mark in leaks(release)}
    assert leaked <= SHOWN_BY_CELLS.get((entry.name, *parameters), set())
    shown = cells_in_words(read_table(next(release.glob("data.*"))))
    assert all(mark in shown for mark in leaked)


@pytest.mark.parametrize("ending", FORMATS)
def test_no_mark_leaves_with_any_measure(ending: str, folder: Path, tmp_path: Path) -> None:
    together = MEASURES[FORMATS.index(ending) :: len(FORMATS)]
    measures = [{entry.kind: entry.name, **parameters} for entry, parameters in together]
    release = written({**plan_of(*together[0], ending), "measures": measures}, folder, tmp_path / "out")
    assert not leaks(release)
    evidence = json.loads((release / "evidence.json").read_text("utf-8"))
    assert len(evidence["measures"]) >= len(measures)


def test_no_mark_leaves_with_any_privacy_model(folder: Path, tmp_path: Path) -> None:
    models = [{entry.kind: entry.name, **parameters} for entry, parameters in MODELS]
    release = written({**plan_of(*MODELS[0], "csv"), "requirements": models}, folder, tmp_path / "out")
    assert not leaks(release)
    evidence = json.loads((release / "evidence.json").read_text("utf-8"))
    assert len(evidence["requirements"]) >= len(models)


def cells_in_words(table: Table) -> str:
    """The cells, and what codes among them mean: some formats write ranges of numbers as codes with labels."""
    cells = table.frame.to_dict(as_series=False)
    labels = table.value_labels
    return "".join(str([(cell, labels.get(name, {}).get(cell)) for cell in cells[name]]) for name in cells)


def test_no_mark_leaves_in_any_format(folder: Path, tmp_path: Path) -> None:
    entry = next(entry for entry in ALL if entry.name == "mdav")
    for ending in FORMATS:
        assert not leaks(written(plan_of(entry, {"k": 3}, ending), folder, tmp_path / ending))


LEAKING = {
    HoldsCells: ("top-code", {"value": {"age": HIGH}}, str(HIGH)),
    TablePath: ("closest-record", {"holdout": f"{FOLDER}/holdout.csv"}, FOLDER),
    KeyFile: ("pseudonymise", {"key_file": f"{FOLDER}/secret.key"}, FOLDER),
    Secret: ("pseudonymise", {"key": KEY}, KEY),
}


@pytest.mark.parametrize("marker", LEAKING, ids=lambda marker: marker.__name__)
def test_a_class_that_is_published_as_it_is_would_be_seen(
    marker: type[Any], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search is only worth what it finds: one class of parameters at a time is let out."""
    safe = publication._public
    monkeypatch.setattr(
        publication, "_public", lambda value, of, hidden: value if isinstance(of, marker) else safe(value, of, hidden)
    )
    name, parameters, mark = LEAKING[marker]
    entry = next(entry for entry in ALL if entry.name == name)
    release = written(plan_of(entry, parameters, "csv"), folder, tmp_path / "out")
    assert {("report.html", mark), ("evidence.json", mark)} <= leaks(release)

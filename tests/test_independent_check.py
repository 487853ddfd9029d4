"""Whatever table, plan and format: what was written keeps its promises by a count that shares no code with shoal.

The counts read the files with other libraries, cell by cell as text or as exact values, and use nothing but
`collections` and `fractions`.
"""

import csv
import datetime as dt
import math
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter, defaultdict
from fractions import Fraction
from os import environ
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.vocabulary.errors import InputError, Refused

NAME = "Zyxw Vuts"
FEW_TRIALS = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))

CELLS: dict[str, st.SearchStrategy[Any]] = {
    "integers": st.sampled_from([0, 1, -1, 7, 2**53 - 1, 10**9 + 1]),
    "floats": st.sampled_from([0.0, -0.0, 0.1 + 0.2, 0.3, 1e9 + 1e-6, 1e9, 5e-324, -5e-324, 1e16, 1e16 + 2, math.nan]),
    "text": st.sampled_from(["a", "a ", "A", "é", "e\u0301", "", "NA", "1", "1.0", "01", "=1", "x,y", 'q"', "l\nm"]),
    "days": st.sampled_from([dt.date(2020, 1, 1), dt.date(1899, 12, 31), dt.date(2020, 1, 2)]),
    "truths": st.booleans(),
}


@st.composite
def columns(draw: st.DrawFn, n: int) -> pl.Series:
    cells = CELLS[draw(st.sampled_from(sorted(CELLS)))]
    few = draw(st.lists(cells, min_size=1, max_size=2))
    holes = st.none() if draw(st.booleans()) else st.nothing()
    return pl.Series(draw(st.lists(st.sampled_from(few) | cells | holes, min_size=n, max_size=n)), strict=False)


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    n = draw(st.integers(1, 4)) * draw(st.integers(3, 5))
    quasi_identifiers = {f"q{j}": draw(columns(n)) for j in range(draw(st.integers(1, 2)))}
    ill = st.sampled_from([1.0, 2.5, 7.0]) if draw(st.booleans()) else st.sampled_from(["flu", "gout", "none"])
    return pl.DataFrame(
        {
            **quasi_identifiers,
            "ill": draw(st.lists(ill, min_size=n, max_size=n)),
            "name": [f"{NAME} {i}" for i in range(n)],
        }
    )


@st.composite
def plans(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    k = draw(st.integers(2, 3))
    step = draw(
        st.sampled_from(
            [
                {"mask": "suppress", "k": k, "missing": "equal"},
                {"partition": "mdav", "k": k},
                {"mask": "suppress-records", "k": k, "limit": 0.9},
            ]
        )
    )
    level = st.sampled_from([None, "nominal"])
    missing = "impute" if "partition" in step else "keep"  # a distance needs all cells
    keys = {name: {"role": "quasi-identifier", "missing": missing, "level": draw(level)} for name in names}
    wanted = st.sampled_from([{"privacy": "l-diversity", "l": 2}, {"privacy": "t-closeness", "t": 0.4}])
    asked = [{"privacy": "k-anonymity", "k": k}, *draw(st.just([]) | st.lists(wanted, max_size=1))]
    endings = st.sampled_from(["csv", "csv", "csv", "parquet", "parquet", "xlsx", "sav", "dta"])
    return {
        "columns": {**keys, "ill": "confidential", "name": "identifier"},
        "requirements": asked,
        "steps": [step],
        "output": {"format": draw(endings)},
    }


def rows_of(path: Path) -> list[dict[str, str]]:
    """The cells of a released file, told apart as finely as the file does."""
    match path.suffix:
        case ".csv":
            with path.open(newline="", encoding="utf-8") as file:
                return list(csv.DictReader(file))
        case ".parquet":
            cells = pq.read_table(path).to_pylist()
        case ".xlsx":
            return sheet_of(path)
        case _:
            read = getattr(pytest.importorskip("pyreadstat"), f"read_{path.suffix[1:]}")
            data, _ = read(str(path), output_format="dict", user_missing=True)
            cells = [dict(zip(data, row)) for row in zip(*data.values())]
    return [{name: repr(cell) for name, cell in row.items()} for row in cells]


def sheet_of(path: Path) -> list[dict[str, str]]:
    """The cells of a workbook's only sheet as its XML has them: kind and text."""
    space = {"x": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    with zipfile.ZipFile(path) as book:
        shared = ET.fromstring(book.read("xl/sharedStrings.xml"))
        sheet = ET.fromstring(book.read("xl/worksheets/sheet1.xml"))
    texts = ["".join(part.text or "" for part in item.iter(f"{{{space['x']}}}t")) for item in shared]
    rows = []
    for row in sheet.iterfind(".//x:row", space):
        cells = {}
        for cell in row:
            value = cell.findtext("x:v", "", space)
            text = cell.get("t") == "s"
            cells[str(cell.get("r")).rstrip("0123456789")] = repr(texts[int(value)]) if text else value
        rows.append(cells)
    head, *body = rows
    return [{name.strip("'"): row.get(place, "") for place, name in head.items()} for row in body]


def check(rows: list[dict[str, str]], plan: dict[str, Any]) -> None:
    keys = [name for name, column in plan["columns"].items() if column != "confidential" and name in rows[0]]
    classes = defaultdict(list)
    for row in rows:
        classes[tuple(row[key] for key in keys)].append(row["ill"])
    values = sorted({row["ill"] for row in rows}, key=lambda cell: (cell.strip("'").isalpha(), _number(cell)))
    ordered = all(not math.isnan(_number(value)) for value in values)
    total = Counter(row["ill"] for row in rows)
    for asked in plan["requirements"]:
        for ill in classes.values():
            share = {v: Fraction(Counter(ill)[v], len(ill)) - Fraction(total[v], len(rows)) for v in values}
            match asked["privacy"]:
                case "k-anonymity":
                    assert len(ill) >= asked["k"]
                case "l-diversity":
                    assert len(set(ill)) >= asked["l"]
                case "t-closeness" if ordered and len(values) > 1:
                    running = [abs(sum(list(share.values())[: i + 1])) for i in range(len(values))]
                    assert sum(running) / (len(values) - 1) <= Fraction(asked["t"])
                case "t-closeness":
                    assert sum(map(abs, share.values())) / 2 <= Fraction(asked["t"])


def _number(cell: str) -> float:
    try:
        return float(cell.strip("'"))
    except ValueError:
        return math.nan


def test_a_release_keeps_its_promises_or_there_is_none(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Most of the plans are such that there is one to be looked at."""
    outcomes = Counter[str]()

    @given(st.data())
    @FEW_TRIALS
    def tried(data: st.DataObject) -> None:
        outcomes[outcome(data, tmp_path_factory.mktemp("any") / "out")] += 1

    tried()
    assert outcomes["released"] > (0.5 if environ.get("SHOAL_TEST_SEED") else 0.8) * outcomes.total()


def outcome(data: st.DataObject, out: Path) -> str:
    """Whether a table was released under a plan or refused, after a look at what was written or said."""
    table = data.draw(tables())
    plan = data.draw(plans([name for name in table.columns if name.startswith("q")]))
    try:
        shoal.protect(table, plan, seed=1).write(out)
    except (Refused, InputError) as refusal:
        message = str(refusal)
    else:
        message = ""
    assert NAME not in message
    if message:
        assert not out.exists()
        return "refused"
    path = out / "release" / f"data.{plan['output']['format']}"
    check(rows_of(path), plan)
    assert all(NAME.encode() not in file.read_bytes() for file in (out / "release").iterdir())
    assert shoal.audit(path, plan).holds
    return "released"


def test_the_check_itself_can_fail(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("q0,ill\n1,flu\n1,gout\n1.0,flu\n1.0,gout\n2,flu\n2,flu\n")
    columns = {"q0": {"role": "quasi-identifier"}, "ill": "confidential"}
    for asked in (
        {"privacy": "k-anonymity", "k": 3},
        {"privacy": "l-diversity", "l": 2},
        {"privacy": "t-closeness", "t": 0.1},
    ):
        with pytest.raises(AssertionError):
            check(rows_of(path), {"columns": columns, "requirements": [asked]})
        assert not shoal.audit(path, {"columns": columns, "requirements": [asked]}).holds
    check(rows_of(path), {"columns": columns, "requirements": [{"privacy": "k-anonymity", "k": 2}]})


@FEW_TRIALS
@given(data=st.data())
def test_classes_hold_as_many_units_as_was_proved(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Households in the file, and persons by the rows of the private folder: no class of fewer than was required."""
    n, k = data.draw(st.integers(6, 24)), data.draw(st.integers(2, 3))
    few = st.integers(0, data.draw(st.integers(1, 8)))
    table = pl.DataFrame(
        {
            "person": data.draw(st.lists(few.map("P{}".format), min_size=n, max_size=n)),
            "home": data.draw(st.lists(few, min_size=n, max_size=n)),
            "x": data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)),
        }
    )
    unit = data.draw(st.sampled_from(["person", "household"]))
    asked = {"privacy": "k-anonymity", "k": k, "unit": unit}
    step = data.draw(
        st.sampled_from(
            [
                {"partition": "mdav", "k": k, "unit": unit},
                {"partition": "mdav", "k": k, "unit": "record"},
                {"mask": "suppress-records", "k": k, "limit": 1, "requirements": [{**asked, "method": "k-anonymity"}]},
            ]
        )
    )
    _ = step.get("requirements", [{}])[0].pop("privacy", None)
    columns = {"person": "identifier", "home": "household", "x": "quasi-identifier"}
    plan = {"columns": columns, "steps": [step], "requirements": [asked]}
    try:
        release = shoal.protect(table, plan, seed=0)
    except (Refused, InputError):
        return
    out = release.write(tmp_path_factory.mktemp("units") / "out")
    rows = pq.read_table(out / "private" / "partition.parquet")["row"].to_pylist()
    with (out / "release" / "data.csv").open(newline="", encoding="utf-8") as file:
        released = list(csv.DictReader(file))
    assert len(rows) == len(released)
    units = defaultdict(set)
    for row, cells in zip(rows, released):
        units[cells["x"]].add(table["person"][row] if unit == "person" else cells["home"])
    assert min(map(len, units.values())) >= k
    homes = {int(cells["home"]) for cells in released}
    assert homes == set(range(1, len(homes) + 1))

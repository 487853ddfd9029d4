"""Forms of hierarchies in a plan: built of the values of a column, and of the labels of a released one."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.hierarchy import Hierarchy
from shoal.table.hierarchy_faults import cautions, faults
from shoal.table.hierarchy_forms import OF_TABLE, OF_VALUES, hierarchy_of, leaves_in
from shoal.table.schema import Schema
from shoal.vocabulary.errors import PlanError, SchemaError

CODES = [f"{i:04}" for i in range(0, 10_000, 137)]
DAYS = [f"{year}-{month:02}-{1 + year % 28:02}" for year in range(1968, 2011, 3) for month in (1, 4, 6, 12)]
TOWNS = ["Arles", "Bonn", "Cork", "Delft", "Evora", "Faro"]
FORMS: list[tuple[Any, list[str]]] = [
    ({"intervals": [5, 10, 50]}, [str(i) for i in range(-20, 90)]),
    ({"rounding": [5, 10]}, [str(i) for i in range(90)]),
    ({"masking": "right"}, [*CODES, "12", "7"]),
    ({"masking": "left"}, [*CODES, "12", "7"]),
    ({"masking": {"side": "right", "padding": "0"}}, [str(i) for i in range(0, 1200, 37)]),
    ({"masking": {"side": "left", "padding": "_"}}, [*CODES, "12", "7"]),
    ({"prefix": [3, 1]}, [*CODES, "12", "7"]),
    ({"dates": ["month", "quarter", "year", "decade"]}, DAYS),
    ({"dates": ["quarter", "decade"]}, DAYS),
    ({"priority": ["Bonn", ["Arles", "Cork"], "Delft"]}, TOWNS),
]


def built(form: Any, values: list[str]) -> Hierarchy:
    return hierarchy_of(form, dict.fromkeys(values, 1), Path())


def test_every_form_of_values_is_tried() -> None:
    assert {key for form, _ in FORMS for key in form} == set(OF_VALUES)


@pytest.mark.parametrize(("form", "values"), FORMS, ids=[str(form) for form, _ in FORMS])
@given(data=st.data())
def test_the_tree_of_released_labels_is_that_of_the_values(form: Any, values: list[str], data: st.DataObject) -> None:
    """Of any labels that a release may hold, one lies under another in the tree made of them if it does in the tree
    made of the values, and only then."""
    whole = built(form, values)
    paths = data.draw(st.lists(st.sampled_from(whole.paths), min_size=1, max_size=12))
    labels = sorted({path[data.draw(st.integers(0, whole.height - 1))] for path in paths})
    tree = hierarchy_of(form, dict.fromkeys(leaves_in(form, labels), 1), Path())
    full, made = whole.nodes(), tree.nodes()
    for one in labels:
        for other in labels:
            if "[" in one + other:  # the nodes of an interval are the numbers that stand in labels, its ends among them
                continue
            assert (made[one] <= made[other]) == (full[one] <= full[other]) or full[one] == full[other]


@pytest.mark.parametrize(("form", "values"), [FORMS[i] for i in (2, 4, 6, 7)])
def test_what_is_released_by_such_a_form_is_proved_again_from_the_file(form: Any, values: list[str]) -> None:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"x": rng.choice(values, 200), "y": rng.choice(["a", "b"], 200)})
    columns = {"x": {"role": "quasi-identifier", "level": "nominal", "hierarchy": form}, "y": "confidential"}
    plan = {
        "columns": columns,
        "steps": [{"mask": "generalise", "k": 40, "recoding": "local"}],
        "requirements": [{"privacy": "k-anonymity", "k": 40}],
    }
    release = shoal.protect(frame, plan, seed=1)
    assert set(release.data["x"].unique()) - set(values), "something was generalised"
    assert shoal.audit(release.data, plan).holds


@pytest.mark.parametrize("form", [{"order": [2]}, {"frequency": [5]}])
def test_a_form_of_the_whole_table_is_no_part_of_a_plan(form: Any) -> None:
    assert set(form) <= set(OF_TABLE)
    assert hierarchy_of(form, {"a": 9, "b": 2}, Path()).leaves == ("a", "b")
    with pytest.raises(
        SchemaError, match="follows from the whole table; write it to a file with shoal hierarchy build"
    ):
        Schema.of({"x": {"role": "other", "hierarchy": form}})


@pytest.mark.parametrize(
    ("form", "rule"),
    [
        (3, "file's name, or a mapping with one of the keys nested, paths, file"),
        ({}, "file's name, or a mapping"),
        ({"prefix": [3], "masking": "left"}, "file's name, or a mapping"),
        ({"masked": "left"}, "Unknown form 'masked'; did you mean 'masking'"),
        ({"file": 3}, "file must be a file's name"),
    ],
)
def test_an_unknown_form_is_a_mistake_of_the_plan(form: Any, rule: str) -> None:
    with pytest.raises(PlanError, match=rule):
        shoal.Plan.of({"columns": {"x": {"role": "quasi-identifier", "hierarchy": form}}})


def test_masking_with_half_of_its_parts_is_a_mistake() -> None:
    with pytest.raises(SchemaError, match="left or right, or a mapping with side and padding"):
        built({"masking": {"side": "right"}}, ["7"])


def test_a_tree_in_a_yaml_file_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "towns.yaml").write_text("south: [Arles, Evora]\nnorth: [Bonn]\n")
    column = {"role": "quasi-identifier", "hierarchy": "towns.yaml"}
    frame = pl.DataFrame({"town": ["Arles", "Bonn", "Evora"]})
    table = shoal.Microdata.of(frame, {"town": column}, folder=tmp_path)
    assert table.records["town"].hierarchy == Hierarchy.read(tmp_path / "towns.yaml")


def test_labels_that_are_no_days_stand_alone() -> None:
    assert leaves_in({"dates": ["month"]}, ["2001-02", "unknown", "2001-02-30", "2001-02-03 | 2001-03-01"]) == [
        "2001-02",
        "2001-02-03",
        "2001-03-01",
    ]


def test_faults_and_cautions_by_hand() -> None:
    rows = (("a", "x", "p"), ("b", "x", "q"), ("c", "", "q"), ("a", "y", "q"))
    assert [(fault.rows, fault.labels) for fault in faults(rows)] == [
        ((3,), ("c",)),
        ((1, 4), ("a",)),
        ((1, 2), ("x", "p", "q")),
    ]
    odd = cautions((("a", "b", "*"), ("b", "x", "*")), {"a": 3})
    assert [(one.rule.split(" ")[0], one.rows, one.labels) for one in odd] == [
        ("Level", (), ()),
        ("One", (1, 2), ("b",)),
        ("No", (2,), ("b",)),
    ]


@pytest.mark.parametrize("hierarchy", [{"intervals": [5, 10]}, {"rounding": [10]}, {"nested": {"all": [10, 12.5, 31]}}])
@pytest.mark.parametrize(
    "column",
    [
        pd.Series([10.0, 12.5, 31.0, None] * 3),  # as pandas holds whole numbers of which some are missing
        pl.Series([Decimal("10.0"), Decimal("12.5"), Decimal("31.0"), None] * 3, dtype=pl.Decimal(10, 1)),
    ],
    ids=["float", "decimal"],
)
def test_whole_numbers_of_a_column_with_fractions_are_leaves(column: Any, hierarchy: Any) -> None:
    """And as they came they are released, where no step made them coarser."""
    frame = (pd if isinstance(column, pd.Series) else pl).DataFrame({"dose": column})
    dose = {"role": "quasi-identifier", "hierarchy": hierarchy, "missing": "keep"}
    plan = {"columns": {"dose": dose}, "requirements": [{"privacy": "k-anonymity", "k": 3}]}
    released = shoal.protect(frame, plan, seed=1).data["dose"]
    assert released.dtype == column.dtype
    assert sorted(cell for cell in released.to_list() if cell == cell and cell is not None) == sorted(
        [10, 12.5, 31] * 3
    )
    step = {"mask": "generalise", "k": 6, "columns": ["dose"]}
    coarser = shoal.protect(frame, {**plan, "steps": [step]}, seed=1).data["dose"]
    assert set(coarser) == {"*"}

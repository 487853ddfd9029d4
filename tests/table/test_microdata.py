"""Microdata: any frame in, the same kind out, cells untouched unless they were changed."""

import datetime as dt
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.replace.centroid import Centroid
from shoal.table.microdata import Microdata, as_records
from shoal.table.partition import Partition
from shoal.vocabulary.errors import DataError, SchemaError

COLUMNS: dict[str, list[Any]] = {
    "age": [31, 33, 35, 60, 62, 64],
    "sex": ["f", "f", "m", "m", "m", "f"],
    "income": [10.5, 20.0, 30.0, 40.0, 50.0, 60.0],
    "day": [dt.date(2025, 1, d) for d in (1, 2, 3, 10, 11, 12)],
}
SCHEMA = {
    "age": {"role": "quasi-identifier", "decimals": 0},
    "sex": "quasi-identifier",
    "income": "confidential",
    "day": "quasi-identifier",
}
TWO = Partition.of([0, 0, 0, 1, 1, 1])


def frames() -> dict[str, Any]:
    index = pd.Index([7, 3, 9, 1, 5, 2], name="key")
    return {
        "polars": pl.DataFrame(COLUMNS),
        "pandas": pd.DataFrame(COLUMNS, index=index).astype({"day": "datetime64[us]", "sex": "category"}),
        "pyarrow": pa.table(COLUMNS),
    }


def masked(table: Microdata) -> Microdata:
    return table.rebuild(
        Centroid().apply(table.records, table.records.quasi_identifiers, TWO, np.random.default_rng(0)).records
    )


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_same_kind_out_with_the_same_columns_and_types(kind: str) -> None:
    frame = frames()[kind]
    out = masked(Microdata.of(frame, SCHEMA)).native
    assert type(out) is type(frame)
    assert [*COLUMNS] == list(out.column_names if kind == "pyarrow" else out.columns)
    if kind == "pandas":
        pd.testing.assert_index_equal(out.index, frame.index)
        pd.testing.assert_series_equal(out.dtypes, frame.dtypes)
    else:
        assert out.schema == frame.schema


def test_values_by_hand_and_input_untouched() -> None:
    frame = frames()["polars"]
    kept = frame.clone()
    out = masked(Microdata.of(frame, SCHEMA)).native
    assert out["age"].to_list() == [33, 33, 33, 62, 62, 62]
    assert out["sex"].to_list() == ["f", "f", "f", "m", "m", "m"]
    assert out["day"].to_list() == [dt.date(2025, 1, 2)] * 3 + [dt.date(2025, 1, 11)] * 3
    assert out["income"].to_list() == COLUMNS["income"]
    assert frame.equals(kept)


def test_a_duckdb_relation_comes_back_as_one() -> None:
    relation = duckdb.sql("select * from (values (1, 2.5), (3, 4.5)) t(a, b)")
    out = Microdata.of(relation, {"a": "quasi-identifier", "b": "other"})
    assert isinstance(out.native, duckdb.DuckDBPyRelation)
    assert out.records["a"].values.tolist() == [1.0, 3.0]


def test_integers_become_numbers_with_a_fraction_unless_rounding_is_asked_for() -> None:
    table = Microdata.of(pl.DataFrame({"a": [1, 2]}), {"a": "quasi-identifier"})
    merged = (
        Centroid()
        .apply(table.records, table.records.quasi_identifiers, Partition.of([0, 0]), np.random.default_rng(0))
        .records
    )
    assert table.rebuild(merged).native["a"].to_list() == [1.5, 1.5]


def test_some_records_only() -> None:
    table = Microdata.of(frames()["pandas"], SCHEMA)
    out = table.rebuild(table.records.take(np.array([4, 1]))).native
    assert out.index.tolist() == [5, 3]


def test_unclassified_and_absent_columns() -> None:
    frame = pl.DataFrame({"a": [1], "b": [2]})
    with pytest.raises(SchemaError, match="Columns without a role: 'b'"):
        Microdata.of(frame, {"a": "other"})
    with pytest.raises(SchemaError, match="The table has no column 'c'"):
        Microdata.of(frame, {"a": "other", "b": "other", "c": "other"})


@pytest.mark.parametrize(
    ("column", "spec", "message"),
    [
        (["x", "y", "z"], {"level": "continuous"}, "Column 'a' holds text but its level is continuous"),
        ([1.0, float("inf"), 2.0], {}, "Column 'a' has 1 infinite value;"),
        ([1.0, None, 2.0], {}, "Column 'a' has 1 missing value; a column with the role quasi-identifier"),
        ([1.0, float("nan"), None], {}, "Column 'a' has 2 missing values"),
        ([1, 2**60, 3], {}, "integers beyond 2\\^53"),
        (["x", "y", "z"], {"order": ["x", "y"]}, "leaves out 1 value of the data"),
        (["x", None, "z"], {"level": "ordinal", "missing": "category"}, "missing: category is for nominal"),
        (["x", "y", "z"], {"level": "ordinal", "missing": "category"}, "missing: category is for nominal"),
        ([1.0, 2.0, 3.0], {"missing": "category"}, "is continuous; missing: category is for nominal"),
    ],
)
def test_bad_cells_are_named_by_column_and_count(column: list[Any], spec: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        _ = Microdata.of(pl.DataFrame({"a": column}), {"a": {"role": "quasi-identifier", **spec}}).records


@pytest.mark.parametrize(
    ("policy", "values", "categories"),
    [
        ("drop", [0, 1, 0], ("x", "y")),
        ("impute", [0, 1, 0, 0], ("x", "y")),
        ("category", [0, 1, 2, 0], ("x", "y", None)),
        ("keep", [0, 1, -1, 0], ("x", "y")),
    ],
)
def test_policies_for_missing_values(policy: str, values: list[int], categories: tuple[Any, ...]) -> None:
    table = Microdata.of(
        pl.DataFrame({"a": ["x", "y", None, "x"]}), {"a": {"role": "quasi-identifier", "missing": policy}}
    )
    assert table.records["a"].values.tolist() == values
    assert table.records["a"].categories == categories
    assert table.missing_facts["a"] == {"missing": 1, "policy": policy}


def test_median_is_imputed_and_written() -> None:
    table = Microdata.of(pl.DataFrame({"a": [1, None, 3, 5]}), {"a": {"role": "quasi-identifier", "missing": "impute"}})
    assert table.rebuild(table.records).native["a"].to_list() == [1, 3, 3, 5]


def test_a_table_of_another_kind_and_repeated_names() -> None:
    with pytest.raises(DataError, match="must be a pandas, polars or pyarrow table or a DuckDB relation; got dict"):
        Microdata.of({"a": [1]}, {"a": "other"})
    with pytest.raises(DataError, match="'a' occurs more than once"):
        Microdata.of(pd.DataFrame([[1, 2]], columns=["a", "a"]), {"a": "other"})


def test_the_fingerprint_tells_tables_apart_and_not_kinds_of_frame() -> None:
    cells = {"sex": ["f", "m", "f"], "n": [1, 2, 3]}
    roles = dict.fromkeys(cells, "quasi-identifier")
    whole = Microdata.of(pl.DataFrame(cells), roles).fingerprint()
    assert Microdata.of(pd.DataFrame(cells), roles).fingerprint() == whole
    for changed in ({"sex": ["f", "w", "f"]}, {"sex": ["m", "f", "f"]}, {"n": [1, 2, 4]}):
        assert Microdata.of(pl.DataFrame({**cells, **changed}), roles).fingerprint() != whole
    renamed = pl.DataFrame(cells).rename({"n": "k"})
    assert Microdata.of(renamed, dict.fromkeys(renamed.columns, "quasi-identifier")).fingerprint() != whole


def test_negative_zero_is_not_released() -> None:
    table = Microdata.of(pl.DataFrame({"a": [0.5, -0.5]}), {"a": {"role": "quasi-identifier", "decimals": 0}})
    changed = table.records.with_variables(table.records["a"].with_values([-0.2, 0.2]))
    assert np.signbit(table.rebuild(changed).native["a"].to_numpy()).sum() == 0


def test_records_from_arrays_and_frames() -> None:
    x = np.arange(6.0).reshape(3, 2)
    assert as_records(x).quasi_identifiers == ("x0", "x1")
    assert as_records(x, confidential=np.array(["u", "v", "u"])).confidential == ("confidential0",)
    frame = pl.DataFrame({"a": [1.0, 2.0], "c": [3, 4]})
    assert as_records(frame, confidential="c").quasi_identifiers == ("a",)
    with pytest.raises(DataError, match="confidential must have 3 records"):
        as_records(x, confidential=np.array([1, 2]))


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_integer_categories_are_the_same_with_and_without_a_missing_cell(frame: Any) -> None:
    roles = {"code": {"role": "quasi-identifier", "level": "nominal", "missing": "keep"}}
    cells = [7, -999, 2**60, 7, 0]
    whole = Microdata.of(frame({"code": cells}), roles).encoded["code"]
    holed = Microdata.of(pl.DataFrame({"code": [*cells, None]}), roles).encoded["code"]
    assert whole.categories == holed.categories == (-999, 0, 7, 2**60)
    assert whole.values.tolist() == holed.values.tolist()[:-1] == [2, 0, 3, 2, 1]


TEXT = ["b", None, "a", "", "a longer label than seven bytes", "b", "a"]


@pytest.mark.parametrize(
    "make",
    [
        pl.Series,
        lambda t: pl.Series(t, dtype=pl.Categorical),
        lambda t: pl.Series(t, dtype=pl.Enum(sorted({*t} - {None}))),
        pd.Series,
        lambda t: pd.Series(t, dtype="object"),
        lambda t: pd.Series(t, dtype="category"),
        lambda t: pd.Series(t, dtype="string[python]"),
        lambda t: pd.Series(t, dtype="string[pyarrow]"),
        lambda t: pa.chunked_array([t[:2], t[2:]], pa.string()),
        lambda t: pa.chunked_array([t]).dictionary_encode(),
    ],
)
def test_text_in_every_dress_has_the_same_codes(make: Any) -> None:
    column = make(TEXT)
    kinds = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.table}
    frame = kinds[type(column).__module__.split(".")[0]]({"c": column})
    variable = Microdata.of(frame, {"c": {"role": "other"}}).encoded["c"]
    assert variable.categories == ("", "a", "a longer label than seven bytes", "b")
    assert variable.values.tolist() == [3, -1, 1, 0, 2, 3, 1]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16", "float32", "float64"])
@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_numbers_in_every_width_have_the_same_classes(kind: str, dtype: str) -> None:
    cells = np.array([3, 1, 3, 2, 1, 1], dtype=dtype)
    frame = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.table}[kind]({"c": cells})
    for level in ("continuous", "nominal"):
        records = Microdata.of(frame, {"c": {"role": "quasi-identifier", "level": level}}).records
        assert records.classes(["c"]).of_record.tolist() == [2, 3, 2, 1, 3, 3]
        assert sorted(records.class_sizes(["c"]).tolist()) == [1, 2, 3]
    assert records["c"].categories == (1, 2, 3)
    continuous = Microdata.of(frame, {"c": "quasi-identifier"}).records["c"]
    assert continuous.values.dtype == np.float64
    assert not continuous.missing.any()


def test_integers_with_missing_cells_in_every_kind() -> None:
    tables = [
        pl.DataFrame({"c": [2, None, 1]}),
        pa.table({"c": [2, None, 1]}),
        pd.DataFrame({"c": pd.array([2, None, 1], dtype="Int64")}),
        pd.DataFrame({"c": [2.0, None, 1.0]}),
    ]
    for table in tables:
        for level in ("continuous", "nominal"):
            column = {"role": "quasi-identifier", "level": level, "missing": "keep"}
            records = Microdata.of(table, {"c": column}).records
            assert records["c"].missing.tolist() == [False, True, False]
            assert records.class_sizes(["c"]).tolist() == [1, 1, 1]


def test_zero_and_minus_zero_and_all_nans_as_written() -> None:
    cells = np.array([0.0, -0.0, np.nan, np.nan, 0.5])
    cells[3:4].view(np.int64)[:] ^= 1  # another NaN
    for level, sizes in (("continuous", [1, 1, 1, 2]), ("nominal", [1, 1, 1, 2])):
        column = {"role": "quasi-identifier", "level": level, "missing": "keep"}
        assert sorted(Microdata.of(pl.DataFrame({"c": cells}), {"c": column}).records.class_sizes(["c"])) == sizes


def test_a_column_of_several_types_is_refused_however_late_they_differ() -> None:
    frame = pd.DataFrame({"c": pd.Series(["a"] * 200 + [1, True], dtype="object")})
    with pytest.raises(DataError, match="Column 'c' holds string cells, or cells of several types"):
        _ = Microdata.of(frame, {"c": "quasi-identifier"}).records


def test_the_table_of_the_user_cannot_be_written_through_the_records() -> None:
    frame = pl.DataFrame({"c": [1.5, 2.5]})
    with pytest.raises(ValueError, match="read-only"):
        Microdata.of(frame, {"c": "quasi-identifier"}).records["c"].values[0] = 9.0


def test_a_column_described_wrongly_is_a_schema_error():
    table = pd.DataFrame({"age": [1, 2], "pay": [3, 4]})
    with pytest.raises(SchemaError) as caught:
        Microdata.of(table, {"age": {"role": "quasi", "levels": "ordinal"}, "pay": "confidential"})
    message = str(caught.value)
    assert message.startswith("Column 'age': Unknown role 'quasi'; did you mean 'quasi-identifier'? Known: ")
    assert "Column 'age': Unknown key 'levels'; did you mean 'level'?" in message
    with pytest.raises(SchemaError, match=r"^At most one column may have the role 'weight'; got 'age', 'pay'\.$"):
        Microdata.of(table, {"age": "weight", "pay": "weight"})


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]", "Float64"])
def test_numbers_of_pandas_that_are_all_missing(kind: str) -> None:
    frame = pd.DataFrame({"a": pd.Series([None, None], dtype=kind)})
    assert np.isnan(Microdata.of(frame, {"a": {"role": "other", "level": "continuous"}}).encoded["a"].values).all()


def test_cells_of_pandas_may_be_numpy_s_own_and_python_s() -> None:
    """As words drawn from an array are, with gaps filled in by hand."""
    words = pd.Series([np.str_("no"), "unknown", np.str_("no"), np.str_("unknown")], dtype=object)
    column = Microdata.of(pd.DataFrame({"c": words}), {"c": "confidential"}).encoded["c"]
    assert column.codes().tolist() == [0, 1, 0, 1]
    assert {type(word) for word in column.categories} == {str}

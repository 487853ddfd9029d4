from collections import Counter

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.kernels.classes import class_sizes, classes, distinct, first_rows, lone_cells, lone_without, text_codes


@given(arrays(np.int64, st.integers(0, 60), elements=st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))))
def test_equals_numpy(values):
    occurring, where, counts = distinct(values)
    expected, inverse, often = np.unique(values, return_inverse=True, return_counts=True)
    assert occurring.tolist() == expected.tolist()
    assert where.tolist() == inverse.tolist()
    assert counts.tolist() == often.tolist()


@pytest.mark.parametrize("most", [10, 10_000, 2**60])
def test_equals_numpy_beyond_the_first_table(most):
    values = np.random.default_rng(1).integers(-most, most, 20_000)
    occurring, where, counts = distinct(values)
    expected, inverse, often = np.unique(values, return_inverse=True, return_counts=True)
    assert (occurring == expected).all() and (where == inverse).all() and (counts == often).all()


def numbers_of(*columns):
    """Rows as tuples, floats by their bits and NaNs as one, numbered as they sort."""

    def cell(value):
        if not isinstance(value, float):
            return value
        return "nan" if np.isnan(value) else (value, np.signbit(value))

    rows = [tuple(map(cell, row)) for row in zip(*(column.tolist() for column in columns))]
    return [rows.index(row) for row in rows]


ELEMENTS = {
    np.int64: st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)),
    np.int32: st.one_of(st.integers(-1, 3), st.integers(-(2**31), 2**31 - 1)),
    np.int8: st.integers(-128, 127),
    np.uint32: st.integers(0, 2**32 - 1),
    np.float64: st.one_of(
        st.sampled_from([0.0, -0.0, np.nan, 1.0, -1.0, 2.0**30, np.inf, 1e300]),
        st.sampled_from([0.5, -2.0, 3.0, -5e-324]),
    ),
}


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 5), min_size=20, max_size=20), min_size=0, max_size=7), st.data())
def test_two_rows_share_a_class_exactly_where_all_cells_agree(picks, data):
    columns = []
    for pick in picks:
        kind = data.draw(st.sampled_from(sorted(ELEMENTS, key=str)))
        pool = data.draw(st.lists(ELEMENTS[kind], min_size=6, max_size=6))
        columns.append(np.array([pool[p] for p in pick], dtype=kind))
    ids, sizes = classes(columns, 20)
    expected = numbers_of(*columns) if columns else [0] * 20
    assert [list(ids).index(i) for i in ids] == expected
    assert sizes.tolist() == np.bincount(ids).tolist()
    assert sorted(class_sizes(columns, 20).tolist()) == sorted(sizes.tolist())
    assert first_rows(ids, len(sizes)).tolist() == [list(ids).index(c) for c in range(len(sizes))]
    thirds = ids % 3
    for column in columns:
        cells = Counter(numbers_of(thirds, column))
        assert lone_cells(thirds, np.bincount(thirds), column) == list(cells.values()).count(1)


@pytest.mark.parametrize("n", [0, 1, 5000])
def test_classes_ascend_as_rows_do(n):
    rng = np.random.default_rng(n)
    columns = [rng.integers(-4, 4, n), rng.integers(0, 10**7, n) * 300, rng.integers(0, 3, n).astype(float)]
    ids, sizes = classes(columns, n)
    expected, inverse, counts = np.unique(np.column_stack(columns), axis=0, return_inverse=True, return_counts=True)
    assert ids.tolist() == inverse.ravel().tolist()
    assert sizes.tolist() == counts.tolist()


def test_columns_with_too_many_bits_together():
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 2**30, 300)[rng.integers(0, 300, 2000)] for _ in range(5)]
    ids, sizes = classes(columns, 2000)
    assert len(sizes) == len(set(zip(*(c.tolist() for c in columns))))


TEXTS = st.one_of(
    st.none(),
    st.text(max_size=9),
    st.sampled_from(
        [
            "",
            "\0",
            "\0\0",
            "abcdefg",
            "abcdefgh",
            "abcdefg\0",
            "a longer text of one",
            "a longer text of two",
            "\xff" * 8,
        ]
    ),
)


@given(st.lists(TEXTS, max_size=40))
def test_equal_codes_for_equal_texts(cells):
    column = pl.Series(cells, dtype=pl.String)
    arrow = pa.chunked_array([cells[:7], cells[7:]], pa.string())
    for stream in (
        column,
        arrow,
        arrow.cast(pa.large_string()),
        arrow.dictionary_encode(),
        column.to_arrow()[3:],
        column.cast(pl.Categorical),
    ):
        chunked = stream if hasattr(stream, "__arrow_c_stream__") else pa.chunked_array([stream])
        codes, first = text_codes(chunked.__arrow_c_stream__())
        these = cells[3:] if chunked is not stream else cells
        known = list(dict.fromkeys(cell for cell in these if cell is not None))
        assert codes.tolist() == [-1 if cell is None else known.index(cell) for cell in these]
        assert [these[row] for row in first] == known


def test_many_texts():
    rng = np.random.default_rng(1)
    for texts in ([str(i) for i in rng.integers(0, 30_000, 60_000)], [f"record number {i}" for i in range(20_000)]):
        codes, first = text_codes(pl.Series(texts).__arrow_c_stream__())
        expected = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        assert codes.tolist() == [expected[text] for text in texts]
        assert len(first) == len(expected)


def test_a_stream_without_text():
    assert text_codes(pl.Series([1, 2]).__arrow_c_stream__()) is None


BOUNDS = [2**bits + step for bits in (29, 30, 31, 32, 33, 51, 52, 53, 61, 62) for step in (-1, 0, 1)]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("sign", [1, -1])
def test_values_a_power_of_two_apart_stay_apart(bound, sign):
    """Whatever is kept of a value to make its key: 1 and 2^32 + 1, equal in 32 bits, are two values."""
    for kind in (np.float64, np.int64):
        values = np.unique(np.array([0, 1, 2, bound, bound + 1, bound - 1], dtype=kind) * sign)
        column = np.repeat(values, 4)
        for columns in ([column], [column, column], [np.zeros(len(column)), column]):
            ids, sizes = classes(columns, len(column))
            assert sizes.tolist() == [4] * len(values)
            assert ids.tolist() == np.repeat(ids[::4], 4).tolist()
            if sign > 0:  # what is too large to be read as an integer ascends by its bits
                assert ids[::4].tolist() == list(range(len(values)))


@pytest.mark.parametrize(
    "bits", [[31, 31], [31, 31, 1], [30, 30, 2], [30, 30, 3], [31, 30, 1], [20, 20, 20, 2, 1], [62], [63]]
)
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_columns_that_fill_a_key_to_the_last_bit(bits, kind):
    """All rows differ from the first in one bit of one column, and from each other."""
    rows = [np.zeros(len(bits), dtype=np.int64)]
    for column, width in enumerate(bits):
        for bit in range(min(width, 52) if kind is np.float64 else width):
            rows.append(np.where(np.arange(len(bits)) == column, 1 << bit, 0))
    table = np.array(rows, dtype=kind)
    assert len(class_sizes(list(table.T), len(table))) == len(table)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.int64])
def test_the_ends_of_every_kind_of_integer(kind):
    ends = np.iinfo(kind)
    values = np.array([ends.min, ends.min + 1, 0, 1, ends.max - 1, ends.max], dtype=kind)
    different = np.unique(values)
    ids, sizes = classes([values], len(values))
    assert len(sizes) == len(different)
    assert different[ids].tolist() == values.tolist()


def test_a_whole_number_beyond_the_range_is_no_duplicate_for_k_anonymity():
    ids, sizes = classes([np.array([1.0, 1.0, 2.0**32 + 1, 2.0**32 + 1])], 4)
    assert sizes.tolist() == [2, 2]


def test_fractions_and_signs_of_zero_stay_apart():
    """Between whole numbers only, and within their range: a column with one of these is no column of integers."""
    for odd in (0.5, -0.5, 1.5, 2.5, 1e-9, 5e-324, -0.0, 2.0**30 - 0.5):
        column = np.array([0.0, 1.0, 2.0, 3.0, 2.0**30 - 1, odd])
        assert classes([column], 6)[1].tolist() == [1] * 6
        assert classes([np.zeros(6), column], 6)[1].tolist() == [1] * 6


def test_all_nans_are_one_value():
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001, 0x3FE0000000000000], dtype=np.uint64)
    assert classes([bits.view(np.float64)], 4)[1].tolist() == [1, 3]


@pytest.mark.parametrize("n", [300, 3000])
@pytest.mark.parametrize(
    "spreads", [(2, 5), (40, 3000, 7), (1 << 20,) * 2, (1 << 30,) * 2, (1 << 30,) * 3, (1 << 45, 9)]
)
@pytest.mark.parametrize("low", [0, -20, 1 << 40])
def test_classes_are_numbered_as_rows_sort(n, spreads, low):
    """Keys that are looked up, sorted with their rows in one number or beside them, and of columns that become one."""
    rng = np.random.default_rng(n)
    columns = [rng.choice(rng.integers(0, spread, n // 2), n) + low for spread in spreads]
    ids, sizes = classes(columns, n)
    _, expected, counted = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True, return_counts=True)
    assert ids.tolist() == expected.ravel().tolist()
    assert sizes.tolist() == class_sizes(columns, n).tolist() == counted.tolist()
    narrow = [column.astype(np.int32) for column in columns if abs(column).max() < 1 << 31]
    assert classes(narrow, n)[0].tolist() == classes([column.astype(float) for column in narrow], n)[0].tolist()


def alone_by_hand(columns):
    rest = ([other for k, other in enumerate(columns) if k != j] for j in range(len(columns)))
    return [sum(times == 1 for times in Counter(zip(*(c.tolist() for c in others))).values()) for others in rest]


@pytest.mark.parametrize("n", [200, 2000])
@pytest.mark.parametrize("low", [0, -7, 1 << 40])
def test_rows_alone_without_a_column_are_those_of_the_others(n, low):
    """Counted by hand, also where there is no room for the digits of half of the columns."""
    rng = np.random.default_rng(3)
    spans = ((2, 0), (90, low), (60, 5), (3, low), (4, 0))
    columns = [rng.integers(0, span, n) + place for span, place in spans]
    wide = [rng.choice(rng.integers(0, 1 << 30, 4), n) for _ in range(7)]
    for chosen in (columns, columns[1:3], columns[:2], wide, [column * 0.5 for column in wide]):
        sizes, alone = lone_without(chosen, n)
        assert alone == alone_by_hand(chosen)
        assert sorted(sizes.tolist()) == sorted(class_sizes(chosen, n).tolist())


def test_rows_alone_without_a_column_among_many_that_are_alike():
    """With classes of several rows, and few or many rows that agree on all columns before the one left out."""
    rng = np.random.default_rng(8)
    for _ in range(200):
        n, columns = int(rng.integers(1, 60)), []
        for _ in range(rng.integers(2, 6)):
            columns.append(rng.integers(-3, rng.choice([-2, 0, 3, 40]), n).astype(rng.choice(["int8", "int64"])))
        assert lone_without(columns, n)[1] == alone_by_hand(columns)

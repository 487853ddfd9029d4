"""R's files: what R wrote is read, what is written R reads, and nothing beside the cells goes unseen."""

import base64
import bz2
import datetime as dt
import gzip
import lzma
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night
from shoal.table.files.r_frames import read_r
from shoal.table.files.r_values import DOUBLE, INTEGER, LIST, TEXT, RValue, Writer, number_text, text_value
from shoal.table.files.table import ReadOptions, Table
from shoal.table.files.tables import read_table, write_table
from shoal.vocabulary.errors import FileError, Refused

OF_R = """
/Td6WFoAAAFpIt42AgAhARYAAAB0L+Wj4AYQAiFdACwCfBn5r/QdO56YNX7q0PQhTbNFUsa9mj0V9cMnCX4KrpEcMncWFXtI7qCZHtnsKZZkg2gK
QjAyBkXiQ3eogKRDfxlg1OsJfIAj7Da3LTMRZVpwT5ro28vRK4KvigGJyUpkUvTehj3On0toKYnwWNwwOdbBCVKtMGfVty0o200tvDkVHOTUmICp
0wuD7/SJeMM1KMce7h5zAt8elQ3CzblQuMGsXU51/n8q3aA0KpU8e9yZ0NlLibejoUgCVnWfe8oWb/IWhPGLsQUY8BYOInAkh6Vnfrp/teb/zqz4
jCtk3xwYFaR0Xl/KAdx6U9yNr5akH1mk8BKKceeiTbbpTzNCIdzRxZ4kY4KF10RgQvP2b/7dpPtdcRL298qGDKTlnKdeAncpRfMtl/1JjY1zOaaU
TraUSrQxkwb84BaVUBE6L4V+pjur/mhn0u5qXVr5amQJ5FdalArylvZ2dMP3k8CUnrRHjYcsuR6PGl4Qab6k0MMWiQ0b4R04HyV/B0qiu8DFBjp2
uNNsa2hAMOiodS0+oT3g63ZoDgxqL2Y3HUajhWXodP+dUxm3IKz+0eTbMbzpshYUb/yfp9o8aAw2usaZCRl+hrOFrUKLjumE3ahxdsOuPlFZu2wW
IhySSCjSDlMt363q1gec028yrWj93jcnBvt8ChoNrsdRsdieo3bTM4Mk7cYBwMVw6gX4i2kp4U/11KICl5NDcNF4/GN41eQFAAAAAK0dKCsAAbkE
kQwAAAVP9gc+MA2LAgAAAAABWVo=
"""
"""By R 4.2.2, `saveRDS(d, compress = "xz")`, three records: i 1:3; z 1.5, NA, NaN; f a factor y, NA, x of the levels x
and y; l TRUE, NA, FALSE; d 2020-01-01, NA, 1969-12-31; o an ordered factor lo, hi, NA of lo < mid < hi; p times from
2024-06-01 12:30:00.25 in Berlin; t café in latin1, café in UTF-8, NA; n as.character(c(100000, 123456.5, NA)), which R
keeps as numbers; lab and tag as haven has codes for missing and tagged ones; `label` of the data frame 'Survey'."""

MORE_OF_R = """
/Td6WFoAAAFpIt42AgAhARwAAAAQz1jM4AeYAnFdACkRB1RoEeRuUsqgM8UkXrtrnNeLUzcP1dKbshUqBwT4yAjz5XATtUXAHvfSJHB9oYtCZFsq
2zOqmSIahMPIGdBn+poa+iUG6yen/PuRm0N8+qsfKtxNhT40cLXU2f/DgEcsKX3nyIEC5dZHdkRTbwficgUopIIyXb2i8N1D3A45BCcmot9H4sKM
vy0kZaZgKEPPuMl06QJ6lfy4L70AqS6/EUXGYPXBu8+nyUHNhnHUmxpBp8c2TBoDEYynYqhfqVl6JankCThla9+15/Cil9Js/6GpSQXccRb6vRAD
KF+DZvn0P9oTQ9de7XLQn8KN5VL1GnHhj72NBQXRlBpW6KaSq9WtabGbLAA5hFe1gN/4PxnHafGrbCKO5UVzMH3Cu4gV2Ljmyw1xtFEkXfSJ6jZ6
pV524ONkGdYnHklegiQjGCG/qLVlQFTxtn2wBS7EENcfouhFHnDRYEGzW26sXbrEOarP0iOW1tcw+9h16/WcmeK3TiMoETpOeqGHvCKXpyHrdJTx
z0EDTdWMZoRYKxwySSP3Qi4JDr7EINAcvDeXsO5epPtsEYXJ8Kj3gAfgHCzJAGXTXpGgMpO0W+eQnVwZo2YfqIGdecsM5bhZeUa7F2IwpMZkRlJo
1S8oAI4IkpCL36NwlAfsKG0nSEe6jPsKgl4e54ptavEUbmpkH/t2hUb0nNUWl6qyLj+2Ig5mJcff55agh97j9hKlVGGR/vW/9BZVOZXYjI+lKqvw
lywUZGdZu7MZs/PDEx9M2Vo0jd977HZ75uN7kQPeKW7Xd5ntdnOPUT0Mg/3F7Vq8EB3WX3tKXNuYCkdapTLBijMqmJAAAAAAAttJpQABiQWZDwAA
rvce+T4wDYsCAAAAAAFZWg==
"""
"""The same data frame with a function as an attribute, an environment that holds itself, and a function: `save`."""


def put(folder: Path, content: str, name: str) -> Path:
    (folder / name).write_bytes(base64.b64decode(content))
    return folder / name


def frame_of(columns: dict[str, RValue], **attributes: RValue) -> RValue:
    """A data frame of two records."""
    rows = RValue(INTEGER, [-(2**31), -2])
    kind = {"names": text_value(*columns), "class": text_value("data.frame"), "row.names": rows}
    return RValue(LIST, list(columns.values()), kind | attributes)


def stored(folder: Path, value: RValue) -> Path:
    (folder / "x.rds").write_bytes(Writer().value(value))
    return folder / "x.rds"


PLAIN = RValue(INTEGER, [1, 2])


def test_what_r_wrote_is_read(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, OF_R, "x.rds"))
    noon = dt.datetime(2024, 6, 1, 12, 30, 0, 250_000)
    assert table.frame.to_dict(as_series=False) == {
        "i": [1, 2, 3],
        "z": [1.5, None, None],
        "f": ["y", None, "x"],
        "l": [True, None, False],
        "d": [dt.date(2020, 1, 1), None, dt.date(1969, 12, 31)],
        "o": ["lo", "hi", None],
        "p": [noon, noon + dt.timedelta(seconds=1), None],
        "t": ["café", "café", None],
        "n": ["1e+05", "123456.5", None],
        "lab": [1, None, None],
        "tag": [2, None, None],
    }
    assert table.frame["f"].dtype == pl.Categorical
    assert table.frame["o"].dtype == pl.Enum(["lo", "mid", "hi"])
    assert table.value_labels == {"lab": {1: "yes", 97: "refused"}, "tag": {2: "two", "b": "ill"}}
    assert {n: c.to_list() for n, c in table.reasons.items()} == {"lab": [None, "97", "98"], "tag": [None, "b", None]}
    assert table.missing_codes == {"lab": [97, {"lo": 98, "hi": 99}]}
    assert (table.labels, table.title, table.described, table.notes) == ({"lab": "Works?"}, "Survey", "R", {})


@pytest.mark.parametrize("folded", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_however_it_is_compressed(tmp_path: Path, folded: Any) -> None:
    raw = lzma.decompress(base64.b64decode(OF_R))
    (tmp_path / "x.rds").write_bytes(folded(raw))
    assert read_table(tmp_path / "x.rds").frame.shape == (3, 11)


def test_the_only_data_frame_among_objects_is_read_and_nothing_is_run(tmp_path: Path) -> None:
    path = put(tmp_path, MORE_OF_R, "x.RData")
    assert read_table(path).frame.equals(read_table(put(tmp_path, OF_R, "x.rds")).frame)
    with pytest.raises(FileError, match=r"more than cells \(2 other objects; attributes 'made'; levels of column 'o'"):
        read_table(path, judged=True)


def test_a_judged_file_tells_apart_what_r_tells_apart(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="levels of column 'o' that no record has"):
        read_table(put(tmp_path, OF_R, "x.rds"), judged=True)
    nan = np.array([np.nan, 0.0])
    nan.view(np.uint64)[1] = 0x7FF00000000007A2
    columns = {"z": RValue(DOUBLE, nan), "i": PLAIN, "s": text_value("a", None)}
    table = read_table(stored(tmp_path, frame_of(columns)), judged=True)
    assert table.frame["z"].null_count() == 2
    assert {name: way.to_list() for name, way in table.spellings.items()} == {"z": [1, 0]}


def test_texts_in_two_encodings_are_told_apart(tmp_path: Path) -> None:
    content = Writer().value(frame_of({"t": text_value("café", "café")}))
    utf8 = struct.pack(">ii", 9 | 8 << 12, 5) + "café".encode()
    latin = struct.pack(">ii", 9 | 4 << 12, 4) + "café".encode("latin-1")
    (tmp_path / "x.rds").write_bytes(content.replace(utf8, latin, 1))
    table = read_table(tmp_path / "x.rds", judged=True)
    assert table.frame["t"].to_list() == ["café", "café"]
    assert sorted(table.spellings["t"].to_list()) == [0, 1]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (frame_of({"a": PLAIN}, **{"row.names": text_value("Ann", "Bob")}), "names of rows"),
        (frame_of({"a": PLAIN}, **{"row.names": RValue(INTEGER, [7, 9])}), "numbers of rows that are not in order"),
        (frame_of({"a": PLAIN}, source=text_value("Ann")), "attributes 'source'"),
        (frame_of({"a": RValue(INTEGER, [1, 2], {"names": text_value("x", "y")})}), "attributes 'names' of column 'a'"),
        (
            frame_of({"a": RValue(INTEGER, [1, 2], {"label": RValue(TEXT, ["a"], {"of": text_value("Ann")})})}),
            "attributes of attributes of column 'a'",
        ),
    ],
)
def test_what_stands_beside_the_cells_is_seen_when_a_file_is_judged(tmp_path: Path, value: RValue, what: str) -> None:
    path = stored(tmp_path, value)
    assert read_table(path).frame["a"].to_list() == [1, 2]
    assert ("" in read_table(path).notes) == ("rows" in what)
    with pytest.raises(FileError, match=what):
        read_table(path, judged=True)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (Writer().value(text_value("a")), "holds no data frame"),
        (Writer().value(frame_of({"a": RValue(LIST, [PLAIN, PLAIN])})), "Column 'a' .* is a list, a matrix"),
        (Writer().value(frame_of({"a": RValue(15, [1j, 2j])})), "Column 'a' .* is a list, a matrix"),
        (Writer().value(frame_of({"a": RValue(INTEGER, [1, 2], {"dim": PLAIN})})), "Column 'a' .* is a list, a matrix"),
        (Writer().value(frame_of({"a": PLAIN}))[:-30], "is no readable R file"),
        (gzip.compress(Writer().value(frame_of({"a": PLAIN})), mtime=0)[:-30], "is no readable R file"),
        (
            Writer().value(frame_of({"a": text_value("é", "e")})).replace("é".encode(), b"\xff\xff"),
            "text of an encoding",
        ),
        (b"A\n3\n263168\n", "is written as text"),
        (b"X\n" + struct.pack(">iiii", 2, 0x20300, 0x20300, 21), "has compiled functions"),
        (b"X\n" + struct.pack(">iii", 2, 0x20300, 0x20300) + struct.pack(">ii", 19, 1) * 5000, "is no readable R file"),
        (b"RDX3\n" + b"X\n" + struct.pack(">iiii", 2, 0x20300, 0x20300, 254), "holds no data frame"),
        (b"(\xb5/\xfd", "is written as text"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(tmp_path: Path, content: bytes, what: str) -> None:
    (tmp_path / "x.rds").write_bytes(content)
    with pytest.raises(FileError, match=what):
        read_table(tmp_path / "x.rds")


def test_numbers_in_text_are_as_r_writes_them() -> None:
    """The right-hand sides are those of `as.character` in R 4.2.2."""
    numbers = [
        1e5,
        123456,
        0.1,
        1e-5,
        1234567.891,
        1e15,
        123456789012,
        1 / 3,
        2 / 3 * 1e-7,
        -1e5,
        -123.0,
        1e100,
        np.inf,
    ]
    written = ["1e+05", "123456", "0.1", "1e-05", "1234567.891", "1e+15", "123456789012", "0.333333333333333"]
    written += ["6.66666666666667e-08", "-1e+05", "-123", "1e+100", "Inf"]
    assert [number_text(float(number)) for number in numbers] == written
    missing = np.array([0x7FF00000000007A2], dtype=np.uint64).view(np.float64)[0]
    assert [number_text(x) for x in (float(missing), np.nan, -np.inf, 7, -(2**31))] == [None, "NaN", "-Inf", "7", None]
    assert number_text(1e5, scipen=1) == "100000"


EVERYTHING = Table(
    frame=pl.DataFrame(
        {
            "i": [1, None, -(2**31) + 1],
            "big": [2**31, 2**53, None],
            "x": [1.5, None, float("inf")],
            "s": ["é", "", None],
            "b": [True, None, False],
            "c": pl.Series(["y", None, "x"], dtype=pl.Categorical),
            "o": pl.Series(["lo", "hi", None], dtype=pl.Enum(["lo", "mid", "hi"])),
            "d": [dt.date(1850, 1, 1), None, dt.date(2026, 2, 28)],
            "t": [dt.datetime(2026, 3, 29, 2, 30, 0, 1), dt.datetime(1900, 1, 1), None],
            "h": [dt.time(23, 59, 59), None, dt.time(0)],
            "none": [None, None, None],
            "pay": [1.5, None, None],
            "code": [3, None, None],
            "word": ["a", None, "b"],
        }
    ),
    labels={"i": "a number", "s": "some téxt"},
    value_labels={"pay": {1.5: "low", "z": "ill"}, "code": {3: "three", 97: "refused"}, "word": {"a": "first"}},
    reasons={"pay": pl.Series([None, "z", None]), "code": pl.Series([None, "97", None], dtype=pl.String)},
    missing_codes={"code": [97, {"lo": 98, "hi": 99}]},
    title="All that is",
)


def test_a_table_comes_back_with_all_that_it_says(tmp_path: Path) -> None:
    write_table(EVERYTHING, tmp_path / "x.rds")
    back = read_table(tmp_path / "x.rds", judged=True)
    assert back.frame.to_dict(as_series=False) == EVERYTHING.frame.to_dict(as_series=False)
    assert back.frame["o"].dtype == pl.Enum(["lo", "hi"])  # `mid` no record has
    assert (back.labels, back.title) == (EVERYTHING.labels, EVERYTHING.title)
    assert (back.value_labels, back.missing_codes) == (EVERYTHING.value_labels, EVERYTHING.missing_codes)
    assert {n: c.to_list() for n, c in back.reasons.items()} == {n: c.to_list() for n, c in EVERYTHING.reasons.items()}
    assert set(back.spellings) == {"pay", "code"}
    assert (tmp_path / "x.rds").read_bytes()[4:10] == b"\0\0\0\0\0\xff"  # neither time nor system


def test_r_reads_what_is_written(tmp_path: Path) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    write_table(EVERYTHING, tmp_path / "x.rds")
    program = """
x <- readRDS("x.rds"); tag <- function(v) rawToChar(writeBin(v, raw(), endian = "little")[5])
stopifnot(
  identical(c(x$i), c(1L, NA, -2147483647L)), identical(x$big, c(2^31, 2^53, NA)), identical(c(x$x), c(1.5, NA, Inf)),
  identical(c(x$s), c("\\u00e9", "", NA)), identical(Encoding(x$s[1]), "UTF-8"), identical(x$b, c(TRUE, NA, FALSE)),
  identical(x$c, factor(c("y", NA, "x"))), identical(x$o, factor(c("lo", "hi", NA), c("lo", "hi"), ordered = TRUE)),
  identical(x$d, as.Date(c("1850-01-01", NA, "2026-02-28"))), identical(attr(x, "label"), "All that is"),
  identical(format(x$t), c("2026-03-29 02:30:00", "1900-01-01 00:00:00", NA)), inherits(x$h, "hms"), all(is.na(x$none)),
  is.na(x$x[2]), !is.nan(x$x[2]), tag(x$pay[2]) == "z", tag(attr(x$pay, "labels")["ill"]) == "z",
  identical(unclass(x$code)[1:3], c(3, 97, NA)), identical(attr(x$code, "na_range"), c(98, 99)),
  identical(attr(x$word, "labels"), c(first = "a")), identical(attr(x$i, "label"), "a number"), dim(x) == c(3, 14))
d <- x[c("i", "big", "b", "c", "d")]; d$lgl <- d$b; saveRDS(d, "y.rds", version = 2); saveRDS(d, "z.rds", version = 3)
"""
    done = subprocess.run(["Rscript", "-e", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("y.rds", "z.rds"):
        expected = EVERYTHING.frame.select("i", "big", "b", "c", "d", lgl="b")
        assert read_table(tmp_path / name).frame.to_dict(as_series=False) == expected.to_dict(as_series=False)


def test_text_that_r_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no character of the number 0, and column 's' has"):
        write_table(Table(frame=pl.DataFrame({"s": ["a\0b"]})), tmp_path / "x.rds")
    with pytest.raises(Refused, match="names that no record has"):
        write_table(Table(frame=pl.DataFrame({"a": [1]}), value_labels={"a": {2: "two"}}), tmp_path / "x.rds")
    assert not list(tmp_path.iterdir())


def test_a_release_of_codes_keeps_labels_and_ranges_stay_text(tmp_path: Path) -> None:
    n = 30
    frame = pl.DataFrame({"town": [1 + i % 3 for i in range(n)], "age": [20 + i // 3 for i in range(n)]})
    write_table(Table(frame=frame, value_labels={"town": {1: "Sea", 2: "Hill", 3: "Bay"}}), tmp_path / "in.rds")
    table = read_table(tmp_path / "in.rds")
    plan = {
        "columns": {"town": {"role": "quasi-identifier", "level": "nominal"}, "age": "quasi-identifier"},
        "steps": [
            {"mask": "recode", "columns": ["town"], "groups": {"Coast": [1, 3]}},
            {"mask": "recode", "columns": ["age"], "width": 10},
        ],
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
        "output": {"format": "rds"},
    }
    out = shoal.protect(table.frame, plan, seed=1).write(tmp_path / "out", labels=table)
    back = read_table(out / "release" / "data.rds")
    assert back.value_labels["town"] == {2: "Hill", 10: "Coast"}
    assert back.frame["age"].dtype == pl.String
    assert shoal.audit(out / "release" / "data.rds", plan).holds


def test_a_zone_that_is_not_said_is_noted(tmp_path: Path) -> None:
    times = RValue(DOUBLE, [0.0, 3600.0], {"class": text_value("POSIXct", "POSIXt")})
    table = read_r(stored(tmp_path, frame_of({"t": times})), ReadOptions(judged=False))
    assert table.frame["t"].to_list() == [dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, 1)]
    assert "without a time zone" in table.notes["t"]


def test_bytes_that_are_damaged_are_read_or_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    whole, path = np.frombuffer(lzma.decompress(base64.b64decode(OF_R)), dtype=np.uint8), tmp_path / "damaged.rds"
    refused = 0
    for place in rng.integers(0, len(whole), by_night(60, 3000)):
        damaged = whole.copy()
        damaged[place] = rng.choice([0, 1, 127, 255])
        path.write_bytes(damaged.tobytes() if place % 2 else damaged[:place].tobytes())
        try:
            read_table(path, judged=bool(place % 3))
        except FileError:
            refused += 1
    assert refused > 30


def test_bytes_after_the_end_are_seen_when_a_file_is_judged(tmp_path: Path) -> None:
    path = stored(tmp_path, frame_of({"a": PLAIN}))
    raw = path.read_bytes()
    path.write_bytes((gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw) + b"Ann")
    assert read_table(path).frame["a"].to_list() == [1, 2]
    with pytest.raises(FileError, match="bytes after its end"):
        read_table(path, judged=True)

"""JSON files are what the standard library makes of the same content."""

import json
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.table.files.json_text import as_json, write_json


class Level(IntEnum):
    HIGH = 3


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(Level.HIGH)
contents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("json") / "file.json"


@given(contents)
def test_files_are_those_of_the_standard_library(path: Path, content: Any) -> None:
    write_json(path, content)
    assert path.read_text("utf-8") == json.dumps(as_json(content), indent=2, allow_nan=False) + "\n"


def test_arrays_sets_and_figures_that_are_not_finite(path: Path) -> None:
    write_json(
        path, {"a": np.array([[1.5, np.nan]]), "b": np.int8(3), "c": (np.inf, {"x"}), 4: Path("p"), "d": [], "e": {}}
    )
    expected = {"a": [[1.5, None]], "b": 3, "c": [None, ["x"]], "4": "p", "d": [], "e": {}}
    assert path.read_text("utf-8") == json.dumps(expected, indent=2) + "\n"

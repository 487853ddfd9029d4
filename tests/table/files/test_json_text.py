"""JSON files are written as Python's own encoder writes them."""

import json
from pathlib import Path
from types import MappingProxyType

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.table.files.json_text import as_json, write_json

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
arrays = st.lists(st.floats(), max_size=3).map(np.array)
scalars_of_numpy = st.sampled_from([np.float64(2.5), np.float64("nan"), np.int64(3), np.bool_(True), np.str_("é")])
of_any_kind = st.recursive(
    scalars | arrays | scalars_of_numpy,
    lambda below: (
        st.lists(below, max_size=3)
        | st.tuples(below)
        | st.dictionaries(st.text(max_size=3) | st.integers(), below, max_size=3).map(MappingProxyType)
    ),
)


@given(of_any_kind)
def test_a_file_holds_what_the_encoder_of_python_writes(tmp_path_factory, content):
    path = Path(tmp_path_factory.getbasetemp()) / "content.json"
    write_json(path, content)
    assert path.read_text(encoding="utf-8") == json.dumps(as_json(content), indent=2, allow_nan=False) + "\n"

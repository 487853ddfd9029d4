"""No two headers of native/ define a class of one name: the linker would silently mix their functions."""

import re
from collections import Counter
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[1] / "native"


@pytest.mark.skipif(not NATIVE.is_dir(), reason="the tests run without the source tree")
def test_class_names_are_unique():
    defined = Counter()
    for header in NATIVE.glob("*.hpp"):
        names = re.findall(r"^(?:class|struct) (\w+)(?: final)?(?: :|\s*\{)", header.read_text(), re.MULTILINE)
        defined.update(set(names))
    assert [name for name, count in defined.items() if count > 1] == []

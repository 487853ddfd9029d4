"""Methods of a family: what the family says of its parameters stands in each method's own docstring."""

import re
from dataclasses import fields
from inspect import getdoc

import pytest

import shoal
from shoal.vocabulary.errors import ParameterError


def described(cls: type) -> list[str]:
    """Names in the docstring's section Parameters, in order."""
    section = re.split(r"\n\n(?=\w+\n---)", (getdoc(cls) or "") + "\n\n")[1]
    return [name for line in section.split("\n")[2:] if re.match(r"\w", line) for name in line.split(", ")]


@pytest.mark.parametrize("name", ["TopCode", "Laplace", "Geometric", "FuzzyCMeans", "PSensitive", "TClosenessMerge"])
def test_each_parameter_is_described_once(name: str) -> None:
    cls = getattr(shoal, name)
    assert sorted(described(cls)) == sorted(field.name for field in fields(cls))


def test_what_must_be_given_comes_first() -> None:
    assert described(shoal.PSensitive) == ["k", "p", "start", "moves"]


def test_a_method_may_say_more_than_its_family() -> None:
    assert "Groups of the start that are smaller are merged first." in getdoc(shoal.TClosenessMerge)
    assert "Groups of the start" not in getdoc(shoal.TClosenessFirst)


def test_sections_after_the_parameters_stay() -> None:
    assert getdoc(shoal.Geometric).index("clamp\n") < getdoc(shoal.Geometric).index("Notes\n-----\nDrawn exactly")


def test_limits_of_the_family_hold() -> None:
    with pytest.raises(ParameterError, match="geometric: epsilon must be greater than 0; got -1"):
        shoal.Geometric(epsilon=-1, bounds={"x": (0, 1)})

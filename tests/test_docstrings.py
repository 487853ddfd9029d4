"""The examples in docstrings run as tests."""

import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import pytest

import shoal


def modules() -> Iterator[ModuleType]:
    yield shoal
    for module in pkgutil.walk_packages(shoal.__path__, "shoal."):
        if module.name.split(".")[-1] not in ("__main__", "_native"):
            yield importlib.import_module(module.name)


EXAMPLES = [
    pytest.param(example, id=example.name)
    for module in modules()
    for example in doctest.DocTestFinder(exclude_empty=True).find(module)
    if example.examples
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_docstring_shows_what_its_example_prints(example: doctest.DocTest) -> None:
    runner = doctest.DocTestRunner(verbose=False)
    assert runner.run(example).failed == 0


def test_examples_are_collected() -> None:
    assert "shoal" in {example.values[0].name for example in EXAMPLES}  # type: ignore[union-attr]

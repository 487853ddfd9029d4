"""Every parameter of every method says what it holds: from this alone follows what of a plan is published."""

from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from shoal.vocabulary.parameters import HoldsCells, KeyFile, Method, Secret, Setting, holds
from shoal.vocabulary.registry import Entry, registered
from shoal.vocabulary.registry import entry as find


def unclassified(cls: type[Any]) -> list[str]:
    """What to say of each parameter that may hold anything and does not tell what."""
    hints = get_type_hints(cls)
    return [
        f"{cls.__name__}.{name}: {hints[name]} may hold anything; say what it holds, as in "
        f"Annotated[..., Setting()], HoldsCells(), Columns(), ColumnName(), TablePath(), KeyFile() or Secret()"
        for name, marker in holds(cls).items()
        if marker is None
    ]


@pytest.mark.parametrize("entry", registered(), ids=lambda e: f"{e.kind}-{e.name}")
def test_every_parameter_says_what_it_holds(entry: Entry) -> None:
    assert not unclassified(entry.cls), "\n".join(unclassified(entry.cls))


@pytest.mark.parametrize("entry", registered(), ids=lambda e: f"{e.kind}-{e.name}")
def test_methods_in_methods_say_so(entry: Entry) -> None:
    """A parameter whose values have parameters of their own is a `Method`, however it is made."""
    for field in fields(entry.cls):
        default = entry.parameters[field.name]
        if hasattr(default, "method_name"):
            assert isinstance(holds(entry.cls)[field.name], Method)


@pytest.mark.parametrize(
    ("kind", "method", "parameter", "marker"),
    [
        ("mask", "pseudonymise", "key", Secret),
        ("mask", "pseudonymise", "key_file", KeyFile),
        ("mask", "top-code", "value", HoldsCells),
        ("partition", "fuzzy-c-means", "constraints", HoldsCells),
        ("mask", "recode", "groups", HoldsCells),
        ("partition", "mdav", "k", Setting),
        ("partition", "refined", "start", Method),
        ("replace", "class-conditional", "continuous", Method),
    ],
)
def test_some_by_hand(kind: str, method: str, parameter: str, marker: type) -> None:
    assert isinstance(holds(find(kind, method).cls)[parameter], marker)


def test_a_parameter_without_a_word_is_named() -> None:
    from dataclasses import dataclass

    @dataclass
    class New:
        k: int
        threshold: float

    assert [line.split(":")[0] for line in unclassified(New)] == ["New.threshold"]

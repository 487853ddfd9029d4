"""Places of a plan that take a registered method: `{mask: rank-swap, columns: [income], p: 0.05}`.

One key names the kind and its value the method, so that the alternatives are a union discriminated by that key. The
union is built from the registry: a method that is added is a new alternative at once. What a mapping says is
checked by the method itself, which knows its rules; an object of the kind may stand where a mapping may.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, Literal, Union, cast, get_args, get_type_hints

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    create_model,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from shoal.plan.lines import plain
from shoal.plan.steps import STEPS, SmallStrata, Step, Unit
from shoal.privacy.base import PrivacyModel
from shoal.privacy.gate import BOUNDS, bound_on
from shoal.vocabulary.errors import InputError, Mistake, ParameterError, PlanError, quoted, unknown
from shoal.vocabulary.registry import Entry, Spec, build, registered, spec_of

EXAMPLES = {"partition": "mdav", "privacy": "k-anonymity", "risk": "distance-linkage"}
"""A method of each kind, to show how one is named."""

CHOICES: Mapping[str, tuple[str, ...]] = {"small_strata": get_args(SmallStrata), "unit": get_args(get_args(Unit)[0])}
"""Keys of a partition step whose value is one of a few words; `unit` may be a column's name as well."""


@dataclass(frozen=True, slots=True)
class NamedBy:
    """Annotation of a place that takes a registered method.

    Parameters
    ----------
    kinds
        Kinds of methods that may stand there; the first is shown as the example.
    read
        Function that builds the value from the plan's entry and pydantic's context.
    short
        Kinds whose methods may be given by a bare name, with their defaults.
    bounded
        Kinds whose methods are given with a bound on their figure.
    """

    kinds: tuple[str, ...]
    read: Callable[[Any, Any], Any]
    short: tuple[str, ...] = ()
    bounded: tuple[str, ...] = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(lambda item, info: self.read(item, info.context))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        unions: list[Any] = []
        for kind in self.kinds:
            described = tuple(_described(entry, bounded=kind in self.bounded) for entry in registered(kind))
            alternatives: Any = Union[described]  # noqa: UP007 - made of a list
            unions.append(Annotated[alternatives, Discriminator(kind)])
        if self.short:
            unions.append(Literal[tuple(entry.name for kind in self.short for entry in registered(kind))])
        return handler(_core_schema(Union[tuple(unions)]))  # noqa: UP007 - made of a list


def _core_schema(annotation: Any) -> CoreSchema:
    return TypeAdapter(annotation).core_schema


def _described(entry: Entry, *, bounded: bool) -> Any:
    """A model of one method as a plan names it, for the JSON schema; with the keys of a bound, if it takes one."""
    hints = get_type_hints(entry.cls, include_extras=True)
    keys: dict[str, Any] = {entry.kind: (Literal[entry.name], ...)}
    for name, default in entry.parameters.items():
        keys[name] = (hints[name], ... if default is MISSING else spec_of(default) if _is_method(default) else default)
    if entry.kind in STEPS:
        hints = get_type_hints(STEPS[entry.kind], include_extras=True)
        for f in _own_keys(entry.kind):
            keys.setdefault(f.name, (hints[f.name], "centroid" if f.name == "replace" else f.default))
    if bounded:
        keys |= {name: (float | None, Field(default=None, alias=word)) for word, name in BOUNDS.items()}
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, title=entry.title, protected_namespaces=())
    return create_model(entry.cls.__name__, __config__=config, __doc__=entry.source, **keys)


def _own_keys(kind: str) -> list[Any]:
    """The fields of a step other than its method: keys that are no parameters."""
    return [f for f in fields(STEPS[kind]) if f.name != "method"]


def _is_method(value: Any) -> bool:
    return hasattr(value, "method_kind")


def read_method(item: Any, kinds: tuple[str, ...]) -> Any:
    """A method of one of the kinds."""
    kind, spec = _one_kind(item, kinds)
    return build(kind, spec)


def read_requirement(item: Any) -> PrivacyModel:
    """A privacy model, by its name or a mapping; or a measure with a bound on its figure."""
    if isinstance(item, PrivacyModel):
        return item
    if isinstance(item, str):
        item = {"privacy": item}
    kind, spec = _one_kind(item, ("privacy", "risk", "utility"))
    if kind == "privacy":
        return cast(PrivacyModel, build(kind, spec))
    return bound_on(kind, spec)


def read_step(item: Any, columns: Collection[str] | None) -> Step:
    """A step; every mistake in it is told at once.

    Parameters
    ----------
    columns
        Columns that the plan describes, which a step may name; None to leave that unchecked.
    """
    if isinstance(item, Step):
        return item
    kind, spec = _one_kind(item, tuple(STEPS))
    keys = {f.name: spec.pop(f.name) for f in _own_keys(kind) if f.name in spec}
    mistakes: list[Mistake] = []
    with _gathering(mistakes):
        method = build(kind, spec)
    for key in keys.keys() & {"columns", "by"}:
        with _gathering(mistakes, key):
            keys[key] = _names(keys[key], key, columns)
    if kind == "partition":
        with _gathering(mistakes, "replace"):
            keys["replace"] = build("replace", keys.get("replace", "centroid"))
        for key, words in CHOICES.items():
            with _gathering(mistakes, key):
                named = (columns or ()) if key == "unit" else ()
                if keys.get(key, words[0]) not in (*words, *named):
                    more = " Or name a column with the role identifier." if key == "unit" else ""
                    raise PlanError(unknown(f"value of {key}", keys[key], words) + more)
    if mistakes:
        raise ParameterError(" ".join(sentence for _, sentence in mistakes), mistakes)
    return STEPS[kind](method=method, **keys)


@contextmanager
def _gathering(mistakes: list[Mistake], *place: str) -> Iterator[None]:
    """Note a mistake and its place instead of ending with it."""
    try:
        yield
    except InputError as error:
        mistakes += [((*place, *inner), sentence) for inner, sentence in error.mistakes or (((), str(error)),)]


def _one_kind(item: Any, kinds: tuple[str, ...]) -> tuple[str, Spec]:
    """The kind of method that a mapping names, and its further keys; a method object stands for itself."""
    if _is_method(item):
        item = {item.method_kind: item}
    named = [kind for kind in kinds if isinstance(item, Mapping) and kind in item]
    if len(named) != 1:
        keys = f"exactly one of the keys {quoted(kinds)}" if len(kinds) > 1 else f"the key '{kinds[0]}'"
        raise PlanError(f"must be a mapping with {keys}, as in {{{kinds[0]}: {EXAMPLES[kinds[0]]}}}.")
    return named[0], dict(plain(item))


def _names(value: Any, key: str, columns: Collection[str] | None) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)):
        raise PlanError(f"{key} must be a list of column names; got {type(value).__name__}.")
    names = tuple(str(name) for name in listed)
    if columns is not None and (strange := [name for name in names if name not in columns]):
        raise PlanError(unknown("column", strange[0], columns))
    return names

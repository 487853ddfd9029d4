"""The registry: what exists, its parameters and their limits, its source.

A method is a class in one file, written as

    @method("mdav", title="MDAV", source="Domingo-Ferrer & Torra (2005)")
    class MDAV(Partitioner):
        k: Annotated[int, Ge(1)]

The decorator makes it a frozen dataclass whose parameters check themselves, and enters it under its kind's
name. The plan file, its JSON schema, the command line, the docs table and the contract tests all read here,
so nothing else has to be edited when a method is added. A package of its own brings methods along by an entry point:

    [project.entry-points."shoal.methods"]
    mine = "my_package.my_methods"
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache, wraps
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter, Signature
from typing import Any, Literal, TypeVar, cast, dataclass_transform, get_args

import numpy as np
from pydantic import (
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic.dataclasses import dataclass as checked_dataclass
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import ArgsKwargs, CoreSchema

from shoal.vocabulary.errors import Mistake, ParameterError, quoted, unknown
from shoal.vocabulary.parameters import Method, broken_rules, docstring_sections

KINDS = ("partition", "replace", "mask", "privacy", "risk", "utility")

PLUGINS = "shoal.methods"
"""Entry points by which other packages bring methods along."""

KIND_NAMES = {
    "partition": "partition",
    "replace": "replacement",
    "mask": "mask",
    "privacy": "privacy model",
    "risk": "risk measure",
    "utility": "utility measure",
}
"""Names of the kinds of methods for users."""

Scales = Literal["rows", "blocks", "combinations", "sorting", "classes", "sample", "memory"]

SCALE_NAMES: Mapping[Scales, str] = {
    "rows": "row by row",
    "blocks": "in blocks of records that lie near one another",
    "combinations": "on the distinct combinations of cells, with how often each occurs",
    "sorting": "by sorting, range of values by range, with the ranks of the whole table",
    "classes": "class by class, exactly",
    "sample": "on a random sample of whole classes, with an interval",
    "memory": "on all records at once, which memory must hold",
}
"""Ways in which a method can work on a table in parts; declared as `scales` by a method or for its kind."""

Spec = dict[str, Any]
"""Part of a plan as YAML holds it: a method by its name with its parameters, a step, a section."""

C = TypeVar("C", bound=type[Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One registered method.

    Parameters
    ----------
    example
        Parameters with which the tests try the method: at least those without a default.
    example_columns
        Columns of the tests' invented table on which it is tried; two continuous ones if empty.
    """

    name: str
    kind: str
    cls: type[Any]
    title: str
    source: str
    example: Mapping[str, Any] = field(default_factory=dict)
    example_columns: tuple[str, ...] = ()

    @property
    def parameters(self) -> Spec:
        """Parameter names with their defaults; `dataclasses.MISSING` marks a required one."""
        return {
            f.name: f.default_factory() if f.default_factory is not MISSING else f.default for f in fields(self.cls)
        }

    @property
    def signature(self) -> Signature:
        """How its class is called."""
        types = {f.name: f.type for f in fields(self.cls)}
        given = [(n, Parameter.empty if value is MISSING else value) for n, value in self.parameters.items()]
        keyword = Parameter.KEYWORD_ONLY
        parameters = [Parameter(n, keyword, default=value, annotation=types[n]) for n, value in given]
        return Signature(parameters, return_annotation=None)

    def json_schema(self) -> JsonSchemaValue:
        """The JSON schema of the method's parameters."""
        return TypeAdapter(self.cls).json_schema(ref_template="#/$defs/{model}")


_entries: dict[tuple[str, str], Entry] = {}


@dataclass_transform(kw_only_default=True, frozen_default=True)
def method(
    name: str,
    *,
    title: str,
    source: str,
    example: Mapping[str, Any] | None = None,
    example_columns: tuple[str, ...] = (),
) -> Callable[[C], C]:
    """Make a class a self-checking frozen dataclass and enter it in the registry.

    Its kind follows from its base class (`Partitioner`, `Replacement`, `Mask`, `PrivacyModel`, `RiskMeasure`,
    `UtilityMeasure`). The contract tests try it with its example (see `Entry`).
    """

    def enter(cls: C) -> C:
        config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)
        method: Any = checked_dataclass(frozen=True, kw_only=True, config=config)(cls)
        method.method_name, method.title = name, title
        method.__doc__ = _with_shared_parameters(method)
        _check_on_construction(method, name)
        if not method.__module__.startswith("shoal."):
            _load_kind(method.method_kind)  # ours first, so that a namesake is noticed
        namesake = _entries.get((method.method_kind, name))
        if namesake is not None and namesake.cls.__module__ != method.__module__:
            raise ParameterError(
                f"Two modules have a {KIND_NAMES[method.method_kind]} '{name}': {namesake.cls.__module__} and "
                f"{method.__module__}. Rename one."
            )
        entered = Entry(
            name=name,
            kind=method.method_kind,
            cls=method,
            title=title,
            source=source,
            example=example or {},
            example_columns=example_columns,
        )
        method.__signature__ = entered.signature
        _entries[method.method_kind, name] = entered
        return cast(C, method)

    return enter


@dataclass_transform(kw_only_default=True, frozen_default=True)
def family(cls: C) -> C:
    """Make a base class whose parameters several methods share.

    Its fields come before a method's own, and their descriptions become part of the method's docstring.
    """
    return cast(C, dataclass(frozen=True, kw_only=True)(cls))


def _with_shared_parameters(cls: type[Any]) -> str:
    """The docstring together with the parameters that families describe; required parameters come first."""
    text, own, rest = docstring_sections(cls.__doc__)
    shared: dict[str, str] = {}
    for base in reversed(cls.__mro__[1:]):
        if is_dataclass(base):
            shared |= docstring_sections(base.__doc__)[1]
    needed = {f.name for f in fields(cls) if f.default is f.default_factory is MISSING}
    described = sorted((shared | own).items(), key=lambda entry: needed.isdisjoint(entry[0].split(", ")))
    entries = "\n".join(f"{names}\n{meaning}" for names, meaning in described)
    parameters = f"Parameters\n----------\n{entries}" if entries else ""
    return "\n\n".join(part for part in (text, parameters, rest) if part)


LARGEST_NUMBER = 1 << 63
"""Whole numbers from here on do not fit the integers of the kernels."""


def _check_on_construction(cls: type[Any], name: str) -> None:
    @cache
    def validator() -> Any:  # built when a method is made for the first time
        return TypeAdapter(cls).validator

    @wraps(cls.__init__)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        if args:
            raise ParameterError(f"{name} takes its parameters by name, as in {cls.__name__}(k=5).")
        kwargs = {key: _plain(value) for key, value in kwargs.items()}
        for key, value in kwargs.items():
            if isinstance(value, bool) and not _takes_truth(cls, key):
                raise ParameterError(f"{name}: {key} must not be true or false; got {value}.")
            if isinstance(value, int) and abs(value) >= LARGEST_NUMBER:
                raise ParameterError(f"{name}: {key} must be below 2^63.")
        try:
            validator().validate_python(ArgsKwargs((), kwargs), self_instance=self)
        except ValidationError as error:
            mistakes = _in_words(cls, name, error)
            raise ParameterError(" ".join(sentence for _, sentence in mistakes), mistakes) from None

    cls.__init__ = checked


def _takes_truth(cls: type[Any], key: str) -> bool:
    """True if a parameter may be true or false, or is unknown: pydantic names unknown ones."""
    annotation = next((f.type for f in fields(cls) if f.name == key), Any)
    kinds = [annotation, *get_args(annotation), *(k for part in get_args(annotation) for k in get_args(part))]
    return Any in kinds or bool in kinds or any(isinstance(kind, str) for kind in kinds[:1])


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _in_words(cls: type[Any], name: str, error: ValidationError) -> list[Mistake]:
    sentences: list[Mistake] = []
    rules = []
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            sentences.append((problem["loc"], unknown(f"parameter of {name}", key, [f.name for f in fields(cls)])))
        elif problem["type"] in ("missing", "missing_keyword_only_argument"):
            sentences.append((problem["loc"], f"{name} needs the parameter '{key}'; give it a value."))
        elif not key:  # parameters that do not go together
            rule = problem["msg"].removeprefix("Value error, ").removeprefix(f"{name}: ").rstrip(".")
            sentences.append((problem["loc"], f"{name}: {rule}."))
        elif isinstance(of_method := problem.get("ctx", {}).get("error"), ParameterError):  # a method as a parameter
            sentences.append((problem["loc"], f"{name}: {key}: {of_method}"))
        else:
            rules.append(problem)
    return sentences + [((key,), f"{name}: {key} {rule}.") for key, rule in broken_rules(cls, rules).items()]


def load() -> None:
    """Import all modules of methods, ours and those of other packages, so that each method enters itself.

    Raises
    ------
    ParameterError
        If such a module cannot be imported, or has a method with the name of another.
    """
    for kind in KINDS:
        _load_kind(kind)
    plugins()


@cache
def _modules(kind: str) -> tuple[str, ...]:
    """Names of our own modules of a kind; nothing is imported but the package."""
    return tuple(module.name for module in pkgutil.iter_modules(importlib.import_module(f"shoal.{kind}").__path__))


@cache
def _load_kind(kind: str) -> None:
    """Import our own modules of a kind."""
    for module in _modules(kind):
        importlib.import_module(f"shoal.{kind}.{module}")


@cache
def plugins() -> tuple[str, ...]:
    """Names of the other packages that bring methods, by an entry point of the group "shoal.methods"; all imported.

    Raises
    ------
    ParameterError
        If such a module cannot be imported, or has a method with the name of another.
    """
    points = sorted(entry_points(group=PLUGINS))
    for point in points:
        try:
            point.load()
        except ParameterError:
            raise
        except Exception as error:
            raise ParameterError(
                f"The methods of the package '{_package(point)}' cannot be loaded ({type(error).__name__} in "
                f"{point.value}). Mend it, or uninstall it."
            ) from error
    return tuple(dict.fromkeys(map(_package, points)))


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.name


def registered(kind: str | None = None) -> list[Entry]:
    """All methods, or those of one kind, by kind and name."""
    for wanted in KINDS if kind is None else (kind,):
        _load_kind(wanted)
    plugins()
    keys = [key for key in list(_entries) if kind is None or key[0] == kind]  # other threads may enter some meanwhile
    return [_entries[key] for key in sorted(keys, key=lambda key: (KINDS.index(key[0]), key[1]))]


def entry(kind: str, name: str) -> Entry:
    """One method by its registered name; the error for an unknown name suggests the nearest one.

    A method of ours in a file of its own name needs no other file of ours.
    """
    plugins()
    if (kind, name) not in _entries and (module := name.replace("-", "_")) in _modules(kind):
        importlib.import_module(f"shoal.{kind}.{module}")
    if (kind, name) not in _entries and name not in (names := [e.name for e in registered(kind)]):
        raise ParameterError(unknown(KIND_NAMES[kind], name, names))
    return _whole(_entries[kind, name])


def _whole(entered: Entry) -> Entry:
    """The entry, once its module is imported to its end: another thread may have just begun."""
    if entered.cls.__module__.startswith("shoal."):
        importlib.import_module(entered.cls.__module__)
    return entered


def method_class(name: str) -> type[Any] | None:
    """The class of a method by its name in Python, as `MDAV`; None if there is none."""
    alike = [(kind, module) for kind in KINDS for module in _modules(kind) if module.replace("_", "") == name.lower()]
    for kind, module in alike:
        cls = getattr(importlib.import_module(f"shoal.{kind}.{module}"), name, None)
        if any(entered.cls is cls for entered in list(_entries.values())):
            return cls
    return next((entered.cls for entered in registered() if entered.cls.__name__ == name), None)


def build(kind: str, spec: Any) -> Any:
    """Make a method from a plan's words: its name, or a mapping `{method: name, parameter: value}`.

    The key that holds the name may be `method` or the kind's own (`{partition: mdav, k: 5}`). Wherever a name may
    stand, a method object may, with its parameters inside it. Raises ParameterError if there is no such method, or it
    does not take the parameters.
    """
    parameters = dict(spec) if isinstance(spec, Mapping) else {"method": spec}
    named = parameters.pop("method", None) or parameters.pop(kind, None)
    if named is None:
        raise ParameterError(f"A {KIND_NAMES[kind]} needs its name, as in {{method: NAME}}.")
    if isinstance(named, str):
        return entry(kind, named).cls(**parameters)
    if getattr(named, "method_kind", None) != kind:
        came = KIND_NAMES.get(getattr(named, "method_kind", ""), type(named).__name__)
        raise ParameterError(f"A {KIND_NAMES[kind]} is needed, by its name or as an object; got a {came}.")
    if parameters:
        raise ParameterError(
            f"{named.method_name} is given as an object, which holds its parameters; take {quoted(parameters)} out."
        )
    return named


def spec_of(instance: Any) -> Spec:
    """The mapping from which `build` makes the same method again."""
    if hasattr(instance, "as_spec"):
        return dict(instance.as_spec())
    parameters = {f.name: getattr(instance, f.name) for f in fields(instance)}
    return {"method": instance.method_name, **{key: _spelled(value) for key, value in parameters.items()}}


def _spelled(value: Any) -> Any:
    """A parameter as a plan spells it: methods, and lists of methods, by their mappings."""
    if hasattr(value, "method_name"):
        return spec_of(value)
    if isinstance(value, tuple) and any(hasattr(item, "method_name") for item in value):
        return [_spelled(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class _Nested(Method):
    """Marker of a parameter that is itself a method, built from its description in a plan."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        validator = BeforeValidator(
            lambda spec: None if spec is None else build(self.kind, spec), json_schema_input_type=str | Spec
        )
        return validator.__get_pydantic_core_schema__(source, handler)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of the method in a plan: a name, or a mapping with the name under `method`."""
        names = {"enum": [entry.name for entry in registered(self.kind)]}
        return {"anyOf": [names, {"type": "object", "properties": {"method": names}, "required": ["method"]}]}


def nested(kind: str) -> Method:
    """Marker of a parameter that is itself a method: `start: Annotated[Partitioner, nested("partition")]`."""
    return _Nested(kind)

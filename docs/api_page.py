"""The page of the package's functions and classes, from their signatures and docstrings."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from inspect import getdoc
from typing import Any

from method_pages import cell, markdown

import shoal
from shoal.vocabulary.parameters import docstring_sections

LONGEST_LINE = 100

START = """# The package

What `import shoal` offers beside the methods, each of which [is a name of the package](methods.md), too. All else is
the house's own and may change.
"""


def api_page() -> str:
    names = sorted(shoal._HOMES, key=lambda name: (name[0].isupper(), name))
    return "\n".join([START, *("\n".join(_entry(name, getattr(shoal, name))) for name in names)])


def _entry(name: str, value: Any) -> Iterator[str]:
    """A function, or a class with what can be asked of it."""
    yield f"\n## shoal.{name}\n"
    yield from _called(f"shoal.{name}", value)
    if not inspect.isclass(value):
        return
    for own, member in vars(value).items():
        if own.startswith("_") or not getdoc(member):
            continue
        if isinstance(member, property):
            text, _, rest = docstring_sections(getdoc(member))
            yield f"\n### {name}.{own}\n\n{markdown(text)}\n{_sections(rest)}"
        elif inspect.isfunction(member) or isinstance(member, (classmethod, staticmethod)):
            yield f"\n### {name}.{own}()\n"
            yield from _called(f"{'shoal.' * isinstance(member, (classmethod, staticmethod))}{name}.{own}", member)


def _called(shown: str, value: Any) -> Iterator[str]:
    """Signature, text, parameters, and what follows in the docstring."""
    text, said, rest = docstring_sections(getdoc(value))
    yield f"```text\n{_signature(shown, value)}\n```\n\n{markdown(text)}\n"
    if said:
        yield "| parameter | says |\n| --- | --- |"
        yield from (f"| `{names}` | {cell(textwrap.dedent(meaning))} |" for names, meaning in said.items())
        yield ""
    yield _sections(rest)


def _sections(rest: str) -> str:
    """What a docstring says after the parameters: a paragraph each, with the section's name before it."""
    parts = []
    for section in re.split(r"\n\n(?=\w+\n---)", rest) if rest else ():
        title, _, body = section.split("\n", 2)
        entries = re.sub(r"^(\S.*)\n    (?=\S)", r"- `\1`: ", body, flags=re.M) if title == "Raises" else body
        parts.append(f"**{title}**\n\n{markdown(entries)}\n")
    return "\n".join(parts)


def _signature(shown: str, value: Any) -> str:
    """The call as the source has it, a line for each parameter where one line is too short for all."""
    if inspect.isclass(value):
        return f"class {shown}"
    function = getattr(value, "__func__", value)
    source = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body[0]
    if not isinstance(source, ast.FunctionDef):
        raise TypeError(f"{shown} is no function")
    bound = source.args.args and source.args.args[0].arg in ("self", "cls")
    source.args.args = source.args.args[bool(bound) :]
    back = f" -> {ast.unparse(source.returns)}" if source.returns else ""
    line = f"{shown}({ast.unparse(source.args)}){back}"
    if len(line) <= LONGEST_LINE:
        return line
    return "\n".join([f"{shown}(", *(f"    {one}," for one in _parameters(source.args)), f"){back}"])


def _parameters(given: ast.arguments) -> Iterator[str]:
    """Each parameter with its type and default."""
    ordered, named = [*given.posonlyargs, *given.args], given.kwonlyargs
    defaults = [None] * (len(ordered) - len(given.defaults)) + list(given.defaults)
    for one, default in zip(ordered, defaults):
        yield ast.unparse(one) + (f" = {ast.unparse(default)}" if default else "")
    if given.vararg or named:
        yield f"*{ast.unparse(given.vararg) if given.vararg else ''}"
    for one, default in zip(named, given.kw_defaults):
        yield ast.unparse(one) + (f" = {ast.unparse(default)}" if default else "")
    if given.kwarg:
        yield f"**{ast.unparse(given.kwarg)}"

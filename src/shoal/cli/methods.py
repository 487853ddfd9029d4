"""All methods, or one of them in full."""

from collections.abc import Mapping
from typing import Any

import click

from shoal.cli.group import cli, pass_terminal
from shoal.cli.terminal import Terminal
from shoal.cli.wrapping import reflowed


@cli.command()
@click.argument("words", nargs=-1, metavar="[WHAT]...")
@pass_terminal
def methods(terminal: Terminal, words: tuple[str, ...]) -> None:
    """List every method with its source; or those of a kind; or show one in full, with its parameters.

    WHAT is a kind (partition, replace, mask, privacy, risk, utility), the name of a method, or words of its
    description or its literature: every method in which all of them occur is listed.

    \b
    Examples:
      shoal methods
      shoal methods partition
      shoal methods mdav
      shoal methods data shuffling
    """
    from shoal.vocabulary.errors import ParameterError, unknown
    from shoal.vocabulary.registry import KINDS, registered

    what = " ".join(words).lower()
    if not what or what in KINDS:
        _list(terminal, registered(what or None))
    elif named := [entry for entry in registered() if entry.name == what]:
        terminal.result({f"{entry.kind}: {entry.name}": _described(entry) for entry in named})
        for entry in named:
            terminal.say(_in_full(entry))
    elif matching := _matching(what, registered()):
        _list(terminal, matching)
    else:
        raise ParameterError(unknown("method or kind", what, {*KINDS, *(entry.name for entry in registered())}))


def _matching(what: str, entries: list[Any]) -> list[Any]:
    """Methods that other tools call so; else those with all words in their names or titles, else in their texts."""
    from inspect import getdoc

    from shoal.vocabulary.errors import synonyms_of

    called = synonyms_of(what)
    headings = [(entry, f"{entry.name} {entry.title}") for entry in entries]
    texts = [(entry, f"{text} {entry.source} {getdoc(entry.cls)}") for entry, text in headings]
    return (
        [entry for entry in entries if entry.name in called]
        or [entry for entry, text in headings if _holds(text, what)]
        or [entry for entry, text in texts if _holds(text, what)]
    )


def _holds(text: str, what: str) -> bool:
    """True if every word begins one of the text's words."""
    import re

    return all(re.search(rf"(?<![a-z0-9]){re.escape(word)}", text.lower()) for word in what.lower().split())


def _list(terminal: Terminal, entries: list[Any]) -> None:
    terminal.result(
        {
            f"{e.kind}: {e.name}": {"title": e.title, "source": e.source, "parameters": list(e.parameters)}
            for e in entries
        }
    )
    terminal.table(["kind", "method", "what it is", "source"], [[e.kind, e.name, e.title, e.source] for e in entries])
    terminal.say("Parameters, an example and what it does: shoal methods NAME")


def _described(entry: Any) -> Mapping[str, object]:
    """One method for programs."""
    from inspect import getdoc

    return {
        "title": entry.title,
        "source": entry.source,
        "parameters": entry.json_schema()["properties"],
        "yaml": yaml_of(entry),
        "python": python_of(entry),
        "description": getdoc(entry.cls),
    }


def _in_full(entry: Any) -> str:
    """One method for a person."""
    from inspect import getdoc

    from shoal.vocabulary.registry import KIND_NAMES

    parts = [
        f"{entry.name} ({KIND_NAMES[entry.kind]}): {entry.title}",
        f"Plan      {yaml_of(entry)}",
        f"Python    {python_of(entry)}",
        *([f"Required  {required_of(entry)}"] if entry.kind in ("risk", "utility") else []),
        f"Source    {entry.source}",
        "",
        reflowed(getdoc(entry.cls) or ""),
        "",
    ]
    return "\n".join(parts)


def yaml_of(entry: Any) -> str:
    """The method as a plan names it, with its required parameters."""
    parameters = ", ".join(f"{key}: {_short(value)}" for key, value in entry.example.items())
    named = f"{entry.name}, {parameters}" if parameters else entry.name
    if entry.kind == "replace":
        return f"{{partition: mdav, k: 5, replace: {{method: {named}}}}}"
    return f"{{{entry.kind}: {named}}}"


def required_of(entry: Any) -> str:
    """A bound on the method's figure, as a plan gives it."""
    return f"{yaml_of(entry)[:-1]}, {'at most' if entry.cls.better == 'lower' else 'at least'}: BOUND}}"


def _short(value: Any) -> str:
    import json

    return json.dumps(value).replace('"', "")


def python_of(entry: Any) -> str:
    """The method as a program makes it, with its required parameters."""
    parameters = ", ".join(f"{key}={_literal(value)}" for key, value in entry.example.items())
    return f"shoal.{entry.cls.__name__}({parameters})"


def _literal(value: Any) -> str:
    """A value in Python, with double quotation marks."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(key)}: {_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, str):
        import json

        return json.dumps(value, ensure_ascii=False)
    return repr(value)

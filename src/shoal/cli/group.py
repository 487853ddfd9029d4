"""The group of all commands, and the setup that each command does before its work."""

import signal
import threading
import time
from importlib import import_module
from types import FrameType
from typing import Any

import click

import shoal
from shoal.cli.terminal import Terminal

ONCE = 3.0
"""Seconds within which requests to end count as one: a busy machine may take so long to pass one on."""

WORK = {
    "audit": "shoal.desk.audit",
    "init": "shoal.desk.init",
    "methods": "shoal.vocabulary.registry",
    "risk": "shoal.desk.exposure",
    "schema": "shoal.plan",
}
"""Modules that do the work of commands; `shoal.desk.protect` for those that are not here."""

pass_terminal = click.make_pass_decorator(Terminal)


def _set(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Pass an option, given before or after the command, on to the run's terminal."""
    if value:
        context.ensure_object(Terminal).set(str(option.name), value)


def _of_every_command() -> list[click.Parameter]:
    """Options that may stand before a command or after it; from the environment as SHOAL_QUIET and so on."""
    how: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _set}
    return [
        click.Option(["--quiet", "-q"], is_flag=True, help="Print nothing but errors.", envvar="SHOAL_QUIET", **how),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.", envvar="SHOAL_JSON", **how),
        click.Option(
            ["--log"], metavar="FILE", help="Append events with times; - for stderr.", envvar="SHOAL_LOG", **how
        ),
    ]


def _version() -> click.Option:
    """The option `--version`, which looks the version up only when it is used."""

    def show(context: click.Context, option: click.Parameter, value: bool) -> None:
        if value:
            click.echo(f"shoal, version {shoal.__version__}")
            context.exit()

    described: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": show}
    return click.Option(["--version"], is_flag=True, help="Show the version and exit.", **described)


class _Command(click.Command):
    """A command that imports what all need before its work, so that Ctrl-C interrupts only one of the two."""

    def __init__(self, name: str | None, **described: Any) -> None:
        super().__init__(name, **described)
        self.params += _of_every_command()

    def invoke(self, context: click.Context) -> Any:
        import_module(WORK.get(str(self.name), "shoal.desk.protect"))
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if callable(signal.getsignal(number)):  # not where it is ignored
                    signal.signal(number, _interrupt)
        context.ensure_object(Terminal).log.info("%s: shoal %s begins", self.name, shoal.__version__)
        return super().invoke(context)


def name_variables(group: click.Group, prefix: str = "SHOAL") -> None:
    """Let every option of every command come from the environment: SHOAL_PROTECT_SEED is --seed of protect."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            name_variables(command, f"{prefix}_{name}")
        for option in command.params:
            if isinstance(option, click.Option) and option.envvar is None:
                longest = max(option.opts, key=len).lstrip("-")
                option.envvar = f"{prefix}_{name}_{longest}".replace("-", "_").upper()


_interrupted = 0.0
"""Time of the last request to end."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Treat a request of the system to end as Ctrl-C: unfinished output is removed.

    One request may come twice, from a terminal or the system and from the process that watches this one.
    """
    global _interrupted
    before, _interrupted = _interrupted, time.monotonic()
    if _interrupted - before > ONCE:
        raise KeyboardInterrupt


class _Group(click.Group):
    """A group whose commands, and those of its subgroups, are as above."""

    command_class = _Command
    group_class = type  # groups in it are as it is


@click.group(
    cls=_Group,
    params=[*_of_every_command(), _version()],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def cli() -> None:
    """Release tables of personal records that are provably protected and still useful.

    \b
    Examples:
      shoal demo                            see the whole way on example data
      shoal init people.csv > plan.yaml     guess a plan, to be corrected by hand
      shoal protect people.csv --plan plan.yaml --out release-1
      shoal audit release-1/release/data.csv --plan plan.yaml

    \b
    Options --quiet, --json and --log may stand before the command or after it.
    Each may come from the environment: SHOAL_JSON=1, SHOAL_PROTECT_SEED=...

    \b
    Exit status: 0 done, 1 unexpected error, 2 wrong use or bad input,
    3 a requirement is not met (and nothing was written), 130 interrupted.
    """

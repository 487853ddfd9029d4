"""The group of all commands, and what each of them does before its work."""

import signal
import threading
from importlib import import_module
from types import FrameType
from typing import Any

import click

import shoal
from shoal.cli.terminal import Terminal

pass_terminal = click.make_pass_decorator(Terminal)


class _Command(click.Command):
    """A command that imports what work needs before the work, so that Ctrl-C meets one of them and not both."""

    def invoke(self, context: click.Context) -> Any:
        for module in ("shoal.protect", "shoal.files.tables"):
            import_module(module)
        import_module("shoal.methods").load()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if callable(signal.getsignal(number)):  # not where it is ignored
                    signal.signal(number, _interrupt)
        return super().invoke(context)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """To be ended by the system is as to be interrupted: what was begun is taken away."""
    raise KeyboardInterrupt


class _Group(click.Group):
    command_class = _Command


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.version_option(shoal.__version__, prog_name="shoal")
@click.pass_context
def cli(context: click.Context, quiet: bool, as_json: bool) -> None:
    """Release tables of personal records that are provably protected and still useful.

    \b
    Examples:
      shoal demo                                   see the whole way on example data
      shoal init people.csv > plan.yaml            guess a plan, to be corrected by hand
      shoal protect people.csv --plan plan.yaml --out release-1
      shoal audit release-1/release/data.csv --plan plan.yaml

    \b
    Exit status: 0 done, 1 unexpected error, 2 wrong use or bad input,
    3 a requirement is not met (and nothing was written), 130 interrupted.
    """
    context.obj = Terminal(quiet=quiet, as_json=as_json)

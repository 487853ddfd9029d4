"""Progress in a notebook: a bar that appears where work takes longer than a second, and goes when it is done."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

OnProgress = Callable[[str, float], None]
"""Called with the name of the current stage and the fraction of the whole run that is done, in [0, 1]."""

QUIET_SECONDS = 1.0
"""Work that takes longer shows its progress."""

PAUSE = 0.2
"""Seconds between two looks of the bar."""


@contextmanager
def shown(stage: OnProgress | None) -> Iterator[OnProgress]:
    """The given callback; without one a bar in a notebook, and silence elsewhere."""
    if stage is not None:
        yield stage
    elif not in_notebook():
        yield lambda text, fraction: None
    else:
        bar = _Bar()
        try:
            yield bar
        finally:
            bar.close()


def in_notebook() -> bool:
    """True inside the kernel of a notebook; IPython is looked up, never imported."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class _Bar:
    """A bar in the output of a cell."""

    def __init__(self) -> None:
        self.began = self.last = time.monotonic()
        self.handle: Any = None

    def __call__(self, text: str, fraction: float) -> None:
        now = time.monotonic()
        if now - self.began < QUIET_SECONDS or now - self.last < PAUSE:
            return
        self.last = now
        from IPython.display import HTML, display

        look = HTML(
            f'<label style="font:14px sans-serif">{escape(text)} '
            f'<progress max="1" value="{min(max(fraction, 0.0), 1.0):.3f}"></progress></label>'
        )
        if self.handle is None:
            self.handle = display(look, display_id=True)
        else:
            self.handle.update(look)

    def close(self) -> None:
        """Take the bar away."""
        if self.handle is not None:
            from IPython.display import HTML

            self.handle.update(HTML(""))

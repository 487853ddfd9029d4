"""The command line: each command loads, calls one public function, prints.

Exit statuses: 0 done, 1 unexpected error, 2 wrong use or bad input, 3 a requirement is not met,
130 interrupted.
"""

from shoal.cli.commands import cli
from shoal.cli.main import main

__all__ = ["cli", "main"]

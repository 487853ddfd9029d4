"""All commands; each loads, calls one public function, prints."""

from shoal.cli import audit, compare, demo, explore, init, methods, protect, risk, schema, studio
from shoal.cli.group import cli

__all__ = ["audit", "cli", "compare", "demo", "explore", "init", "methods", "protect", "risk", "schema", "studio"]

"""All commands; each loads, calls one public function, prints."""

from shoal.cli import (
    audit,
    compare,
    demo,
    dossier,
    explore,
    fit,
    hierarchy,
    init,
    ledger,
    methods,
    protect,
    review,
    risk,
    schema,
    studio,
)
from shoal.cli.group import cli, name_variables

__all__ = [
    "audit",
    "cli",
    "compare",
    "demo",
    "dossier",
    "explore",
    "fit",
    "hierarchy",
    "init",
    "ledger",
    "methods",
    "protect",
    "review",
    "risk",
    "schema",
    "studio",
]

name_variables(cli)

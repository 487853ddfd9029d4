"""Safety in numbers for microdata: release tables of personal records that are provably protected.

>>> import shoal
>>> table = shoal.example("hospital", n=200, seed=1)
>>> shoal.MDAV(k=5).partition(table[["age", "charge"]].to_numpy()).k
5

Every registered method is a name of this package (`shoal.MDAV`, `shoal.KAnonymity`, ...);
`shoal methods` on the command line lists them.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_HOMES = {
    "protect": "protect",
    "publish": "publish",
    "review": "review",
    "Review": "review",
    "approve": "review",
    "assess": "assess",
    "audit": "audit",
    "protect_large": "large",
    "audit_large": "large",
    "exposure": "exposure",
    "Release": "release",
    "Plan": "plan",
    "Microdata": "data.microdata",
    "Records": "data.records",
    "Partition": "data.partition",
    "Hierarchy": "data.hierarchy",
    "Schema": "data.schema",
    "example": "data.examples",
    "explore": "frontier",
    "combine": "combine",
    "compare": "compare",
    "dossier": "dossier",
    "combine_tables": "combine",
    "read": "files.tables",
    "Gate": "privacy.gate",
}


def __getattr__(name: str) -> Any:
    """Names are looked up when first used, so that importing the package stays quick."""
    if name == "__version__":
        return _version()
    if name in _HOMES:
        return getattr(import_module(f"shoal.{_HOMES[name]}"), name)
    if not name.startswith("_"):
        for entry in import_module("shoal.methods").registered():
            if entry.cls.__name__ == name:
                return entry.cls
    raise AttributeError(f"module 'shoal' has no attribute '{name}'{_nearest(name)}")


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    close = [] if name.startswith("_") else get_close_matches(name, __dir__(), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("shoal")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0+source"


class _Package(ModuleType):
    """The package, in which a public name is never hidden by the module of the same name (`shoal.protect`)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    methods = [entry.cls.__name__ for entry in import_module("shoal.methods").registered()]
    return sorted([*_HOMES, *methods, "__version__"])

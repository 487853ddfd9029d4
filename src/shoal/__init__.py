"""Safety in numbers for microdata: release tables of personal records that are provably protected.

>>> import shoal
>>> table = shoal.example("hospital", n=200, seed=1)
>>> shoal.MDAV(k=5).partition(table[["age", "charge"]].to_numpy()).k
5

Every registered method is a name of this package (`shoal.MDAV`, `shoal.KAnonymity`, ...);
`shoal methods` on the command line lists them.
"""

from functools import cache
from importlib import import_module
from typing import Any

_HOMES = {
    "protect": "desk.protect",
    "publish": "release.publish",
    "review": "release.review",
    "Review": "release.review",
    "approve": "release.review",
    "assess": "desk.assess",
    "audit": "desk.audit",
    "audit_together": "desk.audit_together",
    "exposure": "desk.exposure",
    "init": "desk.init",
    "fit": "desk.fitting",
    "Fitted": "release.fitted",
    "Release": "release",
    "Plan": "plan",
    "LinkedPlan": "plan.linked",
    "Microdata": "table.microdata",
    "Records": "table.records",
    "Partition": "table.partition",
    "Hierarchy": "table.hierarchy",
    "Schema": "table.schema",
    "example": "table.examples",
    "example_tables": "table.linked_examples",
    "explore": "desk.frontier",
    "combine": "release.combine",
    "compare": "release.compare",
    "dossier": "release.dossier",
    "combine_tables": "release.combine",
    "read": "table.files.tables",
    "Gate": "privacy.gate",
    "ShoalError": "vocabulary.errors",
    "InputError": "vocabulary.errors",
    "DataError": "vocabulary.errors",
    "SchemaError": "vocabulary.errors",
    "ParameterError": "vocabulary.errors",
    "PlanError": "vocabulary.errors",
    "ConstraintError": "vocabulary.errors",
    "FileError": "vocabulary.errors",
    "MissingDependency": "vocabulary.errors",
    "Refused": "vocabulary.errors",
}


def __getattr__(name: str) -> Any:
    """Names are looked up when first used, so that importing the package stays quick."""
    if name == "__version__":
        return _version()
    if name in _HOMES:
        return getattr(import_module(f"shoal.{_HOMES[name]}"), name)
    if not name.startswith("_"):
        method = import_module("shoal.vocabulary.registry").method_class(name)
        if method is not None:
            return method
    raise AttributeError(f"module 'shoal' has no attribute '{name}'{_nearest(name)}")


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    close = [] if name.startswith("_") else get_close_matches(name, __dir__(), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


@cache
def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("shoal")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0+source"


def __dir__() -> list[str]:
    methods = [entry.cls.__name__ for entry in import_module("shoal.vocabulary.registry").registered()]
    return sorted([*_HOMES, *methods, "__version__"])

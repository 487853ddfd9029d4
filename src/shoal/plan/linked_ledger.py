"""The ledger of a plan for several linked tables: its persons are recognised by the key of the table of persons."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from shoal.plan.lines import plain
from shoal.plan.mistakes import mistakes_of
from shoal.plan.sections import LedgerRules
from shoal.table.links import Keys, root_of
from shoal.vocabulary.errors import Mistake, quoted, unknown
from shoal.vocabulary.registry import Spec

OF_LEDGER = ("file", "k", "collude")
"""Keys of the section that hold for several tables, too."""

PLACE = ("ledger",)


class _Section(BaseModel):
    ledger: LedgerRules


def read_ledger(section: Any, keys: Keys, mistakes: list[Mistake]) -> LedgerRules | None:
    """The ledger; None without the section. Mistakes are added to those that there are."""
    if section is None or mistakes:
        return None
    if not isinstance(section, Mapping):
        mistakes.append((PLACE, f"ledger must be a mapping of {', '.join(OF_LEDGER)}; {{}} takes none of them."))
        return None
    for key in map(str, section):
        if key in LedgerRules.model_fields and key not in OF_LEDGER:
            mistakes.append(((*PLACE, key), _of_one_table(key, keys)))
        elif key not in OF_LEDGER:
            mistakes.append(((*PLACE, key), unknown("key of ledger", key, OF_LEDGER)))
    if mistakes:
        return None
    try:
        return _Section.model_validate({"ledger": {"key": str(keys[root_of(keys)].key), **section}}).ledger
    except ValidationError as error:
        mistakes += mistakes_of(error, PLACE)
        return None


def _of_one_table(key: str, keys: Keys) -> str:
    if key == "key":
        return (
            f"ledger: persons are recognised in every release by the key of '{root_of(keys)}', "
            f"'{keys[root_of(keys)].key}'. Leave key out."
        )
    return (
        f"ledger: {key} is for a plan of one table. Of several tables the ledger keeps k-anonymity over releases; it "
        f"takes {quoted(OF_LEDGER)}. Leave {key} out."
    )


def ledger_section(ledger: LedgerRules | None, *, public: bool = False) -> Spec | None:
    """The section from which the same ledger is read again; for the public, without the folders of its file."""
    if ledger is None:
        return None
    section: Spec = plain(ledger.model_dump(exclude_defaults=True, include=set(OF_LEDGER)))
    return {**section, "file": Path(section["file"]).name} if public and "file" in section else section

"""What stands in a ledger, release by release; private."""

from typing import Any

from shoal.ledger.store import Ledger, LedgerRow


def accounts_of(kept: Ledger) -> list[dict[str, Any]]:
    """The account of each release: number, day, audience, persons, cells, what was spent, and why it was withdrawn."""
    rows = kept.rows()
    withdrawn = {row.about["number"]: row.about["because"] for row in rows if row.kind == "withdrawal"}
    return [_account(kept, row, withdrawn) for row in rows if row.kind == "release"]


def _account(kept: Ledger, row: LedgerRow, withdrawn: dict[int, str]) -> dict[str, Any]:
    """The account of a release."""
    cells = kept.entry(row.number).cells
    return {
        "release": row.number,
        "made": row.about["made"],
        "for": row.about["audience"] or "anybody",
        "colludes with": row.about["collude"],
        "persons": row.persons,
        "records": row.about["records"],
        "classes": row.about["classes"],
        "blank": {name: counts["blank"] for name, counts in cells.items() if counts["blank"]},
        "recoded": {name: counts["recoded"] for name, counts in cells.items() if counts["recoded"]},
        "epsilon": row.about["epsilon"],
        "sha256": row.about["sha256"],
        "withdrawn": withdrawn.get(row.number, ""),
    }

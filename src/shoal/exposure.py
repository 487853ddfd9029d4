"""Exposure: how a table stands before anything is done to it.

Who looks before protecting sees whom the raw table would give away: how many records fewer than 2, 3 or 5 share their
quasi-identifiers with, which records these are, and which columns single them out. All of it is private.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.data.microdata import Microdata
from shoal.data.records import Records
from shoal.errors import DataError
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.plan import Plan
from shoal.run import taken_by

SMALLEST = (2, 3, 5)
"""Sizes of classes below which records are counted."""


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """How a raw table stands; private.

    Parameters
    ----------
    records
        How many there are.
    keys
        The quasi-identifiers.
    fewer_than
        For each k, the records whose class has fewer than k.
    risks
        The measures of risk, on the raw table as if it were released.
    riskiest
        Rows from 1 of the records in the smallest classes, and the sizes of these.
    spared
        For each quasi-identifier, how many unique records would not be unique without it; the columns that single
        out most come first.
    """

    records: int
    keys: tuple[str, ...]
    fewer_than: Mapping[int, int]
    risks: tuple[Finding, ...]
    riskiest: tuple[tuple[int, int], ...]
    spared: Mapping[str, int]

    def as_mapping(self) -> dict[str, Any]:
        """For programs."""
        return {
            "private": True,
            "records": self.records,
            "quasi-identifiers": list(self.keys),
            "fewer than": {str(k): count for k, count in self.fewer_than.items()},
            "measures": [finding.private_form() for finding in self.risks],
            "riskiest records": [{"row": row, "class of": size} for row, size in self.riskiest],
            "unique because of": dict(self.spared),
        }


def exposure(
    table: Any,
    plan: Plan | Mapping[str, Any] | str | Path,
    *,
    top: int = 10,
    seed: int = 0,
    folder: str | Path | None = None,
) -> Exposure:
    """How a table stands before anything is done to it.

    Parameters
    ----------
    table
        As in `shoal.protect`.
    plan
        Only its columns and measures matter: no step is carried out.
    top
        How many of the riskiest records are listed.
    seed
        For measures that sample.
    folder
        Where file names in the plan are looked up; by default beside the plan's file.

    Raises
    ------
    InputError
        If the table or the plan cannot be used, or if no column is a quasi-identifier.
    """
    plan = Plan.of(plan, folder)
    records = Microdata.of(table, plan.schema, plan.folder).records
    keys = records.quasi_identifiers
    if not len(records) or not keys:
        raise DataError(
            "Nothing can be said of the risk: the table has no record, or no column that others may know. "
            "Give the columns that others may know the role quasi-identifier."
        )
    sizes = _sizes(records, keys)
    pair = TablePair.of(records, records)
    measures = [measure for measure in taken_by(plan) if measure.method_kind == "risk"]
    lowest = np.argsort(sizes, kind="stable")[:top]
    spared = {name: _spared(records, keys, name, sizes) for name in keys}
    return Exposure(
        records=len(records),
        keys=tuple(keys),
        fewer_than={k: int((sizes < k).sum()) for k in SMALLEST},
        risks=tuple(
            m.finding_on(pair, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,))))
            for number, m in enumerate(measures)
        ),
        riskiest=tuple((int(records.rows[i]) + 1, int(sizes[i])) for i in lowest),
        spared=dict(sorted(spared.items(), key=lambda entry: -entry[1])),
    )


def _sizes(records: Records, keys: Any) -> Longs:
    """Shape (n,); the size of each record's class."""
    return records.classes(keys).of_record


def _spared(records: Records, keys: Any, name: str, sizes: Longs) -> int:
    others = [key for key in keys if key != name]
    without = _sizes(records, others) if others else np.full(len(records), len(records))
    return int(((sizes == 1) & (without > 1)).sum())

"""Blanked cells that the rest of the table gives away, and what must be blanked beside them so that it does not.

A cell of a column that is the same throughout a household is only gone when it is gone for every member; a region is
only gone when the postcode beside it is gone too (`shoal.data.dependencies`).
"""

from collections.abc import Collection, Sequence

import numpy as np

from shoal.data.dependencies import UNITS, Completion, Dependencies
from shoal.data.records import Records
from shoal.kernels.arrays import Ints


def cells_a_blank(records: Records, names: Sequence[str]) -> dict[str, float]:
    """For each column that is the same throughout units, the cells that must go with one: a unit's mean size."""
    units = [records[name] for name in records.names(*UNITS)]
    laws = Dependencies(records)
    sizes = {unit.name: len(unit) / max(len(np.unique(unit.codes())), 1) for unit in units}
    return {name: max([1.0, *(sizes[d.by] for d in laws.of(name) if d.by in sizes)]) for name in names if sizes}


def blank_sources(
    codes: Ints, records: Records, completion: Completion, keys: Sequence[str], keep: Collection[str]
) -> None:
    """Blank in `codes`, shape (n, q or more), what filled cells of the keys in: the source's cell in the same record
    where the source is a key that may lose cells, else the key's cells of all records with the same source.
    """
    for dependency, cells in completion.cells.items():
        if dependency.on not in keys:
            continue
        if dependency.by in keys and dependency.by not in keep:
            codes[cells, keys.index(dependency.by)] = -1
        elif dependency.on not in keep:
            source = records[dependency.by].codes()
            codes[np.isin(source, source[cells]), keys.index(dependency.on)] = -1

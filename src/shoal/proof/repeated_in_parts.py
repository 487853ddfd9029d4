"""Identifiers that repeat in a table in parts: how many values how many records have."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.judges.units import RepeatedIdentifier
from shoal.table.parts.stage import Stage

HASH_SEED = 0
"""Of the hash by which values are told apart: of 10^8 two have the same one with a chance below 0.001."""


def repeated_in_parts(stage: Stage, identifiers: Sequence[str], k: int) -> Iterator[RepeatedIdentifier]:
    """The identifiers of which several records have one value; what classes hold of their values is not counted.

    Parameters
    ----------
    k
        Values that a class should hold.
    """
    types = stage.schema
    for name in identifiers:
        if types[name].is_temporal():
            continue  # a day is shared by persons, and tells none from another
        hashes = np.empty(stage.records, dtype=np.uint64)
        records = 0
        for part in stage.each(_hashes, (name,)):
            hashes[records : records + len(part)] = part
            records += len(part)
        hashes = hashes[:records]
        hashes.sort()
        further = int((hashes[1:] == hashes[:-1]).sum())
        if further:
            yield RepeatedIdentifier(identifier=name, records=records, values=records - further, k=k, further=further)


def _hashes(chunk: pl.DataFrame) -> NDArray[np.uint64]:
    """Shape (m,); a number for each value that is there."""
    return chunk.drop_nulls().hash_rows(HASH_SEED).to_numpy()

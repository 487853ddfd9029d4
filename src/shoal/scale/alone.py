"""Records of a large release that are alone with their values, counted on all of it and not on a sample."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from shoal.kernels.arrays import Longs
from shoal.scale.dealing import block_size
from shoal.scale.engine import Dealt
from shoal.scale.pieces import gathered
from shoal.scale.proof import Judged, class_hash

Columns = tuple[str, ...]


def counts_alone(judged: Judged, sets: Sequence[Columns]) -> Mapping[Columns, tuple[int, int]]:
    """For each set of columns the records that are alone by it, and by it and the quasi-identifiers together.

    Records that agree on a set lie in one part if they are dealt out by it; those that agree on the quasi-identifiers
    too lie in one part of the classes already.
    """
    keys = judged.whole.schema.names("quasi-identifier")
    by_itself = {names: _alone_by(judged, names) for names in sets}
    if not keys:
        return {names: (count, count) for names, count in by_itself.items()}
    together = [tuple(dict.fromkeys((*keys, *names))) for names in sets]
    beside = _summed(judged, judged.parts(keys), together)
    return {names: (by_itself[names], int(count)) for names, count in zip(sets, beside)}


def _alone_by(judged: Judged, names: Columns) -> int:
    """The records that are alone by some columns, of which nothing else is dealt out."""
    stage, place = judged.stage, judged.place / "alone"
    count = -(-stage.records // block_size(stage))
    files = stage.dealt(partial(_by_cells, count=count), count, place, names)
    alone = int(_summed(judged, files, [names])[0])
    for path in files:
        path.unlink()
    return alone


def _summed(judged: Judged, files: Sequence[Path], sets: Sequence[Columns]) -> Longs:
    """Shape (S,); the records that are alone by each set, in all parts."""
    total = np.zeros(len(sets), dtype=np.int64)
    for counts in judged.engine.each(partial(_alone_in, sets=sets), files):
        total += counts
    return total


def _by_cells(chunk: pl.DataFrame, _: int, count: int) -> Dealt:
    return chunk, class_hash(chunk, chunk.columns, count)


def _alone_in(path: Path, sets: Sequence[Columns]) -> Longs:
    """Shape (S,); the records of a part that are alone by each set."""
    frame = gathered(path)
    return np.array([int(frame.select(names).is_unique().sum()) for names in sets], dtype=np.int64)

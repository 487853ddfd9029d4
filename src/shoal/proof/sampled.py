"""Measures taken on a sample: some classes of the release, whole, beside the originals of their records.

What needs pairs of records, or all records at once, cannot be taken on a table in parts. It is taken on
classes drawn by a hash of their cells, so that each class of the sample is whole, with a share of the records that the
release does not have. How far the figure may be off is estimated by taking it on ten parts of the sample (random
groups; Wolter 2007, chapter 2).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import polars as pl

from shoal.judges.base import Measure
from shoal.judges.closure import Closure
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.table.microdata import Microdata
from shoal.table.parts.moments import WholeTable
from shoal.table.parts.stage import OWN, ROW, Stage
from shoal.table.records import Records
from shoal.table.schema import Schema
from shoal.vocabulary.errors import plural
from shoal.vocabulary.facts import Count, Interval

HASH_SEED = 0
"""Of the hash by which records are drawn: any will do."""

SAMPLE = 100_000
"""Records of the sample, about."""

PARTS = 10
STUDENT = 2.262157162740992
"""The 97.5 % quantile of Student's t with PARTS - 1 degrees of freedom."""

Pairing = Callable[[Records, Records], TablePair]

DROPPED = 1 << 24
"""Key of the random numbers by which records are drawn that the release does not have."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleOfClasses:
    """Classes of a release, whole, beside their originals.

    Parameters
    ----------
    of
        Records of the whole release.
    part
        Shape (n',), shape (n,); which of `PARTS` parts each released, and each original, record belongs to.
    pair
        Makes the pair of a release and an original as a plan has them judged.
    """

    original: Records
    released: Records
    of: int
    part: tuple[Longs, Longs]
    pair: Pairing

    @property
    def complete(self) -> bool:
        """True if the sample is the whole release."""
        return len(self.released) == self.of

    @cached_property
    def tables(self) -> TablePair:
        """Both tables of the sample."""
        return self.pair(self.released, self.original)

    @classmethod
    def drawn(
        cls,
        before: Stage,
        schema: Schema,
        finished: Stage,
        whole: WholeTable,
        folder: Path,
        rows: int,
        rng: np.random.Generator,
        pair: Pairing,
    ) -> "SampleOfClasses":
        """Draw one.

        Parameters
        ----------
        before, schema
            The table as it came in.
        finished, whole
            As it is released.
        rows
            Records of the table that came in.
        """
        keys = whole.schema.names("quasi-identifier")
        shares = max(finished.records // SAMPLE, 1)
        kept = np.zeros(rows, dtype=bool)
        frames, parts = [], []
        all_kept = finished.records == rows
        for rows_of, frame, places in finished.each(partial(_drawn, keys=keys, shares=shares, all_kept=all_kept)):
            kept[rows_of] = True
            frames.append(frame)
            parts.append(places)
        released, part = pl.concat(frames), np.concatenate(parts)
        wanted = np.full(rows, -1, dtype=np.int8)
        wanted[released[ROW].to_numpy()] = part
        if not kept.all():  # dropped records, in the same share
            dropped = np.flatnonzero(~kept)
            drawn = dropped[rng.random(len(dropped)) < 1 / shares]
            wanted[drawn] = rng.integers(0, PARTS, len(drawn))
        originals = pl.concat(before.each(partial(_with_rows, rows=np.flatnonzero(wanted >= 0))))
        return cls(
            original=_records(originals, schema, folder, treat=True),
            released=_records(released, whole.schema, folder, treat=False),
            of=finished.records,
            part=(part, wanted[originals[ROW].to_numpy()].astype(np.int64)),
            pair=pair,
        )

    def finding(self, measure: Measure, rng: np.random.Generator) -> Finding:
        """The figure on the sample, with its interval where the sample is not everything."""
        finding = measure.finding_on(self.tables, rng)
        if self.complete or finding.value is None:
            return replace(finding, record_risk=None, by_record={})
        values = [
            f.value for number in range(PARTS) if (f := measure.finding_on(self._pair(number), rng)).value is not None
        ]
        size = Count(n=len(self.released), of=self.of, influence=0)
        return replace(
            finding,
            record_risk=None,
            by_record={},
            interval=self._interval(finding, values) if len(values) == PARTS else None,
            sentence=f"On a sample of {len(self.released):,} of {plural(self.of, 'record')}: {finding.sentence}",
            facts={**finding.facts, "records of the sample": size},
        )

    def _pair(self, number: int) -> TablePair:
        return self.pair(self.released.take(self.part[0] == number), self.original.take(self.part[1] == number))

    def _interval(self, finding: Finding, values: Sequence[float]) -> Interval:
        error = STUDENT * float(np.std(values, ddof=1)) / np.sqrt(PARTS)
        low, high = finding.limits
        middle = float(finding.value or 0.0)
        return Interval(low=max(middle - error, low), high=min(middle + error, high))


def _drawn(
    chunk: pl.DataFrame, keys: Sequence[str], shares: int, *, all_kept: bool
) -> tuple[Longs | slice, pl.DataFrame, Longs]:
    """The rows that are kept; the records of a part that are drawn, and the part of the sample each belongs to."""
    place = _places(chunk, keys, shares)
    chosen = place % shares == 0
    rows = slice(None) if all_kept else chunk[ROW].to_numpy()
    return rows, chunk.filter(pl.Series(chosen)), place[chosen] // shares


def _with_rows(chunk: pl.DataFrame, rows: Longs) -> pl.DataFrame:
    return chunk.filter(pl.Series(np.isin(chunk[ROW].to_numpy(), rows)))


def _places(chunk: pl.DataFrame, keys: Sequence[str], shares: int) -> Longs:
    """Shape (n,); by a hash of the class: modulo `shares` whether it is drawn, divided by it in which part.

    Where no column makes classes each record is one: by a hash as well, for every so-many-th may be of one kind.
    """
    return class_hash(chunk, keys or (ROW,), shares * PARTS)


def _records(frame: pl.DataFrame, schema: Schema, folder: Path, *, treat: bool) -> Records:
    table = Microdata.of(frame.drop(OWN, strict=False), schema, folder)
    records = table.records if treat else table.encoded
    return replace(records, rows=frame[ROW].to_numpy())


def class_hash(chunk: pl.DataFrame, names: Sequence[str], count: int) -> Longs:
    """Shape (n,); a number below `count`, equal for records that agree on some columns."""
    if not names:
        return np.zeros(len(chunk), dtype=np.int64)
    return np.asarray((chunk.select(names).hash_rows(HASH_SEED) % count).to_numpy(), dtype=np.int64)


def as_written(released: Records) -> Closure:
    """The closure of a table in parts, which is itself: that nothing can be filled in was seen before."""
    return Closure(records=released, filled={})

"""Linkability: the release as a bridge between two files about the same people."""

from typing import Annotated, Any

import numpy as np

from shoal.judges.further_tables import attacked
from shoal.judges.mixed_columns import MixedColumns
from shoal.judges.prelude import Finding, Floats, Generator, MissingCells, Records, TablePair, common, comparable
from shoal.judges.success import AttackResult, SuccessRate
from shoal.kernels.elementary import expm1, log1p
from shoal.kernels.risk.gower import GowerSpace, chance_of_overlap, overlaps
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.errors import DataError, NoFigure, quoted
from shoal.vocabulary.prelude import Columns, Ge, OfOriginal, OfPlan, TablePath, method, of_original


@method(
    "linkability",
    title="Two files linked through the release",
    source="Giomi, Boenisch, Wehmeyer & Tasnadi (2023); Gower (1971)",
)
class Linkability(RiskMeasure):
    """Rate of links between two partial files about one person that both lie nearest to the same released record.

    The attacker has two files about the original people, with different columns, and does not know whose records
    belong together. Each person's records are looked up in the release, by Gower's distance; they are linked if
    the `neighbours` nearest released records of one and of the other have a record in common. What is equally near
    is taken at random, and the chance is counted. On a holdout the same attack works through what the release says of
    the population; the figure is what is left.

    Parameters
    ----------
    first
        Columns of the first file; by default the quasi-identifiers.
    second
        Columns of the second file; by default the confidential columns. Where one of the defaults is empty, every
        other column goes to the second file.
    neighbours
        How many of the nearest released records count.
    holdout
        Records of the same population that were not used for the release: a path, a data frame, Microdata, Records or
        an array. Without them the figure is the rate of links, whatever made them.
    attacks
        So many people of the original, and of the holdout, are attacked at most, drawn at random.
    missing
        What a missing cell equals: a missing cell (`equal`), every cell (`wildcard`) or none (`nothing`). By default
        what the plan's requirements say, or else its steps that blank cells, and `equal` where nothing does.
    """

    question = "linkability"
    of_made_up = True
    needs = ("columns", "records")

    first: Annotated[tuple[str, ...] | None, Columns()] = None
    second: Annotated[tuple[str, ...] | None, Columns()] = None
    neighbours: Annotated[int, Ge(1)] = 1
    holdout: Annotated[Any, TablePath()] = None
    attacks: Annotated[int, Ge(10)] = 1_000
    missing: MissingCells | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        tables = attacked(pair, self.holdout)
        first, second = self._files(pair, tables)
        cells = MixedColumns.of((*first, *second), *tables)
        released, missing = cells.tables[0], self.missing or pair.missing
        space = GowerSpace(candidates=released, scale=cells.scale, missing=missing)
        k = min(self.neighbours, released.shape[1])
        rates = [self._links(space, targets, len(first), k, rng) for targets in cells.tables[1:]]
        result = AttackResult(
            attack=rates[0], control=rates[1] if len(rates) > 1 else None, baseline=_by_chance(released.shape[1], k)
        )
        return self.finding(
            result.value,
            f"Links between {quoted(first)} and {quoted(second)} through the release are {result.sentence}",
            interval=result.interval,
            facts={
                **of_original(result.facts),
                "columns of the first file": OfOriginal(list(first)),
                "columns of the second file": OfOriginal(list(second)),
                "nearest records": OfOriginal(k),
                "missing": OfPlan(missing),
            },
        )

    def _files(self, pair: TablePair, tables: list[Records]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns of the two files, those that all tables hold alike."""
        if self.first and self.second and (both := set(self.first) & set(self.second)):
            raise DataError(
                f"linkability: first and second share {quoted(sorted(both))}. Give each column to one file."
            )
        files = pair.common(self.first, "quasi-identifier"), pair.common(self.second, "confidential")
        if self.first is None and self.second is None and not all(files):
            everything = files[0] + files[1]
            files = everything[::2], everything[1::2]
        first, second = (_alike(tables, names) for names in files)
        if not first or not second:
            raise NoFigure("There are not two files to link: each needs a column that all tables hold.")
        return first, second

    def _links(self, space: GowerSpace, targets: Floats, split: int, k: int, rng: Generator) -> SuccessRate:
        rows = rng.permutation(targets.shape[1])[: self.attacks]
        chances = chance_of_overlap(overlaps(space, targets[:, rows], split, k), k)
        return SuccessRate(hits=float(chances.sum()), guesses=len(rows))


def _alike(tables: list[Records], names: tuple[str, ...]) -> tuple[str, ...]:
    for table in tables[1:]:
        names = comparable(tables[0], table, common(table, tables[0], names))
    return names


def _by_chance(n: int, k: int) -> float:
    """The chance that two sets of k drawn from n meet."""
    apart = log1p(-k / (n - np.arange(min(k, n)))) if 2 * k <= n else np.array([-np.inf])
    return float(-expm1(apart.sum()))

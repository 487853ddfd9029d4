"""Inference: a person's secret guessed from the released record that resembles the person most."""

from typing import Annotated, Any

import numpy as np

from shoal.judges.further_tables import attacked
from shoal.judges.mixed_columns import MixedColumns
from shoal.judges.prelude import Bools, Finding, Floats, Generator, Longs, MissingCells, TablePair, common, comparable
from shoal.judges.success import AttackResult, SuccessRate
from shoal.kernels.risk.gower import GowerSpace, guesses
from shoal.kernels.risk.predicates import MISSING
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.errors import NoFigure, quoted
from shoal.vocabulary.prelude import ByColumn, Columns, Ge, OfOriginal, OfPlan, Setting, TablePath, method, of_original


@method(
    "inference",
    title="Secrets guessed from the nearest released record",
    source="Giomi, Boenisch, Wehmeyer & Tasnadi (2023); Gower (1971)",
)
class Inference(RiskMeasure):
    """Rate at which the released record most like a person has the person's secret, beyond that of strangers.

    The attacker knows some columns of a person, looks for the nearest released record by Gower's distance and
    guesses that its value of another column is the person's. Of equally near ones one is taken at random, and the
    chance counted. On a holdout the same attack is right by what the release says of the population; the figure is
    what is left, at its highest over the secrets. It needs no original record for each released one, so it works on
    synthetic data; `attribute-inference` asks the same of a model of one's choice, and without a holdout too.

    Parameters
    ----------
    secrets
        Columns to guess; by default the confidential ones.
    columns
        What the attacker knows of a person; by default the quasi-identifiers.
    tolerance
        A number is guessed rightly if it differs from the guess by no more than this share of the guess.
    holdout
        Records of the same population that were not used for the release: a path, a data frame, Microdata, Records or
        an array. Without them the figure is the rate of right guesses, whatever made them right.
    attacks
        So many people of the original, and of the holdout, are attacked at most, drawn at random.
    missing
        What a missing cell equals: a missing cell (`equal`), every cell (`wildcard`) or none (`nothing`). By default
        what the plan's requirements say, or else its steps that blank cells, and `equal` where nothing does. That a
        secret is missing is a secret like others.
    """

    question = "inference"
    of_made_up = True
    needs = ("records",)

    secrets: Annotated[tuple[str, ...] | None, Columns()] = None
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    tolerance: Annotated[float, Ge(0), Setting()] = 0.05
    holdout: Annotated[Any, TablePath()] = None
    attacks: Annotated[int, Ge(10)] = 1_000
    missing: MissingCells | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        tables = attacked(pair, self.holdout)
        secrets, keys = pair.common(self.secrets, "confidential"), pair.common(self.columns, "quasi-identifier")
        for table in tables[1:]:
            secrets, keys = (comparable(tables[0], table, common(table, tables[0], n)) for n in (secrets, keys))
        keys = tuple(name for name in keys if name not in secrets)
        if not keys or not secrets:
            raise NoFigure("Both a known column and a secret one must be in all tables, as numbers or as categories.")
        cells, hidden = MixedColumns.of(keys, *tables), MixedColumns.of(secrets, *tables)
        numbers = np.array([pair.before[name].continuous for name in secrets])
        missing = self.missing or pair.missing
        results = self._results(cells, hidden, numbers, missing, rng)
        worst = max(results, key=lambda name: results[name].value)
        return self.finding(
            results[worst].value,
            f"Guesses of '{worst}' from {quoted(keys)} are {results[worst].sentence}",
            interval=results[worst].interval,
            by_column=ByColumn({name: OfOriginal({"risk": r.value, **r.facts}) for name, r in results.items()}),
            facts={
                **of_original({**results[worst].facts, "secret": worst}),
                "known columns": OfPlan(list(keys)),
                "missing": OfPlan(missing),
            },
        )

    def _results(
        self, cells: MixedColumns, hidden: MixedColumns, numbers: Bools, missing: MissingCells, rng: Generator
    ) -> dict[str, AttackResult]:
        """Result of the attack on each secret."""
        space = GowerSpace(candidates=cells.tables[0], scale=cells.scale, missing=missing)
        low, high = self._bounds(hidden.tables[0], numbers)
        rows = [rng.permutation(table.shape[1])[: self.attacks] for table in cells.tables[1:]]
        right = [
            guesses(space, table[:, chosen], low, high, secret[:, chosen])
            for table, secret, chosen in zip(cells.tables[1:], hidden.tables[1:], rows)
        ]
        rates = [[SuccessRate(hits=float(hits.sum()), guesses=len(hits)) for hits in shares] for shares in right]
        return {
            name: AttackResult(
                attack=rates[0][s],
                control=rates[1][s] if len(rates) > 1 else None,
                baseline=_by_chance(low[s], high[s], hidden.tables[1][s][rows[0]]),
            )
            for s, name in enumerate(hidden.names)
        }

    def _bounds(self, secrets: Floats, numbers: Bools) -> tuple[Floats, Floats]:
        """Shape (s, n) twice; between which bounds a secret lies that is guessed rightly by each released value."""
        reach = np.where(numbers[:, None] & (secrets != MISSING), self.tolerance * np.abs(secrets), 0.0)
        return secrets - reach, secrets + reach


def _by_chance(low: Floats, high: Floats, secrets: Floats) -> float:
    """The chance that a released value drawn at random tells a person's secret, the mean over people."""
    below: Longs = np.searchsorted(np.sort(low), secrets, "right")
    beyond: Longs = np.searchsorted(np.sort(high), secrets, "left")
    return float(np.mean(below - beyond) / len(low))

"""Singling out: predicates, read off the release, that exactly one person of the original satisfies."""

from typing import Annotated, Any, Literal

from shoal.judges.further_tables import attacked
from shoal.judges.mixed_columns import MixedColumns
from shoal.judges.predicates import random_predicates, singling_out_predicates, success_at
from shoal.judges.prelude import Finding, Generator, MissingCells, Records, TablePair, common, comparable
from shoal.judges.success import AttackResult, SuccessRate
from shoal.kernels.risk.predicates import predicate_counts
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.errors import NoFigure, plural
from shoal.vocabulary.prelude import Columns, Count, Ge, OfOriginal, OfPlan, TablePath, method, of_original


@method(
    "singling-out",
    title="People singled out by predicates",
    source="Giomi, Boenisch, Wehmeyer & Tasnadi (2023); Cohen & Nissim (2020)",
)
class SinglingOut(RiskMeasure):
    """Rate at which a description that fits one released record fits exactly one person of the original.

    The attacker looks for predicates that single out a record of the release and guesses that they single out a
    person: by one column (`univariate`: a value that occurs once, the least and the greatest value) or by several
    (`multivariate`: the values of a random record in random columns, of an ordered column 'at least' or 'at most'
    the value, away from the median). A guess is right if exactly one original record satisfies it. On a holdout the
    same predicates are right by what they say of the population; the figure is what is left.

    How often a predicate is right by chance depends on how many people there are, so the rate on a holdout of another
    size is put on the original's size, by the model of Giomi et al. fitted to what subsamples of the holdout would
    give. Differs from their program: that expectation is computed and not drawn, equal records are not taken for
    one, and guesses are counted as made where fewer predicates than `attacks` single out.

    Parameters
    ----------
    mode
        Predicates of one column or of several.
    size
        Columns of a multivariate predicate.
    holdout
        Records of the same population that were not used for the release: a path, a data frame, Microdata, Records or
        an array. Without them the figure is the rate of right guesses, whatever made them right.
    columns
        What predicates are about; by default the quasi-identifiers and confidential columns.
    attacks
        So many predicates are guessed at most.
    tries
        So many random predicates are tried on the release at most, to find those.
    missing
        What a missing cell says: that it is missing (`equal`), nothing, so that it satisfies every predicate
        (`wildcard`) and no predicate is made of it, or nothing and satisfies none (`nothing`). By default what the
        plan's requirements say, or else its steps that blank cells, and `equal` where nothing does.
    """

    question = "singling out"
    of_made_up = True
    prominence = 30
    needs = ("columns", "records")

    mode: Literal["multivariate", "univariate"] = "multivariate"
    size: Annotated[int, Ge(2)] = 3
    holdout: Annotated[Any, TablePath()] = None
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    attacks: Annotated[int, Ge(10)] = 1_000
    tries: Annotated[int, Ge(10)] = 100_000
    missing: MissingCells | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        tables = attacked(pair, self.holdout)
        names = self.compared(pair)
        for table in (tables[0], *tables[2:]):
            names = comparable(pair.before, table, common(table, tables[0], names))
        size = 1 if self.mode == "univariate" else self.size
        if len(names) < size:
            raise NoFigure(f"Predicates need {plural(size, 'column')} that the tables have in common.")
        return self._attacked(MixedColumns.of(names, *tables), size, tables, self.missing or pair.missing, rng)

    def _attacked(
        self, cells: MixedColumns, size: int, tables: list[Records], missing: MissingCells, rng: Generator
    ) -> Finding:
        skipped, passes = missing != "equal", missing == "wildcard"
        predicates, tried = singling_out_predicates(cells, size, self.attacks, self.tries, skipped, rng)
        if not len(predicates):
            raise NoFigure(
                f"No predicate of {plural(size, 'column')} singles out a released record ({tried:,} tried), so there "
                f"is nothing to guess."
            )
        random = random_predicates(cells, size, len(predicates), skipped, rng)
        counts = [predicate_counts(table, predicates, missing_matches=passes) for table in cells.tables[1:]]
        baseline = float((predicate_counts(cells.tables[1], random, missing_matches=passes) == 1).mean())
        attack = SuccessRate(hits=int((counts[0] == 1).sum()), guesses=len(predicates))
        control = None
        if len(counts) > 1:
            right = success_at(counts[1], len(tables[2]), len(tables[1]))
            control = SuccessRate(hits=right, guesses=len(predicates))
        result = AttackResult(attack=attack, control=control, baseline=baseline)
        return self.finding(
            result.value,
            f"Descriptions by {plural(size, 'column')} that fit one released record are {result.sentence}",
            interval=result.interval,
            facts={
                **of_original(result.facts),
                "predicates tried on the release": Count(n=tried, unit="predicates"),
                "columns": OfOriginal(list(cells.names)),
                "columns of a predicate": OfPlan(size),
                "missing": OfPlan(missing),
                "records of the holdout": OfOriginal(len(tables[2]) if control else None),
            },
        )

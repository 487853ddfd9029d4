"""SUDA2: special uniques (Elliot, Manning & Ford 2002; Manning, Haglin & Keane 2008)."""

from collections.abc import Callable, Sequence
from math import comb
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Lt

from shoal.judges.prelude import Finding, Floats, Generator, Records, TablePair
from shoal.kernels.arrays import Ints, floats, ints
from shoal.kernels.elementary import power
from shoal.kernels.risk.suda2 import MOST_COLUMNS, factorials, suda2
from shoal.risk.base import RiskMeasure
from shoal.risk.population import sampling_weights
from shoal.vocabulary.prelude import ByLabel, Ge, Gt, NoFigure, Setting, in_digits, method, of_release


def supersets(d: int) -> Floats:
    """Shape (d,); (2^(d - size) - 1) / C(d, size) for sets of 1 to d of d columns."""
    return floats([(2 ** (d - size) - 1) / comb(d, size) for size in range(1, d + 1)])


WEIGHTS: dict[str, Callable[[int], Floats]] = {"factorial": factorials, "supersets": supersets}


@method(
    "suda2", title="Special uniques (SUDA2)", source="Elliot, Manning & Ford (2002); Manning, Haglin & Keane (2008)"
)
class SUDA2(RiskMeasure):
    """Share of records that are unique on a few quasi-identifiers, with scores that say how special they are.

    A minimal sample unique of a record is a set of columns on which it is unique while it is unique on no proper
    subset. The record's score is the sum over them of a weight, d the number of quasi-identifiers: the fewer columns
    single it out, the riskier. The weight of a set is

    - `factorial`, the score of the literature: (d - size)!;
    - `supersets`: the number of larger sets of columns that contain it, over the number of sets of its size,
      (2^(d - size) - 1) / C(d, size), which grows less steeply in d; a record unique on all columns only scores 0.
      It is what sdcMicro computes under original_scores = FALSE.

    The data intrusion simulation score

        DIS = 1 / (1 + P (1 - f) / (f A s^Q)),  Q = 1 + (8 - d) / 20,  A = sum over scored records of s^-Q

    turns a score s into a probability that a unique match is right; f is the sampling fraction and P the number
    of records whose full combination of values occurs exactly twice.

    Missing values are a value of their own, and no number stands for missing.

    Parameters
    ----------
    max_size
        Largest size of the sets of columns.
    weight
        What a set adds to the scores of the records that it singles out.
    sampling_fraction
        f; by default the number of records over the sum of the sampling weights. Without either there is no DIS.
    """

    question = "singling out"
    of_release_alone = True
    needs = ("records", "quasi-identifiers", "people")

    max_size: Annotated[int, Ge(1)] = 4
    weight: Literal["factorial", "supersets"] = "factorial"
    sampling_fraction: Annotated[float, Gt(0), Lt(1), Setting()] | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        released = pair.closure.records
        names = released.quasi_identifiers
        if len(names) > MOST_COLUMNS:
            raise NoFigure(f"SUDA2 takes at most {MOST_COLUMNS} quasi-identifiers; there are {len(names)}.")
        if len(released) == 1:
            raise NoFigure("A single record is unique without any column, so no column can single it out.")
        codes = _codes(released, names)
        uniques = suda2(codes, self.max_size, weights=WEIGHTS[self.weight](len(names)))
        total = float(uniques.score.sum())
        unique = float((uniques.smallest > 0).mean())
        dis, why = self._dis(released, uniques.score, len(names))
        details: ByLabel = {
            "max size": self.max_size,
            "weight": self.weight,
            "minimal sample uniques by size": {str(s + 1): int(count) for s, count in enumerate(uniques.by_size)},
            "sum of scores": total,
            "highest score": float(uniques.score.max()),
            "contribution of columns in percent": {
                n: 100 * float(v) / total if total else 0.0 for n, v in zip(names, uniques.by_column)
            },
            "contribution of categories in percent": _by_category(released, names, codes, uniques.by_category),
            "highest DIS": None if dis is None else float(dis.max()),
            "mean DIS": None if dis is None else float(dis.mean()),
            **({"no DIS": why} if why else {}),
        }
        return self.finding(
            unique,
            f"{in_digits(100 * unique, 3)} % of the records are singled out by at most {self.max_size} "
            f"quasi-identifiers.",
            facts=of_release(details),
            record_risk=dis,
            by_record={"score": uniques.score},
        )

    def _dis(self, released: Records, score: Floats, d: int) -> tuple[Floats | None, str]:
        fraction = self.sampling_fraction
        if fraction is None:
            try:
                weights = sampling_weights(released)
            except NoFigure as reason:
                return None, str(reason)
            if weights is None:
                return None, "DIS needs a sampling fraction or a column with the role weight."
            fraction = len(released) / float(weights.sum())
            if fraction >= 1:
                return None, "The weights do not give a sampling fraction between 0 and 1."
        pairs = int((released.classes(released.quasi_identifiers).of_record == 2).sum())
        return dis_score(score, pairs, fraction, d), ""


def dis_score(score: Floats, pairs: int, fraction: float, d: int) -> Floats:
    """Shape (n,); DIS of each score, 0 where the score is 0.

    `pairs`: P, the number of records in classes of exactly two; `d`: number of quasi-identifiers.
    """
    exponent = 1 + (8 - d) / 20
    dis = np.zeros(len(score))
    scored = score > 0
    raised = power(score[scored], exponent)
    average = (1 / raised).sum()
    dis[scored] = 1 / (1 + pairs * (1 - fraction) / (fraction * raised * average))
    return dis


def _codes(released: Records, names: tuple[str, ...]) -> Ints:
    """Shape (n, d); values as dense codes."""
    return ints(np.column_stack([released.classes([n]).ids for n in names]))


def _by_category(
    released: Records, names: tuple[str, ...], codes: Ints, parts: Sequence[Floats]
) -> dict[str, list[tuple[Any, float]]]:
    """For each column its categories (as they stand in the table), largest first, with the percentage that sets with
    the column and that value there are of all scores that sets with the column account for."""
    out = {}
    for j, name in enumerate(names):
        variable = released[name]
        _, first = np.unique(codes[:, j], return_index=True)
        values = [
            None
            if variable.missing[i]
            else float(variable.values[i])
            if variable.continuous
            else variable.categories[variable.values[i]]
            for i in first
        ]
        whole = float(parts[j].sum())
        pairs = [(value, 100 * float(part) / whole) for value, part in zip(values, parts[j]) if part > 0]
        out[name] = sorted(pairs, key=lambda pair: -pair[1])
    return out

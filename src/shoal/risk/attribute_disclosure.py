"""Attribute disclosure: secrets that a release shows of whoever has certain cells, and that are right."""

from typing import Annotated, Any

import numpy as np

from shoal.judges.exact_matches import comparable_rows
from shoal.judges.further_tables import attacked
from shoal.judges.joint_codes import joint_codes
from shoal.judges.prelude import Bools, Finding, Floats, Generator, Longs, MissingCells, Records, TablePair, common
from shoal.judges.success import AttackResult, SuccessRate
from shoal.kernels.classes import classes
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.errors import NoFigure, quoted
from shoal.vocabulary.prelude import ByColumn, ByLabel, Columns, OfOriginal, OfPlan, TablePath, method, of_original

NOBODY = np.iinfo(np.int64).max
"""Least code of a secret where no record matches."""


@method(
    "attribute-disclosure", title="Secrets that the release shows rightly (DiSCO)", source="Raab, Nowok & Dibben (2024)"
)
class AttributeDisclosure(RiskMeasure):
    """Share of people about whom all released records with their known cells agree in a secret, and rightly.

    Whoever knows some columns of a person looks for the released records that match. If all of them have one value of
    another column, the release seems to disclose it; it does so rightly if the person has it. The share of such people
    in the original is DiSCO, 'disclosive in synthetic, correct in original'. The figure is the highest over the
    secrets. Where columns go together it is high for strangers, too: on a holdout the same attack is right by what the
    release says of the population, and the figure is what is left. Numbers match if they are equal.

    Parameters
    ----------
    secrets
        Columns to be disclosed; by default the confidential ones.
    columns
        What the attacker knows of a person; by default the quasi-identifiers.
    holdout
        Records of the same population that were not used for the release: a path, a data frame, Microdata, Records or
        an array. Without them the figure is DiSCO itself.
    missing
        What a missing known cell matches: a missing cell (`equal`), every cell (`wildcard`) or none (`nothing`). By
        default what the plan's requirements say, or else its steps that blank cells, and `equal` where nothing does.
        That a secret is missing is a secret like others.

    Notes
    -----
    The details name the stages as Raab, Nowok & Dibben do: people whose known cells occur in the release (iS), about
    whom it is of one mind (DiS), rightly so (DiSCO), and about whom the original is, too (DiSDiO); and for each table
    by itself the share of its records whose secret its own records with these cells disclose (Dorig, Dsyn).
    """

    question = "inference"
    of_made_up = True
    needs = ("records",)

    secrets: Annotated[tuple[str, ...] | None, Columns()] = None
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    holdout: Annotated[Any, TablePath()] = None
    missing: MissingCells | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        tables = attacked(pair, self.holdout)
        secrets, keys = pair.common(self.secrets, "confidential"), pair.common(self.columns, "quasi-identifier")
        for table in tables[1:]:
            secrets, keys = (common(table, tables[0], names) for names in (secrets, keys))
        keys = tuple(name for name in keys if name not in secrets)
        if not keys or not secrets:
            raise NoFigure("Both a known column and a secret one must be in all tables.")
        missing = self.missing or pair.missing
        known = _codes(tables, keys)
        attacks = {name: _attack(known, [c[:, 0] for c in _codes(tables, (name,))], missing) for name in secrets}
        worst = max(attacks, key=lambda name: attacks[name][0].value)
        result, stages = attacks[worst]
        return self.finding(
            result.value,
            f"'{worst}', as all released records with a person's {quoted(keys)} agree on it, is {result.sentence}",
            interval=result.interval,
            by_column=ByColumn({name: OfOriginal({"risk": r.value, **s}) for name, (r, s) in attacks.items()}),
            facts={
                **of_original({**result.facts, **stages, "secret": worst}),
                "known columns": OfPlan(list(keys)),
                "missing": OfPlan(missing),
            },
        )


def _codes(tables: list[Records], names: tuple[str, ...]) -> list[Longs]:
    """Some columns of each table, shapes (n, d), in the same codes; -1 is a missing cell."""
    columns = zip(*(joint_codes(*(table[name] for table in tables)) for name in names))
    return [np.column_stack(codes) for codes in columns]


def _attack(known: list[Longs], secret: list[Longs], missing: MissingCells) -> tuple[AttackResult, ByLabel]:
    """The attack on the original and the holdout, tables two and three, through the first one; and its stages."""
    low, high = _shown(known[1], known[0], secret[0], missing)
    disclosed = low == high
    right = disclosed & (low == secret[1])
    own, control = _disclosive(known[1], secret[1], missing), None
    if len(known) > 2:
        low_of_others, high_of_others = _shown(known[2], known[0], secret[0], missing)
        others = (low_of_others == high_of_others) & (low_of_others == secret[2])
        control = SuccessRate(hits=int(others.sum()), guesses=len(others))
    result = AttackResult(
        attack=SuccessRate(hits=int(right.sum()), guesses=len(right)),
        control=control,
        baseline=float((disclosed * _shares(secret[1], secret[0])).mean()),
    )
    stages: dict[str, Bools] = {
        "iS": low <= high,
        "DiS": disclosed,
        "DiSCO": right,
        "DiSDiO": right & own,
        "Dorig": own,
    }
    stages["Dsyn"] = _disclosive(known[0], secret[0], missing)
    return result, {name: float(people.mean()) for name, people in stages.items()}


def _shown(x: Longs, y: Longs, secret: Longs, missing: MissingCells) -> tuple[Longs, Longs]:
    """Shapes (n,); least and greatest secret of the rows of `y` (m, d) that match each row of `x` (n, d).

    Where no row matches, the least is greater than the greatest.
    """
    low, high = np.full(len(x), NOBODY), np.full(len(x), -NOBODY)
    for rows, others, columns in comparable_rows(x, y, missing):
        codes = np.concatenate([x[rows][:, columns], y[others][:, columns]])
        ids, sizes = classes(list(codes.T), len(codes))
        mine, theirs = ids[: len(rows)], ids[len(rows) :]
        least, greatest = np.full(len(sizes), NOBODY), np.full(len(sizes), -NOBODY)
        np.minimum.at(least, theirs, secret[others])
        np.maximum.at(greatest, theirs, secret[others])
        low[rows] = np.minimum(low[rows], least[mine])
        high[rows] = np.maximum(high[rows], greatest[mine])
    return low, high


def _disclosive(x: Longs, secret: Longs, missing: MissingCells) -> Bools:
    """Shape (n,); True where all records of a table that match a record have one secret."""
    low, high = _shown(x, x, secret, missing)
    return np.asarray(low == high)


def _shares(codes: Longs, released: Longs) -> Floats:
    """Shape (n,); share of the released records that have each code."""
    counts = np.bincount(released + 1, minlength=int(codes.max(initial=-1)) + 2)
    return np.asarray(counts[codes + 1] / len(released))

"""Individual risk of re-identification in a sample (Benedetti & Franconi 1998)."""

from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike

from shoal.judges.prelude import Finding, Floats
from shoal.kernels.arrays import floats
from shoal.kernels.classes import classes, first_rows
from shoal.kernels.elementary import log
from shoal.risk.class_risk import LookalikeRisk, in_full
from shoal.risk.population import Lookalikes
from shoal.vocabulary.prelude import Gt, Le, Setting, in_digits, method, of_release

LONG = 30
"""From this class size on the series converges in fewer than 40 terms for any p."""

TERMS = 64
"""Enough for double precision: for p >= 1/2 the terms shrink as 2^-j, for f >= LONG as 1 / C(f + j, j)."""


def individual_risk(f: ArrayLike, p: ArrayLike) -> Floats:
    """E(1/F | f) for population counts F that given the sample count f are negative binomial.

    Parameters
    ----------
    f
        Shape (m,); class sizes in the sample, at least 1.
    p
        Shape (m,); sampling fractions of the classes, in (0, 1].

    Returns
    -------
    Shape (m,); risks in (0, 1/f].

    Notes
    -----
    Benedetti & Franconi (1998): r = (p^f / f) 2F1(f, f; f + 1; 1 - p), which overflows for classes of a hundred
    records or so. By Euler's transformation r = (p / f) 2F1(1, 1; f + 1; 1 - p) = p I(f) with
    I(f) = integral over (0, 1) of (1 - t)^(f-1) / (1 - (1 - p) t) dt, whose series has positive terms only:
    sum of j! f! / (f + j)! q^j / f, q = 1 - p. It is used where it converges quickly, for p >= 1/2 or large f. For
    the rest, I(1) = -ln(p) / q and I(f + 1) = (1/f - p I(f)) / q, where errors shrink since p < q.
    """
    f, p = floats(f), floats(p)
    kinds, sizes = classes([f, p], len(f))
    first = first_rows(kinds, len(sizes))
    return _of_different(f[first], p[first])[kinds]


def _of_different(f: Floats, p: Floats) -> Floats:
    """Shape (m,); the risks of different classes."""
    q = 1 - p
    risk = p * _series(f, q)
    short = np.flatnonzero((p < 0.5) & (f < LONG))
    if len(short):
        fs, ps, qs = f[short], p[short], q[short]
        integral = -log(ps) / qs
        for size in range(1, int(fs.max())):
            integral = np.where(fs > size, (1 / size - ps * integral) / qs, integral)
        risk[short] = ps * integral
    return np.asarray(np.clip(risk, 0.0, 1 / f))  # the clip moves last digits only


def _series(f: Floats, q: Floats) -> Floats:
    term = 1 / f
    total = term.copy()
    for j in range(1, TERMS):
        term = term * (j / (f + j)) * q
        total += term
    return total


@method("individual-risk", title="Individual risk of re-identification", source="Benedetti & Franconi (1998)")
class IndividualRisk(LookalikeRisk):
    """Expected share of records that are re-identified through the population; each record's own risk in private.

    A record whose quasi-identifiers are shared by f records in the table and F in the population is matched
    rightly with probability 1/F. F is unknown; given f it is taken as negative binomial with success probability
    p = f / (sum of the sampling weights of the class). Without weights the table is the population: p = 1 and
    the risk is 1/f.

    Parameters
    ----------
    threshold
        Records whose risk exceeds this are counted.
    figure
        The figure that a requirement bounds: the `average` risk of a record, or the `highest`. A step `{mask: suppress,
        requirements: [{risk: individual-risk, figure: highest, at most: 0.1}]}` blanks cells of the records whose risk
        is above 0.1.
    """

    question = "linkability"
    prominence = 40

    threshold: Annotated[float, Gt(0), Le(1), Setting()] = 0.1
    figure: Literal["average", "highest"] = "average"

    def of(self, alike: Lookalikes) -> Finding:
        risk = individual_risk(alike.sizes, alike.sizes / alike.population)
        above = alike.share(risk > self.threshold)
        return self.finding(
            float(risk.max()) if self.figure == "highest" else alike.mean(risk),
            f"{in_full(alike.total(risk))} of {alike.count:,} records are expected to be re-identified through the "
            f"population; the highest risk of a record is {in_digits(risk.max(), 3)}.",
            facts=of_release(
                {
                    "expected re-identifications": alike.total(risk),
                    "highest": float(risk.max()),
                    "threshold": self.threshold,
                    "share above threshold": above,
                    "weighted": alike.weighted,
                }
            ),
            record_risk=risk,
        )

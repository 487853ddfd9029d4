"""Individual risk of re-identification in a sample (Benedetti & Franconi 1998)."""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt, Le
from numpy.typing import ArrayLike

from shoal.judges.base import Need
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Floats, floats
from shoal.methods import method
from shoal.parameters import Setting
from shoal.risk.base import RiskMeasure
from shoal.risk.population import population_classes

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
    q = 1 - p
    risk = p * _series(f, q)
    short = np.flatnonzero((p < 0.5) & (f < LONG))
    if len(short):
        fs, ps, qs = f[short], p[short], q[short]
        integral = -np.log(ps) / qs
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
class IndividualRisk(RiskMeasure):
    """Expected share of records that are re-identified through the population; each record's own risk in private.

    A record whose quasi-identifiers are shared by f records in the table and F in the population is matched
    rightly with probability 1/F. F is unknown; given f it is taken as negative binomial with success probability
    p = f / (sum of the sampling weights of the class). Without weights the table is the population: p = 1 and
    the risk is 1/f.

    Parameters
    ----------
    threshold
        Records whose risk exceeds this are counted.
    """

    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    of_release_alone: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ("records", "quasi-identifiers")
    cheap: ClassVar[bool] = True

    threshold: Annotated[float, Gt(0), Le(1), Setting()] = 0.1

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        released = pair.closure.records
        classes = population_classes(released, weights_needed=False)
        risk = individual_risk(classes.sizes, classes.sizes / classes.population)[classes.ids]
        above = float((risk > self.threshold).mean())
        return self.finding(
            float(risk.mean()),
            f"{risk.sum():.3g} of {len(risk):,} records are expected to be re-identified through the population; "
            f"the highest risk of a record is {risk.max():.3g}.",
            facts={
                "expected re-identifications": float(risk.sum()),
                "highest": float(risk.max()),
                "threshold": self.threshold,
                "share above threshold": above,
                "weighted": released.weights is not None,
            },
            record_risk=risk,
        )

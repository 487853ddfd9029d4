"""Utility and disclosure figures of synthpop 1.9-2 on two tables that R's and our random numbers make alike.

It has no suite with figures, and SD2011, the survey of its vignettes, may not be handed on. So its functions were run
on

    people <- function(seed, tilt) { set.seed(seed); n <- 200
      a <- round(runif(n, 1, 3)); b <- round(runif(n, 1, 4))
      c <- pmin(3, pmax(1, round(a + tilt * runif(n, -1, 1))))
      d <- round(runif(n, 1, 12)); x <- runif(n, 0, 10) + a
      data.frame(a = factor(a), b = factor(b), c = factor(c), d = factor(d), x = x) }
    obs <- people(1, 1); syn <- people(2, 1.6)

(R 4.2.2; utility.syn.r and disclosure.R of github.com/cran/synthpop, commit 36413c3.)
"""

import numpy as np
import polars as pl
import pytest

import shoal
from conformance.sdcmicro_tables import r_uniform
from shoal.table.microdata import Microdata
from shoal.table.records import Records


def people(seed: int, tilt: float) -> Records:
    runif = r_uniform(seed)
    a, b = np.round(runif(200, 1, 3)), np.round(runif(200, 1, 4))
    c = np.clip(np.round(a + tilt * runif(200, -1, 1)), 1, 3)
    d, x = np.round(runif(200, 1, 12)), runif(200, 0, 10) + a
    categories = {name: [f"{v:g}" for v in cells] for name, cells in (("a", a), ("b", b), ("c", c), ("d", d))}
    roles = dict.fromkeys("abd", "quasi-identifier") | dict.fromkeys("cx", "confidential")
    return Microdata.of(pl.DataFrame({**categories, "x": x}), roles).records


OBSERVED, SYNTHETIC = people(1, 1.0), people(2, 1.6)


@pytest.mark.parametrize(
    ("columns", "order", "mean_squared_error", "ratio", "df"),
    [
        # utility.tab(syn, obs, vars = columns): pMSE, S_pMSE, df
        ("a", 1, 0.00360261922028, 5.76419075244, 2),
        ("ac", 2, 0.0115682766743, 4.62731066973, 8),
        ("bd", 2, 0.0263430646151, 1.79357035677, 47),
        # utility.gen(syn[, columns], obs[, columns], method = "logit", maxorder = 0 and 1)
        ("abx", 1, 0.00637969747325, 3.40250531907, 6),
        ("abc", 2, 0.0212518343426, 2.95677695201, 23),
        ("acx", 2, 0.0178701141829, 4.39879733732, 13),
    ],
)
def test_propensity_scores(columns, order, mean_squared_error, ratio, df):
    measure = shoal.Propensity(columns=tuple(columns), order=order, powers=False, scale="raw")
    finding = measure.measure(OBSERVED, SYNTHETIC)
    # Ours has a prior of precision 1e-6 on the coefficients, to keep them finite where the tables can be told apart.
    assert finding.value == pytest.approx(mean_squared_error, rel=1e-6)
    assert finding.details["synthesis from the true model"]["ratio"] == pytest.approx(ratio, rel=1e-6)
    assert finding.details["coefficients"] == df + 1
    if columns == "ac":
        assert 8 * finding.details["2N U_p"] == pytest.approx(37.0184853578, rel=1e-6)  # VW of utility.tab


@pytest.mark.parametrize(("columns", "specks"), [("a", 0.115), ("ac", 0.145), ("bd", 0.245)])
def test_tables(columns, specks):
    """SPECKS of a table is the total variation distance of its cells, and PO50 is 50 times that."""
    names = tuple(columns)
    score = shoal.KMarginal(columns=names, order=len(names)).measure(OBSERVED, SYNTHETIC).value
    assert score == pytest.approx(1000 * (1 - specks))
    tables = shoal.Contingency(columns=names, order=len(names)).measure(OBSERVED, SYNTHETIC).details
    assert tables["mean by number of columns"][str(len(names))] == pytest.approx(specks)


@pytest.mark.parametrize(
    ("keys", "identity", "attribute"),
    [
        # disclosure(syn, obs, keys, target = "c"): UiO, UiS, UiOiS, repU; iS, DiS, DiSCO, DiSDiO, Dorig, Dsyn; percent
        ("abd", (25, 23, 17, 8.5), (79.5, 44, 19.5, 10, 41.5, 39.5)),
        ("ad", (1.5, 0.5, 1.5, 0), (99, 8, 6.5, 3.5, 16, 6)),
        ("ab", (0, 0, 0, 0), (100, 0, 0, 0, 2.5, 0)),
    ],
)
def test_disclosure(keys, identity, attribute):
    names = tuple(keys)
    exact = shoal.UniqueExactMatches(columns=names).measure(OBSERVED, SYNTHETIC).details
    replicated = shoal.ReplicatedUniques(columns=names).measure(OBSERVED, SYNTHETIC)
    counts = [exact["unique originals"], replicated.details["uniques of the release"]]
    counts += [exact["unique originals in the release"], replicated.details["replicated uniques"]]
    assert tuple(100 * count / 200 for count in counts) == identity
    assert 100 * replicated.value == pytest.approx(identity[-1])
    finding = shoal.AttributeDisclosure(secrets=("c",), columns=names).measure(OBSERVED, SYNTHETIC)
    stages = [finding.details[name] for name in ("iS", "DiS", "DiSCO", "DiSDiO", "Dorig", "Dsyn")]
    assert [100 * share for share in stages] == pytest.approx(list(attribute))
    assert 100 * finding.value == pytest.approx(attribute[2])

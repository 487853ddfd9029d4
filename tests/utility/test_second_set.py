"""Eigenvalues, associations, contingency tables, quantiles, Gini and subgroup means."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.table.microdata import Microdata
from shoal.utility.associations import Associations
from shoal.utility.contingency import Contingency
from shoal.utility.eigenvalues import Eigenvalues
from shoal.utility.gini import Gini
from shoal.utility.quantiles import Quantiles
from shoal.utility.subgroup_means import SubgroupMeans

RNG = np.random.default_rng(51)
N = 300
FRAME = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], N),
        "job": RNG.choice(["a", "b", "c"], N),
        "wage": RNG.lognormal(10, 1, N),
        "tax": RNG.lognormal(8, 1, N),
        "grade": RNG.choice(["low", "mid", "top"], N),
    }
)
FRAME["tax"] += FRAME["wage"] / 10
ROLES = {
    "sex": "quasi-identifier",
    "job": "quasi-identifier",
    "wage": "confidential",
    "tax": "confidential",
    "grade": {"role": "confidential", "level": "ordinal", "order": ["low", "mid", "top"]},
}
ALL = [Eigenvalues(), Associations(), Contingency(), Quantiles(), Gini(), SubgroupMeans()]


def records(frame=FRAME, roles=ROLES):
    return Microdata.of(frame, {name: roles[name] for name in frame.columns}).records


@pytest.mark.parametrize("measure", ALL)
def test_an_unchanged_table_loses_nothing(measure):
    assert measure.measure(records(), records()).value == 0


@pytest.mark.parametrize("measure", ALL)
def test_every_kind_of_frame_and_any_order_of_records(measure, rng):
    noisy = FRAME.assign(wage=FRAME["wage"] * rng.lognormal(0, 0.3, N), sex=rng.permutation(FRAME["sex"]))
    expected = measure.measure(records(), records(noisy)).value
    assert expected > 0
    shuffle = rng.permutation(N)
    for kind in (pl.from_pandas, pa.Table.from_pandas):
        table = Microdata.of(kind(noisy), ROLES).records
        assert measure.measure(records(), table).value == expected
    moved = noisy.iloc[shuffle]  # none of these measures compares record by record
    assert measure.measure(records(), records(moved)).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("measure", ALL)
def test_an_offset_of_1e8(measure, rng):
    if isinstance(measure, Gini):
        pytest.skip("the Gini coefficient depends on the origin")
    x = rng.integers(0, 1000, (N, 3)).astype(float)
    y = x + rng.integers(-100, 100, (N, 3))
    near, far = measure.measure(x, y), measure.measure(x + 1e8, y + 1e8)
    assert far.value == (pytest.approx(near.value, rel=1e-6) if near.value is not None else None)


@pytest.mark.parametrize("measure", ALL)
def test_nothing_to_compare_gives_no_figure(measure):
    bare = records(FRAME[["sex"]], {"sex": "identifier"})
    finding = measure.measure(bare, bare)
    assert finding.value is None
    assert finding.reason

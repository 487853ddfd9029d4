import numpy as np

from shoal.partition.fuzzy_c_means import FuzzyCMeans
from shoal.replace.fuzzy_centre import FuzzyCentre
from shoal.table.records import Records
from shoal.table.variable import Variable


def test_categories_take_the_centre_nearest_to_them() -> None:
    rng = np.random.default_rng(2)
    site = np.repeat([0, 1], 30).astype(np.int32)
    records = Records.of(
        [
            Variable(name="x", role="quasi-identifier", level="continuous", values=20.0 * site + rng.normal(size=60)),
            Variable(name="site", role="quasi-identifier", level="nominal", values=site, categories=("north", "south")),
            Variable(
                name="grade", role="quasi-identifier", level="ordinal", values=2 * site, categories=("a", "b", "c")
            ),
        ]
    )
    part = FuzzyCMeans(c=2, m1=1.2, m2=1.05).partition(records, seed=1)
    after = FuzzyCentre().apply(records, records.quasi_identifiers, part, rng).records
    assert (after["site"].values == site).all()
    assert (after["grade"].values == 2 * site).all()
    assert len(set(after["x"].values)) == 2


def test_strata_have_centres_of_their_own() -> None:
    rng = np.random.default_rng(5)
    records = Records.of(
        [
            Variable(
                name="x",
                role="quasi-identifier",
                level="continuous",
                values=np.concatenate([rng.normal(0, 1, 20), rng.normal(500, 1, 20)]),
            ),
            Variable(
                name="region",
                role="stratum",
                level="nominal",
                values=np.repeat([0, 1], 20).astype(np.int32),
                categories=("r1", "r2"),
            ),
        ]
    )
    part = FuzzyCMeans(k=4).partition(records, seed=1)
    after = FuzzyCentre().apply(records, records.quasi_identifiers, part, rng).records["x"].values
    assert after[:20].max() < 10 and after[20:].min() > 490

import numpy as np
import polars as pl

import shoal
from shoal.table.microdata import Microdata


def test_one_group():
    part = shoal.Whole().partition(np.arange(5.0))
    assert part.labels.tolist() == [0] * 5
    assert part.k == 5


def test_one_group_a_stratum():
    frame = pl.DataFrame({"a": [1.0, 2, 3, 4], "s": ["u", "v", "u", "v"]})
    part = shoal.Whole().partition(Microdata.of(frame, {"a": "quasi-identifier", "s": "stratum"}))
    assert part.labels.tolist() == [0, 1, 0, 1]


def test_cells_may_be_missing_and_come_out_as_often() -> None:
    """A third of the pays, those of the young alone, and a tenth of the sexes: a plan synthesises them as such."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 600)
    pay = [None if a < 38 else float(p) for a, p in zip(age, rng.lognormal(5, 1, 600).round(2))]
    sex = [None if r < 0.1 else "fm"[i % 2] for i, r in enumerate(rng.random(600))]
    table = pl.DataFrame({"age": age, "pay": pay, "sex": sex})
    plan = {
        "columns": {name: {"role": "quasi-identifier", "missing": "keep"} for name in table.columns},
        "steps": [{"partition": "whole", "replace": "cart"}],
    }
    release = shoal.protect(table, plan, seed=1)
    new = pl.DataFrame(release.data)
    for name in ("pay", "sex"):
        assert abs(new[name].null_count() - table[name].null_count()) < 50
    young = new.filter(pl.col("age") < 36)
    assert young["pay"].null_count() > 0.95 * len(young)
    assert new.filter(pl.col("age") > 40)["pay"].null_count() < 0.05 * len(new)
    assert release.record["steps"][0]["information loss in percent"] == 100


def test_members_of_households_need_no_complete_cells() -> None:
    frame = pl.DataFrame({"a": [1.0, None, 3, 4], "home": [1, 1, 2, 2]})
    columns = {"a": {"role": "quasi-identifier", "missing": "keep"}, "home": "household"}
    part = shoal.Whole().partition(Microdata.of(frame, columns))
    assert part.labels.tolist() == [0] * 4
    assert part.details["unit"] == "household"

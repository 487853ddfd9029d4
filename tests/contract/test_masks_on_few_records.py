"""Every mask takes a table of no, one or two records, or refuses it with one of our errors."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.vocabulary.errors import ShoalError
from shoal.vocabulary.registry import registered

PARAMETERS = {
    "bottom-code": {"k": 1},
    "top-code": {"k": 1},
    "data-swap": {"share": 1},
    "generalise": {"k": 1},
    "noise": {"variance": 0.1},
    "recode": {"bins": 2},
    "sample": {"fraction": 0.5},
    "shift-dates": {"most": 1},
    "suppress": {"k": 1},
    "suppress-records": {"k": 1, "limit": 1},
    "microaggregate-columns": {"grouping": {"method": "mdav", "k": 1}, "size": 1},
    "rank-swap": {"p": 1},
    "round": {"base": 0.5},
    "truncate-records": {"most": 1},
    "profiles": {"k": 1},
    "safepub": {"epsilon": 1, "delta": 0.1},
    "private-marginals": {"epsilon": 1, "delta": 0.1, "domain": {"x": (0.0, 1.0), "y": (0.0, 1.0)}},
    "private-microaggregation": {"k": 1, "epsilon": 1, "bounds": {"x": (0, 1), "y": (0, 1)}},
    **{name: {"epsilon": 1, "bounds": {"x": (0, 1), "y": (0, 1)}} for name in ("laplace", "geometric", "staircase")},
}
CATEGORICAL = (
    *("pram", "pseudonymise", "targeted-swap", "suppress", "data-swap", "suppress-records", "generalise", "safepub"),
)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("entry", registered("mask"), ids=lambda entry: entry.name)
def test_few_records(entry, n):
    frame = pl.DataFrame({"x": [0.25, 0.75], "y": [0.5, 0.0], "c": ["a", "b"]})
    spec = {
        "x": "quasi-identifier",
        "y": "quasi-identifier",
        "c": {"role": "quasi-identifier", "hierarchy": {"nested": {"all": ["a", "b"]}}},
    }
    records = shoal.Microdata.of(frame, spec).records.take(np.arange(n))
    method = entry.cls(**PARAMETERS.get(entry.name, {}))
    columns = ["c"] if entry.name in CATEGORICAL else ["x"] if entry.name == "calibrate" else ["x", "y"]
    try:
        change = method.apply(records, columns, np.random.default_rng(0))
    except ShoalError:
        left = 0
        assert n < 2, "two records are enough for every mask"
    else:
        left = len(change.records)
    assert left <= n or entry.cls.makes_records

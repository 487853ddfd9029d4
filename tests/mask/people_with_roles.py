"""People with a name, a household, a region and a weight, for masks that heed such roles."""

import numpy as np
import pandas as pd

import shoal


def table(n=60):
    g = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "name": [f"p{i}" for i in range(n)],
            "region": g.choice(["n", "s", "w"], n),
            "hid": np.arange(n) // 3,
            "x": g.normal(size=n),
            "y": g.integers(0, 5, n),
            "w": np.ones(n),
        }
    )


ROLES = {
    "name": "identifier",
    "region": "stratum",
    "hid": "household",
    "x": "quasi-identifier",
    "y": "quasi-identifier",
    "w": "weight",
}


def records(roles=None, n=60):
    return shoal.Microdata.of(table(n), {**ROLES, **(roles or {})}).records

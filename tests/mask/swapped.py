"""Frames in which columns are swapped or shuffled."""

import numpy as np
import pandas as pd

import shoal


def people(seed=0, n=300):
    g = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": g.choice(list("xyz"), n, p=[0.6, 0.3, 0.1]),
            "b": g.integers(0, 3, n).astype(str),
            "c": g.integers(0, 4, n).astype(str),
            "d": g.choice(list("pq"), n),
        }
    )


def table(frame, columns, **roles):
    spec = {name: {"role": roles.get(name, "quasi-identifier")} for name in frame}
    return shoal.Microdata.of(frame, spec), columns


def run(method, frame, columns, seed=0, **roles):
    micro, columns = table(frame, columns, **roles)
    change = method.apply(micro.records, columns, np.random.default_rng(seed))
    return micro.rebuild(change.records).native, change.details


def households(seed=0, n=150):
    g = np.random.default_rng(seed)
    size = g.integers(1, 4, n)
    region = g.integers(0, 3, n)
    town = region * 2 + g.integers(0, 2, n)
    h = np.repeat(np.arange(n), size)
    return pd.DataFrame(
        {
            "hid": h,
            "region": region[h].astype(str),
            "town": town[h].astype(str),
            "sex": g.choice(list("fm"), len(h)),
            "job": g.choice(list("abcdefgh"), len(h)),
        }
    )

"""Proof of what is promised to persons: seconds of CPU over three sizes, twenty records a person.

    python bench/persons.py

Half of the tables hold only profiles that many share, the other half a profile a person, so that the figures are of a
promise that holds and of one that does not.
"""

import resource
import time

import numpy as np
import polars as pl

import shoal

RECORDS = 20
"""Records of a person."""

ROLES = {"person": "person", "age": "quasi-identifier", "code": {"role": "quasi-identifier", "level": "nominal"}}


def table(persons: int, kinds: int) -> shoal.Microdata:
    """Persons of so many kinds, those of a kind with the same records."""
    rng = np.random.default_rng(0)
    kind = np.arange(persons) % kinds
    person = np.repeat(np.arange(persons), RECORDS)
    codes = rng.integers(0, 30, (kinds, RECORDS))[kind].ravel()
    order = rng.permutation(len(person))
    ages = rng.integers(0, 90, kinds)[kind[person]]
    frame = pl.DataFrame({"person": person, "age": ages, "code": codes})
    return shoal.Microdata.of(frame[order.tolist()], ROLES)


if __name__ == "__main__":
    for persons in (12_500, 25_000, 50_000):
        for kinds in (persons // 10, persons):
            data = table(persons, kinds)
            began = time.process_time()
            verdict = shoal.KAnonymity(k=5, knowing="all records").check(data)
            spent = time.process_time() - began
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            size = f"{persons:>7,} persons {persons * RECORDS:>10,} records"
            print(f"{size} {verdict.holds!s:>5} {spent:6.2f} s {peak:.2f} GB")

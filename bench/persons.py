"""Proof of what is promised to persons: seconds of CPU over three sizes, twenty records a person.

    python bench/persons.py

Half of the tables hold only profiles that many share, the other half a profile a person, so that the figures are of a
promise that holds and of one that does not. Before that the same over three linked tables: persons, six stays each on
average, and thirteen drugs; and the time that it takes to make the profiles of five persons or more alike.
"""

import resource
import time

import numpy as np
import polars as pl

import shoal
from shoal.judges.joined import Joined
from shoal.plan.linked import LinkedPlan
from shoal.run.linked import links_of
from shoal.run.over_tables import judged_over_tables

RECORDS = 20
"""Records of a person."""

CODE = {"role": "quasi-identifier", "level": "nominal"}
ROLES = {"person": "person", "age": "quasi-identifier", "code": CODE}


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


def linked(persons: int) -> tuple[LinkedPlan, Joined]:
    """Persons, their stays and drugs, joined."""
    rng = np.random.default_rng(0)
    stays, drugs = 6 * persons, 13 * persons
    frames = {
        "patients": pl.DataFrame({"patient": np.arange(persons), "age": rng.integers(0, 10, persons)}),
        "stays": pl.DataFrame(
            {"stay": np.arange(stays), "patient": rng.integers(0, persons, stays), "ward": rng.integers(0, 4, stays)}
        ),
        "drugs": pl.DataFrame({"stay": rng.integers(0, stays, drugs), "drug": rng.integers(0, 5, drugs)}),
    }
    columns = {"patients": "age", "stays": "ward", "drugs": "drug"}
    described = {
        "patients": {"key": "patient", "columns": {"age": CODE}},
        "stays": {"key": "stay", "parent": "patients", "columns": {"ward": CODE}},
        "drugs": {"parent": "stays", "columns": {"drug": CODE}},
    }
    plan = LinkedPlan.of({"tables": described, "requirements": [{"privacy": "k-anonymity", "k": 5}]})
    records = {
        name: shoal.Microdata.of(frame.select(columns[name]), {columns[name]: CODE}).records
        for name, frame in frames.items()
    }
    return plan, Joined.of(records, links_of(frames, plan))


def alike(joined: Joined) -> int:
    """Number of rows that are left of linked tables in which profiles are made alike."""
    own = {
        name: join.select(c for c in join.names() if c.startswith(f"{name}.")) for name, join in joined.joins.items()
    }
    columns = {name: records.quasi_identifiers for name, records in own.items()}
    results = shoal.Profiles(k=5).over_tables(own, joined.links, columns, np.random.default_rng(0))
    return sum(len(result.records) for result in results.values())


if __name__ == "__main__":
    for persons in (12_500, 25_000, 50_000):
        began = time.process_time()
        plan, joined = linked(persons)
        over = judged_over_tables(plan.requirements, [(joined, {})])[0].verdict
        spent = time.process_time() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"{persons:>7,} persons {joined.records:>10,} rows    {over.holds!s:>5} {spent:6.2f} s {peak:.2f} GB")
        began = time.process_time()
        left = alike(joined)
        spent = time.process_time() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"{persons:>7,} persons {left:>10,} rows made alike {spent:6.2f} s {peak:.2f} GB")
    for persons in (12_500, 25_000, 50_000):
        for kinds in (persons // 10, persons):
            data = table(persons, kinds)
            began = time.process_time()
            verdict = shoal.KAnonymity(k=5, knowing="all records").check(data)
            spent = time.process_time() - began
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            size = f"{persons:>7,} persons {persons * RECORDS:>10,} records"
            print(f"{size} {verdict.holds!s:>5} {spent:6.2f} s {peak:.2f} GB")

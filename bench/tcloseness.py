"""CPU time and memory of the privacy models on 1 000 000 records in classes of ten, five quasi-identifiers."""

import resource
import sys
import time

import numpy as np

import shoal
from shoal.records import Records, Variable


def table(n: int, k: int = 10, seed: int = 1) -> Records:
    """Protected records: n / k points in five dimensions, each held by k records, an income of its own a record."""
    rng = np.random.default_rng(seed)
    place = np.repeat(rng.normal(size=(n // k, 5)), k, axis=0)
    columns = [Variable(name=f"q{j}", role="quasi-identifier", level="continuous", values=place[:, j].copy())
               for j in range(5)]
    income = Variable(name="income", role="confidential", level="continuous",
                      values=np.round(rng.lognormal(9, 1, n), 1))
    return Records.of([*columns, income])


def main(n: int) -> None:
    records = table(n)
    models = {
        "k-anonymity": shoal.KAnonymity(k=10),
        "t-closeness, distinct": shoal.TCloseness(t=0.5),
        "t-closeness, rank": shoal.TCloseness(t=0.5, distance="rank"),
        "t-closeness, equal": shoal.TCloseness(t=1, distance="equal"),
        "l-diversity, distinct": shoal.LDiversity(l=2),
        "l-diversity, entropy": shoal.LDiversity(l=2, kind="entropy"),
        "l-diversity, recursive": shoal.LDiversity(l=2, kind="recursive"),
        "p-sensitivity": shoal.PSensitivity(p=2),
        "beta-likeness": shoal.BetaLikeness(beta=1),
        "delta-disclosure": shoal.DeltaDisclosure(delta=1),
        "nt-closeness, n = 1000": shoal.NTCloseness(n=1000, t=0.4),
    }
    base = None
    print(f"{n:,} records, {n // 10:,} classes, five quasi-identifiers")
    for name, model in models.items():
        start = time.process_time()
        model.judge(records)
        seconds = time.process_time() - start
        base = base or seconds
        print(f"  {name:24s} {seconds / (n / 1e6):6.2f} CPU s a million, {seconds / base:5.2f} times k-anonymity")
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)

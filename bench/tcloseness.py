"""t-closeness at 1 000 000 records with five quasi-identifiers: CPU time and memory.

python bench/tcloseness.py [N]

Algorithm 3 (k = 10, t = 0.1) beside MDAV with the same k, which solves the easier problem; then every privacy
model's check of the result beside the check of k-anonymity.
"""

import resource
import sys

import numpy as np

import shoal
from alone import timed
from shoal.replace.centroid import Centroid
from shoal.table.records import Records
from shoal.table.variable import Variable


def table(n: int, seed: int = 1) -> Records:
    """Normal quasi-identifiers, one of them correlated with a confidential income of its own a record."""
    rng = np.random.default_rng(seed)
    place = rng.normal(size=(n, 5))
    columns = [
        Variable(name=f"q{j}", role="quasi-identifier", level="continuous", values=place[:, j].copy()) for j in range(5)
    ]
    income = np.exp(9 + 0.7 * place[:, 0] + 0.7 * rng.normal(size=n))
    confidential = Variable(name="income", role="confidential", level="continuous", values=income)
    return Records.of([*columns, confidential])


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main(n: int) -> None:
    records = table(n)
    print(f"{n:,} records, five quasi-identifiers")
    empty = peak()
    base, plain = timed(lambda: shoal.MDAV(k=10).partition(records))
    print(f"  {'MDAV':24s} {base:6.2f} CPU s")
    seconds, part = timed(lambda: shoal.TClosenessFirst(k=10, t=0.1).partition(records))
    x = records.matrix()
    print(
        f"  {'t-closeness-first':24s} {seconds:6.2f} CPU s, {seconds / base:.2f} times MDAV; loss "
        f"{part.information_loss(x):.2f} % (MDAV, not t-close, {plain.information_loss(x):.2f} %); "
        f"peak memory {peak():.2f} GiB ({empty:.2f} before)"
    )
    print(f"  {'':24s} {part.details}")
    records = Centroid().apply(records, records.quasi_identifiers, part, np.random.default_rng(1)).records
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
    base = 0.0
    for name, model in models.items():
        seconds, _ = timed(lambda model=model: model.check(records))
        base = base or seconds
        print(f"  {name:24s} {seconds / (n / 1e6):6.2f} CPU s a million, {seconds / base:5.2f} times k-anonymity")
    print(f"  peak memory {peak():.2f} GiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)

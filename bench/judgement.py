"""What judging a large table costs, and the ratio to pycanon where pycanon has the same measure.

    python bench/judgement.py                  # all parts, some minutes (most of them pycanon's)
    python bench/judgement.py --part large     # 1,000,000 x 6: k, l, t and individual risk, about a second each
    python bench/judgement.py --part pycanon   # 100,000 x 6 beside pycanon in one run; values must agree
    python bench/judgement.py --part suda      # minimal sample uniques of 100,000 x 8 up to size 4
    python bench/judgement.py --part linkage   # distance-based linkage beside scipy's tree
    python bench/judgement.py --part default   # all that every release is judged by, beside its masking

Times are CPU seconds of one process. Data: independent categories; the confidential columns are a nominal one and an
integer one.
"""

import argparse
import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal.kernels.search.nearest as nearest
from shoal.judges.evidence import Finding, Verdict
from shoal.kernels.risk.suda2 import suda2
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness
from shoal.risk.individual import IndividualRisk
from shoal.table.microdata import Microdata

KEYS = {"sex": 2, "area": 5, "job": 8, "school": 6, "age": 10, "size": 12}


def table(n: int, cards: dict[str, int]) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    keys = {name: rng.integers(0, count, n) for name, count in cards.items()}
    return pl.DataFrame(
        {
            **keys,
            "illness": rng.choice(list("abcde"), n),
            "days": rng.integers(0, 100, n),
            "weight": rng.uniform(1, 20, n),
        }
    )


def roles(cards: dict[str, int]) -> dict[str, Any]:
    keys = {name: {"role": "quasi-identifier", "level": "nominal"} for name in cards}
    return {**keys, "illness": "confidential", "days": "confidential", "weight": "weight"}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def shown(result: Any) -> str:
    if isinstance(result, Verdict):
        return f"{result.achieved:.6g}"
    return f"{result.value:.6g}" if isinstance(result, Finding) and result.value is not None else ""


def large() -> None:
    frame = table(1_000_000, KEYS)
    seconds, records = timed(lambda: Microdata.of(frame, roles(KEYS)).records)
    print(f"1,000,000 x 6: turning the frame into numbers {seconds:.2f} s")
    for name, call in {
        "k-anonymity": lambda: KAnonymity(k=3).check(records),
        "l-diversity": lambda: LDiversity(l=2).check(records),
        "t-closeness": lambda: TCloseness(t=0.2).check(records),
        "individual risk": lambda: IndividualRisk().measure(records, records),
    }.items():
        seconds, result = timed(call)
        print(f"  {name:<16} {seconds:6.2f} s   {shown(result)}")


def middle(call: Callable[[], Any], runs: int = 7) -> tuple[float, Any]:
    """The median of some runs: milliseconds are told from noise only so."""
    times, result = zip(*(timed(call) for _ in range(runs)))
    return sorted(times)[runs // 2], result[-1]


def beside_pycanon() -> None:
    """Both sides start from the user's pandas frame, so ours includes turning it into numbers."""
    from pycanon import anonymity

    cards = {"sex": 2, "area": 5, "job": 6, "school": 4, "age": 5, "size": 3}
    keys, secret = list(cards), ["illness", "days"]
    frame = table(100_000, cards).drop("weight")
    pandas = frame.to_pandas()
    print("100,000 x 6, pandas frame in, figure out")
    print(f"  {'':<26} {'shoal s':>9} {'pycanon s':>10} {'ratio':>7}   values")

    def row(name: str, ours: Callable[[], Any], theirs: Callable[[], Any], runs: int) -> None:
        our_seconds, verdict = middle(ours, 31)
        their_seconds, value = middle(theirs, runs)
        print(
            f"  {name:<26} {our_seconds:9.4f} {their_seconds:10.3f} {their_seconds / our_seconds:7.0f}   "
            f"{verdict.achieved:.9g}, {value:.9g}",
            flush=True,
        )

    for name, dtype in (("integers", pl.Int64), ("floats", pl.Float64), ("categories", pl.Categorical), ("text", None)):
        cast = frame.with_columns(pl.col(keys).cast(pl.String)) if dtype in (None, pl.Categorical) else frame
        dressed = (cast if dtype is None else cast.with_columns(pl.col(keys).cast(dtype))).to_pandas()
        alone = dressed[keys]
        row(
            f"k-anonymity, {name}",
            lambda alone=alone: KAnonymity(k=2).check(alone),
            lambda dressed=dressed: anonymity.k_anonymity(dressed, keys),
            7,
        )
    row(
        "l-diversity, integers",
        lambda: LDiversity(l=2).check(pandas, confidential=secret),
        lambda: anonymity.l_diversity(pandas, keys, secret),
        3,
    )
    row(
        "t-closeness, integers",
        lambda: TCloseness(t=0.2).check(pandas, confidential=secret),
        lambda: anonymity.t_closeness(pandas, keys, secret),
        1,
    )


def suda() -> None:
    codes = np.random.default_rng(1).geometric(0.3, (100_000, 8))
    codes = np.minimum(codes, 20)
    seconds, uniques = timed(lambda: suda2(codes, 4))
    print(f"SUDA2, 100,000 x 8 up to size 4: {seconds:.2f} s, {int(uniques.by_size.sum()):,} minimal sample uniques")


def linkage() -> None:
    from scipy.spatial import cKDTree

    print(f"linkage to x + 0.3 noise  {'shoal s':>8} {'scipy s':>8} {'ratio':>6}   found")
    for n, d in ((20_000, 5), (20_000, 13), (20_000, 20), (100_000, 5), (1_000_000, 5)):
        rng = np.random.default_rng(1)
        x = rng.normal(size=(n, d))
        y = x + 0.3 * rng.normal(size=(n, d))
        ours, chances = timed(lambda x=x, y=y, n=n: nearest.link(x, y, np.arange(n)))
        theirs, (_, matched) = timed(lambda x=x, y=y: cKDTree(x).query(y))
        assert np.mean(matched == np.arange(n)) == chances.mean()
        print(f"  {n:>9,} x {d:<11} {ours:8.2f} {theirs:8.2f} {theirs / ours:6.1f}   {chances.mean():.4f}", flush=True)


def categories() -> tuple[pl.DataFrame, dict[str, Any]]:
    """100,000 x 6 with skewed frequencies, to be suppressed."""
    rng = np.random.default_rng(1)
    cards = {"sex": 2, "area": 20, "job": 40, "school": 6, "age": 80, "size": 12}
    codes = {name: np.minimum(rng.geometric(min(1, 3 / c), 100_000) - 1, c - 1) for name, c in cards.items()}
    return pl.DataFrame(codes), {
        "columns": {name: {"role": "quasi-identifier", "level": "nominal"} for name in cards},
        "steps": [{"mask": "suppress", "k": 3}],
        "requirements": [{"privacy": "k-anonymity", "k": 3, "missing": "wildcard"}],
    }


def numbers() -> tuple[pl.DataFrame, dict[str, Any]]:
    """1,000,000 x 5 correlated whole numbers, to be microaggregated."""
    rng = np.random.default_rng(1)
    x = np.round(rng.normal(size=(1_000_000, 5)) @ rng.normal(size=(5, 5)) * 1000)
    return pl.DataFrame({f"x{j}": x[:, j] for j in range(5)}), {
        "columns": {f"x{j}": "quasi-identifier" for j in range(5)},
        "steps": [{"partition": "mdav", "k": 5, "replace": "centroid"}],
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
    }


def status(key: str) -> float:
    """MB of this process (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024


def standing() -> float:
    """Memory now; from here on `peak` counts anew."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS:")


def peak() -> float:
    """The most memory since `standing`."""
    return status("VmHWM:")


def default() -> None:
    """What a step needs is its peak beyond what stood before it: the tables, and for judging the release too."""
    from shoal.run.carry_out import carry_out

    print(f"default judgement {'masking s':>15} {'judging s':>10} {'ratio':>6} {'masking MB':>11} {'judging MB':>11}")
    for name, (frame, plan) in {"100,000 x 6, suppress": categories(), "1,000,000 x 5, mdav": numbers()}.items():
        start = standing()
        masking, done = timed(lambda frame=frame, plan=plan: carry_out(frame, plan, 1, None))
        masked, middle = peak() - start, standing()
        judging, _ = timed(lambda done=done: (done.verdicts(), done.risk_before(), done.findings()))
        judged = peak() - middle
        print(f"  {name:<22} {masking:8.2f} {judging:10.2f} {judging / masking:6.2f} {masked:11.0f} {judged:11.0f}")


PARTS = {"large": large, "pycanon": beside_pycanon, "suda": suda, "linkage": linkage, "default": default}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, action="append")
    for part in parser.parse_args().part or PARTS:
        PARTS[part]()

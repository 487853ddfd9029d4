"""One step of fuzzy clustering at size, against the same step in NumPy, block by block.

    python bench/fuzzy.py [--n 1000000] [--c 1000] [--d 5]

NumPy is timed on a part of the records and its time scaled up, which is fair: both are linear in the records.
"""

import argparse
import resource

import numpy as np

from alone import timed
from shoal.kernels.arrays import Rule
from shoal.kernels.partition import fuzzy_draw, fuzzy_step


def numpy_step(x: np.ndarray, centres: np.ndarray, rule: Rule, parameter: float, block: int = 2000) -> np.ndarray:
    """The step as one would write it, with distances by the matrix product."""
    sums, masses = np.zeros_like(centres), np.zeros(len(centres))
    for start in range(0, len(x), block):
        part = x[start : start + block]
        d2 = (part**2).sum(axis=1)[:, None] - 2 * part @ centres.T + (centres**2).sum(axis=1)
        if rule == "power":
            u = np.maximum(d2, 1e-300) ** (-1 / (parameter - 1))
        else:
            u = np.exp(-parameter * (d2 - d2.min(axis=1, keepdims=True)))
        u /= u.sum(axis=1, keepdims=True)
        w = u**parameter if rule == "power" else u
        sums += w.T @ part
        masses += w.sum(axis=0)
    return sums / masses[:, None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("n", 1_000_000), ("c", 1000), ("d", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    size = parser.parse_args()
    rng = np.random.default_rng(1)
    x = rng.normal(size=(size.n, size.d))
    centres = x[rng.choice(size.n, size.c, replace=False)] + 0.01
    part = x[: max(1, size.n // 50)]
    print(f"{size.n:,} x {size.d}, c = {size.c}; CPU seconds")
    cases: list[tuple[Rule, float]] = [("power", 2.0), ("power", 1.3), ("entropy", 10.0)]
    for rule, parameter in cases:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ours, _ = timed(lambda rule=rule, parameter=parameter: fuzzy_step(x, centres, rule, parameter))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        seconds, (ours_part, _) = timed(
            lambda rule=rule, parameter=parameter: fuzzy_step(part, centres, rule, parameter, simd=False)
        )
        portable = seconds * size.n / len(part)
        seconds, theirs_part = timed(lambda rule=rule, parameter=parameter: numpy_step(part, centres, rule, parameter))
        theirs = seconds * size.n / len(part)
        differ = np.abs(ours_part - theirs_part).max()
        print(
            f"   {rule:8s} {parameter:5.2f}  shoal {ours:6.1f}   without AVX2 {portable:6.1f}   NumPy {theirs:6.1f}"
            f"   ratio {theirs / ours:4.1f}   memory + {grown:.0f} MB   differ by {differ:.0e}"
        )
    seconds, _ = timed(lambda: fuzzy_draw(x, centres, "power", 1.3, 1))
    print(f"   draw             shoal {seconds:6.1f}")


if __name__ == "__main__":
    main()

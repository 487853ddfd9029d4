"""Time and memory of one EM step against scikit-learn, in one run: n = 1 000 000, d = 5, G = 6, VVV.

    python bench/mixture.py [records]

Both begin at the same parameters and make the same number of steps with nothing else around them; scikit-learn
may use its threads, this kernel uses one. CPU time counts all threads. Memory is the growth of the process's
peak resident set over what it held before the data were made, so the data are part of it.
"""

import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from shoal.kernels.mixture.mixture import mixture_em, statistics_of

D, GROUPS, STEPS = 5, 6, 5


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A mixture with overlapping groups, and the group each record came from."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, GROUPS, size=n, dtype=np.int32)
    x = rng.normal(size=(n, D))
    for g in range(GROUPS):
        x[labels == g] @= rng.normal(size=(D, D)) / 2 + np.eye(D)
    x += 2 * rng.normal(size=(GROUPS, D))[labels]
    return x, labels


def ours(x: np.ndarray, start, steps: int):
    return mixture_em(x, start, floor=60 / len(x), tolerance=-1.0, most_steps=steps)


def peak() -> int:
    """Peak resident bytes of this process since its program began (Linux)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def memory(n: int) -> float:
    """Peak growth in doubles a record, data included, measured in a process of its own."""
    x, labels = data(1000)
    ours(x, statistics_of(x, labels, GROUPS), 1)  # everything is loaded before we look
    before = peak()
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, D))
    few = slice(0, 10_000)
    ours(x, statistics_of(x[few], np.arange(10_000, dtype=np.int32) % GROUPS, GROUPS), STEPS)
    return (peak() - before) / 8 / n


def main(n: int) -> None:
    from sklearn.mixture import GaussianMixture

    x, labels = data(n)
    start = statistics_of(x, labels, GROUPS)

    def fit_sklearn(steps: int) -> None:
        covariance = start.scatter / start.weight[:, None, None]
        model = GaussianMixture(
            GROUPS, tol=0.0, max_iter=steps, weights_init=start.weight / n, means_init=start.mean,
            precisions_init=np.linalg.inv(covariance), init_params="random_from_data", random_state=0,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says it has not converged: it was not to
            model.fit(x)

    def per_step(run) -> tuple[float, float]:
        """Wall and CPU seconds a step: a long run less a run of one step, so that set-up is not counted."""
        best = (np.inf, np.inf)
        for _ in range(3):
            marks = [(time.perf_counter(), time.process_time())]
            for steps in (1, 1 + STEPS):
                run(steps)
                marks.append((time.perf_counter(), time.process_time()))
            wall, cpu = (((marks[2][c] - marks[1][c]) - (marks[1][c] - marks[0][c])) / STEPS for c in (0, 1))
            best = (min(best[0], wall), min(best[1], cpu))
        return best

    wall, cpu = per_step(lambda steps: ours(x, start, steps))
    their_wall, their_cpu = per_step(fit_sklearn)
    print(f"n = {n:,}, d = {D}, G = {GROUPS}, VVV; seconds a step (E and M)")
    print(f"  shoal         wall {wall:.3f}  CPU {cpu:.3f}")
    print(f"  scikit-learn  wall {their_wall:.3f}  CPU {their_cpu:.3f}")
    print(f"  ratio         wall {wall / their_wall:.2f}  CPU {cpu / their_cpu:.2f}   (bar: 0.7)")
    grown = subprocess.run([sys.executable, __file__, "--memory", str(n)], capture_output=True, text=True, check=True)
    print(f"  memory        {float(grown.stdout) / (D + GROUPS):.2f} x n (d + G) doubles   (bar: 1.2)")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        print(memory(int(sys.argv[2])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)

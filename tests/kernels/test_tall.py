import os
import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from by_night import only_by_night
from shoal.kernels.tall import cross, independent, principal, times, triangular

SIZES = st.sampled_from([1, 2, 5, 127, 128, 129, 256, 700, 5000])


@given(SIZES, st.integers(1, 5), st.integers(1, 4), st.integers(0, 99))
def test_products_and_factors_equal_the_plain_ones(rows, m, width, seed):
    rng = np.random.default_rng(seed)
    a, b, small = rng.normal(size=(2, rows, m)), rng.normal(size=(2, rows, width)), rng.normal(size=(2, m, width))
    np.testing.assert_allclose(cross(a, b), a.swapaxes(1, 2) @ b, atol=1e-10)
    np.testing.assert_allclose(times(a, small), a @ small, atol=1e-12)
    r = triangular(a)
    assert r.shape == (2, min(rows, m), m)
    np.testing.assert_allclose(r.swapaxes(1, 2) @ r, a.swapaxes(1, 2) @ a, atol=1e-9)


@given(SIZES, st.integers(1, 4), st.sampled_from([1.0, 1e-6, 1e-10, 0.0]), st.integers(0, 99))
def test_principal_directions_are_orthonormal_even_of_nearly_collinear_columns(rows, m, apart, seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(1, rows, m))
    if m > 1:
        a[..., -1] = a[..., 0] + apart * a[..., -1]
    u, values, right, real = principal(a, 1e-11)
    kept = u[0][:, real[0]]
    np.testing.assert_allclose(kept.T @ kept, np.eye(kept.shape[1]), atol=1e-12)
    assert (u[0][:, ~real[0]] == 0).all()
    np.testing.assert_allclose((u * values[:, None, :]) @ right, a, atol=1e-9)


SCRIPT = """
import hashlib, numpy as np, shoal
from shoal.table.records import Records
x = np.random.default_rng(0).normal(size=(12_000, 5))
r, c = Records.from_array(x), ["x0", "x1", "x2"]
p = shoal.Whole().partition(r)
for m in (shoal.IPSO(given=("x3",)), shoal.Normal(support=("range",)), shoal.Normal(exact=False),
          shoal.MuralidharSarathy(alpha=0.5, given=("x3",)), shoal.SequentialRegression()):
    print(hashlib.sha256(m.apply(r, c, p, np.random.default_rng(1)).records.raw(c).tobytes()).hexdigest())
"""


@only_by_night  # by day contract/test_same_bytes has two threads, too
def test_synthesis_gives_the_same_bytes_with_any_number_of_threads():
    seen = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "OPENBLAS_NUM_THREADS": threads,
                "OMP_NUM_THREADS": threads,
            },
        ).stdout
        for threads in ("1", "4")
    }
    assert len(seen) == 1
    assert len(set(seen.pop().split())) == 5


def test_which_columns_are_independent_by_hand():
    x = np.array([[1.0, 2, 7, 0, 3], [2, 4, 7, 1, 5], [4, 8, 7, 0, 6], [7, 14, 7, 1, 10]])
    assert independent(x, 1e-9).tolist() == [True, False, False, True, False]  # the last is 2 + first + fourth
    assert independent(x[:, ::-1], 1e-9).tolist() == [True, True, False, False, False]
    assert independent(x[:0], 1e-9).tolist() == [False] * 5
    nearly = np.column_stack([x[:, 0], x[:, 0] + 1e-3 * x[:, 3]])
    assert independent(nearly, 1e-9).tolist() == [True, True]
    assert independent(nearly, 1e-6).tolist() == [True, False]


def test_an_offset_makes_no_column_vary():
    x = np.column_stack([np.full(5, 1e9 / 3), np.arange(5.0) + 1e9])
    x[2, 0] = np.nextafter(x[2, 0], 0)
    assert independent(x, 1e-9).tolist() == [False, True]

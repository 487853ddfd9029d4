"""The solver solves, and what it or other C code prints meanwhile does not reach standard output."""

import subprocess
import sys

import numpy as np
from scipy.optimize import Bounds, LinearConstraint

from shoal.kernels import solver


def test_a_knapsack_by_hand() -> None:
    # values 6, 5, 4 and weights 3, 2, 2 under 4: the last two
    found = solver.milp(
        np.array([-6.0, -5.0, -4.0]),
        integrality=np.ones(3),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(np.array([[3.0, 2.0, 2.0]]), -np.inf, 4.0),
    )
    assert np.round(found.x).tolist() == [0, 1, 1]


def test_nothing_that_c_code_prints_gets_out_and_python_prints_again_afterwards() -> None:
    program = (
        "import ctypes, os\nfrom shoal.kernels.solver import _nothing_printed\nprint('before')\n"
        "with _nothing_printed():\n    ctypes.CDLL(None).puts(b'from C')\n    os.write(1, b'raw')\nprint('after')\n"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["before", "after"]

"""The solver solves, says what it has proved, and leaves the program's standard output alone."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint
from scipy.optimize import milp as scipys
from scipy.sparse import csr_array

from shoal.kernels.solver import GrowingProgramme, milp


def test_a_knapsack_by_hand() -> None:
    # values 6, 5, 4 and weights 3, 2, 2 under 4: the last two
    solution = milp([-6.0, -5.0, -4.0], [[3.0, 2.0, 2.0]], -np.inf, 4.0, high=1.0)
    assert solution.x is not None and np.round(solution.x).tolist() == [0, 1, 1]
    assert solution.proved and solution.cost == pytest.approx(-9) and solution.bound == pytest.approx(-9)


def test_only_what_must_be_whole_is_whole() -> None:
    solution = milp([-1.0, -1.0], csr_array(np.array([[2.0, 0.0], [0.0, 2.0]])), -np.inf, [3.0, 3.0], whole=[1, 0])
    assert solution.x is not None and solution.x.tolist() == pytest.approx([1.0, 1.5])


def test_no_solution() -> None:
    solution = milp([1.0], [[2.0]], 1.0, 1.0, high=1.0)
    assert solution.x is None and not solution.proved and solution.cost == np.inf


def test_an_option_that_does_not_exist() -> None:
    with pytest.raises(RuntimeError, match="does not know the option mip_nodes"):
        milp([1.0], [[1.0]], 0.0, 1.0, mip_nodes=3)


def test_a_programme_that_grows() -> None:
    # a + b = 1 at costs 3 and 2; then a column for both rows, then at most half of it
    programme = GrowingProgramme(np.ones(2))
    programme.add_columns(np.array([3.0, 2.0]), np.eye(2))
    assert programme.solve()[0] == pytest.approx(5)
    programme.add_columns(np.array([4.0]), np.ones((2, 1)))
    cost, duals, x = programme.solve()
    assert cost == pytest.approx(4) and duals.sum() == pytest.approx(4) and x.tolist() == pytest.approx([0, 0, 1])
    programme.add_rows(np.array([[0.0, 0.0, 1.0]]), np.array([0.5]))
    cost, duals, x = programme.solve()
    assert cost == pytest.approx(4.5) and x.tolist() == pytest.approx([0.5, 0.5, 0.5])
    assert duals.tolist() == pytest.approx([3, 2, -1])


def test_a_programme_without_a_solution() -> None:
    programme = GrowingProgramme(np.ones(1))
    programme.add_columns(np.ones(1), np.array([[-1.0]]))
    with pytest.raises(RuntimeError, match="was not solved: Infeasible"):
        programme.solve()


@pytest.mark.parametrize("seed", range(12))
def test_costs_as_little_as_with_scipy_and_twice_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost, rows = rng.integers(1, 20, 14).astype(float), rng.integers(0, 3, (9, 14)).astype(float)
    need = np.minimum(rng.integers(1, 5, 9), rows.sum(axis=1))
    solution, again = (milp(cost, rows, need, np.inf, high=1.0) for _ in range(2))
    other = scipys(cost, integrality=np.ones(14), bounds=Bounds(0, 1), constraints=LinearConstraint(rows, need, np.inf))
    assert solution.proved and solution.cost == pytest.approx(other.fun)
    assert solution.x is not None and again.x is not None and solution.x.tolist() == again.x.tolist()


def test_standard_output_survives_four_threads_and_gets_nothing_from_the_solver() -> None:
    program = (
        "import numpy as np\nfrom concurrent.futures import ThreadPoolExecutor\nfrom shoal.kernels.solver import milp\n"
        "def solve(seed):\n"
        "    rng = np.random.default_rng(seed)\n"
        "    return milp(-rng.integers(9, 99, 25), rng.integers(9, 99, (3, 25)), 0, 400.0, high=1.0).cost\n"
        "print('before')\n"
        "with ThreadPoolExecutor(4) as pool:\n    costs = list(pool.map(solve, [1, 2, 3, 4] * 3))\n"
        "print('after', costs == 3 * costs[:4], costs[:4] == [solve(s) for s in (1, 2, 3, 4)])\n"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["before", "after", "True", "True"]

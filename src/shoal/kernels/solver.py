"""Growing linear programmes, and mixed-integer programmes by branch and bound (HiGHS; Huangfu & Hall 2018).

The solver runs on one thread with its own fixed seed, so that one programme has one answer; it prints nothing.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shoal.kernels.arrays import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Solution:
    """The solver's result.

    Parameters
    ----------
    x
        Shape (v,); the best values found; None if there are none, or none within the limits.
    cost
        Their cost; infinity if there are none.
    bound
        Lower bound of the cost of any solution; minus infinity if unknown.
    proved
        True if `x` is proved optimal, up to the requested gap.
    """

    x: Floats | None
    cost: float
    bound: float
    proved: bool


def milp(
    cost: ArrayLike,
    rows: Any,
    row_low: ArrayLike,
    row_high: ArrayLike,
    *,
    whole: ArrayLike = 1,
    low: ArrayLike = 0.0,
    high: ArrayLike = math.inf,
    start: ArrayLike | None = None,
    **limits: float,
) -> Solution:
    """Minimise `cost` x, where `row_low` <= `rows` x <= `row_high` and `low` <= x <= `high`.

    Parameters
    ----------
    cost
        Shape (v,).
    rows
        Shape (r, v); an array or a sparse matrix of SciPy.
    row_low, row_high
        Shape (r,) or scalar; infinite where a row has no bound.
    whole
        Shape (v,) or scalar; 1 for a variable that takes whole numbers only, else 0.
    low, high
        Shape (v,) or scalar.
    start
        Shape (v,); a known solution from which the search starts.
    limits
        Limits by HiGHS's names: `mip_max_nodes`, `mip_rel_gap`. None is in seconds, which are not repeatable.

    Raises
    ------
    RuntimeError
        If the solver failed, which says nothing about the programme.
    """
    import highspy

    solver = _solver(**limits)
    solver.passModel(_programme(np.asarray(cost, dtype=float), rows, row_low, row_high, whole, low, high))
    if start is not None:
        first = highspy.HighsSolution()
        first.col_value = np.asarray(start, dtype=float)
        solver.setSolution(first)
    if solver.run() == highspy.HighsStatus.kError:
        raise RuntimeError(f"The solver failed: {solver.modelStatusToString(solver.getModelStatus())}.")
    solution, information = solver.getSolution(), solver.getInfo()
    status = solver.getModelStatus()
    feasible = information.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return Solution(
        x=np.array(solution.col_value) if feasible else None,
        cost=information.objective_function_value if feasible else math.inf,
        bound=information.mip_dual_bound,
        proved=status == highspy.HighsModelStatus.kOptimal,
    )


class GrowingProgramme:
    """Minimise c x with x >= 0 and the first rows equal to `totals`; columns and further rows can be added.

    A linear programme; each solution starts from the one before.
    """

    def __init__(self, totals: Floats) -> None:
        self._solver = _solver()
        self._add_rows(np.zeros((len(totals), 0)), totals, totals)

    def add_columns(self, cost: Floats, columns: Any) -> None:
        """Add variables with their costs and their coefficients in every row, shape (rows, new)."""
        from scipy.sparse import csc_array

        new, free = csc_array(columns), np.full(len(cost), math.inf)
        self._solver.addCols(len(cost), cost, np.zeros(len(cost)), free, new.nnz, *_places(new))

    def add_rows(self, rows: Any, high: Floats) -> None:
        """Add rows, shape (new, variables), that must not exceed `high`."""
        self._add_rows(rows, np.full(len(high), -math.inf), high)

    def _add_rows(self, rows: Any, low: Floats, high: Floats) -> None:
        from scipy.sparse import csr_array

        new = csr_array(rows)
        self._solver.addRows(len(low), low, high, new.nnz, *_places(new))

    def solve(self) -> tuple[float, Floats, Floats]:
        """Least cost, the dual value of each row and the variables.

        Raises RuntimeError if there is no least cost, or the solver failed.
        """
        import highspy

        self._solver.run()
        status = self._solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"The linear programme was not solved: {self._solver.modelStatusToString(status)}.")
        solution = self._solver.getSolution()
        cost = self._solver.getInfo().objective_function_value
        return float(cost), np.array(solution.row_dual), np.array(solution.col_value)


def _solver(**limits: float) -> Any:
    """HiGHS on one thread, silent."""
    import highspy

    solver: Any = highspy.Highs()
    for option, value in {"output_flag": False, "threads": 1, "parallel": "off", **limits}.items():
        if solver.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise RuntimeError(f"The solver does not know the option {option}.")
    return solver


def _places(matrix: Any) -> tuple[Any, Any, Floats]:
    """Start of each row or column of a sparse matrix, index of each entry, and the entries."""
    return matrix.indptr[:-1].astype(np.int32), matrix.indices.astype(np.int32), matrix.data


def _programme(
    cost: Floats, rows: Any, row_low: ArrayLike, row_high: ArrayLike, whole: ArrayLike, low: ArrayLike, high: ArrayLike
) -> Any:
    """The programme in the form that HiGHS takes."""
    import highspy
    from scipy.sparse import csc_array

    matrix = csc_array(rows)
    r, v = matrix.shape
    programme = highspy.HighsLp()
    programme.num_row_, programme.num_col_ = r, v
    programme.col_cost_ = cost
    programme.col_lower_, programme.col_upper_ = (np.broadcast_to(np.asarray(b, dtype=float), v) for b in (low, high))
    programme.row_lower_ = np.broadcast_to(np.asarray(row_low, dtype=float), r)
    programme.row_upper_ = np.broadcast_to(np.asarray(row_high, dtype=float), r)
    programme.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    programme.a_matrix_.start_, programme.a_matrix_.index_ = matrix.indptr, matrix.indices
    programme.a_matrix_.value_ = matrix.data
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    programme.integrality_ = [kinds[int(kind)] for kind in np.broadcast_to(np.asarray(whole), v)]
    return programme

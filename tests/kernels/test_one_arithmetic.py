"""No sum, logarithm or power whose last digits depend on the processor is taken anywhere in the package.

NumPy's and the C library's elementary functions, and the products of linear algebra libraries, take other code for
other processors. What stands in their place is `shoal.kernels.elementary`, `draws`, `linear` and `tall`, and
`native/core/elementary.hpp`. What is allowed all the same says why.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shoal

PACKAGE = Path(shoal.__file__).parent

FUNCTIONS = {
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "power", "float_power", "pow", "cbrt"),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "hypot", "geomspace"),
    *("asin", "acos", "atan", "atan2", "gamma", "lgamma", "erf", "erfc", "logspace"),
    *("dot", "vdot", "inner", "matmul", "tensordot", "einsum", "linalg", "cov", "corrcoef", "polyfit", "convolve"),
    *("i0", "sinc"),
}
DRAWS = {
    *(
        "normal",
        "standard_normal",
        "exponential",
        "standard_exponential",
        "gamma",
        "standard_gamma",
        "chisquare",
        "beta",
    ),
    *("dirichlet", "lognormal", "laplace", "logistic", "multivariate_normal", "standard_t", "poisson", "weibull"),
}
LIBRARIES = {"scipy.special", "scipy.stats", "scipy.linalg", "scipy.optimize"}

ALLOWED = {
    "table/examples.py: normal": "invented tables, rounded to what is written",
    "table/linked_examples.py: normal": "invented tables, rounded to what is written",
    "kernels/draws.py: standard_normal": "rounded there",
    "kernels/draws.py: chisquare": "rounded there",
    "kernels/draws.py: standard_exponential": "rounded there",
    "kernels/search/nearest.py: @": "picks candidates with a margin; what is near is measured one by one",
    "kernels/partition/bounds.py: @": "a sparse matrix of whole numbers, summed in the order of its rows",
    "kernels/partition/programme.py: @": "sparse matrices of whole numbers",
    "risk/probabilistic_linkage.py: @": "whole numbers",
    "partition/blocks.py: @": "progress",
    "constraints/grammar.py: **": "a bound that no coefficient comes near",
    "constraints/precision.py: **": "whole numbers, and a power of two",
    "desk/column_types.py: **": "a power of two",
    "release/combine.py: scipy.special": "an analyst's own estimates, which no release holds",
    "table/arithmetic.py: **": "whole numbers",
    "table/dependencies.py: **": "a power of two",
    "table/standardisation.py: **": "a power of two",
    "table/files/value_labels.py: **": "a whole power of ten",
    "table/robust_covariance.py: scipy.special": "rounded there to nine digits",
    "utility/moments.py: **": "whole numbers",
    "judges/clipped.py: **": "the first or second power",
    "risk/suda2.py: **": "whole numbers",
    "table/joint_dependencies.py: **": "powers of one half, which are exact",
    "ledger/entry.py: @": "whole numbers",
    "mask/_marginals/margins.py: @": "whole numbers",
    "report/scales.py: **": "a whole power of ten",
    "constraints/rules.py: **": "whole numbers",
    "constraints/rounding.py: **": "whole numbers and fractions",
    "mask/private_noise.py: **": "whole numbers",
    "mask/safepub.py: **": "Python's own decimals, the same everywhere",
    "mask/sampled_classes.py: **": "Python's own decimals, the same everywhere",
    "judges/linkage.py: scipy.optimize": "linear_sum_assignment: sums and comparisons in one order",
    "mask/_profiles/alignment.py: scipy.optimize": "linear_sum_assignment: sums and comparisons in one order",
    "risk/transparency.py: scipy.optimize": "linear_sum_assignment: sums and comparisons in one order",
    "partition/tcloseness_refined.py: scipy.optimize": "linear_sum_assignment: sums and comparisons in one order",
    "constraints/system.py: scipy.optimize": "linprog: HiGHS brings its own sums",
    "constraints/projection.py: scipy.optimize": "nnls: names the bounds that are tight, no values",
    "risk/population_uniques.py: scipy.optimize": "Nelder and Mead's search compares losses and takes no products",
    "judges/predicates.py: scipy.optimize": "Brent's search on a line compares losses and takes no products",
}


def whole(node: ast.expr) -> bool:
    """Whether it is a whole number as it is written."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def uses(path: Path) -> Iterator[str]:
    """What a module uses of the functions of other libraries, and powers but squares."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Attribute(value=ast.Name(id="np" | "math"), attr=name) if name in FUNCTIONS:
                yield name
            case ast.Attribute(value=ast.Name(id="rng" | "generator"), attr=name) if name in DRAWS:
                yield name
            case ast.ImportFrom(module=str(module)) if module in LIBRARIES:
                yield module
            case ast.ImportFrom(module="math" | "numpy", names=names):
                yield from {alias.name for alias in names} & FUNCTIONS
            case ast.BinOp(op=ast.MatMult()):
                yield "@"
            case ast.BinOp(left=left, op=ast.Pow(), right=right) if not whole(left) or not whole(right):
                if not (isinstance(right, ast.Constant) and right.value == 2):
                    yield "**"


def test_no_module_takes_another_library_s_arithmetic() -> None:
    taken = {
        f"{path.relative_to(PACKAGE).as_posix()}: {use}"
        for path in PACKAGE.rglob("*.py")
        for use in uses(path)
        if "studio" not in path.parts
    }
    assert taken - set(ALLOWED) == set(), "take shoal.kernels.elementary, draws, linear or tall, or say why not"
    assert set(ALLOWED) - taken == set(), "no longer used"


NATIVE = re.compile(
    r"std::(exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|hypot|sin|cos|tan|atan|tanh|lgamma|tgamma|erfc?)\("
)


def test_no_kernel_takes_the_c_library_s(project: Path) -> None:
    sources = sorted((project / "native").rglob("*.[ch]pp"))
    if not sources:
        pytest.skip("the sources of the kernels do not lie beside the tests")
    assert {path.name: NATIVE.findall(path.read_text()) for path in sources if NATIVE.search(path.read_text())} == {}
    flags = (project / "CMakeLists.txt").read_text()
    assert "-ffp-contract=off" in flags and "fast-math" not in flags

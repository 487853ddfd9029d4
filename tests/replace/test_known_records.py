"""Who knows one record of a group, beside the release and its exact moments, must not find the others."""

import numpy as np
import pytest

import shoal
from shoal.replace._residuals.rotation import least_dimensions, least_dimensions_beside
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError, ParameterError


def released(method, size, width, seed=0, **how):
    """Groups of one size with one kept column, and what a method makes of the others."""
    x = np.random.default_rng(seed).normal(size=(size * 10, width + 1))
    records, part = Records.from_array(x), Partition(labels=np.arange(len(x), dtype=np.int32) // size)
    names = records.quasi_identifiers[:width]
    new = method.apply(records, names, part, np.random.default_rng(1)).records
    return x, new.raw(records.names()), part


def candidates_of(new, kept, known):
    """All that a column of four records can have been, of which one record's value is known: two points of a circle.

    Its mean, variance and covariance with `kept` are those of `new`.
    """
    span = np.linalg.qr(np.column_stack([np.ones(4), kept]))[0]
    fitted = span @ (span.T @ new)
    radius = np.linalg.norm(new - fitted)
    plane = np.linalg.svd(span.T)[2][2:]
    size, angle = np.hypot(*plane[:, 0]), np.arctan2(plane[1, 0], plane[0, 0])
    off = np.arccos(np.clip((known - fitted[0]) / (radius * size), -1, 1))
    angles = (angle + off, angle - off)
    return [fitted + radius * (np.cos(at) * plane[0] + np.sin(at) * plane[1]) for at in angles]


def test_one_known_cell_of_a_group_of_four_gives_the_others_where_that_is_allowed():
    x, new, part = released(shoal.IPSO(small="allow"), 4, 1)
    for rows in part.members():
        guesses = candidates_of(new[rows, 0], x[rows, 1], x[rows[0], 0])
        assert min(np.abs(one - x[rows, 0]).max() for one in guesses) < 1e-6


@pytest.mark.parametrize(
    ("method", "width", "least"),
    [
        (shoal.IPSO(), 1, 5),  # a record more than of what follows, for there is a kept column
        (shoal.IPSO(), 2, 5),
        (shoal.Normal(), 1, 4),
        (shoal.Normal(), 2, 4),
        (shoal.LatinHypercube(), 1, 4),
        (shoal.MultivariateT(degrees_of_freedom=5.0), 1, 4),
        (shoal.MuralidharSarathy(alpha=0.5), 1, 6),
        (shoal.MuralidharSarathy(alpha=0.5), 2, 7),
        (shoal.LocalNoise(kind="kim", variance=0.5, exact=True), 1, 5),
        (shoal.LocalNoise(kind="orthogonal", variance=0.5), 2, 6),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "apply") else str(value),
)
def test_methods_with_exact_moments_refuse_groups_that_one_known_record_gives_away(method, width, least):
    released(method, least, width)
    with pytest.raises((ParameterError, DataError), match=f"needs groups of {least} records|at least {least} records"):
        released(method, least - 1, width)


def free(d, width, beside):
    """Directions in which residuals can move in d dimensions, with their moments and one record fixed."""
    rng = np.random.default_rng(d + 10 * width)
    frame, known = np.linalg.qr(rng.normal(size=(d, width)))[0], rng.normal(size=d)
    other = np.linalg.qr(frame + rng.normal(size=(d, width)))[0]
    moves = np.eye(d * width).reshape(-1, d, width)
    products = np.einsum("da,mdb->mab", frame, moves)
    equations = [products + products.swapaxes(1, 2), np.einsum("d,mdb->mb", known, moves)]
    equations += [np.einsum("da,mdb->mab", other, moves)] if beside else []
    return d * width - np.linalg.matrix_rank(np.hstack([one.reshape(len(moves), -1) for one in equations]))


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("beside", [False, True])
def test_the_least_dimensions_leave_a_way_to_move_and_fewer_do_not(width, beside):
    least = least_dimensions_beside(width) if beside else least_dimensions(width)
    assert free(least, width, beside) > 0
    if width <= 2:  # from three columns on the equations of a record depend on one another in fewer dimensions
        assert free(least - 1, width, beside) == 0

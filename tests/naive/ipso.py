"""IPSO written down as it is defined, for one group."""

import numpy as np


def haar(d, rng):
    """A uniformly distributed orthogonal d x d matrix (Mezzadri 2007)."""
    q, r = np.linalg.qr(rng.normal(size=(d, d)))
    return q * np.sign(np.diag(r))


def complement(y, n):
    """An orthonormal basis U of what is orthogonal to [1, Y]."""
    design = np.column_stack([np.ones(n), y - y.mean(axis=0)])
    norms = np.linalg.norm(design, axis=0)
    u, s, _ = np.linalg.svd(design / np.where(norms > 0, norms, 1.0), full_matrices=True)
    return u[:, (s > 1e-10).sum() :]


def ipso(x, y, rng):
    """X' = P X + U O U'X."""
    u = complement(y, len(x))
    return x - u @ (u.T @ x) + u @ haar(u.shape[1], rng) @ (u.T @ x)

"""EM for normal mixtures as the books write it: posterior matrix, loops, numpy's linear algebra."""

import numpy as np


def log_densities(x, proportion, mean, covariance):
    """Shape (n, G); log of proportion times normal density, by determinants and inverses."""
    n, d = x.shape
    out = np.empty((n, len(proportion)))
    for g in range(len(proportion)):
        y = x - mean[g]
        distance = np.einsum("ij,jk,ik->i", y, np.linalg.inv(covariance[g]), y)
        _, logdet = np.linalg.slogdet(covariance[g])
        out[:, g] = np.log(proportion[g]) - 0.5 * (d * np.log(2 * np.pi) + logdet + distance)
    return out


def floored(proportion, floor):
    """Equations (3) and (4) as the paper prints them."""
    least, groups = proportion.min(), len(proportion)
    delta = 0.0 if least >= floor else (floor - least) / (1 - groups * floor)
    return (proportion + delta) / (proportion + delta).sum()


def covariances(model, weight, scatter, d):
    """The models whose M-step can be written in a line or two."""
    n, pooled = weight.sum(), scatter.sum(axis=0)
    eye = np.eye(d)
    per_group = {
        "EII": lambda w, s: np.trace(pooled) / (n * d) * eye,
        "VII": lambda w, s: np.trace(s) / (w * d) * eye,
        "EEI": lambda w, s: np.diag(np.diag(pooled)) / n,
        "VVI": lambda w, s: np.diag(np.diag(s)) / w,
        "EEE": lambda w, s: pooled / n,
        "VVV": lambda w, s: s / w,
        "EVV": lambda w, s: s / np.linalg.det(s) ** (1 / d) * sum(np.linalg.det(a) ** (1 / d) for a in scatter) / n,
        "EEV": lambda w, s: (lambda v: v @ np.diag(sum(np.linalg.eigvalsh(a) for a in scatter) / n) @ v.T)(
            np.linalg.eigh(s)[1]
        ),
    }[model]
    return np.array([per_group(w, s) for w, s in zip(weight, scatter)])


def em(x, posterior, model, steps, floor=0.0):
    """`steps` times M then E; the last log-likelihood with its parameters."""
    d = x.shape[1]
    for _ in range(steps):
        weight = posterior.sum(axis=0)
        proportion = floored(weight / len(x), floor)
        mean = posterior.T @ x / weight[:, None]
        scatter = np.array([(posterior[:, [g]] * (x - mean[g])).T @ (x - mean[g]) for g in range(len(weight))])
        covariance = covariances(model, weight, scatter, d)
        logs = log_densities(x, proportion, mean, covariance)
        top = logs.max(axis=1, keepdims=True)
        density = np.exp(logs - top)
        posterior = density / density.sum(axis=1, keepdims=True)
        loglik = float((top[:, 0] + np.log(density.sum(axis=1))).sum())
    return loglik, proportion, mean, covariance


def agglomeration(x):
    """Merges by exhaustive search over all pairs of classes at each stage."""
    n, d = x.shape
    classes = {i: [i] for i in range(n)}

    def cost(members):
        y = x[members] - x[members].mean(axis=0)
        return len(members) * np.linalg.slogdet((y.T @ y + np.eye(d)) / (len(members) + 1))[1]

    merges = []
    while len(classes) > 1:
        pairs = [(i, j) for i in classes for j in classes if i < j]
        increase = [cost(classes[i] + classes[j]) - cost(classes[i]) - cost(classes[j]) for i, j in pairs]
        keep, merged = pairs[int(np.argmin(increase))]
        classes[keep] = classes[keep] + classes.pop(merged)
        merges.append((keep, merged))
    return merges


def bounded_assignment(score, least):
    """Greatest total by trying every assignment."""
    n, groups = score.shape
    best = -np.inf
    for code in range(groups**n):
        labels = code // groups ** np.arange(n) % groups
        if np.bincount(labels, minlength=groups).min() >= least:
            best = max(best, score[np.arange(n), labels].sum())
    return best

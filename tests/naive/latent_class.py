"""Latent class EM with explicit posteriors and numpy; the regression by plain Newton steps on all coefficients."""

import numpy as np


def class_probabilities(coefficient, covariates):
    raised = np.exp(covariates @ coefficient.T)
    return raised / raised.sum(axis=1, keepdims=True)


def logit(covariates, z, precision, steps=50):
    """Penalised multinomial logit of soft responses; `precision` (q,)."""
    q = covariates.shape[1]
    groups = z.shape[1]
    b = np.zeros((groups, q))
    for _ in range(steps):
        p = class_probabilities(b, covariates)
        gradient = (z - p).T @ covariates - precision * b
        hessian = np.zeros((groups, q, groups, q))
        for g in range(groups):
            for h in range(groups):
                w = p[:, g] * ((g == h) - p[:, h])
                hessian[g, :, h] = (covariates * w[:, None]).T @ covariates + (g == h) * np.diag(precision)
        b = b + np.linalg.solve(hessian.reshape(groups * q, -1), gradient.ravel()).reshape(groups, q)
    return b


def tables(codes, categories, z, pseudo):
    """One (C, G) table a column."""
    out = []
    for j, count in enumerate(categories):
        known = codes[:, j] >= 0
        answers = np.eye(count)[codes[known, j]]
        table = answers.T @ z[known] + pseudo * answers.mean(axis=0)[:, None]
        out.append(table / table.sum(axis=0))
    return out


def em(codes, categories, z, steps, covariates=None, pseudo=1.0, precision=None):
    """`steps` times M then E; log-likelihood, class probabilities of the records, tables, posterior."""
    for _ in range(steps):
        table = tables(codes, categories, z, pseudo)
        if covariates is None:
            p = np.tile(z.mean(axis=0), (len(z), 1))
        else:
            p = class_probabilities(logit(covariates, z, precision), covariates)
        joint = p.copy()
        for j in range(codes.shape[1]):
            known = codes[:, j] >= 0
            joint[known] *= table[j][codes[known, j]]
        loglik = np.log(joint.sum(axis=1)).sum()
        z = joint / joint.sum(axis=1, keepdims=True)
    return loglik, p, table, z

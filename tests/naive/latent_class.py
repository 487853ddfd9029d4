"""Latent class EM with explicit posteriors and numpy; the regression by plain Newton steps on all coefficients."""

import numpy as np


def class_probabilities(coefficient, covariates):
    raised = np.exp(covariates @ coefficient.T)
    return raised / raised.sum(axis=1, keepdims=True)


def logit_step(b, covariates, z, precision):
    """One Newton step, halved until it raises the objective, of the penalised multinomial logit of soft responses.

    `b` (G, q), `precision` (q,).
    """
    groups, q = b.shape
    p = class_probabilities(b, covariates)
    gradient = (z - p).T @ covariates - precision * b
    hessian = np.zeros((groups, q, groups, q))
    for g in range(groups):
        for h in range(groups):
            w = p[:, g] * ((g == h) - p[:, h])
            hessian[g, :, h] = (covariates * w[:, None]).T @ covariates + (g == h) * np.diag(precision)
    step = np.linalg.solve(hessian.reshape(groups * q, -1), gradient.ravel()).reshape(groups, q)

    def objective(b):
        return (z * np.log(class_probabilities(b, covariates))).sum() - 0.5 * (precision * b**2).sum()

    for _ in range(30):
        if objective(b + step) > objective(b):
            return b + step
        step = step / 2
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
    b = np.zeros((z.shape[1], 1 if covariates is None else covariates.shape[1]))
    for _ in range(steps):
        table = tables(codes, categories, z, pseudo)
        if covariates is None:
            p = np.tile(z.mean(axis=0), (len(z), 1))
        else:
            b = logit_step(b, covariates, z, precision)
            p = class_probabilities(b, covariates)
        joint = p.copy()
        for j in range(codes.shape[1]):
            known = codes[:, j] >= 0
            joint[known] *= table[j][codes[known, j]]
        loglik = np.log(joint.sum(axis=1)).sum()
        z = joint / joint.sum(axis=1, keepdims=True)
    return loglik, p, table, z

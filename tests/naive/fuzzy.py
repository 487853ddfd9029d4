"""Fuzzy c-means and entropy fuzzy c-means as their formulas stand, pair by pair."""

import math

import numpy as np


def memberships(x, centres, rule, parameter):
    u = np.zeros((len(x), len(centres)))
    for k, record in enumerate(x):
        d2 = [float(((record - v) ** 2).sum()) for v in centres]
        if rule == "power" and min(d2) == 0.0:
            u[k] = [float(d == 0.0) / sum(e == 0.0 for e in d2) for d in d2]
            continue
        for i in range(len(centres)):
            if rule == "power":
                u[k, i] = 1.0 / sum((d2[i] / d) ** (1.0 / (parameter - 1.0)) for d in d2)
            else:
                u[k, i] = 1.0 / sum(math.exp(min(700.0, parameter * (d2[i] - d))) for d in d2)
    return u


def step(x, centres, rule, parameter):
    u = memberships(x, centres, rule, parameter)
    w = u**parameter if rule == "power" else u
    means = np.array([(w[:, i] @ x) / w[:, i].sum() if w[:, i].sum() > 0 else v for i, v in enumerate(centres)])
    d2 = ((x[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    objective = float((w * d2).sum())
    if rule == "entropy":
        objective += sum(v * math.log(v) for v in u.ravel() if v > 0) / parameter
    return means, objective

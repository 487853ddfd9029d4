"""Record linkage by looking at every pair."""

import numpy as np


def link(x, y, truth):
    """Probability that the nearest row of x is the true one, for each row of y."""
    chances = []
    for point, own in zip(y, truth):
        distance = [np.sqrt(sum((a - b) ** 2 for a, b in zip(point, other))) for other in x]
        least = min(distance)
        tied = [i for i, d in enumerate(distance) if d <= least + 1e-9 * (1 + least)]
        chances.append(1 / len(tied) if own in tied else 0.0)
    return np.array(chances)


def nearest_distance(x, y):
    """Distance of each row of y to the nearest row of x."""
    return np.array([np.sqrt(((x - point) ** 2).sum(axis=1)).min() for point in y])


def nearest_point(points, y):
    """Row of the nearest point of each row of y, the lowest of those within rounding of the least distance."""
    distances = np.sqrt(((y[:, None] - points[None]) ** 2).sum(axis=2))
    least = distances.min(axis=1, keepdims=True)
    return (distances <= least + 1e-9 * (1 + least)).argmax(axis=1)

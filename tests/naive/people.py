"""Counting people, written out for a handful of records; -1 is a missing cell, which matches every value."""

from naive.suppression import blanked, compatible, subsets


def people(row, population, weights):
    """Of how many people a record may be."""
    return sum(w for person, w in zip(population, weights) if compatible(row, person))


def cheapest(row, population, weights, k, cost):
    """The least cost of cells after which a record may be of k people; None if there are none."""
    prices = (
        sum(cost[j] for j in chosen if row[j] >= 0)
        for chosen in subsets(range(len(row)))
        if people(blanked(row, chosen), population, weights) >= k
    )
    return min(prices, default=None)


def presence(rows, population):
    """For each person the probability of being in the table."""
    ones = [1] * len(population)
    return [sum(1 / people(row, population, ones) for row in rows if compatible(row, one)) for one in population]

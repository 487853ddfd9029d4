"""Rank swapping's pairing, written out: the same draws as the kernel."""

from naive.random_stream import RandomStream


def swap_partners(n: int, window: int, seed: int) -> list[int]:
    random = RandomStream(seed)
    partner: list[int | None] = [None] * n
    for i in range(n):
        if partner[i] is not None:
            continue
        ahead = list(range(i + 1, min(i + window, n - 1) + 1))
        chosen = None
        for _ in range(64 if ahead else 0):
            j = ahead[random.below(len(ahead))]
            if partner[j] is None:
                chosen = j
                break
        if chosen is None:
            free = [j for j in ahead if partner[j] is None]
            chosen = free[random.below(len(free))] if free else i
        partner[i], partner[chosen] = chosen, i
    return partner

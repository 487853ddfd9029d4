"""Requirements over releases and what is held back: by hand, and beside slow twins."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from shoal.ledger.entry import LedgerEntry, by_person
from shoal.ledger.hold_back import changes_to_hold_back
from shoal.ledger.proof import ReleasedPersons, _budget, holdings, newly_small
from shoal.ledger.store import LedgerRow

NOBODY: dict[int, int] = {}


def entry(groups: dict[int, int], **about: Any) -> LedgerEntry:
    """A release by the class of each person."""
    persons = np.array(sorted(groups), dtype=np.uint64)
    return LedgerEntry(
        about={"quasi-identifiers": ["a"], "epsilon": [], "audience": None, **about},
        persons=persons,
        groups=np.array([groups[int(p)] for p in persons], dtype=np.int64),
        patterns=np.zeros((1 + max(groups.values(), default=-1), 1), dtype=np.uint8),
    )


def history(*releases: dict[int, int]) -> ReleasedPersons:
    known = ReleasedPersons()
    for release in releases:
        known = known.after(entry(release))
    return known


def by_brute_force(*releases: dict[int, int]) -> dict[int, int]:
    """For each person the number of those with the same sequence."""
    persons = set().union(*releases)
    sequences = {p: tuple(release.get(p) for release in releases) for p in persons}
    counts = Counter(sequences.values())
    return {p: counts[sequences[p]] for p in persons}


def drawn(rng: np.random.Generator, persons: int, classes: int) -> dict[int, int]:
    return {p: int(rng.integers(classes)) for p in range(persons) if rng.random() < 0.8}


@pytest.mark.parametrize("seed", range(10))
def test_sequences_are_those_of_a_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    releases = [drawn(rng, 40, 2) for _ in range(3)]
    known = history(*releases)
    assert dict(zip(known.persons.tolist(), known.sizes.tolist())) == by_brute_force(*releases)
    sizes, small = newly_small(history(*releases[:2]), entry(releases[2]), 4)
    before, after = by_brute_force(*releases[:2]), by_brute_force(*releases)
    assert sizes.tolist() == [after[p] for p in sorted(after)]
    assert small.tolist() == [after[p] < 4 and after[p] < before.get(p, 999) for p in sorted(after)]


def test_persons_with_several_records_are_alike_if_all_their_records_are() -> None:
    """1 and 2 have records of the classes 0 and 1; 3 has one of class 0 and 4 two of class 0."""
    numbers = np.array([2, 1, 3, 1, 2, 4, 4], dtype=np.uint64)
    persons, groups, rows = by_person(numbers, np.array([1, 0, 0, 1, 0, 0, 0]))
    assert persons.tolist() == [1, 2, 3, 4]
    assert groups[0] == groups[1]
    assert len({groups[0], groups[2], groups[3]}) == 3
    assert [{int(p) for p in persons[groups == groups[list(persons).index(numbers[row])]]} for row in rows] == [
        {int(p) for p in persons[groups == number]} for number in range(3)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_whoever_was_among_k_stays_among_k(seed: int) -> None:
    """Months of births, deaths, moves and missing records: no sequence of a person is ever shared by fewer than k."""
    rng = np.random.default_rng(seed)
    k, people = int(rng.integers(2, 6)), {p: int(rng.integers(3)) for p in range(60)}
    left: set[int] = set()
    known, releases = ReleasedPersons(), []
    for month in range(8):
        people |= {len(people) + n: int(rng.integers(3)) for n in range(rng.integers(0, 6))}
        left |= {int(p) for p in rng.choice(list(people), 2)}
        people |= {int(p): int(rng.integers(3)) for p in rng.choice(list(people), 3)}
        missing = {int(p) for p in rng.choice(list(people), month % 2)}
        table = [p for p in people if p not in missing]
        rng.shuffle(table)
        groups = np.array([people[p] for p in table])
        change = changes_to_hold_back(known, np.array(table, dtype=np.uint64), groups, np.isin(table, list(left)), k)
        release = {p: int(groups[s]) for p, r, s in zip(table, change.released, change.source) if r}
        assert change.remain == len(left & release.keys())
        releases.append(release)
        known = known.after(entry(release))
        assert min(by_brute_force(*releases).values()) >= k
    assert len(releases[-1]) > 30


def test_who_left_goes_when_k_leave_together_and_movers_move_when_k_move() -> None:
    """k = 2: one who left stays, two go; one who moved gets the others' class, two move; a lone newcomer waits."""
    known = history(dict.fromkeys(range(8), 0))
    persons = np.arange(9, dtype=np.uint64)
    lone = changes_to_hold_back(known, persons, np.array([0] * 7 + [1, 1]), persons == 0, 2)
    assert (lone.released.tolist(), lone.remain, lone.source[7]) == ([True] * 8 + [False], 1, 0)
    both = changes_to_hold_back(known, persons, np.array([0] * 6 + [1, 1, 1]), persons <= 1, 2)
    assert (both.released.tolist(), both.remain) == ([False] * 2 + [True] * 6 + [False], 0)
    assert both.source.tolist() == persons.tolist()


def row(number: int, audience: str | None, *collude: str) -> LedgerRow:
    return LedgerRow(number=number, kind="release", about={"audience": audience, "collude": list(collude)}, persons=1)


@pytest.mark.parametrize(
    ("audience", "collude", "numbers"),
    [
        ("A", (), [[1, 3]]),
        ("B", (), [[2, 3]]),
        ("A", ("B",), [[1, 2, 3]]),
        ("D", (), [[3, 4, 5]]),
        (None, (), [[1, 3], [2, 3], [3, 4, 5]]),
        ("new", (), [[3]]),
    ],
)
def test_a_party_holds_what_its_audiences_and_everybody_got(
    audience: str | None, collude: tuple[str, ...], numbers: list[list[int]]
) -> None:
    """C and D collude, since the release to C says so; release 3 is for anybody."""
    rows = [row(1, "A"), row(2, "B"), row(3, None), row(4, "C", "D"), row(5, "D")]
    assert sorted([r.number for r in party] for party in holdings(rows, audience, collude)) == numbers


def test_epsilons_add_up_by_person_and_column() -> None:
    spent = [{"columns": ["pay", "rent"], "epsilon": 0.5}, {"columns": ["pay"], "epsilon": 1.0}]
    known = ReleasedPersons().after(entry({1: 0, 2: 0}, epsilon=spent)).after(entry({2: 0, 3: 0}, epsilon=spent[1:]))
    assert known.spent["epsilon", "pay"].tolist() == [1.5, 2.5, 1.0]
    assert known.spent["epsilon", "rent"].tolist() == [0.5, 0.5, 0.0]
    assert known.spent["epsilon", "*"].tolist() == [1.5, 2.5, 1.0]


def test_an_epsilon_that_hides_whether_somebody_is_in_the_table_is_spent_on_everybody() -> None:
    whole = [{"columns": ["pay"], "epsilon": 1.0, "everybody": True}]
    own = [{"columns": ["pay"], "epsilon": 0.5}]
    before = ReleasedPersons().after(entry({1: 0, 2: 0}, epsilon=whole)).after(entry({2: 0, 3: 0}, epsilon=own))
    assert {n: v for (loss, n), v in before.on_everybody.items() if loss == "epsilon"} == {"pay": 1.0, "*": 1.0}
    assert before.spent["epsilon", "pay"].tolist() == [0.0, 0.5, 0.5]
    for persons, figure in (({1: 0}, 1.5), ({2: 0}, 2.0), ({9: 0}, 1.5)):  # noise on cells: who has them
        assert _budget(before, entry(persons, epsilon=own), ("epsilon", "pay"), 2.0).achieved == figure
    for persons in ({1: 0}, {2: 0}, {9: 0}, {}):  # on everybody: those of the table make no difference
        verdict = _budget(before, entry(persons, epsilon=whole), ("epsilon", "*"), 2.0)
        assert (verdict.holds, verdict.achieved, verdict.facts["persons under it"].private()) == (False, 2.5, 2)
        assert "0.5 is left for 2 persons" in verdict.sentence
        assert "left for everybody;" in _budget(before, entry(persons, epsilon=whole), ("epsilon", "*"), 1.8).sentence
        assert _budget(before, entry(persons, epsilon=whole), ("epsilon", "*"), 2.5).holds


def test_deltas_add_up_like_epsilons_and_an_old_entry_that_does_not_say_its_own_counts_as_a_broken_promise() -> None:
    whole = [{"columns": ["pay"], "epsilon": 1.0, "delta": 1e-9, "everybody": True}]
    before = ReleasedPersons().after(entry({1: 0}, epsilon=whole)).after(entry({2: 0}, epsilon=whole))
    name = ("delta", "pay")
    third = _budget(before, entry({3: 0}, epsilon=whole), name, 3e-9)
    assert (third.holds, third.requirement) == (True, "delta of 'pay' over releases")  # for 1e-9 three times
    fourth = _budget(before.after(entry({3: 0}, epsilon=whole)), entry({3: 0}, epsilon=whole), name, 3e-9)
    assert not fourth.holds
    assert "Of a delta of 3e-09 for 'pay', 0 is left for everybody; this release would spend 1e-09." in fourth.sentence
    noise = [{"columns": ["pay"], "epsilon": 1.0}]  # recorded before deltas were; noise on cells has none
    assert _budget(
        ReleasedPersons().after(entry({1: 0}, epsilon=noise)), entry({1: 0}, epsilon=whole), name, 1e-9
    ).holds
    old = [{"columns": ["pay"], "epsilon": 1.0, "everybody": True}]
    assert not _budget(
        ReleasedPersons().after(entry({1: 0}, epsilon=old)), entry({1: 0}, epsilon=whole), name, 0.5
    ).holds

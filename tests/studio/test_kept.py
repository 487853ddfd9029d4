"""The last answer is given again for the same objects and an equal question, and for nothing else."""

from shoal.studio.kept import Kept


def test_an_answer_is_kept_until_something_else_is_asked() -> None:
    given: list[int] = []

    def answer() -> int:
        given.append(len(given))
        return given[-1]

    kept, table, alike = Kept[int](), [1], [1]
    assert [kept.of((table,), asked, answer) for asked in ("by age", "by age", "by town", "by age")] == [0, 0, 1, 2]
    assert kept.of((alike,), "by age", answer) == 3  # another object, however like the first it is
    assert kept.of((alike, table), "by age", answer) == 4
    assert kept.of((alike, table), "by age", answer) == 4

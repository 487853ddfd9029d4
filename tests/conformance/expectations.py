"""Expectations of other programs' test suites: a table of them beside each test, run against us.

A line has file and line of its source, what is asked, the figure expected, our call, and what the expectation is to us:

equal           the figure, or the refusal, is ours too
property        the figure is that of a random generator; the property it stands for is run, and holds for us
better          ours is another figure, and why it is the better one is shown here or said in `why`
different       ours is another on purpose, for the reason in `why`; `ours` is what we give
not offered     we have no such thing; `why` says what there is instead
not applicable  about the program's own objects, printing, messages, or windows
"""

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

RUN = ("equal", "property", "better", "different")
VERDICTS = (*RUN, "not offered", "not applicable")

Case = Mapping[str, str]

ROUNDING = 1e-12
"""What figures that agree in every digit may differ by."""


class Printed(float):
    """A number that remembers how it was printed."""

    text: str

    def __new__(cls, text: str) -> "Printed":
        number = super().__new__(cls, text)
        number.text = text
        return number

    def is_that(self, ours: object) -> bool:
        """True if a number is this one to the last digit printed, and exactly where it is whole."""
        if isinstance(ours, bool) or not isinstance(ours, int | float):
            return False
        places = len(self.text.partition(".")[2])
        return abs(ours - self) <= ROUNDING + (0.501 * 10.0**-places if places else 0.0)


def printed(text: str) -> Any:
    return json.loads(text, parse_float=Printed, parse_int=Printed)


def agrees(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(agrees, ours, theirs))
    return theirs.is_that(ours) if isinstance(theirs, Printed) else type(ours) is type(theirs) and ours == theirs


def cases_of(suite: str) -> list[Case]:
    with (Path(__file__).parent / f"{suite}.csv").open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def name_of(case: Case) -> str:
    return f"{case['file']}-{case['line']}"


def run(case: Case, calls: Mapping[str, Callable[..., Any]]) -> None:
    """Our call gives the figure that the table says, which is that expected if the verdict says so."""
    name, *arguments = case["call"].split()
    ours = calls[name](*arguments)
    assert agrees(ours, printed(case["ours"] or case["expected"]))
    assert agrees(ours, printed(case["expected"])) == (case["verdict"] in ("equal", "property"))


def check_lines(cases: list[Case], calls: Mapping[str, Callable[..., Any]]) -> None:
    """Every line says what it must: a call, what it gives if that is not what was expected, and why."""
    assert len(set(map(name_of, cases))) == len(cases)
    assert {case["call"].split()[0] for case in cases if case["call"]} == set(calls)
    for case in cases:
        verdict, called = case["verdict"], bool(case["call"])
        assert verdict in VERDICTS, case
        assert called == (verdict in RUN) or verdict == "different", case
        assert case["why"] or verdict == "equal", case
        assert bool(case["ours"]) == (called and verdict in ("better", "different")), case


def check_page(cases: list[Case], page: Path) -> None:
    """The page has each verdict and each reason with its count, and no others."""
    reasons = Counter((case["verdict"], case["why"]) for case in cases if case["why"])
    rows = {f"| {verdict} | {count} |" for verdict, count in Counter(case["verdict"] for case in cases).items()}
    rows |= {f"| {verdict} | {count} | {why} |" for (verdict, why), count in reasons.items()}
    lines = page.read_text(encoding="utf-8").split("\n")
    counted = [line for line in lines if line.startswith(tuple(f"| {verdict} |" for verdict in VERDICTS))]
    assert {row for row in rows if not any(line.startswith(row) for line in counted)} == set()
    assert len(counted) == len(rows)

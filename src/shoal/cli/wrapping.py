"""Text for a terminal: lines are broken between words, and what follows a label stays to the right of it."""

import re
from collections.abc import Iterator
from textwrap import wrap

LABEL = re.compile(r"\S+ +(?<=^.{10})(?=\S)")
"""What a line begins with that says what it is: `proved    `, ten characters in all."""

OF_ITS_OWN = re.compile(r"\s*(-{3,}$|[-*] |\d+\. )|.*\S {3,}\S")
"""Lines that are not joined with others: what underlines, lists, tables."""


def wrapped(text: str, width: int) -> str:
    """Text in lines of a width; what has no blanks stays whole."""
    return "\n".join(_broken(line, width) for line in text.split("\n"))


def _broken(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    label = LABEL.match(line)
    below = 10 if label else len(line) - len(line.lstrip(" "))
    parts = wrap(line, width, subsequent_indent=" " * below, break_long_words=False, break_on_hyphens=False)
    return "\n".join(parts)


def reflowed(text: str) -> str:
    """Text with each paragraph as one line; lines that are indented otherwise, or of their own, stay."""
    return "\n".join(_paragraphs(text.split("\n")))


def _paragraphs(lines: list[str]) -> Iterator[str]:
    gathered = ""
    for line in lines:
        if gathered and _continues(gathered, line):
            gathered += " " + line.strip()
            continue
        if gathered:
            yield gathered
        gathered = line if line.strip() else ""
        if not gathered:
            yield ""
    if gathered:
        yield gathered


def _continues(before: str, line: str) -> bool:
    depth = [len(text) - len(text.lstrip(" ")) for text in (before, line)]
    own = OF_ITS_OWN.match(before) or OF_ITS_OWN.match(line)
    return bool(line.strip()) and depth[0] == depth[1] and not own

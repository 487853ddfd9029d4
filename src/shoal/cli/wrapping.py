"""Text for a terminal: lines are broken between words, and what follows a label stays to the right of it."""

import re
from collections.abc import Iterator
from textwrap import wrap

LABEL = re.compile(r"\S+ +(?<=^.{10})(?=\S)")
"""The label at the start of a line, ten characters with its blanks: `proved    `."""

OF_ITS_OWN = re.compile(r"\s*(-{3,}$|[-*] |\d+\. )|.*\S {3,}\S")
"""Lines that are never joined with others: underlines, list items, tables."""


def wrapped(text: str, width: int) -> str:
    """Text in lines of at most so many characters; words are never broken."""
    return "\n".join(_broken(line, width) for line in text.split("\n"))


def _broken(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    label = LABEL.match(line)
    below = 10 if label else len(line) - len(line.lstrip(" "))
    parts = wrap(line, width, subsequent_indent=" " * below, break_long_words=False, break_on_hyphens=False)
    return "\n".join(parts)


def reflowed(text: str) -> str:
    """Text with each paragraph as one line; lines with another indent, and lines of their own, stay."""
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

"""R's serialised values at the byte level, as `saveRDS` and `save` write them (R Core Team, "R Internals", 1.8).

A file is a header and a value; every value begins with a whole number whose lowest byte is its type and whose other
bits say whether attributes and a tag follow. Nothing in a file is run: functions are passed over as any other value.
Only what a data frame is made of is written: vectors with attributes.
"""

import codecs
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

PAIRS, TEXT, LIST, LOGICAL, INTEGER, DOUBLE = 2, 16, 19, 10, 13, 14
"""Types of values that tables are made of."""

SYMBOL, CHARACTERS, REFERENCE, NOTHING = 1, 9, 255, 254
OTHER = -1
"""Type of a value that was passed over."""

IS_OBJECT, HAS_ATTRIBUTES, HAS_TAG = 0x100, 0x200, 0x400
IN_BYTES, IN_LATIN1, IN_UTF8, IN_ASCII = (bit << 12 for bit in (2, 4, 8, 64))
"""Marks of the encoding of a text."""

NO_INTEGER = -(2**31)
"""What stands for a missing integer or truth value."""

NO_DOUBLE = 0x7FF0_0000_0000_07A2
"""The bits of a missing double, NA; other NaN differ in them, and a letter may stand in them (`tagged_na` of haven)."""

LETTER = 32
"""Place, in bits, of the letter in a missing double."""

SECOND = 1_000_000
"""Microseconds."""

CLASSES = {TEXT: "character", INTEGER: "integer", DOUBLE: "double"}
WIDTHS = {LOGICAL: "i4", INTEGER: "i4", DOUBLE: "f8", 15: "c16", 24: "u1"}
BINARY = b"X\n"
HEADER = BINARY + struct.pack(">iii", 2, 0x20300, 0x20300)
"""Format, version 2, and the first version of R that reads and so may have written it."""


@dataclass(slots=True, eq=False)
class RValue:
    """A value of R."""

    kind: int
    data: Any = None  # An array, a list of texts, values or (tag, value)
    attributes: dict[str, "RValue"] = field(default_factory=dict)
    written: list[bytes] | None = None  # Of text of which equal cells are written differently: what is written

    def texts(self, name: str) -> list[str | None]:
        """The texts of an attribute; empty if it has none."""
        value = self.attributes.get(name)
        return value.data if value is not None and value.kind == TEXT else []


class UnsupportedError(ValueError):
    """A file that is well formed but is not read; the reason completes 'the file ...'."""


class Reader:
    """Reads the values of one file."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at, self.references = raw, 2, list[Any]()
        if raw[:2] not in (BINARY, b"B\n"):
            raise UnsupportedError("is written as text")
        self.order = ">" if raw[:2] == BINARY else "<"
        self.pair = struct.Struct(f"{self.order}ii")
        version = self._whole()
        self.at += 8
        self.native = self._bytes(self._whole()).decode("ascii") if version > 2 else "UTF-8"

    def value(self) -> Any:
        """The next value; symbols are their names."""
        return self._of(self._whole())

    def _of(self, flags: int) -> Any:
        kind = flags & 255
        if kind in WIDTHS:
            return self._with_attributes(kind, self._numbers(WIDTHS[kind]), flags)
        if kind not in READ:
            raise UnsupportedError("has compiled functions")
        return READ[kind](self, flags)

    def _whole(self) -> int:
        number: int = struct.unpack_from(f"{self.order}i", self.raw, self.at)[0]
        self.at += 4
        return number

    def _bytes(self, size: int) -> bytes:
        self.at += size
        if size < 0 or self.at > len(self.raw):
            raise EOFError
        return self.raw[self.at - size : self.at]

    def _length(self) -> int:
        length = self._whole()
        return (self._whole() << 32) + self._whole() if length == -1 else length

    def _numbers(self, width: str) -> NDArray[Any]:
        dtype = np.dtype(self.order + width)
        size = self._length()
        return np.frombuffer(self._bytes(size * dtype.itemsize), dtype=dtype).astype(dtype.newbyteorder("="))

    def _with_attributes(self, kind: int, data: Any, flags: int, written: list[bytes] | None = None) -> RValue:
        return RValue(kind, data, dict(self.value().data) if flags & HAS_ATTRIBUTES else {}, written)

    def _text(self, flags: int) -> RValue:
        count, raw, at, unpack = self._length(), self.raw, self.at, self.pair.unpack_from
        written = []
        for _ in range(count):
            end = at + 8 + max(unpack(raw, at)[1], 0)
            written.append(raw[at:end])
            at = end
        self._bytes(at - self.at)
        texts = {cell: self._decoded(cell) for cell in set(written)}
        spelled = len(set(texts.values())) < len(texts)
        return self._with_attributes(TEXT, [texts[cell] for cell in written], flags, written if spelled else None)

    def _decoded(self, cell: bytes) -> str | None:
        """A text of its mark, length and content; None if it is missing, which has the length -1."""
        mark, size = self.pair.unpack_from(cell)
        if size < 0:
            return None
        content = cell[8:]
        if mark & IN_UTF8:
            return content.decode()
        if mark & IN_BYTES:
            return content.decode("ascii", "backslashreplace")
        if mark & IN_LATIN1:  # R's name for what Windows made of it
            return content.decode("cp1252" if not set(content) & {0x81, 0x8D, 0x8F, 0x90, 0x9D} else "latin-1")
        return content.decode("ascii" if mark & IN_ASCII else codecs.lookup(self.native).name)

    def _characters(self, flags: int) -> str | None:
        size = self._whole()
        return self._decoded(self.pair.pack(flags, size) + self._bytes(max(size, 0)))

    def _list(self, flags: int) -> RValue:
        return self._with_attributes(LIST, [self.value() for _ in range(self._length())], flags)

    def _pairs(self, flags: int) -> RValue:
        pairs = []
        while flags & 255 in PAIRED:
            if flags & HAS_ATTRIBUTES:
                self.value()
            tag = self.value() if flags & HAS_TAG else None
            pairs.append((tag if isinstance(tag, str) else "", self.value()))
            flags = self._whole()
        last = self._of(flags)  # nothing, as a rule; or the body of a function, or the second part of a pair
        return RValue(PAIRS, [*pairs, ("", last)] if last.kind in WIDTHS else pairs)

    def _symbol(self, flags: int) -> Any:
        self.references.append(self.value())
        return self.references[-1]

    def _reference(self, flags: int) -> Any:
        return self.references[(flags >> 8 or self._whole()) - 1]

    def _passed(self, flags: int, *, values: int, attributes: bool = True, referred: bool = True) -> RValue:
        """A value without cells: an environment, a pointer, an object of S4."""
        passed = RValue(OTHER)
        if referred:
            self.references.append(passed)
        for _ in range(values + bool(attributes and flags & HAS_ATTRIBUTES)):
            self.value()
        return passed

    def _environment(self, flags: int) -> RValue:
        self._whole()
        return self._passed(flags, values=4, attributes=False)

    def _package(self, flags: int) -> RValue:
        self._whole()
        return self._passed(flags, values=self._whole(), attributes=False)

    def _builtin(self, flags: int) -> RValue:
        self._bytes(self._whole())
        return RValue(OTHER)

    def _compact(self, flags: int) -> RValue:
        """A vector in a form that R unfolds when it is asked for: a range, numbers as text, a vector with a mark."""
        about, state, more = self.value(), self.value(), self.value()
        form = about.data[0][1]
        attributes = dict(more.data) if isinstance(more, RValue) and more.kind == PAIRS else {}
        if form in ("compact_intseq", "compact_realseq"):
            size, first, step = (int(number) for number in state.data)
            numbers = first + step * np.arange(size)
            kind, dtype = (INTEGER, np.int32) if form == "compact_intseq" else (DOUBLE, np.float64)
            return RValue(kind, numbers.astype(dtype), attributes)
        if form == "deferred_string":
            numbers, penalty = (value.data.tolist() for _, value in state.data)
            return RValue(TEXT, [number_text(number, penalty[0]) for number in numbers], attributes)
        if str(form).startswith("wrap_"):
            wrapped = state.data[0] if state.kind == LIST else state.data[0][1]
            return RValue(wrapped.kind, wrapped.data, {**wrapped.attributes, **attributes}, wrapped.written)
        raise UnsupportedError("has vectors that a package of R keeps in a form of its own")


def number_text(number: float, scipen: int = 0) -> str | None:
    """A number as R writes it: 15 digits at most, and a power of ten where that is shorter; None if it is missing."""
    if isinstance(number, int):
        return str(number) if number != NO_INTEGER else None
    if not np.isfinite(number):
        missing = np.float64(number).view(np.uint64) & 0xFFFF_FFFF == NO_DOUBLE & 0xFFFF_FFFF
        return None if missing else "NaN" if np.isnan(number) else "Inf" if number > 0 else "-Inf"
    mantissa, _, power = f"{number:.14e}".partition("e")
    mantissa, exponent = mantissa.rstrip("0").rstrip("."), int(power)
    decimals = max(len(mantissa.lstrip("-").replace(".", "")) - exponent - 1, 0)
    fixed, scientific = f"{number:.{decimals}f}", f"{mantissa}e{exponent:+03d}"
    return fixed if len(fixed) <= len(scientific) + scipen else scientific


PAIRED = (2, 3, 5, 6, 17)
"""Lists of pairs and what is laid out as they are: functions, promises, calls."""

READ: dict[int, Callable[[Reader, int], Any]] = {
    **dict.fromkeys((0, NOTHING, 253, 252, 251, 250, 242, 241), lambda reader, flags: RValue(OTHER)),
    **dict.fromkeys(PAIRED, Reader._pairs),
    **dict.fromkeys((247, 248, 249), Reader._package),
    **dict.fromkeys((7, 8), Reader._builtin),
    **dict.fromkeys((LIST, 20), Reader._list),
    SYMBOL: Reader._symbol,
    REFERENCE: Reader._reference,
    CHARACTERS: Reader._characters,
    TEXT: Reader._text,
    4: Reader._environment,
    22: partial(Reader._passed, values=2),
    23: partial(Reader._passed, values=0),
    25: partial(Reader._passed, values=0, referred=False),
    238: Reader._compact,
}
"""How each type is read, besides numbers; compiled functions are not."""


class Writer:
    """Writes one value."""

    def __init__(self) -> None:
        self.parts, self.symbols = [HEADER], dict[str, int]()

    def value(self, value: RValue) -> bytes:
        """The content of a file."""
        self._add(value)
        return b"".join(self.parts)

    def _add(self, value: RValue) -> None:
        flags = HAS_ATTRIBUTES * bool(value.attributes) | IS_OBJECT * ("class" in value.attributes)
        self._wholes(value.kind | flags, len(value.data))
        if value.kind == LIST:
            for part in value.data:
                self._add(part)
        elif value.kind == TEXT:
            cells = {text: _characters(text) for text in set(value.data)}
            self.parts.extend(cells[text] for text in value.data)
        else:
            self.parts.append(np.asarray(value.data).astype(f">{WIDTHS[value.kind]}").tobytes())
        for name, attribute in value.attributes.items():
            self._wholes(PAIRS | HAS_TAG)
            self._symbol(name)
            self._add(attribute)
        if value.attributes:
            self._wholes(NOTHING)

    def _wholes(self, *numbers: int) -> None:
        self.parts.append(struct.pack(f">{len(numbers)}i", *numbers))

    def _symbol(self, name: str) -> None:
        if name in self.symbols:
            self._wholes(self.symbols[name] << 8 | REFERENCE)
        else:
            self.symbols[name] = len(self.symbols) + 1
            self._wholes(SYMBOL)
            self.parts.append(_characters(name))


def _characters(text: str | None) -> bytes:
    if text is None:
        return struct.pack(">ii", CHARACTERS, -1)
    content = text.encode()
    return struct.pack(">ii", CHARACTERS | (IN_ASCII if text.isascii() else IN_UTF8), len(content)) + content


def text_value(*texts: str | None) -> RValue:
    """A vector of texts."""
    return RValue(TEXT, list(texts))

"""Pseudonyms: identifiers become codes that only the holder of a key can make again."""

import hmac
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import numpy as np

from shoal.mask.base import Mask
from shoal.table.prelude import Generator, Progress, Records, StepResult, Variable, ints
from shoal.table.text_files import read_text
from shoal.vocabulary.errors import FileError
from shoal.vocabulary.parameters import KeyFile, Secret
from shoal.vocabulary.prelude import ByColumn, Count, DataError, Ge, Le, ParameterError, Setting, method

LEAST_KEY = 16
"""Bytes of a key: with fewer than 128 bits it could be found by trying."""

LEAST_UNSEEN = 32
"""Digits with which two of 10^9 identifiers get one code with a chance below 10^-20, so that nobody need look."""


@method(
    "pseudonymise",
    title="Pseudonymisation by keyed hash",
    source="Krawczyk, Bellare & Canetti (1997), HMAC, with SHA-256",
    example_columns=("illness",),
)
class Pseudonymise(Mask):
    """Replaces each identifier by a keyed hash, so that one person has one code in every table.

    The code is the beginning of HMAC-SHA256 of the identifier's text under the key. The same key and
    identifier give the same code in whatever table and order; without the key, codes cannot be made from
    guessed identifiers, as plain hashes can. A pseudonym is still personal data: whoever holds the key can
    link, so the key stays in the private folder.

    Parameters
    ----------
    key_file
        A file with the key as hexadecimal digits, readable by its owner only, looked up from the plan's
        folder. Make one with
        `python -c "import secrets; print(secrets.token_hex(32))" > private/pseudonym.key`.
    key
        The key itself, in hexadecimal digits. It is written to no record and no report.
    length
        Hexadecimal digits of a code. A table in which two identifiers would get one code is refused.
    purpose
        Text that enters the hash: with different purposes one key gives codes that cannot be linked.

    Notes
    -----
    Without `key_file` and `key` a key is drawn from the release's seed: codes then agree within the release,
    and with no other.
    """

    scales = "rows"
    reads_others = False
    default_roles = ("identifier",)

    key_file: Annotated[str | None, KeyFile()] = None
    key: Annotated[str | None, Secret()] = None
    length: Annotated[int, Ge(8), Le(64)] = 20
    purpose: Annotated[str, Setting()] = ""

    def __post_init__(self) -> None:
        if self.key_file is not None and self.key is not None:
            raise ParameterError("pseudonymise: give only one of the parameters 'key_file' and 'key'.")
        if self.key is not None:
            _key(self.key, "key")

    @property
    def whole_needed(self) -> str:
        if self.key is None and self.key_file is None:
            return "one key; give key_file"
        short = self.length < LEAST_UNSEEN
        return f"all codes, to see that they differ; give a length of {LEAST_UNSEEN} or more" if short else ""

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        key = self._secret(rng)
        changed = [self._coded(variable, key) for variable in self.categorical(records, columns)]
        return StepResult(
            records=records.with_variables(*changed),
            facts={"codes": ByColumn({v.name: Count(n=len(v.categories), unit="codes", influence=1) for v in changed})},
        )

    def coded(self, identifier: Variable) -> bool:
        return all(c is None or re.fullmatch(f"[0-9a-f]{{{self.length}}}", str(c)) for c in identifier.categories)

    def _secret(self, rng: Generator) -> bytes:
        if self.key is not None:
            return _key(self.key, "key")
        if self.key_file is None:
            return rng.bytes(32)
        path = Path(self.key_file)
        try:
            text = read_text(path, "Key file", "ascii")
        except FileError as error:
            raise FileError(
                f'{error} Make one: python -c "import secrets; print(secrets.token_hex(32))" > {path}'
            ) from None
        if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise FileError(f"Key file '{path}' must be readable by its owner only; run: chmod 600 {path}")
        return _key(text.strip(), "key_file")

    def _coded(self, variable: Variable, key: bytes) -> Variable:
        codes = [None if c is None else self._code(c, key) for c in variable.categories]
        if len(set(codes)) < len(codes):
            raise DataError(
                f"Column '{variable.name}': two identifiers would get the same code of {self.length} "
                f"digits. Raise length."
            )
        order = sorted(range(len(codes)), key=lambda i: (codes[i] is None, codes[i]))
        place = np.empty(len(codes) + 1, dtype=np.int64)
        place[order], place[-1] = np.arange(len(codes)), -1
        return replace(
            variable,
            values=ints(place[variable.values]),
            level="nominal",
            categories=tuple(codes[i] for i in order),
            hierarchy=None,
        )

    def _code(self, identifier: object, key: bytes) -> str:
        message = f"{self.purpose}\x00{identifier}".encode()
        return hmac.new(key, message, sha256).hexdigest()[: self.length]


def _key(text: str, parameter: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        raise ParameterError(f"pseudonymise: {parameter} must be written in hexadecimal digits.") from None
    if len(key) < LEAST_KEY:
        raise ParameterError(
            f"pseudonymise: {parameter} must have at least {2 * LEAST_KEY} hexadecimal digits; it has {2 * len(key)}."
        )
    return key

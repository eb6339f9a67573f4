"""Names: when two are equal, and by which ones edges point at a record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

MIN_HASH_CHARS: Final = 7
MAX_HASH_CHARS: Final = 64
_COMMIT: Final = "commit:"


def shortened(names: Iterable[str]) -> list[str]:
    """The shorter names of the commits among ``names``: a beginning of its hash names it, too."""
    prefix = len(_COMMIT)
    return [
        name[: prefix + length]
        for name in names
        if name.startswith(_COMMIT)
        for length in range(MIN_HASH_CHARS, min(len(name) - prefix, MAX_HASH_CHARS))
    ]


def ascii_lower(text: str) -> str:
    """``text`` with the ASCII letters in lower case: names that differ in these alone are equal.

    So compare ``nocase`` of SQLite and ``lower`` of PostgreSQL in the collation "C".
    """
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)

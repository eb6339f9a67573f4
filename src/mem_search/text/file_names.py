"""Names of files that are no text.

On Linux a name may be any bytes. Python gives those that are not UTF-8 as lone surrogates, which
neither the store nor JSON can carry.
"""

from __future__ import annotations

from typing import Final

from mem_search.patterns import pattern

_BYTE: Final = pattern("[\ud800-\udfff]")


def is_text(name: str) -> bool:
    """Whether the name can be stored, sent and looked for."""
    return name.isascii() or not _BYTE.search(name)


def as_text(name: str) -> str:
    r"""The name with ``\xe9`` in place of a byte that is no text, as a shell would write it."""
    return name if is_text(name) else _BYTE.sub(lambda each: rf"\x{ord(each[0]) & 0xFF:02x}", name)

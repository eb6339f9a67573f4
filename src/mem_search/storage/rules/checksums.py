"""Derived values with a checksum behind them, which tells them from what damage made of them.

A value that keeps its length looks like any other. So four bytes are stored with it: the CRC-32 of
the value and of the number of its row, since a value in the place of another one is damage, too.
"""

from __future__ import annotations

import zlib
from typing import Final, TypeGuard

BYTES: Final = 4
"""Of a checksum."""


def with_checksum(value: bytes, row: int) -> bytes:
    """``value`` of the row with this number, with its checksum."""
    return value + zlib.crc32(value, row).to_bytes(BYTES, "little")


def is_whole(stored: object, row: int, size: int) -> TypeGuard[bytes]:
    """Whether ``stored`` is what was written: a value of so many bytes with its checksum."""
    if not isinstance(stored, bytes) or len(stored) != size + BYTES:
        return False
    return zlib.crc32(stored[:size], row).to_bytes(BYTES, "little") == stored[size:]

"""How often a saved search runs: ``15m``, ``1h``, ``2d``, ``1w``, or ``hourly`` and its kin."""

from __future__ import annotations

import re
from typing import Final

from mem_search.errors import InputError

SHORTEST: Final = 60
LONGEST: Final = 366 * 86_400
_UNITS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_WORDS: Final = {"hourly": 3_600, "daily": 86_400, "weekly": 604_800}
_WRITTEN: Final = re.compile(r"([0-9]{1,9})\s?([smhdw])")


def seconds(text: str) -> int:
    """The interval in seconds. Raises InputError naming ``every``."""
    word = text.strip().lower()
    match = _WRITTEN.fullmatch(word)
    found = _WORDS.get(word) or (int(match[1]) * _UNITS[match[2]] if match else 0)
    if not SHORTEST <= found <= LONGEST:
        raise InputError(
            f"{text[:40]!r} is no interval from a minute to a year; write 15m, 1h, 2d or 1w",
            field="every",
        )
    return found


def written(interval: int) -> str:
    """The shortest way to write it: ``seconds(written(n)) == n``."""
    unit = next(name for name, size in _UNITS.items() if interval % size == 0)
    return f"{interval // _UNITS[unit]}{unit}"

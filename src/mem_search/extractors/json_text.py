"""JSON that no source knows: its text, with letters instead of the escapes of letters.

Programs write ``\\u0421\\u0430\\u0434`` for Сад, which nobody finds by its words.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from mem_search.extractors.text import Text
from mem_search.model.ingest import Extracted
from mem_search.patterns import pattern

_ESCAPE: Final = pattern(
    r"(?<!\\)((?:\\\\)*)\\u(?:([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|([0-9a-fA-F]{4}))"
)
_FIRST_LETTER: Final = 0xA0
"""What comes before are controls, and signs that end a string."""


class JsonText(Text):
    """Everything else of the file stays as it is."""

    name = "json"
    suffixes = (".json", ".jsonl", ".ndjson", ".geojson", ".har")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return suffix in self.suffixes and super().recognises(head, path, suffix)

    def extract(self, path: Path, name: str) -> Extracted:
        found = super().extract(path, name)
        return Extracted(_ESCAPE.sub(_letter, found.text)) if "\\u" in found.text else found


def _letter(match: re.Match[str]) -> str:
    before, high, low, single = match.groups()
    if high:
        point = 0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00
    else:
        point = int(single, 16)
    is_letter = point >= _FIRST_LETTER and not 0xD800 <= point < 0xE000
    return before + chr(point) if is_letter else match[0]

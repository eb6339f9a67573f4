"""JSON that no source knows: its text, with letters instead of the escapes of letters.

Programs write ``\\u0421\\u0430\\u0434`` for Сад, which nobody finds by its words. A binary property
list, in which Macs keep links and settings, is read as the JSON of the same values.
"""

from __future__ import annotations

import json
import plistlib
import re
from pathlib import Path
from typing import Final

from mem_search.extractors.refusal import Unreadable
from mem_search.extractors.text import Text
from mem_search.model.ingest import Extracted
from mem_search.patterns import pattern

_ESCAPE: Final = pattern(
    r"(?<!\\)((?:\\\\)*)\\u(?:([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|([0-9a-fA-F]{4}))"
)
_PROPERTIES: Final = b"bplist00"
_FIRST_LETTER: Final = 0xA0
"""What comes before are controls, and signs that end a string."""


class JsonText(Text):
    """Everything else of the file stays as it is."""

    name = "json"
    suffixes = (".json", ".jsonl", ".ndjson", ".geojson", ".har")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        if head.startswith(_PROPERTIES):
            return True
        return suffix in self.suffixes and super().recognises(head, path, suffix)

    def extract(self, path: Path, name: str) -> Extracted:
        with path.open("rb") as file:
            if file.read(len(_PROPERTIES)) == _PROPERTIES:
                return Extracted(_properties(path))
        whole = super().extract(path, name)
        return Extracted(_ESCAPE.sub(_letter, whole.text)) if "\\u" in whole.text else whole


def _properties(path: Path) -> str:
    try:
        values = plistlib.loads(path.read_bytes())
        return json.dumps(values, ensure_ascii=False, indent=1, skipkeys=True, default=_shown)
    except (plistlib.InvalidFileException, ValueError, LookupError, RecursionError) as error:
        raise Unreadable(f"it is damaged: {type(error).__name__}: {error}") from None


def _shown(value: object) -> str:
    return f"({len(value):,} bytes)" if isinstance(value, bytes) else str(value)


def _letter(match: re.Match[str]) -> str:
    before, high, low, single = match.groups()
    if high:
        point = 0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00
    else:
        point = int(single, 16)
    is_letter = point >= _FIRST_LETTER and not 0xD800 <= point < 0xE000
    return before + chr(point) if is_letter else match[0]

"""The source `whatsapp`: exported chats of WhatsApp (`_chat.txt`, `WhatsApp Chat with ….txt`).

The telephone writes dates as its owner's country does, so their order is found out in the whole
file. A day of a chat becomes one record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file
from mem_search.sources.conversations import Said, by_day, notices
from mem_search.sources.whole_files import WholeFile, WholeFiles, head
from mem_search.text import charsets

NAME: Final = "whatsapp"

_MAX_BYTES: Final = 200 * 2**20
_LINE: Final = pattern(
    r"[\u200e\u200f\ufeff]{0,4}\[?(\d{1,4})([./-])(\d{1,2})[./-](\d{2,4})[.,]?[ \u202f]"
    r"{1,2}(?:à |às )?(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?"
    r"(?:[ \u202f\xa0]?([AaPp])\.?[ \xa0]?[Mm]\.?)?"
    r"(?:\][ ]|[ ][-–][ ])[\u200e\u200f]{0,4}(.*)"
)
_SAID: Final = pattern(r"([^:\n]{1,100}): [\u200e\u200f]{0,4}(.*)", re.DOTALL)
_NAMED: Final = pattern(r"WhatsApp[- ]?(?:Chat)?[- ](?:with|mit|avec|con|com|met|de|-)[ ]+(.+)|"
                        r"(?:Chat|Conversa|Discussion|Conversación) .{0,20}WhatsApp .{1,8}? (.+)",
                        re.IGNORECASE)  # fmt: skip
_MIN_LINES: Final = 2
"""Lines at the head of a file of another name that must look like messages."""


class WhatsApp(WholeFiles):
    """The chat is named as the file, or as the folder or archive of a ``_chat.txt``."""

    name = NAME
    file_format = FileFormat((".txt",))

    def recognises(self, path: Path) -> bool:
        if path.suffix.lower() != ".txt":
            return False
        lines = charsets.decoded(head(path, 4096)).splitlines()
        matched = [bool(_LINE.match(line)) for line in lines if line.strip()]
        named = path.name == "_chat.txt" or "whatsapp" in path.name.lower()
        return bool(matched) and matched[0] and sum(matched) >= (1 if named else _MIN_LINES)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        text = charsets.decoded(read_regular_file(file.path, _MAX_BYTES)).replace("\r\n", "\n")
        chat = _chat(file)
        is_day_first = _is_day_first(text.split("\n"))
        turns = [*_turns(text.split("\n"), is_day_first=is_day_first)]
        yield from by_day(NAME, chat, filter(None, turns))
        yield from notices(file, turns.count(None), "WhatsApp")


def _chat(file: WholeFile) -> str:
    path = Path(file.name) if file.is_upload else file.path
    stem = path.stem if path.stem != "_chat" else Path(path.parent.name or "chat").stem
    named = _NAMED.match(stem)
    return (named[1] or named[2]).strip() if named else stem


def _is_day_first(lines: Iterable[str]) -> bool:
    first = second = 0
    written, is_half = "", False
    for match in filter(None, map(_LINE.match, lines)):
        first, second = max(first, int(match[1])), max(second, int(match[3]))
        written, is_half = match[2], bool(match[8])
    if first > 12 or second > 12:
        return first > 12
    return not (written == "/" and is_half)  # only America writes 3/14/23, 9:41 PM


def _turns(lines: Iterable[str], *, is_day_first: bool) -> Iterator[Said | None]:
    """The messages; None for what has no name before it: WhatsApp says that itself."""
    current: list[str] = []
    at: int | None = None
    for line in chain(lines, [None]):
        match = _LINE.match(line) if line is not None else None
        if line is not None and match is None:
            if current:
                current.append(line)
            continue
        if current:
            said = _SAID.fullmatch("\n".join(current).rstrip())
            yield Said(said[1].strip(), said[2], at) if said else None
        if match is not None:
            at, current = _time(match.groups(), is_day_first=is_day_first), [match[9]]


def _time(groups: tuple[str | None, ...], *, is_day_first: bool) -> int | None:
    one, _, two, three, hour, minute, second, half = islice(groups, 8)
    assert one
    assert two
    assert three
    assert hour
    assert minute
    year, month, day = (three, two, one) if is_day_first else (three, one, two)
    if len(one) == 4:
        year, month, day = one, two, three
    full = int(year) + (2000 if len(year) <= 2 else 0)
    hours = int(hour) % 12 + (12 if half in ("p", "P") else 0) if half else int(hour)
    try:
        found_at = datetime(
            full, int(month), int(day), hours, int(minute), int(second or 0), 0, UTC
        )
    except ValueError:
        return None
    return round(found_at.timestamp() * 1000)

"""The source `messenger`: chats of Facebook and Instagram, from the download of one's data.

A thread lies in `message_1.json` and the following files; the newest message is the first. Facebook
writes UTF-8 as if each of its bytes were a character. A day of a chat becomes one record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.patterns import pattern
from mem_search.sources.conversations import Said, by_day, fields, items, repaired, text
from mem_search.sources.whole_files import WholeFile, WholeFiles, head, opened, whole

NAME: Final = "messenger"

_PARTS: Final = ("photos", "videos", "files", "gifs", "audio_files")
_NUMBER: Final = pattern(r"message_(\d+)\.json")
_HEAD: Final = 65_536


class Messenger(WholeFiles):
    """The id of a chat is its path in the download, else its title."""

    name = NAME
    file_format = FileFormat((".json",))

    def recognises(self, path: Path) -> bool:
        if path.suffix.lower() != ".json":
            return False
        start = head(path, _HEAD)
        is_old = b'"sender_name"' in start and b'"timestamp_ms"' in start
        return is_old or (b'"senderName"' in start and b'"isUnsent"' in start)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        with opened(file.path) as export, export.text() as content:
            chat = fields(whole(content))
        people = [repaired(each) for each in items(chat.get("participants"))]
        title = repaired(chat.get("title") or chat.get("threadName"))
        title = title or ", ".join(filter(None, people)) or Path(file.name).stem
        place = text(chat.get("thread_path")) or title
        number = _NUMBER.fullmatch(Path(file.name).name)
        if number and number[1] != "1":  # another file of the thread may end on the same day
            place = f"{place}/{number[1]}"
        turns = [_said(fields(each)) for each in items(chat.get("messages"))]
        turns.sort(key=lambda turn: turn.at or 0)
        yield from by_day(NAME, place, turns, title=title, people=filter(None, people))


def _said(message: Mapping[str, Any]) -> Said:
    who = repaired(message.get("sender_name") or message.get("senderName")) or "unknown"
    words = [repaired(message.get("content") or message.get("text"))]
    share = fields(message.get("share"))
    words += [repaired(share.get("share_text")), text(share.get("link"))]
    for part in (each for name in _PARTS for each in items(message.get(name))):
        if named := text(fields(part).get("uri")):
            words.append(f"({Path(named).name})")
    at = message.get("timestamp_ms") or message.get("timestamp")
    return Said(who, "\n".join(filter(None, words)), at if isinstance(at, int) else None)

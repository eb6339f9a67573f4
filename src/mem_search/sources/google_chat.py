"""The source `google-chat`: spaces and direct messages of Google Chat and Hangouts, of the Takeout.

A folder of `Google Chat/Groups` has `messages.json`, and `group_info.json` with the name and the
people. A day of it becomes one record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.patterns import pattern
from mem_search.sources.conversations import Said, by_day, fields, items, text
from mem_search.sources.whole_files import WholeFile, WholeFiles, head, opened, whole

NAME: Final = "google-chat"

_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_DATE: Final = pattern(
    r"(?:(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]{2})\w* |(?P<month2>[A-Z][a-z]{2})\w*"
    r" (?P<day2>\d{1,2}), )"
    r"(?P<year>\d{4})(?:,| at) (?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)"
    r"\s?(?P<half>[AP]M)?"
)
_ABOUT: Final = "group_info.json"


class GoogleChat(WholeFiles):
    """The id of a chat is the name of its folder, which Google makes of its own id."""

    name = NAME
    file_format = FileFormat((".json",))

    def recognises(self, path: Path) -> bool:
        if path.name == _ABOUT:
            return b'"members"' in head(path, 65_536)
        start = head(path, 65_536) if path.name == "messages.json" else b""
        return b'"creator"' in start and b'"created_date"' in start

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        if Path(file.name).name == _ABOUT:
            yield LedgerEntry(file.name, "left", "its messages are in messages.json beside it")
            return
        with opened(file.path) as export, export.text() as content:
            said = [_said(fields(each)) for each in items(fields(whole(content)).get("messages"))]
        about = {} if file.is_upload else _about(file.path.with_name(_ABOUT))
        people = [text(fields(each).get("name")) for each in items(about.get("members"))]
        folder = Path(file.name).parent.name or (
            file.path.parent.name if not file.is_upload else ""
        )
        title = text(about.get("name")) or ", ".join(filter(None, people)) or folder
        said.sort(key=lambda turn: turn.at or 0)
        yield from by_day(NAME, folder or title, said, title=title, people=filter(None, people))


def _about(path: Path) -> Mapping[str, Any]:
    try:
        with opened(path) as export, export.text() as content:
            return fields(whole(content))
    except (OSError, ValueError):  # only the name of the chat is missing then
        return {}


def _said(message: Mapping[str, Any]) -> Said:
    author = fields(message.get("creator"))
    words = [text(message.get("text"))]
    files = map(fields, items(message.get("attached_files")))
    words += [f"({text(f.get('original_name')) or text(f.get('export_name'))})" for f in files]
    for note in map(fields, items(message.get("annotations"))):
        link = fields(note.get("url_metadata"))
        named = [text(link.get(name)) for name in ("title", "snippet")]
        named += map(text, fields(link.get("url")).values())
        named += [text(fields(note.get("drive_metadata")).get("title"))]
        words += [each for each in named if each and each not in words[0]]
    who = text(author.get("name")) or text(author.get("email")) or "unknown"
    return Said(who, "\n".join(filter(None, words)), _moment(text(message.get("created_date"))))


def _moment(written: str) -> int | None:
    """``Tuesday, 14 March 2023 at 10:12:00 UTC``, or as in the United States; ms since 1970."""
    match = _DATE.search(written.replace("\u202f", " ").replace("\xa0", " "))
    if match is None:
        return None
    try:
        month = _MONTHS.index((match["month"] or match["month2"]).lower()) + 1
        hour = (
            int(match["hour"]) % 12 + 12 * (match["half"] == "PM")
            if match["half"]
            else int(match["hour"])
        )
        day = int(match["day"] or match["day2"])
        at = datetime(int(match["year"]), month, day, hour, int(match["minute"]),
                      int(match["second"]), tzinfo=UTC)  # fmt: skip
    except ValueError:
        return None
    return round(at.timestamp() * 1000)

"""What sources of conversations share: turns as text, and reading odd values.

A foreign file may hold anything anywhere, so values are read by functions that give "" or an empty
list for what has another type.
"""

from __future__ import annotations

from abc import abstractmethod
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.patterns import pattern
from mem_search.regular_file import open_regular_file
from mem_search.sources.base import guarded
from mem_search.sources.compressed import lines_of
from mem_search.sources.whole_files import (
    MAX_FILE_BYTES,
    ZIP,
    Export,
    WholeFile,
    WholeFiles,
    array_items,
    head,
    opened,
)
from mem_search.text.counted import counted
from mem_search.text.json_reading import loads
from mem_search.text.shortening import beginning, one_line
from mem_search.zip_files import DAMAGED_ZIP, Member

_TITLE: Final = 100
_MAX_TITLE_AT: Final = 8_000
"""Characters in which a title is looked for; they are redacted before."""
MAX_LINE_BYTES: Final = 32 * 2**20
"""Bytes of a line; a longer one is not read."""
_TOO_LONG: Final = f"is longer than {MAX_LINE_BYTES // 2**20} MiB"

_HEADING: Final = pattern(r"^[#>*\-\s]+")
_EXPORT: Final = pattern(r"(?:.*/)?conversations(?:-\d+)?\.json")
_MARK_WITHIN: Final = 65_536
"""Characters at the start of an export that have its ``mark``."""


class ConversationsExport(WholeFiles):
    """The data export of a chat service: ``conversations.json``, or the ZIP with it."""

    file_format = FileFormat((".json", ".zip"))
    mark: ClassVar[str]
    """A name that only this service's conversations have."""

    @abstractmethod
    def conversation(self, exported: Mapping[str, Any]) -> Iterator[Draft]:
        """The records of one conversation; none when nothing was said in it."""

    def recognises(self, path: Path) -> bool:
        if head(path, len(ZIP)) != ZIP and not _EXPORT.fullmatch(path.name):
            return False
        try:
            with opened(path) as export:
                for member in _members(export):
                    with export.text(member) as content:
                        return f'"{self.mark}"' in content.read(_MARK_WITHIN)
                return False
        except (OSError, *DAMAGED_ZIP):
            return False

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        with opened(file.path) as export:
            for member in _members(export):
                with export.text(member) as content:
                    for number, item in enumerate(array_items(content), 1):
                        place = ":".join(
                            filter(None, (file.name, member.name if member else "", str(number)))
                        )
                        drafts = list(guarded(place, partial(self.conversation, fields(item))))
                        yield from drafts
                        if not drafts:
                            yield LedgerEntry(place, "left", "the conversation is empty")


def _members(export: Export) -> Iterator[Member | None]:
    """The members of a ZIP archive that have conversations; of a file None, which is the file."""
    if not export.is_archive:
        return iter((None,))
    return (each for each in export.members() if _EXPORT.fullmatch(each.name))


def text(value: object) -> str:
    """``value`` if it is a string, without surrogates that cannot be stored."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def repaired(value: object) -> str:
    """A text of Facebook, or the name in an object, as it was written. It writes UTF-8 as if each
    byte were a character.

    One that is no UTF-8 when each character is a byte was not written by that program.
    """
    words = text(fields(value).get("name")) or text(value)
    try:
        return words.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return words


def items(value: object) -> list[Any]:
    """``value`` if it is a list."""
    return value if isinstance(value, list) else []


def fields(value: object) -> Mapping[str, Any]:
    """``value`` if it is an object."""
    return value if isinstance(value, Mapping) else {}


def json_lines(file: WholeFile) -> Iterator[Mapping[str, Any]]:
    """The lines that are objects; {} for another one, and for each further piece of one that is too
    long. Lines end with a line feed, and nothing else. ``file.unread`` notes such a line, and knows
    which is at hand; the last one may still be being written. Begins at ``file.place``, and leaves
    the file there before a line that is not complete. Raises OSError.
    """
    unread, place, is_rest = file.unread, file.place, False
    unread.at, at = place.line, place.offset
    with (
        open_regular_file(file.path, max_bytes=MAX_FILE_BYTES, follow=False) as stored,
        lines_of(stored) as content,
    ):
        is_plain = content is stored
        if is_plain:
            stored.seek(at)
        while piece := content.readline(MAX_LINE_BYTES):
            is_complete = piece.endswith(b"\n")
            goes_on = not is_complete and len(piece) >= MAX_LINE_BYTES
            if not is_rest:
                place.offset, place.line = at, unread.at
                unread.at += 1
            at += len(piece)
            if is_plain and not (is_complete or goes_on):
                place.leave(stored)
                stored.seek(at)
            value: Mapping[str, Any] = {}
            if not is_rest:
                value, fault = ({}, _TOO_LONG) if goes_on else object_in(piece)
                if fault and (is_complete or goes_on):
                    unread.add(unread.at, fault)
                elif fault:
                    unread.waiting = unread.at
            is_rest = goes_on
            yield value
            if is_complete:
                place.offset, place.line = at, unread.at
        if is_plain and not place.left:
            place.leave(stored)


def object_in(line: bytes) -> tuple[Mapping[str, Any], str]:
    """The object that a line is, or {} and why it is none. A file may begin with a BOM."""
    try:
        value = loads(line.removeprefix(BOM_UTF8).decode("utf-8"))  # else UTF-16 is guessed
    except RecursionError:
        return {}, "cannot be read: it is nested too deeply"
    except ValueError as error:
        return {}, f"cannot be read: {error}" if line.strip() else ""
    if isinstance(value, Mapping):
        return value, ""
    return {}, "cannot be read: it is not an object"


def moment(value: object) -> int | None:
    """ms since 1970 of an ISO date or of a number of seconds since 1970; None for anything else."""
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            at = at if at.tzinfo else at.replace(tzinfo=UTC)
            return round(at.timestamp() * 1000)
        if isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value, UTC)
            return round(at.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def first_line(words: str) -> str:
    """The first line with words, without Markdown marks, cut to a title."""
    for raw in beginning(words, _MAX_TITLE_AT).splitlines():
        line = " ".join(_HEADING.sub("", raw).replace("**", "").split())
        if any(character.isalnum() for character in line):
            return one_line(line, _TITLE)
    return ""


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of a conversation: who, what, and when in ms since 1970."""

    who: str
    words: str
    at: int | None = None


def conversation(
    source: str,
    source_id: str,
    turns: Iterable[Said],
    *,
    title: str = "",
    url: str = "",
    created_at: int | None = None,
    session: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> Draft | None:
    """The conversation as one record, whose text has the name before each turn; None if empty."""
    said = [turn for turn in turns if turn.words.strip()]
    if not said:
        return None
    times = [turn.at for turn in said if turn.at is not None]
    given = {
        "platform": source,
        "participants": list(dict.fromkeys(turn.who for turn in said)),
        "turns": len(said),
        **(metadata or {}),
    }
    return Draft(
        kind="conversation",
        source=source,
        source_id=source_id,
        text="\n\n".join(f"{turn.who}: {turn.words.strip()}" for turn in said),
        title=title.strip() or first_line(said[0].words),
        created_at=created_at if created_at is not None else min(times, default=None),
        updated_at=max(times, default=created_at),
        session=session or source_id,
        url=url,
        metadata={name: value for name, value in given.items() if value},
    )


def notices(file: WholeFile, count: int, program: str) -> Iterator[LedgerEntry]:
    """Names what a chat has that its program says of it and nobody said, if there is any."""
    if count:
        told = f"{counted(count, 'notice')} of {program} itself, such as who joined"
        yield LedgerEntry(f"{file.name}: notices", "left", told)


def by_day(
    source: str, chat: str, turns: Iterable[Said], *, title: str = "", people: Iterable[str] = ()
) -> Iterator[Draft]:
    """A chat between people: each day in UTC is one record, so its date is that of what was said.

    ``turns`` are in the order of the chat, which may have years; one without a time is of the day
    of the turn before it. ``chat`` identifies it, ``title`` is what people call it.
    """
    days: dict[str, list[Said]] = {}
    day = ""
    for turn in turns:
        if turn.at is not None:
            day = datetime.fromtimestamp(turn.at / 1000, UTC).date().isoformat()
        if turn.words.strip():
            days.setdefault(day, []).append(turn)
    members = list(dict.fromkeys(people))
    for day, said in days.items():
        draft = conversation(
            source,
            f"{chat}/{day}" if day else chat,
            said,
            title=", ".join(filter(None, (title or chat, day))),
            session=f"{source}:{chat}",
            metadata={"chat": title or chat, "members": members},
        )
        if draft is not None:
            yield draft

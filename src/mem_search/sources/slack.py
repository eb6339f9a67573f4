"""The source `slack`: an export of a Slack workspace, its folder or the ZIP.

The export has a folder for each channel with a file for each day
(https://slack.com/help/articles/220556107). A channel's day becomes one record.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.patterns import pattern
from mem_search.sources.base import guarded
from mem_search.sources.conversations import (
    Said,
    conversation,
    fields,
    items,
    moment,
    notices,
    text,
)
from mem_search.sources.whole_files import Export, WholeFile, WholeFiles, opened, whole
from mem_search.zip_files import DAMAGED_ZIP, Member

NAME: Final = "slack"

_DAY: Final = pattern(r"(?:.*/)?([^/]+)/(\d{4}-\d\d-\d\d)\.json")
_LISTS: Final = ("users.json", "channels.json", "dms.json", "groups.json", "mpims.json")
_NOT_SAID: Final = frozenset(("channel_join", "channel_leave", "channel_topic", "channel_purpose",
                              "channel_name", "channel_archive", "group_join", "group_leave",
                              "bot_add", "bot_remove", "pinned_item", "tombstone"))  # fmt: skip
_MAX_DEPTH: Final = 20
"""Levels of the blocks of a message; Slack has five."""
_MARK: Final = pattern(r"<([@#!]?)([^<>|\n]{1,2000})(?:\|([^<>\n]{0,2000}))?>")


class Slack(WholeFiles):
    """Names of people are those of ``users.json``, or those written in the messages."""

    name = NAME
    file_format = FileFormat((".zip", ".json"))

    def recognises(self, path: Path) -> bool:
        if path.suffix.lower() == ".zip":
            try:
                with opened(path) as export:
                    return _is_slack(export)
            except (OSError, *DAMAGED_ZIP):
                return False
        return bool(_DAY.fullmatch(path.as_posix())) and _has_lists(str(path.parent.parent))

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        path, name, unsaid = file.path, file.name, list[int]()
        with opened(path) as export:
            if not export.is_archive:
                match = _DAY.fullmatch(path.as_posix())
                match = match or _DAY.fullmatch(f"channel/{Path(name).name}")
                channel, date = match.groups() if match else ("channel", Path(name).stem)
                people = _people_beside(path.parent.parent)
                yield from guarded(name, partial(_day, export, None, channel, date, people, unsaid))
                yield from notices(file, sum(unsaid), "Slack")
                return
            listed = (each for each in export.members() if each.name == "users.json")
            people = next((_people(export, each) for each in listed), {})
            for day in export.members():
                if match := _DAY.fullmatch(day.name):
                    item, (channel, date) = f"{name}:{day.name}", match.groups()
                    yield from guarded(
                        item, partial(_day, export, day, channel, date, people, unsaid)
                    )
        yield from notices(file, sum(unsaid), "Slack")


def _day(
    export: Export, day: Member | None, channel: str, date: str, people: Mapping[str, str],
    unsaid: list[int],
) -> Iterator[Draft]:  # fmt: skip
    with export.text(day) as content:
        messages = items(whole(content))
    unsaid.append(sum(not _is_said(fields(each)) for each in messages))
    if draft := _draft(channel, date, messages, people):
        yield draft


def _is_slack(export: Export) -> bool:
    has_list = has_day = False
    for member in export.members():
        has_list = has_list or member.name in _LISTS
        has_day = has_day or bool(_DAY.fullmatch(member.name))
        if has_list and has_day:
            return True
    return False


@lru_cache(maxsize=256)
def _has_lists(folder: str) -> bool:
    return any(Path(folder, name).is_file() for name in _LISTS)


def _people_beside(folder: Path) -> dict[str, str]:
    try:
        with opened(folder / "users.json") as export:
            return _people(export)
    except OSError:
        return {}


def _people(export: Export, member: Member | None = None) -> dict[str, str]:
    """Id → name, from the list that is the export or is in it; none where it is damaged."""
    try:
        with export.text(member) as file:
            listed = whole(file)
    except (OSError, *DAMAGED_ZIP):
        return {}
    names = {}
    for person in map(fields, items(listed)):
        profile = fields(person.get("profile"))
        names[text(person.get("id"))] = (
            text(profile.get("display_name"))
            or text(person.get("real_name"))
            or text(profile.get("real_name"))
            or text(person.get("name"))
        )
    return names


def _draft(channel: str, day: str, messages: list[Any], people: Mapping[str, str]) -> Draft | None:
    return conversation(
        NAME,
        f"{channel}/{day}",
        (_said(fields(m), people) for m in messages if _is_said(fields(m))),
        title=f"#{channel}, {day}",
        session=f"slack:{channel}",
        metadata={"channel": channel},
    )


def _texts(blocks: object, depth: int = 0) -> list[str]:
    """The texts of blocks, of which apps build their messages; links have their address, too."""
    if depth > _MAX_DEPTH:
        return []
    if isinstance(blocks, Mapping):
        own = text(blocks.get("text")) or text(blocks.get("alt_text")) or text(blocks.get("url"))
        return [*filter(None, [own]), *(each for value in blocks.values()
                if not isinstance(value, str) for each in _texts(value, depth + 1))]  # fmt: skip
    return [each for value in items(blocks) for each in _texts(value, depth + 1)]


def _is_said(message: Mapping[str, Any]) -> bool:
    return message.get("type") == "message" and text(message.get("subtype")) not in _NOT_SAID


def _said(message: Mapping[str, Any], people: Mapping[str, str]) -> Said:
    profile = fields(message.get("user_profile"))
    who = (
        people.get(text(message.get("user")))
        or text(profile.get("display_name"))
        or text(profile.get("real_name"))
        or text(message.get("username"))
        or text(message.get("user"))
        or "unknown"
    )
    pieces = [text(message.get("text"))]
    pieces += [] if pieces[0] else _texts(message.get("blocks"))  # which the text repeats
    for added in map(fields, items(message.get("attachments"))):
        own = [text(added.get(name)) for name in ("pretext", "title", "text")]
        own += [f"{text(f.get('title'))}: {text(f.get('value'))}"
                for f in map(fields, items(added.get("fields")))]  # fmt: skip
        pieces += own if any(own) else _texts(added.get("blocks")) or [text(added.get("fallback"))]
    pieces += [
        text(f.get("title") or f.get("name")) for f in map(fields, items(message.get("files")))
    ]

    def shown(match: re.Match[str]) -> str:
        sign, name, label = match[1], match[2], match[3]
        if sign == "@":
            return f"@{label or people.get(name) or name}"
        if sign in ("#", "!"):
            return f"{'#' if sign == '#' else '@'}{label or name}"
        return f"{label} ({name})" if label and label not in name else name

    words = html.unescape(_MARK.sub(shown, "\n".join(filter(None, pieces))))
    try:
        at = moment(float(text(message.get("ts"))))
    except ValueError:
        at = None
    return Said(who, words, at)

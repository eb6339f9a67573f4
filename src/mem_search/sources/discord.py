"""The source `discord`: chats that DiscordChatExporter wrote as JSON, and Discord's data package.

The package has only one's own messages (`messages/cID/messages.json` with `channel.json`). A day of
a channel becomes one record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.sources.conversations import (
    Said,
    by_day,
    fields,
    items,
    moment,
    notices,
    text,
)
from mem_search.sources.whole_files import WholeFile, WholeFiles, head, opened, whole

NAME: Final = "discord"

_SAID: Final = ("Default", "Reply", "ThreadStarterMessage", "ChatInputCommand", "")
"""Types of messages with words of people; others say who joined or what was pinned."""


class Discord(WholeFiles):
    """The id of a chat is that of its channel."""

    name = NAME
    file_format = FileFormat((".json",))

    def recognises(self, path: Path) -> bool:
        if path.suffix.lower() != ".json":
            return False
        start = head(path, 4096)
        if path.name == "messages.json":
            return b'"Contents"' in start and b'"Timestamp"' in start
        return b'"guild"' in start and b'"channel"' in start and b'"messages"' in head(path, 16_384)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        with opened(file.path) as export, export.text() as content:
            exported = whole(content)
        if isinstance(exported, list):
            channel, messages = _beside(file), [_own(fields(each)) for each in exported]
            guild = fields(channel.get("guild"))
        else:
            exported = fields(exported)
            channel, guild = fields(exported.get("channel")), fields(exported.get("guild"))
            messages = [_said(fields(each)) for each in items(exported.get("messages"))]
        messages.sort(key=lambda turn: turn.at or 0)
        named = text(channel.get("name")) or Path(file.name).parent.name or "Discord"
        title = " / ".join(filter(None, (text(guild.get("name")), f"#{named}")))
        yield from by_day(NAME, text(channel.get("id")) or title, messages, title=title)
        yield from notices(file, sum(not turn.who for turn in messages), "Discord")


def _beside(file: WholeFile) -> Mapping[str, Any]:
    if file.is_upload:
        return {}
    try:
        with opened(file.path.with_name("channel.json")) as export, export.text() as content:
            return fields(whole(content))
    except (OSError, ValueError):  # only the name of the channel is missing then
        return {}


def _own(message: Mapping[str, Any]) -> Said:
    words = [text(message.get("Contents")), text(message.get("Attachments"))]
    return Said("You", "\n".join(filter(None, words)), moment(text(message.get("Timestamp"))))


def _said(message: Mapping[str, Any]) -> Said:
    author = fields(message.get("author"))
    if text(message.get("type")) not in _SAID:
        return Said("", "", None)
    words = [text(message.get("content"))]
    names = (text(fields(part).get("fileName")) for part in items(message.get("attachments")))
    words += [f"({name})" for name in names if name]
    for part in map(fields, items(message.get("embeds"))):
        words += [text(part.get(name)) for name in ("title", "description", "url")]
        words += [text(fields(part.get("author")).get("name")),
                  text(fields(part.get("footer")).get("text"))]  # fmt: skip
        words += [f"{text(fields(each).get('name'))}: {text(fields(each).get('value'))}"
                  for each in items(part.get("fields"))]  # fmt: skip
    words += [text(fields(part).get("name")) for part in items(message.get("stickers"))]
    who = text(author.get("nickname")) or text(author.get("name")) or "unknown"
    return Said(who, "\n".join(filter(None, words)), moment(text(message.get("timestamp"))))

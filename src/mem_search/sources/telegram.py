"""The source `telegram`: an export of Telegram Desktop as JSON (`result.json`).

It has one chat, or all of them. A day of a chat becomes one record.
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

NAME: Final = "telegram"

_FILES: Final = ("file_name", "file", "photo")
_KINDS: Final = ("personal_chat", "private_group", "private_supergroup", "public_supergroup",
                 "private_channel", "public_channel", "saved_messages", "bot_chat")  # fmt: skip


class Telegram(WholeFiles):
    """The id of a chat is that of Telegram."""

    name = NAME
    file_format = FileFormat((".json",))

    def recognises(self, path: Path) -> bool:
        if path.suffix.lower() != ".json":
            return False
        start = head(path, 4096)
        is_chat = b'"messages"' in start and any(f'"{kind}"'.encode() in start for kind in _KINDS)
        is_export = b'"personal_information"' in start or b'"chats"' in start
        return is_chat or (is_export and path.name == "result.json" and b'"about"' in start)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        with opened(file.path) as export, export.text() as content:
            root = fields(whole(content))
        lists = (fields(root.get(name)).get("list") for name in ("chats", "left_chats"))
        chats = [root] if "messages" in root else [chat for each in lists for chat in items(each)]
        of_telegram = 0
        for chat in map(fields, chats):
            yield from _chat(chat)
            of_telegram += sum(not _is_said(fields(each)) for each in items(chat.get("messages")))
        yield from notices(file, of_telegram, "Telegram")


def _is_said(message: Mapping[str, Any]) -> bool:
    """Whether somebody said it; ``service`` is what Telegram tells of the chat."""
    return message.get("type") == "message"


def _chat(chat: Mapping[str, Any]) -> Iterator[Draft]:
    named = text(chat.get("name"))
    if not named:
        named = "Saved messages" if chat.get("type") == "saved_messages" else "Telegram"
    messages = (fields(each) for each in items(chat.get("messages")))
    turns = (_said(each, named) for each in filter(_is_said, messages))
    yield from by_day(NAME, str(chat.get("id") or named), turns, title=named)


def _said(message: Mapping[str, Any], chat: str) -> Said:
    who = text(message.get("from")) or text(message.get("author")) or chat
    words = [_words(message.get("text")) or _words(message.get("text_entities"))]
    if forwarded := text(message.get("forwarded_from")):
        words.insert(0, f"(forwarded from {forwarded})")
    named = next((text(message.get(key)) for key in _FILES if text(message.get(key))), "")
    if named and not named.startswith("(File not included"):
        words.append(f"({Path(named).name})")
    elif sticker := text(message.get("sticker_emoji")):
        words.append(sticker)
    poll = fields(message.get("poll"))
    if poll:
        answers = (text(fields(each).get("text")) for each in items(poll.get("answers")))
        words.append("\n- ".join([_words(poll.get("question")), *answers]))
    contact = fields(message.get("contact_information"))
    words += [" ".join(map(text, contact.values()))] if contact else []
    words += [text(message.get(key)) for key in ("place_name", "address")]
    at = text(message.get("date_unixtime"))
    when = moment(int(at)) if at.isdecimal() else moment(text(message.get("date")))
    return Said(who, "\n".join(filter(None, words)), when)


def _words(written: object) -> str:
    """A text, or a list of its pieces, of which those with a form are objects."""
    if isinstance(written, str):
        return text(written)
    pieces = []
    for piece in items(written):
        words, link = text(piece) or text(fields(piece).get("text")), fields(piece).get("href")
        pieces.append(f"{words} ({text(link)})" if text(link) else words)
    return "".join(pieces)

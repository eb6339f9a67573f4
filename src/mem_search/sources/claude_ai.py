"""The source `claude-ai`: conversations of Claude.ai's data export (`conversations.json`, ZIP).

Files that were given to Claude are in the export as text; each becomes a record of its own, to
which the conversation links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry, Link
from mem_search.sources.conversations import Said, conversation, fields, items, moment, text
from mem_search.sources.whole_files import WholeFile, WholeFiles, array_items, head, members, opened

NAME: Final = "claude-ai"

_FILE: Final = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")


class ClaudeAi(WholeFiles):
    """A conversation is one record; its source id is its uuid."""

    name = NAME
    file_format = FileFormat((".json", ".zip"))

    def recognises(self, path: Path) -> bool:
        if path.suffix == ".zip":
            return any(map(_FILE.fullmatch, members(path))) and b'"chat_messages"' in _start(path)
        return bool(_FILE.fullmatch(path.name)) and b'"chat_messages"' in head(path, 65_536)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        path, name = file.path, file.name
        inside = [member for member in members(path) if _FILE.fullmatch(member)]
        for member in sorted(inside) or [""]:
            with opened(path, member) as content:
                for number, item in enumerate(array_items(content), 1):
                    drafts = list(_drafts(fields(item)))
                    yield from drafts
                    if not drafts:
                        place = f"{name}:{member}:{number}" if member else f"{name}:{number}"
                        yield LedgerEntry(place, "left", "the conversation is empty")


def _start(path: Path) -> bytes:
    member = next(filter(_FILE.fullmatch, members(path)))
    with opened(path, member) as file:
        return file.read(65_536).encode()


def _drafts(said: Mapping[str, Any]) -> Iterator[Draft]:
    identity = text(said.get("uuid"))
    messages = [fields(message) for message in items(said.get("chat_messages"))]
    draft = conversation(
        NAME,
        identity,
        (
            Said(
                "You" if message.get("sender") == "human" else "Claude",
                _words(message),
                moment(message.get("created_at")),
            )
            for message in messages
        ),
        title=text(said.get("name")),
        url=f"https://claude.ai/chat/{identity}",
        created_at=moment(said.get("created_at")),
    )
    if draft is None or not identity:
        return
    files = [
        Draft(
            kind="file",
            source=NAME,
            source_id=f"{identity}#file-{number}",
            text=text(file.get("extracted_content")),
            title=text(file.get("file_name")) or f"file {number}",
            created_at=at,
            session=identity,
            metadata={"path": text(file.get("file_name")), "attached_to": identity},
        )
        for number, (file, at) in enumerate(_files(messages), 1)
    ]
    yield replace(draft, links=tuple(Link(file.source_id, "attachment") for file in files))
    yield from files


def _words(message: Mapping[str, Any]) -> str:
    """Its text blocks: ``text`` beside them also has marks for the tools that were used."""
    blocks = [fields(block) for block in items(message.get("content"))]
    words = [text(block.get("text")) for block in blocks if block.get("type") == "text"]
    return "\n\n".join(filter(None, words)) or text(message.get("text"))


def _files(messages: list[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], int | None]]:
    for message in messages:
        for file in map(fields, items(message.get("attachments"))):
            if text(file.get("extracted_content")).strip():
                yield file, moment(message.get("created_at"))

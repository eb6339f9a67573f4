"""The source `claude-ai`: conversations of Claude.ai's data export (`conversations.json`, ZIP).

Files that were given to Claude are in the export as text; each becomes a record of its own, to
which the conversation links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from mem_search.model import Draft, Link
from mem_search.sources.conversations import (
    ConversationsExport,
    Said,
    conversation,
    fields,
    items,
    moment,
    text,
)

NAME: Final = "claude-ai"


class ClaudeAi(ConversationsExport):
    """A conversation is one record; its source id is its uuid."""

    name = NAME
    mark = "chat_messages"

    def conversation(self, said: Mapping[str, Any]) -> Iterator[Draft]:
        return _drafts(said)


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

"""The source `chatgpt`: conversations of ChatGPT's data export (`conversations.json` or the ZIP).

A conversation is a tree of messages; what the person sees is the path to ``current_node``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.sources.conversations import Said, conversation, fields, items, moment, text
from mem_search.sources.whole_files import WholeFile, WholeFiles, array_items, head, members, opened

NAME: Final = "chatgpt"

_FILE: Final = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_MARKS: Final = re.compile("\ue200[^\ue201]*\ue201")
"""References to search results, which the page shows as links."""

_SHOWN: Final = ("text", "multimodal_text", "code", "execution_output")


class ChatGpt(WholeFiles):
    """A conversation is one record; its source id is the id in its address."""

    name = NAME
    file_format = FileFormat((".json", ".zip"))

    def recognises(self, path: Path) -> bool:
        if path.suffix == ".zip":
            return any(map(_FILE.fullmatch, members(path))) and b'"mapping"' in _start(path)
        return bool(_FILE.fullmatch(path.name)) and b'"mapping"' in head(path, 65_536)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        path, name = file.path, file.name
        inside = [member for member in members(path) if _FILE.fullmatch(member)]
        for member in sorted(inside) or [""]:
            with opened(path, member) as content:
                for number, item in enumerate(array_items(content), 1):
                    if draft := _draft(fields(item)):
                        yield draft
                    else:
                        place = f"{name}:{member}:{number}" if member else f"{name}:{number}"
                        yield LedgerEntry(place, "left", "the conversation is empty")


def _start(path: Path) -> bytes:
    member = next(filter(_FILE.fullmatch, members(path)))
    with opened(path, member) as file:
        return file.read(65_536).encode()


def _draft(said: Mapping[str, Any]) -> Draft | None:
    identity = text(said.get("conversation_id")) or text(said.get("id"))
    if not identity:
        return None
    return conversation(
        NAME,
        identity,
        _turns(said),
        title=text(said.get("title")),
        url=f"https://chatgpt.com/c/{identity}",
        created_at=moment(said.get("create_time")),
        metadata={"model": text(said.get("default_model_slug"))},
    )


def _turns(said: Mapping[str, Any]) -> Iterator[Said]:
    tree = fields(said.get("mapping"))
    path: list[Mapping[str, Any]] = []
    at, seen = said.get("current_node"), set()
    while isinstance(at, str) and at in tree and at not in seen:
        seen.add(at)
        node = fields(tree[at])
        path.append(fields(node.get("message")))
        at = node.get("parent")
    if not path:  # older exports do not say which path is shown
        path = [fields(fields(node).get("message")) for node in reversed(list(tree.values()))]
    for message in reversed(path):
        role = text(fields(message.get("author")).get("role"))
        hidden = fields(message.get("metadata")).get("is_visually_hidden_from_conversation")
        if (
            role in ("user", "assistant")
            and not hidden
            and message.get("recipient") in (None, "all")
        ):
            who = "You" if role == "user" else "ChatGPT"
            yield Said(
                who, _words(fields(message.get("content"))), moment(message.get("create_time"))
            )


def _words(content: Mapping[str, Any]) -> str:
    if content.get("content_type") not in _SHOWN:
        return ""
    parts = [text(part) or text(fields(part).get("text")) for part in items(content.get("parts"))]
    return _MARKS.sub("", "\n".join(filter(None, (text(content.get("text")), *parts))))

"""The source `chatgpt`: conversations of ChatGPT's data export (`conversations.json` or the ZIP).

A conversation is a tree of messages; what the person sees is the path to ``current_node``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mem_search.model import Draft
from mem_search.patterns import pattern
from mem_search.sources.conversations import (
    ConversationsExport,
    Said,
    conversation,
    fields,
    items,
    moment,
    text,
)

NAME: Final = "chatgpt"

_MARKS: Final = pattern("\ue200[^\ue201]*\ue201")
"""References to search results, which the page shows as links."""

_SHOWN: Final = ("text", "multimodal_text", "code", "execution_output")


class ChatGpt(ConversationsExport):
    """A conversation is one record; its source id is the id in its address."""

    name = NAME
    mark = "mapping"

    def conversation(self, exported: Mapping[str, Any]) -> Iterator[Draft]:
        if draft := _draft(exported):
            yield draft


def _draft(exported: Mapping[str, Any]) -> Draft | None:
    identity = text(exported.get("conversation_id")) or text(exported.get("id"))
    if not identity:
        return None
    return conversation(
        NAME,
        identity,
        _turns(exported),
        title=text(exported.get("title")),
        url=f"https://chatgpt.com/c/{identity}",
        created_at=moment(exported.get("create_time")),
        metadata={"model": text(exported.get("default_model_slug"))},
    )


def _turns(exported: Mapping[str, Any]) -> Iterator[Said]:
    tree = fields(exported.get("mapping"))
    path: list[Mapping[str, Any]] = []
    at, seen = exported.get("current_node"), set()
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

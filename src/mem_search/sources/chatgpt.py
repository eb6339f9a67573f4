"""The source `chatgpt`: conversations of ChatGPT's data export (`conversations.json` or the ZIP).

A conversation is a tree of messages; what the person sees is the path to ``current_node``. Another
branch, of an answer that was made again or a question that was changed, is a record beside it.
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
_ASSISTANT: Final = "ChatGPT"

_MARKS: Final = pattern("\ue200[^\ue201]*\ue201")
"""References to search results, which the page shows as links."""

_SHOWN: Final = ("text", "multimodal_text", "code", "execution_output")


class ChatGpt(ConversationsExport):
    """The source id of a conversation is the id in its address, that of another branch has behind
    it the node with which the branch begins.
    """

    name = NAME
    version = 2
    mark = "mapping"

    def conversation(self, exported: Mapping[str, Any]) -> Iterator[Draft]:
        return _drafts(exported)


def _drafts(exported: Mapping[str, Any]) -> Iterator[Draft]:
    """What the person sees, then what each other branch says that no branch before it says."""
    identity = text(exported.get("conversation_id")) or text(exported.get("id"))
    if not identity:
        return
    tree = {name: fields(node) for name, node in fields(exported.get("mapping")).items()}
    title = text(exported.get("title"))
    told: set[str] = set()
    shown = _path(tree, exported.get("current_node"), told)
    # Older exports do not say which path is shown: all of it is one.
    for leaf in (None, *_leaves(tree), *tree) if shown else (None,):
        path = (shown or list(tree)) if leaf is None else _path(tree, leaf, told)
        if not path:
            continue
        turns = [turn for name in path for turn in _turn(tree[name])]
        if leaf is not None and turns and turns[0].who == _ASSISTANT:
            parent = tree[path[0]].get("parent")  # the question that this is another answer to
            if isinstance(parent, str) and parent in tree and parent not in path:
                turns[:0] = _turn(tree[parent])
        draft = conversation(
            NAME,
            identity if leaf is None else f"{identity}/{text(path[0])}",
            turns,
            title=f"{title} (another branch)" if leaf is not None and title else title,
            url=f"https://chatgpt.com/c/{identity}",
            created_at=moment(exported.get("create_time")) if leaf is None else None,
            session=identity,
            metadata={"model": text(exported.get("default_model_slug"))},
        )
        if draft:
            yield draft


def _path(tree: Mapping[str, Mapping[str, Any]], at: object, told: set[str]) -> list[str]:
    """The nodes that lead to ``at``, the first one first, but for those ``told``, to which they are
    added.
    """
    path: list[str] = []
    while isinstance(at, str) and at in tree and at not in told:
        told.add(at)
        path.append(at)
        at = tree[at].get("parent")
    return path[::-1]


def _leaves(tree: Mapping[str, Mapping[str, Any]]) -> list[str]:
    parents = {parent for node in tree.values() if isinstance(parent := node.get("parent"), str)}
    return [name for name in tree if name not in parents]


def _turn(node: Mapping[str, Any]) -> Iterator[Said]:
    """What is said in a node, if it is shown."""
    message = fields(node.get("message"))
    role = text(fields(message.get("author")).get("role"))
    hidden = fields(message.get("metadata")).get("is_visually_hidden_from_conversation")
    if role in ("user", "assistant") and not hidden and message.get("recipient") in (None, "all"):
        who = "You" if role == "user" else _ASSISTANT
        words = _words(fields(message.get("content")))
        if words.strip():
            yield Said(who, words, moment(message.get("create_time")))


def _words(content: Mapping[str, Any]) -> str:
    if content.get("content_type") not in _SHOWN:
        return ""
    parts = [text(part) or text(fields(part).get("text")) for part in items(content.get("parts"))]
    return _MARKS.sub("", "\n".join(filter(None, (text(content.get("text")), *parts))))

"""The text of a record as a tree that a page shows: Markdown where it is Markdown, else its lines.

A node is a text, or ``[tag, attributes, *nodes]`` with one of ``TAGS``. No HTML is written: the
page makes each element itself and knows these tags alone, so that stored text cannot become any
other one (ADR 0030). HTML in Markdown is text, and a picture is the link to it.

A link has ``ref`` where it leads to a record, ``href`` for an address of the web, and ``find`` for
what is searched: a note that nothing here is called after.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mem_search.model import Record
from mem_search.model.ingest import PAGE_BREAK
from mem_search.patterns import pattern
from mem_search.renderers.safe_text import harmless
from mem_search.text.highlight import WordMatcher

Node = str | list[Any]
Targets = Mapping[str, str]
"""What a link may call a record, folded → its ref."""

TAGS: Final = frozenset(
    "p h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s a br hr mark section plain"
    " table thead tbody tr th td".split()
)

MAX_PART_CHARS: Final = 12_000
"""Characters that are read at once: a line of brackets takes time by their square."""

_MARKDOWN: Final = frozenset((".md", ".markdown", ".mdx", ".qmd"))
_PLAIN_KINDS: Final = frozenset(("email",))
_FRONT: Final = pattern(r"\A---\n(?:[^\n]*\n){0,60}?---\n")
_LINK: Final = pattern(
    r"!?\[\[([^\[\]|\n]{1,200})(?:\|([^\[\]\n]{1,200}))?\]\]|(https?://[^\s<>\"'`|]{3,2000})"
)
_AFTER_ADDRESS: Final = ".,;:!?)]}'\""
_TASK: Final = pattern(r"\A\[([ xX])\] ")
_FILE: Final = pattern(r"\.[a-z][a-z0-9]{1,4}$", re.IGNORECASE)
"""A picture or another file, which no search finds by that name."""
_ENDS: Final = pattern(r"\n\s*\n")


def is_markdown(record: Record) -> bool:
    """Whether the text of ``record`` is Markdown: what agents and notes write, and its files."""
    if record.kind in _PLAIN_KINDS or (record.source == "git" and record.metadata.get("commit")):
        return False
    path = next((said for name in ("path", "file", "filename")
                 if isinstance(said := record.metadata.get(name), str)), "")  # fmt: skip
    return record.kind != "file" or PurePosixPath(path).suffix.lower() in _MARKDOWN


def tree(
    record: Record, text: str, matcher: WordMatcher | None = None, targets: Targets | None = None
) -> list[Node]:
    """``text``, which is of ``record``, with the words of a question marked."""
    page = _Page(matcher, targets or {})
    if isinstance(record.metadata.get("pages"), int) and PAGE_BREAK in record.text:
        return [
            ["section", {"page": number}, *page.plain(harmless(each).strip("\n"))]
            for number, each in enumerate(text.split(PAGE_BREAK), 1)
        ]
    text = harmless(text)
    if not is_markdown(record):
        return page.plain(text)
    front = _FRONT.match(text)
    nodes: list[Node] = [["pre", {}, ["code", {}, front[0].strip("-\n")]]] if front else []
    text = text[front.end() :] if front else text
    for part in _parts(text):
        nodes += page.markdown(part)
    if nodes and _says(nodes[0], "h2") == " ".join(record.title.split()):
        del nodes[0]  # the page has it as its title
    return nodes


def beginning(text: str, length: int) -> str:
    """About ``length`` characters of ``text``, to the end of a paragraph or line."""
    if len(text) <= length * 3 // 2:
        return text
    ends = [match.start() for match in _ENDS.finditer(text, length // 2, length)]
    end = ends[-1] if ends else text.rfind("\n", length // 2, length)
    return text[: end if end > 0 else length]


def _parts(text: str) -> Iterator[str]:
    while text:
        part = beginning(text, MAX_PART_CHARS)
        yield part
        text = text[len(part) :]


def _says(node: Node, tag: str) -> str:
    if isinstance(node, str) or node[0] != tag:
        return ""
    return " ".join("".join(_texts(node)).split())


def _texts(node: Node) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    else:
        for each in node[2:]:
            yield from _texts(each)


@cache
def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(
        ["table", "strikethrough"]
    )


class _Page:
    def __init__(self, matcher: WordMatcher | None, targets: Targets) -> None:
        self._matcher, self._targets = matcher, targets

    def plain(self, text: str) -> list[Node]:
        return [["plain", {}, *self._written(text)]] if text.strip() else []

    def markdown(self, text: str) -> list[Node]:
        return self._nodes(_reader().parse(text))

    def _nodes(self, tokens: Sequence[Token]) -> list[Node]:
        top: list[Node] = []
        open_ones: list[list[Node]] = [top]
        for token in tokens:
            into = open_ones[-1]
            if token.nesting == 1:
                node: list[Any] = [_tag(token.tag), self._attributes(token)]
                if not token.hidden:  # a paragraph of a tight list
                    into.append(node)
                    into = node
                open_ones.append(into)
            elif token.nesting == -1:
                open_ones.pop()
            elif token.type == "inline":
                into += self._nodes(token.children or [])
                _tick(into)
            else:
                into += self._leaf(token)
        return top

    def _leaf(self, token: Token) -> list[Node]:
        match token.type:
            case "text":
                return self._written(token.content)
            case "code_inline":
                return [["code", {}, *self._marked(token.content)]]
            case "fence" | "code_block":
                return [["pre", {}, ["code", {}, *self._marked(token.content.rstrip("\n"))]]]
            case "softbreak" | "hardbreak":
                return [["br", {}]]
            case "hr":
                return [["hr", {}]]
            case "image":
                said = token.content or str(token.attrGet("src") or "")
                return [["a", self._leads(str(token.attrGet("src") or "")), *self._marked(said)]]
            case _:
                return self._marked(token.content)

    def _attributes(self, token: Token) -> dict[str, Any]:
        if token.tag == "a":
            return self._leads(unquote(str(token.attrGet("href") or "")))
        if token.tag == "ol" and isinstance(start := token.attrGet("start"), int):
            return {"start": start}
        return {}

    def _leads(self, to: str) -> dict[str, Any]:
        """Where a link leads: to a record of that name or path, into the web, or to a search."""
        if to.lower().startswith(("http://", "https://")):
            return {"href": to}
        name = to.partition("#")[0].strip().removesuffix(".md")
        stem = name.rpartition("/")[2]
        ref = self._targets.get(name.casefold()) or self._targets.get(stem.casefold())
        if ref:
            return {"ref": ref}
        return {"find": stem} if stem and ":" not in name and not _FILE.search(stem) else {}

    def _written(self, text: str) -> list[Node]:
        """``text`` with its wikilinks and addresses as links."""
        nodes: list[Node] = []
        last = 0
        for match in _LINK.finditer(text):
            name, said, address = match.groups()
            end = match.end()
            if address:
                end -= len(address) - len(address.rstrip(_AFTER_ADDRESS))
                said = address = text[match.start() : end]
            nodes += self._marked(text[last : match.start()])
            nodes.append(["a", self._leads(address or name), *self._marked(said or name)])
            last = end
        return nodes + self._marked(text[last:])

    def _marked(self, text: str) -> list[Node]:
        nodes: list[Node] = []
        last = 0
        for start, end in self._matcher.spans(text) if self._matcher else ():
            nodes += [text[last:start], ["mark", {}, text[start:end]]]
            last = end
        return [node for node in (*nodes, text[last:]) if node]


def _tag(tag: str) -> str:
    """``tag`` as the page has it: its title is the first heading."""
    if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
        return f"h{min(int(tag[1]) + 1, 6)}"
    return tag if tag in TAGS else "plain"


def _tick(nodes: list[Node]) -> None:
    """Show what is done of a list of tasks."""
    if len(nodes) > 2 and nodes[0] == "li" and isinstance(nodes[2], str):
        nodes[2] = _TASK.sub(lambda match: "☐ " if match[1] == " " else "☑ ", nodes[2])

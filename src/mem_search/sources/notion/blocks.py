"""What a page of Notion says: its blocks as Markdown, its properties as metadata. Pure.

The kinds of blocks and properties are those of developers.notion.com/reference (block,
page-property-values). What the API does not give is counted, not dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAX_BLOCKS: Final = 20_000
"""Of a page: a request for each hundred of them."""
MAX_DEPTH: Final = 20

Children = Callable[[str], Iterable[Mapping[str, Any]]]
"""The blocks below the block, or page, with this id."""

_SIGNS: Final = {
    "heading_1": "# ", "heading_2": "## ", "heading_3": "### ", "quote": "> ", "callout": "> ",
    "bulleted_list_item": "- ", "numbered_list_item": "1. ", "toggle": "- ", "paragraph": "",
}  # fmt: skip
_ITEMS: Final = ("bulleted_list_item", "numbered_list_item", "to_do", "toggle")
_PAGES: Final = ("child_page", "child_database")
_AROUND: Final = ("column_list", "column", "synced_block", "template", "table")
"""Blocks that say nothing themselves."""
_SILENT: Final = ("table_of_contents", "breadcrumb", "divider", *_AROUND)
_FILES: Final = ("image", "video", "file", "pdf", "audio")
_ADDRESSES: Final = ("bookmark", "embed", "link_preview")


@dataclass
class Text:
    """The Markdown of a page, the ids of pages that it mentions, and what is not in it."""

    lines: list[str] = field(default_factory=list)
    mentions: dict[str, None] = field(default_factory=dict)
    unread: Counter[str] = field(default_factory=Counter)
    blocks: int = 0

    @property
    def markdown(self) -> str:
        """All of it; items of a list are lines, everything else is apart."""
        parts: list[str] = []
        for line in self.lines:
            near = bool(parts) and _is_item(line) and _is_item(parts[-1])
            parts += ["\n" if near else "\n\n", line] if parts else [line]
        return "".join(parts)


def text_of(page: str, children: Children) -> Text:
    """What the page with this id says."""
    text = Text()
    _add(text, page, children, "", 0)
    return text


def _add(text: Text, block: str, children: Children, indent: str, depth: int) -> None:
    for each in children(block):
        text.blocks += 1
        if text.blocks > MAX_BLOCKS:
            text.unread[f"blocks after {MAX_BLOCKS:,}"] += 1
            return
        kind = str(each.get("type", ""))
        said = each.get(kind)
        body: Mapping[str, Any] = said if isinstance(said, dict) else {}
        if kind == "table_row":
            line = " | ".join(written(cell, text) for cell in body.get("cells") or ())
        else:
            line = _line(kind, body, text)
        if line:
            text.lines.append(indent + line.replace("\n", f"\n{indent}"))
        if each.get("has_children") and kind not in _PAGES:
            if depth == MAX_DEPTH:
                text.unread["deeper blocks"] += 1
                continue
            inner = f"{indent}  " if kind in _ITEMS else indent
            _add(text, str(each.get("id", "")), children, inner, depth + 1)


def _line(kind: str, body: Mapping[str, Any], text: Text) -> str:
    said = written(body.get("rich_text"), text)
    if kind in _SIGNS:
        return f"{_SIGNS[kind]}{said}" if said else ""
    if kind == "to_do":
        return f"- [{'x' if body.get('checked') else ' '}] {said}"
    if kind == "code":
        return f"```{body.get('language') or ''}\n{said}\n```"
    if kind == "equation":
        return f"$${body.get('expression', '')}$$"
    if kind in _PAGES:
        return str(body.get("title", ""))
    if kind in _FILES or kind in _ADDRESSES:
        # The address of a file that Notion keeps is valid for an hour.
        external = body.get("external")
        url = body.get("url") or (external.get("url") if isinstance(external, dict) else "")
        caption = written(body.get("caption"), text) or str(body.get("name") or "")
        return " ".join(filter(None, (caption, url if isinstance(url, str) else "")))
    if kind not in _SILENT:
        text.unread[f"blocks of the kind {kind or 'without a name'}"] += 1
    return ""


def written(rich: object, text: Text | None = None) -> str:
    """Rich text as Markdown, with its links; ``text`` notes the pages that it mentions."""
    parts = []
    for piece in rich if isinstance(rich, list) else ():
        if not isinstance(piece, dict):
            continue
        said, href = str(piece.get("plain_text") or ""), piece.get("href")
        mention = piece.get("mention")
        if isinstance(mention, dict) and text is not None:
            for kind in ("page", "database"):
                page = mention.get(kind)
                if isinstance(page, dict) and isinstance(page.get("id"), str):
                    text.mentions[page["id"]] = None
        is_link = isinstance(href, str) and href.startswith(("https://", "http://"))
        parts.append(f"[{said}]({href})" if is_link and href != said else said)
    return "".join(parts)


def properties(stated: object) -> tuple[str, dict[str, Any], list[str]]:
    """The title of a page, its other properties by name, and what it is tagged with."""
    title, values, tags = "", dict[str, Any](), list[str]()
    for name, prop in stated.items() if isinstance(stated, dict) else ():
        if not isinstance(prop, dict):
            continue
        kind = prop.get("type")
        if kind == "title":
            title = written(prop.get("title")) or title
            continue
        if (value := _value(str(kind), prop.get(str(kind)))) not in (None, "", []):
            values[str(name)] = value
            if kind == "multi_select":
                tags += value
    return title, values, tags


def _value(kind: str, said: Any) -> Any:
    match kind:
        case "rich_text":
            return written(said)
        case "number" | "checkbox" | "url" | "email" | "phone_number":
            return said
        case "select" | "status":
            return said.get("name") if isinstance(said, dict) else None
        case "multi_select" | "people" | "files":
            return list(_names(said))
        case "date":
            if not isinstance(said, dict):
                return None
            days = (said.get("start"), said.get("end"))
            return " to ".join(day for day in days if isinstance(day, str))
        case "formula":
            inner = str(said.get("type")) if isinstance(said, dict) else ""
            value = said.get(inner) if isinstance(said, dict) else None
            return _value(inner, value) if inner == "date" else value
        case "unique_id":
            parts = (said.get("prefix"), said.get("number")) if isinstance(said, dict) else ()
            return "-".join(str(part) for part in parts if part is not None)
        case _:
            return None


def _names(said: object) -> Iterator[str]:
    for each in said if isinstance(said, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            yield each["name"]


def _is_item(line: str) -> bool:
    return line.lstrip().startswith(("- ", "1. "))

"""Markdown notes: front matter (YAML, TOML), tags and wikilinks, which become edges of the note."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from mem_search.extractors.text import decoded
from mem_search.extractors.zip_package import moment
from mem_search.model.ingest import Extracted
from mem_search.patterns import pattern
from mem_search.text.charsets import sniffed
from mem_search.text.markdown_code import CodeSpans

_FRONT: Final = pattern(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TOML: Final = pattern(r"\+\+\+[ \t]*\n(.*?)\n\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL)
"""As Hugo and Zola write it."""
_TAG: Final = pattern(r"(?:^|(?<=\s)|(?<=[^\]]\())#([^\W\d][\w/-]{0,49})")
_HEADING: Final = pattern(r"^#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_ELSEWHERE: Final = frozenset(
    "title tag tags path pages source_type content_id archived sha256 fetched_from".split()
)
"""Front matter that is a field of the record, or whose name means something else in one."""

_TEXTS: Final = ("author", "folder", "branch", "worktree", "commit", "agent", "platform")
"""Metadata that is one text in every record."""

_MAX_FIELDS: Final = 50
_MAX_ITEMS: Final = 100
_MAX_VALUE_CHARS: Final = 2000
_MAX_NUMBER: Final = 2**63
_DATES: Final = ("date", "created", "created_at", "published")
_DAY: Final = pattern(r"\d{4}([-_])\d{2}\1\d{2}(?!\d)")
"""What the name of a daily note begins with; Logseq writes 2024_05_01."""

_PROPERTY: Final = pattern(r"[ \t]*(?:-[ ])?([\w-]{1,50}):: ?(.*)")
"""A line at the head of a page of Logseq."""

_NOTION: Final = pattern(r".*[ -][0-9a-f]{32}\.md")
"""The name of an exported page of Notion, whose properties follow its heading."""
_NOTION_PROPERTY: Final = pattern(r"([\w ]{1,50}): (.+)")


class Markdown:
    """Reads front matter as TOML or safe YAML. A wikilink in the text is found later."""

    name = "markdown"
    suffixes = (".md", ".markdown")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return suffix in self.suffixes and b"\0" not in sniffed(head)

    def extract(self, path: Path, name: str) -> Extracted:
        text = decoded(path.read_bytes())
        front, body = _front_matter(text)
        if not front:
            front, body = _properties(text, is_notion=bool(_NOTION.fullmatch(name)))
        heading = _HEADING.search(body)
        title = str(front.get("title") or (heading[1] if heading else ""))
        code = CodeSpans(body)
        given = _words(front.get("tags")) + _words(front.get("tag"))
        body_tags = (each[1] for each in _TAG.finditer(body) if each.start(1) not in code)
        tags = dict.fromkeys([*given, *body_tags])
        dates = (
            *(front.get(key) for key in _DATES),
            _DAY.match(name) and name[:10].replace("_", "-"),
        )
        created = next((at for each in dates if (at := _time(each)) is not None), None)
        metadata = kept(front)
        url = front.get("url") or front.get("source")
        address = url if isinstance(url, str) and "://" in url else ""
        return Extracted(body.strip("\n"), "note", title, created, address, tuple(tags), metadata)


def _front_matter(text: str) -> tuple[dict[str, Any], str]:
    """What the front matter says, and the rest; what is no YAML or TOML stays in the text."""
    if match := _TOML.match(text):
        try:
            return tomllib.loads(match[1]), text[match.end() :]
        except ValueError:
            return {}, text
    match = _FRONT.match(text)
    if match is None:
        return {}, text
    import yaml

    try:
        front = yaml.safe_load(match[1])
    except (yaml.YAMLError, ValueError):
        return {}, text
    return (front, text[match.end() :]) if isinstance(front, dict) else ({}, text)


def _properties(text: str, *, is_notion: bool) -> tuple[dict[str, Any], str]:
    """The properties that a page of Logseq or Notion begins with, and the text after them."""
    lines, properties = text.split("\n"), dict[str, Any]()
    start = 2 if is_notion and lines[0].startswith("# ") and lines[1:2] == [""] else 0
    form, at = _NOTION_PROPERTY if start else _PROPERTY, start
    while at < len(lines) and (match := form.fullmatch(lines[at])):
        name, value = match[1].strip().lower(), match[2].strip()
        if name in ("tag", "tags"):
            tags = (each.strip(" #[]") for each in value.split(","))
            properties["tags"] = [each for each in tags if each]
        elif start and name in ("created", "created time", "date"):
            properties["created"] = _notion_day(value)
        else:
            properties[name] = value
        at += 1
    return properties, "\n".join([*lines[:start], *lines[at:]]) if properties else text


def _notion_day(written: str) -> str:
    """``January 5, 2024 10:00 AM`` as an ISO date; as it is for another language."""
    for form in ("%B %d, %Y %I:%M %p", "%B %d, %Y"):
        with suppress(ValueError):
            return datetime.strptime(written, form).isoformat()  # noqa: DTZ007  the person's time
    return written


def kept(front: dict[str, Any]) -> dict[str, Any]:
    """The front matter as metadata: texts, numbers, yes and no, days, and lists of these."""
    metadata: dict[str, Any] = {}
    for key, value in list(front.items())[:_MAX_FIELDS]:
        name = re.sub(r"[\s-]+", "_", str(key).strip().lower())
        given = value[:_MAX_ITEMS] if isinstance(value, list) else [value]
        items = [item for item in map(_plain, given) if item not in (None, "")]
        if not items or name in _ELSEWHERE:
            continue
        if name in ("alias", "aliases"):
            texts = [str(i) for i in items] if isinstance(value, list) else str(value).split(",")
            metadata["aliases"] = [text.strip() for text in texts if text.strip()]
        elif name in _TEXTS:
            metadata[name] = ", ".join(map(str, items))
        else:
            metadata[name] = items if isinstance(value, list) else items[0]
    return metadata


def _plain(value: object) -> str | int | float | bool | None:
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, int | float):
        return value if abs(value) < _MAX_NUMBER else None  # also without NaN
    return value.strip()[:_MAX_VALUE_CHARS] if isinstance(value, str) else None


def _words(value: object) -> list[str]:
    items = value if isinstance(value, list) else re.split(r"[,\s]+", value) if value and (
        isinstance(value, str)) else []  # fmt: skip
    words = (str(item).strip().lstrip("#") for item in items if isinstance(item, str | int))
    return [word for word in words if word]


def _time(value: object) -> int | None:
    return moment(value.isoformat() if isinstance(value, date | datetime) else str(value or ""))

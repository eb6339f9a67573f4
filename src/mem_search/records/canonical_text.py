"""The canonical text of a record: cleaned, and completed with metadata.

Pure functions of strings and JSON values. Each is idempotent, because a record passes through
them again when it is exported and imported.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mem_search.errors import InputError
from mem_search.patterns import pattern
from mem_search.text.json_reading import MAX_DIGITS, MAX_LEVELS

LISTED_IN_TEXT = 50
"""Most items in the text of a record; a commit may touch thousands of files."""

MAX_KEY_CHARS = 256
"""Characters of a key of metadata."""

_MAX_NUMBER = 10**MAX_DIGITS
_UNSTORABLE = pattern("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Section:
    """Metadata that becomes part of the text: the values of ``fields``, in one list.

    ``paragraph`` stands alone, ``labelled`` is a paragraph after ``Label:``, ``bullets`` are
    lines ``- item``, ``line`` is ``Label: item, item``.
    """

    style: Literal["paragraph", "labelled", "bullets", "line"]
    label: str
    fields: tuple[str, ...]

    def line(self, items: list[str]) -> str:
        return f"{self.label}: {_enumeration(items)}"

    def paragraph(self, item: str) -> str:
        return f"{self.label}: {item}" if self.style == "labelled" else item

    def blocks(self, items: list[str]) -> list[str]:
        """What ``Canonical.complete`` appends to a text that has none of ``items``."""
        match self.style:
            case "bullets":
                return ["\n".join(f"- {fold(item)}" for item in items)] if items else []
            case "line":
                return [self.line(items)] if items else []
            case _:
                return [normalise(self.paragraph(item)) for item in reversed(items)]


class Canonical:
    """A text that grows by the sections that it does not contain yet."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded = fold(text)

    def contains(self, words: str) -> bool:
        """Whether ``words`` stand in the text, however wrapped, and not inside other words."""
        words = fold(words)
        at = self._folded.find(words)
        while at >= 0:
            if not _joins(self._folded, at) and not _joins(self._folded, at + len(words)):
                return True
            at = self._folded.find(words, at + 1)
        return False

    def complete(self, section: Section, items: list[str]) -> None:
        """Append the missing ``items`` in the form of ``section``."""
        match section.style:
            case "bullets":
                missing = [fold(item) for item in items if not self.contains(item)]
                self._append("\n".join(f"- {item}" for item in dict.fromkeys(missing)))
            case "line":
                if not all(self.contains(item) for item in items[:LISTED_IN_TEXT]):
                    self._append(section.line(items))
            case _:
                for item in items:
                    if not self.contains(item):
                        self._append(section.paragraph(item))

    def shows(self, section: Section, items: list[str]) -> bool:
        """Whether the text shows ``items`` with their label."""
        if section.style == "line":
            return self.contains(section.line(items))
        return all(self.contains(section.paragraph(item)) for item in items)

    def _append(self, block: str) -> None:
        if block := normalise(block):
            self.text = f"{self.text}\n\n{block}" if self.text.strip() else block
            self._folded = fold(self.text)


def drop_unstorable(text: str) -> str:
    """Without NUL and lone surrogates: SQLite and UTF-8 cannot carry them."""
    return _UNSTORABLE.sub("", text)


def normalise(text: str) -> str:
    """``text`` as it is stored: storable, lines ended by LF, nothing blank at the end."""
    return re.sub("\r\n?", "\n", drop_unstorable(text)).rstrip()


def fold(text: str) -> str:
    """On one line, single spaces."""
    return " ".join(text.split())


def cut(text: str, length: int) -> str:
    """At most ``length`` characters, the last one ``…`` when something is missing."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def listed(value: object) -> list[str]:
    """The distinct non-empty strings of a string, a list of strings or None."""
    items: Iterable[object] = value if isinstance(value, list) else [value]
    return list(
        dict.fromkeys(item.strip() for item in items if isinstance(item, str) and fold(item))
    )


def shown(value: object) -> str:
    """A metadata value as text; empty for an empty value."""
    if value is None or value in ("", [], {}):
        return ""
    match value:
        case str():
            return normalise(value)
        case list() if all(isinstance(item, str) for item in value):
            items = [fold(item) for item in listed(value)]
            if any(", " in item for item in items):  # sentences, not names
                return "\n".join(f"- {item}" for item in items)
            return _enumeration(items)
        case _:
            return json.dumps(value, ensure_ascii=False)


def clean(metadata: Mapping[str, Any], field: str) -> dict[str, Any]:
    """A copy of ``metadata`` that is plain JSON; raises InputError naming what cannot be."""
    return {
        drop_unstorable(_key(key, field)): _plain(value, f"{field}.{key}", 1)
        for key, value in metadata.items()
    }


def _plain(value: object, field: str, depth: int) -> Any:
    if depth > MAX_LEVELS:
        raise InputError(
            f"{_head(field)} is nested deeper than {MAX_LEVELS} levels", field=_head(field)
        )
    match value:
        case int() if not -_MAX_NUMBER < value < _MAX_NUMBER:
            raise InputError(
                f"{_head(field)} is a number of more than {MAX_DIGITS} digits", field=_head(field)
            )
        case None | bool() | int():
            return value
        case str():
            return drop_unstorable(value)
        case float() if math.isfinite(value):
            return value
        case list() | tuple():
            return [_plain(item, f"{field}.{i}", depth + 1) for i, item in enumerate(value)]
        case Mapping():
            return {
                drop_unstorable(_key(key, field)): _plain(item, f"{field}.{key}", depth + 1)
                for key, item in value.items()
            }
        case _:
            raise InputError(
                f"{field} is {value!r:.60}, which is not a JSON value", field=_head(field)
            )


def _key(key: object, field: str) -> str:
    if not isinstance(key, str):
        raise InputError(f"{field} has the key {key!r:.60}; keys are strings", field=_head(field))
    if len(key) > MAX_KEY_CHARS:
        raise InputError(
            f"{field} has a key of {len(key):,} characters; at most {MAX_KEY_CHARS:,} are possible",
            field=_head(field),
        )
    return key


def _head(field: str) -> str:
    return ".".join(field.split(".")[:2])


def _enumeration(items: list[str]) -> str:
    more = len(items) - LISTED_IN_TEXT
    return ", ".join(items[:LISTED_IN_TEXT]) + (f", and {more} more" if more > 0 else "")


def _joins(text: str, at: int) -> bool:
    """Whether position ``at`` lies inside a word."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()

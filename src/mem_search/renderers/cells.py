"""Stored text in the columns of a terminal: safe, and cut or broken between graphemes.

Widths are those of ``rich``, by wcwidth's tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len, split_graphemes

from mem_search.renderers.safe_text import one_line
from mem_search.text.control_characters import MARKS

NO_MARKS: Final = dict.fromkeys(map(ord, MARKS))


def plain(text: str) -> str:
    """Stored ``text`` on one line, without what acts on a terminal or is a mark of ours."""
    return one_line(text.translate(NO_MARKS))


def cut(text: str, room: int) -> str:
    """``text`` in at most ``room`` columns; it ends in ``…`` when it is cut."""
    if cell_len(text) <= room:
        return text
    taken = 0
    for start, _, wide in split_graphemes(text)[0]:
        if taken + wide > room - 1:
            return text[:start].rstrip() + "…"
        taken += wide
    return text


def end_of(text: str, room: int) -> str:
    """The end of ``text`` in at most ``room`` columns."""
    if cell_len(text) <= room:
        return text
    taken = 0
    for _, end, wide in reversed(split_graphemes(text)[0]):
        if taken + wide > room - 1:
            return "…" + text[end:]
        taken += wide
    return text


def padded(text: str, room: int) -> str:
    """``text`` with blanks up to ``room`` columns."""
    return text + " " * (room - cell_len(text))


def broken(line: str, room: int) -> Iterator[str]:
    """``line`` in pieces of at most ``room`` columns, between words where it can be."""
    kept = ""
    for word in re.findall(r"\s*\S+", line):
        if kept and cell_len(kept) + cell_len(word) > room:
            yield kept
            kept, word = "", word.lstrip()
        kept += word
        while cell_len(kept) > room:
            head = _head_of(kept, room)
            yield head
            kept = kept[len(head) :]
    yield kept


def _head_of(text: str, room: int) -> str:
    taken = 0
    for start, _, wide in split_graphemes(text)[0]:
        if taken + wide > room:
            return text[:start] or text[:1]
        taken += wide
    return text

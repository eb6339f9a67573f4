"""How a text looks on a terminal: its lines fit.

A pipe gets the listing as the worker wrote it, because programs and agents read that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import combining, east_asian_width

from mem_search.patterns import pattern

HANGING = "   "
"""Before the second and further lines of one that is not indented itself."""

_COLOUR = pattern("\x1b(?:\\[[0-9;]*m|\\]8;;[^\x1b]*\x1b\\\\)")
"""A colour, or the beginning or end of a link."""
_TOGETHER = pattern(
    r"\b[A-Z][a-z]{2} \d\d?(?:-(?:[A-Z][a-z]{2} )?\d\d?)?(?:, \d{4})?(?:, \d\d?:\d\d [AP]M)?\b"
    rf"|\b\d{{4}}-\d\d-\d\d \d\d:\d\d|(?<=[^ ]) (?:{_COLOUR.pattern})*#\d"
)
"""A date as listings and logs write it, and the space between a kind and its number."""
_KEPT_SPACE = "\x00"
_ZERO_WIDTH = pattern("[\u200d\ufe00-\ufe0e]")
_AS_PICTURE = "\ufe0f"
"""Makes the sign before it a picture, two columns wide."""


def width(text: str) -> int:
    """Columns that ``text`` takes on a terminal; colours take none.

    By the East Asian width of each character (https://www.unicode.org/reports/tr11/).
    """
    columns = before = 0
    for sign in _ZERO_WIDTH.sub("", _COLOUR.sub("", text)):
        if sign == _AS_PICTURE:
            wide = 2 - before
        elif combining(sign):
            continue
        else:
            wide = before = 2 if east_asian_width(sign) in "WF" else 1
        columns += wide
    return columns


def fitted(text: str, columns: int) -> str:
    """``text`` with lines of at most ``columns``.

    No word, no date and no number of a record is broken, only a run of wide signs.
    """
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line, columns))


def _pieces(line: str, columns: int) -> Iterator[str]:
    if width(line) <= columns:
        yield line
        return
    indent = line[: len(line) - len(line.lstrip(" "))]
    kept, taken = indent, width(indent)
    hanging = indent or HANGING
    is_begun = False
    together = _TOGETHER.sub(lambda match: match[0].replace(" ", _KEPT_SPACE), line[len(indent) :])
    for gap, word in re.findall(r"( *)([^ ]+)", together):
        for space, part in _parts(gap, word, columns - width(hanging)):
            wide = width(part)
            if is_begun and taken + len(space) + wide > columns:
                yield kept.replace(_KEPT_SPACE, " ")
                kept, taken, space = hanging, width(hanging), ""
            kept += space + part
            taken += len(space) + wide
            is_begun = True
    yield kept.replace(_KEPT_SPACE, " ")


def _parts(gap: str, word: str, columns: int) -> Iterator[tuple[str, str]]:
    """``word``, or its signs one by one where they are wide and it does not fit into a line."""
    if width(word) > columns and any(east_asian_width(sign) in "WF" for sign in word):
        for number, sign in enumerate(re.findall(f".[{_AS_PICTURE}\u200d\u0300-\u036f]*", word)):
            yield ("" if number else gap), sign
    else:
        yield gap, word

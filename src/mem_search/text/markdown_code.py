"""Where a Markdown text is code: fenced blocks and code spans.

https://spec.commonmark.org/0.31.2/#fenced-code-blocks, #code-spans. Fences also stand in quotes,
callouts and lists. Indented blocks are not told apart from items of nested lists, and are text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from mem_search.patterns import pattern

_FENCE: Final = pattern(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,4})?(`{3,}|~{3,})(.*)")
_CLOSING: Final = pattern(r"[ \t>]*(`{3,}|~{3,})[ \t]*")
_TICKS: Final = pattern("`+")


class CodeSpans:
    """The places of code in ``text``: ``at in CodeSpans(text)``. Linear in the text."""

    def __init__(self, text: str) -> None:
        spans = sorted(_spans(text)) if "`" in text or "~~~" in text else []
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def __contains__(self, at: int) -> bool:
        place = bisect_right(self._starts, at) - 1
        return place >= 0 and at < self._ends[place]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    at = paragraph = 0
    fence, opened = "", 0
    for line in text.splitlines(keepends=True):
        content = line.rstrip("\r\n")
        if fence:
            closing = _CLOSING.fullmatch(content)
            if closing and closing[1][0] == fence[0] and len(closing[1]) >= len(fence):
                yield opened, at + len(line)
                fence, paragraph = "", at + len(line)
        elif (opening := _FENCE.match(content)) and (opening[1][0] == "~" or "`" not in opening[2]):
            yield from _inline(text, paragraph, at)
            fence, opened = opening[1], at
        elif not content.strip():
            yield from _inline(text, paragraph, at)
            paragraph = at + len(line)
        at += len(line)
    if fence:  # an open block goes to the end
        yield opened, at
    else:
        yield from _inline(text, paragraph, at)


def _inline(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Code spans of a paragraph: from backticks to the next ones of the same number."""
    ticks = [(m.start(), m.end()) for m in _TICKS.finditer(text, start, end)]
    following: dict[int, int] = {}
    partners = [-1] * len(ticks)
    for place in range(len(ticks) - 1, -1, -1):
        length = ticks[place][1] - ticks[place][0]
        partners[place] = following.get(length, -1)
        following[length] = place
    place = 0
    while place < len(ticks):
        if (partner := partners[place]) >= 0:
            yield ticks[place][0], ticks[partner][1]
            place = partner
        place += 1

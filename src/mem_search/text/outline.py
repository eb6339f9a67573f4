"""The structure of a long text: where its parts begin, and what stands above a place in it.

Parts are pages, sections below headings (Markdown, which the readers of office files write, too),
turns of a conversation, definitions and fenced blocks of code, and rows of tables. One pass over
the lines; a part never begins inside a line.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from mem_search.model.ingest import PAGE_BREAK
from mem_search.patterns import pattern

BETWEEN: Final = " › "
"""Between the headings of a path."""

_HEADING: Final = pattern(r"(#{1,6})[ \t]+(\S.*)")
_UNDERLINE: Final = pattern(r"={3,}|-{3,}")
_FENCE: Final = pattern(r"[ \t]*(```|~~~)")
_RULE: Final = pattern(r"[|:\- \t]+")
"""The line below the head of a Markdown table."""
_BEGINS: Final = pattern(r"[^\s)\]}*]")
"""How a line of code at the margin begins that does not end something."""
_NESTED: Final = pattern(
    r"[ \t]+(?:@\w|(?:(?:pub|public|private|protected|static|async|export|override)[ \t]+)*"
    r"(?:def|class|fn|func|function|struct|impl|interface|enum|trait)\b)"
)

_MAX_HEADING_CHARS: Final = 120
_MAX_HEAD_CHARS: Final = 200
"""Characters of the head of a table."""
_MIN_ROWS: Final = 3


class Boundary(IntEnum):
    """What begins at a place, the strongest last."""

    LINE = 1
    PARAGRAPH = 2
    PART = 3
    """A turn, a definition, or a section of the third level or below."""
    SECTION = 4
    PAGE = 5
    OTHER_TEXT = 6
    """Text that OCR recognised after other text, or the reverse: they never share a passage."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What is known of a text beside its words.

    ``has_pages``: PAGE_BREAK separates pages; OCR ``recognised`` some of them (numbers from 1).
    ``speakers`` begin the turns of a conversation. ``is_code``: it is source code. ``is_table``:
    each line is a row, as in CSV.
    """

    has_pages: bool = False
    recognised: frozenset[int] = frozenset()
    speakers: tuple[str, ...] = ()
    is_code: bool = False
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: where it begins, its level from 1, and the place of the one above in the list."""

    start: int
    level: int
    title: str
    parent: int


@dataclass(slots=True)
class Outline:
    """``boundaries`` are (place, what begins there), in order.

    ``blocks`` are tables and fenced blocks: (start below the head, end, head).
    """

    boundaries: list[tuple[int, Boundary]] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    blocks: list[tuple[int, int, str]] = field(default_factory=list)

    def is_structured(self) -> bool:
        """Whether there is more than lines and paragraphs."""
        return bool(self.headings or self.blocks) or any(
            what >= Boundary.PART for _, what in self.boundaries
        )

    def above(self, start: int) -> str:
        """The lines that say what the text from ``start`` on is about: headings, head of a block.

        A heading at ``start`` itself is part of that text.
        """
        last = bisect_left(self.headings, start, key=lambda each: each.start) - 1
        lines = [f"{'#' * each.level} {each.title}" for each in self.path(last)]
        return "\n".join([*lines, *filter(None, [self.head(start)])])

    def head(self, place: int) -> str:
        """The head of the table or fenced block around ``place``; "" outside of them."""
        at = bisect_right(self.blocks, place, key=lambda each: each[0]) - 1
        return self.blocks[at][2] if at >= 0 and place < self.blocks[at][1] else ""

    def path(self, last: int) -> list[Heading]:
        """The heading at ``last`` in the list, after those above it; none for -1."""
        headings: list[Heading] = []
        while last >= 0:
            headings.append(self.headings[last])
            last = headings[-1].parent
        return headings[::-1]

    def add_heading(self, start: int, level: int, title: str) -> Boundary:
        """Add the next heading; returns what begins with it."""
        parent = len(self.headings) - 1
        while parent >= 0 and self.headings[parent].level >= level:
            parent = self.headings[parent].parent
        self.headings.append(Heading(start, level, title[:_MAX_HEADING_CHARS], parent))
        return Boundary.SECTION if level <= 2 else Boundary.PART

    def add_table(self, rows: list[tuple[int, str]], end: int) -> None:
        """Add the table of ``rows``, which ends at ``end``, and empty ``rows``."""
        if len(rows) >= _MIN_ROWS:
            below = 2 if _RULE.fullmatch(rows[1][1]) else 1
            self.blocks.append((rows[below][0], end, rows[0][1][:_MAX_HEAD_CHARS]))
        rows.clear()


def outline(text: str, layout: Layout) -> Outline:
    """The structure of ``text``. Takes time linear in its length."""
    structure = Outline()
    turns = tuple(f"{who}: " for who in layout.speakers)
    rows: list[tuple[int, str]] = []
    page, pending = 1, Boundary.LINE
    fence, inside, head = "", 0, ""
    at, previous, is_first = 0, "", True
    """``is_first``: the line is the first one after a blank line."""
    for line in text.splitlines(keepends=True):
        words = line.strip()
        what = Boundary.PARAGRAPH if is_first and not fence else Boundary.LINE
        if layout.has_pages and previous.endswith(PAGE_BREAK):
            changes = (page in layout.recognised) != (page + 1 in layout.recognised)
            pending = max(pending, Boundary.OTHER_TEXT if changes else Boundary.PAGE)
            page += 1
        marker = _FENCE.match(line)
        if layout.is_code:
            what = _code(line, is_first)
        elif marker and fence in ("", marker[1]):
            if fence:
                structure.blocks.append((inside, at, head))
            else:
                structure.add_table(rows, at)
                what, inside, head = Boundary.PARAGRAPH, at + len(line), words[:_MAX_HEADING_CHARS]
            fence = "" if fence else marker[1]
        elif not fence:
            if match := _HEADING.match(line):
                title = match[2].rstrip(" \t\r\n\f#")
                what = structure.add_heading(at, len(match[1]), title) if title else what
            elif _UNDERLINE.fullmatch(words) and _is_title(previous):
                start = at - len(previous)
                begins = structure.add_heading(start, 1 if words[0] == "=" else 2, previous.strip())
                if structure.boundaries and structure.boundaries[-1][0] == start:
                    structure.boundaries[-1] = (start, max(structure.boundaries[-1][1], begins))
            elif is_first and turns and line.startswith(turns):
                what = Boundary.PART
            if layout.is_table or " | " in words or words.startswith("|"):
                rows.append((at, words))
            elif rows:
                structure.add_table(rows, at)
        if at and words:
            structure.boundaries.append((at, max(what, pending)))
            pending = Boundary.LINE
        is_first = not words or line.endswith(PAGE_BREAK)
        at, previous = at + len(line), line
    structure.add_table(rows, at)
    if fence:
        structure.blocks.append((inside, at, head))
    return structure


def place_in(text: str, passage: tuple[int, int | None, str], at: int) -> tuple[int | None, str]:
    """The page of the place ``at`` in ``text``, and the headings above it, joined by BETWEEN.

    ``passage`` is the one that the place is in: its start, its page, what stands above it.
    """
    start, page, above = passage
    passed = text[start:at]
    if page is not None:
        page += passed.lstrip().count(PAGE_BREAK)
    line = text.find("\n", at, at + _MAX_HEADING_CHARS)
    structure = outline(f"{above}\n\n{text[start : line if line > 0 else at]}", Layout())
    return page, BETWEEN.join(each.title for each in structure.path(len(structure.headings) - 1))


def _code(line: str, is_first: bool) -> Boundary:
    if not is_first:
        return Boundary.LINE
    if _BEGINS.match(line):
        return Boundary.PART
    return Boundary.PARAGRAPH if _NESTED.match(line) else Boundary.LINE


def _is_title(line: str) -> bool:
    """Whether an underlined ``line`` is a heading and no row, item or text."""
    words = line.strip()
    is_short = 0 < len(words) <= _MAX_HEADING_CHARS and line[0] == words[0]
    return is_short and words[0] not in "-|>*+#=" and "|" not in words

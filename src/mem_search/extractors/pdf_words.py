"""Words of a PDF as they are written: hyphens at the ends of lines, and Arabic ligatures."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from contextlib import closing
from typing import Any, Final

from mem_search.model.ingest import PAGE_BREAK
from mem_search.patterns import pattern
from mem_search.text.wordpieces import is_word

_CUT: Final = pattern(r"(-?)([^\W_]{0,60}+)(?:[\x02\ufffe]\n?|(?<=\w)-\n(?=\w))([^\W_]{0,60})")
"""PDFium has U+0002 or U+FFFE for a hyphen at the end of a line."""
_WORD: Final = pattern(r"[^\W_]+(?:-[^\W_]+)*")
_ARABIC: Final = pattern("[\u0621-\u064a]{2,}")
_SOFT: Final = "\u00ad"
_PREFIXES: Final = frozenset(
    "anti auto bio counter cyber down electro fore geo hydro hyper inter macro mega micro mis mono"
    " multi nano neuro non out over photo poly post pre pro proto pseudo psycho semi socio sub"
    " super tele thermo trans ultra under".split()
)
"""Words of their own that mostly stand without a hyphen before another."""

_MIN_LETTERS: Final = 3
"""Of each part of a compound: shorter ones are syllables."""


def page_text(page: Any) -> str:
    """The text of a page; where lines cut a word, with the signs that ``whole_words`` reads."""
    with closing(page.get_textpage()) as text_page:
        text = str(text_page.get_text_bounded())
        if _ARABIC.search(text) and len(text) == len(text_page.get_text_range()):
            text = _with_ligatures(text_page, text)
    return text.replace("\r\n", "\n").replace(PAGE_BREAK, "\n")


def _with_ligatures(page: Any, text: str) -> str:
    """``text`` with the letters of ligatures in their order.

    PDFium turns a line from right to left around glyph by glyph, also the letters of one glyph:
    those have one box.
    """
    letters = list(text)
    for run in _ARABIC.finditer(text):
        first = run.start()
        boxes = [_box(page, place) for place in range(*run.span())]
        for at in range(1, len(boxes) + 1):
            if at == len(boxes) or boxes[at] != boxes[at - 1]:
                letters[first : run.start() + at] = reversed(letters[first : run.start() + at])
                first = run.start() + at
    return "".join(letters)


def _box(page: Any, place: int) -> tuple[float, ...]:
    import pypdfium2.raw as pdfium

    sides = [ctypes.c_double() for _ in range(4)]
    at = pdfium.FPDFText_GetCharIndexFromTextIndex(page.raw, place)
    pdfium.FPDFText_GetCharBox(page.raw, at, *map(ctypes.byref, sides))
    values = tuple(side.value for side in sides)
    return values if any(values) else (place,)  # without a box, it is alone


def whole_words(pages: Sequence[str]) -> list[str]:
    """``pages`` with the words joined that lines cut.

    A hyphen stays that belongs to the word: as the document writes it elsewhere, before a number or
    a capital, or between two words that are none together. What may be either gets a soft hyphen,
    with which both are found.
    """
    known = {word.lower() for page in pages for word in _WORD.findall(_CUT.sub(" ", page))}

    def whole(match: re.Match[str]) -> str:
        dash, before, after = match.groups()
        one, other = before.lower(), after.lower()
        if not before or not after:
            return match[0].replace("\x02", "-").replace("\ufffe", "-")
        if dash or f"{one}-{other}" in known or not (before[-1:] + after[:1]).isalpha():
            return f"{dash}{before}-{after}"
        if after[0].isupper() and not before.isupper():
            return f"{before}-{after}"
        if one + other in known or is_word(one + other) or len(one) < _MIN_LETTERS:
            return before + after
        if len(other) < _MIN_LETTERS or not all(p in known or is_word(p) for p in (one, other)):
            return before + after
        return f"{before}{_SOFT if one in _PREFIXES else '-'}{after}"

    return [_CUT.sub(whole, page).strip() for page in pages]

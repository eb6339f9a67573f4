"""References in the style of APA, MLA or Chicago, as plain text and as HTML.

The styles are those of the CSL project (data/NOTICE); citeproc-py renders them, loaded with the
first reference that is asked for. Every reference stands for itself, in the order given: lists
are not sorted, and two of one author and year are not told apart by a letter.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from mem_search.citations.csl import Item

if TYPE_CHECKING:
    from mem_search.citations.processor import Style

STYLES: Mapping[str, str] = {
    "apa": "apa.csl",
    "mla": "modern-language-association.csl",
    "chicago": "chicago-author-date.csl",
}
"""Name of a style → its file: APA 7th, MLA 9th, Chicago 18th (author-date) edition."""

_ONE_AT_A_TIME = threading.Lock()


def references(items: Sequence[Item], style: str, *, html: bool = False) -> list[str]:
    """One reference an item, in the same order. Some milliseconds each: not for an event loop."""
    with _ONE_AT_A_TIME:  # a style keeps notes while it renders
        known = _style(STYLES[style])
        return [known.entry(item, html=html) for item in items]


def as_text(items: Sequence[Item], style: str) -> str:
    """A reference a line."""
    return "".join(f"{reference}\n" for reference in references(items, style))


def as_html(items: Sequence[Item], style: str) -> str:
    """A fragment with the classes that CSL processors use, to be styled by a page."""
    entries = [
        f'  <div class="csl-entry">{reference}</div>\n'
        for reference in references(items, style, html=True)
    ]
    return f'<div class="csl-bib-body">\n{"".join(entries)}</div>\n'


@cache
def _style(file: str) -> Style:
    from mem_search.citations.processor import Style  # lxml and citeproc: nobody else pays

    return Style(file)

"""The formats of citations: styles of references as text and HTML, and files for programs.

The styles are those of the CSL project (data/NOTICE). citeproc-py renders them and is loaded with
the first reference. Every reference is independent, in the order given: lists are not sorted, and
two of one author and year get no letters to tell them apart.

To add a format: a function of items and a line in ``FORMATS``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from mem_search.features.citations.reference_files import Item, as_bibtex, as_ris

if TYPE_CHECKING:
    from mem_search.features.citations.processor import Style


STYLES: Mapping[str, str] = {
    "apa": "apa.csl",
    "mla": "modern-language-association.csl",
    "chicago": "chicago-author-date.csl",
}
"""Style → its file: APA 7th, MLA 9th, Chicago 18th (author-date) edition."""

_RENDERING = threading.Lock()


def references(items: Sequence[Item], style: str, *, html: bool = False) -> list[str]:
    """One reference for each item, in their order. Milliseconds each: use a thread."""
    with _RENDERING:  # a style keeps state while it renders
        known = _style(STYLES[style])
        return [known.entry(item, html=html) for item in items]


def as_text(items: Sequence[Item], style: str) -> str:
    """One reference on each line."""
    return "".join(f"{reference}\n" for reference in references(items, style))


def as_html(items: Sequence[Item], style: str) -> str:
    """An HTML fragment with the class names of CSL processors, to be styled by a page."""
    entries = [
        f'  <div class="csl-entry">{reference}</div>\n'
        for reference in references(items, style, html=True)
    ]
    return f'<div class="csl-bib-body">\n{"".join(entries)}</div>\n'


@cache
def _style(file: str) -> Style:
    from mem_search.features.citations.processor import Style  # heavy: lxml and citeproc

    return Style(file)


@dataclass(frozen=True, slots=True)
class Format:
    """``write`` makes the whole text; ``suffix`` is that of a file with it."""

    name: str
    content_type: str
    suffix: str
    write: Callable[[Sequence[Item]], str]


def as_csl_json(items: Sequence[Item]) -> str:
    """The items as a JSON array, which reference managers read."""
    return json.dumps(list(items), ensure_ascii=False, indent=2) + "\n"


FORMATS: tuple[Format, ...] = (
    *(Format(name, "text/plain", "txt", partial(as_text, style=name)) for name in STYLES),
    Format("bibtex", "application/x-bibtex", "bib", as_bibtex),
    Format("ris", "application/x-research-info-systems", "ris", as_ris),
    Format("csl-json", "application/vnd.citationstyles.csl+json", "json", as_csl_json),
)

BY_NAME = {known.name: known for known in FORMATS}

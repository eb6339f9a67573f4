"""Every form in which citations are handed out, by the word that asks for it.

To add one: a function of items and a line in ``FORMATS``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from mem_search.citations.bibliography import STYLES, as_text
from mem_search.citations.bibtex import as_bibtex
from mem_search.citations.csl import Item
from mem_search.citations.ris import as_ris


@dataclass(frozen=True, slots=True)
class Format:
    """``write`` makes the whole text; ``suffix`` is that of a file which holds it."""

    name: str
    content_type: str
    suffix: str
    write: Callable[[Sequence[Item]], str]


def as_csl_json(items: Sequence[Item]) -> str:
    """The items themselves, as the array that reference programs read."""
    return json.dumps(list(items), ensure_ascii=False, indent=2) + "\n"


FORMATS: tuple[Format, ...] = (
    *(Format(name, "text/plain", "txt", partial(as_text, style=name)) for name in STYLES),
    Format("bibtex", "application/x-bibtex", "bib", as_bibtex),
    Format("ris", "application/x-research-info-systems", "ris", as_ris),
    Format("csl-json", "application/vnd.citationstyles.csl+json", "json", as_csl_json),
)

BY_NAME = {known.name: known for known in FORMATS}

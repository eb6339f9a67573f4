"""What a reader of a file format makes of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mem_search.model.records import Kind

OCR_PAGE_NUMBERS: Final = "ocr_page_numbers"
"""The metadata field with the pages, from 1, that were recognised; missing when all were."""

PAGE_BREAK: Final = "\f"
"""Between two pages of a text whose metadata has ``pages``; a citation counts them."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a file, and what the file says of itself.

    ``created_at`` is in ms since 1970. An empty ``text`` means that there is none to find the file
    by; ``note`` then says why. With several pages (slides), ``text`` has a PAGE_BREAK between two.

    ``lacks`` is what must be installed to read more of the file: ``ocr``. ``rest`` is the page from
    which on nothing is read yet, because one call may not take longer; 0 when all is read.
    """

    text: str
    kind: Kind = "file"
    title: str = ""
    created_at: int | None = None
    url: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    lacks: str = ""
    rest: int = 0

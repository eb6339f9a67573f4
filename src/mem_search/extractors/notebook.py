"""Jupyter notebooks (``.ipynb``): text and code of the cells, and what they printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from mem_search.extractors.main_text import plain_text
from mem_search.extractors.refusal import Unreadable
from mem_search.model.ingest import Extracted
from mem_search.patterns import pattern
from mem_search.text.charsets import decoded
from mem_search.text.counted import counted
from mem_search.text.json_reading import loads

_MAX_OUTPUT_CHARS: Final = 20_000
"""Of one output: a table says what it is in its first lines."""

_HEADING: Final = pattern(r"^#{1,6}[ \t]+(\S[^\n]{0,200})", re.MULTILINE)
_PICTURE: Final = pattern(r"\(data:image/[^)]{0,10000000}\)")


class Notebook:
    """Pictures in a notebook are no text; ``unread`` counts them."""

    name = "notebook"
    suffixes = (".ipynb",)

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        start = head.lstrip()
        return start.startswith(b"{") and (
            suffix == ".ipynb" or (b'"cells"' in start[:200] and b'"cell_type"' in head)
        )

    def extract(self, path: Path, name: str) -> Extracted:
        try:
            book = loads(decoded(path.read_bytes()))
        except ValueError as error:
            raise Unreadable(f"it is damaged or cut off: {error}") from None
        book = book if isinstance(book, dict) else {}
        about = _dict(book.get("metadata"))
        language = _dict(about.get("kernelspec")).get("language") or _dict(
            about.get("language_info")
        ).get("name")
        sheets = [book, *_list(book.get("worksheets"))]  # of version 3
        parts: list[str] = []
        pictures = cells = 0
        for cell in (_dict(each) for sheet in sheets for each in _list(_dict(sheet).get("cells"))):
            cells += 1
            words = _PICTURE.sub("()", _text(cell.get("source") or cell.get("input")))
            if cell.get("cell_type") == "code" and words.strip():
                words = f"```{language or ''}\n{words}\n```"
            parts.append(words)
            for output in map(_dict, _list(cell.get("outputs"))):
                shown = _dict(output.get("data")) or output
                pictures += any(str(key).startswith("image") for key in shown)
                said = _text(output.get("text") or shown.get("text/plain") or shown.get("text"))
                said = said or plain_text(_text(shown.get("text/html") or shown.get("html")))
                said = said or _text(shown.get("text/markdown") or shown.get("text/latex"))
                if output.get("output_type") in ("error", "pyerr"):
                    said = f"{output.get('ename')}: {output.get('evalue')}"
                parts.append(said[:_MAX_OUTPUT_CHARS])
        text = "\n\n".join(part.strip("\n") for part in parts if part.strip())
        heading = _HEADING.search(text)
        authors = [str(_dict(each).get("name") or "") for each in _list(about.get("authors"))]
        metadata: dict[str, Any] = {"cells": cells}
        metadata |= {"language": str(language)} if language else {}
        metadata |= {"author": ", ".join(filter(None, authors))} if any(authors) else {}
        title = str(about.get("title") or (heading[1].strip() if heading else ""))
        unread = (f"{counted(pictures, 'picture')} among the outputs not read",) if pictures else ()
        return Extracted(text, title=title, metadata=metadata, unread=unread)


def _text(value: object) -> str:
    """A text, or its lines."""
    return value if isinstance(value, str) else "".join(map(str, _list(value)))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

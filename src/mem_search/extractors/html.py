"""Web pages: the article without menus and advertisements, with what the page says of itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from mem_search.extractors.zip_package import moment
from mem_search.model.documents import Extracted

_LEAST: Final = 200
"""An article shorter than this, which is less than half of the page, is not the article."""

_START: Final = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b",
                           re.IGNORECASE | re.DOTALL)  # fmt: skip
_SAVED: Final = re.compile(rb"<!--\s*saved from url=\(\d+\)(\S+)")
_BLOCKS: Final = frozenset(
    "address article aside blockquote br dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5"
    " h6 header hr li main nav ol p pre section table td th tr ul title".split()
)
_SILENT: Final = frozenset(("script", "style", "noscript", "template", "svg"))


class Html:
    """Reads the main text with trafilatura; of a page without an article, all text."""

    name = "html"
    suffixes = (".html", ".htm", ".xhtml")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        text = head.removeprefix(b"\xef\xbb\xbf")
        return bool(_START.match(text)) or (suffix in self.suffixes and b"<" in head)

    def extract(self, path: Path, name: str) -> Extracted:
        import trafilatura

        data = path.read_bytes()
        found: Any = trafilatura.bare_extraction(
            data, with_metadata=True, include_comments=False, include_tables=True
        )
        everything = plain_text(data)
        text = (found.text or "") if found is not None else ""
        if len(text) < _LEAST and len(text) * 2 < len(everything):
            text = everything
        metadata: dict[str, Any] = {}
        created, url, title = None, "", ""
        if found is not None:
            url, title = found.url or "", found.title or ""
            created = moment(found.date or "")
            named = (("author", found.author), ("site", found.sitename), ("published", found.date))
            metadata = {key: value for key, value in named if value}
        if not url and (saved := _SAVED.search(data[:4096])):
            url = saved[1].decode("latin-1")
        return Extracted(text, "website", title, created, url, metadata=metadata)


def plain_text(data: bytes) -> str:
    """All text of a page, a line for each block; empty for a page without any."""
    from lxml import etree, html
    from trafilatura.utils import decode_file

    try:
        root = html.document_fromstring(re.sub(r"^\s*<\?xml[^>]*>", "", decode_file(data)))
    except (etree.ParserError, ValueError):
        return ""
    pieces: list[str] = []
    for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start" and element.tag in _SILENT:
            element.text = None
            for child in list(element):
                element.remove(child)
        if event in ("start", "end") and element.tag in _BLOCKS:
            pieces.append("\n")
        if event == "start":
            pieces.append(" ".join(element.text.split()) + " " if element.text else "")
        elif element.tail:
            pieces.append(" ".join(element.tail.split()) + " ")
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line)

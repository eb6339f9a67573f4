"""Web pages that Safari saved: ``.webarchive``, a property list with the page and its parts."""

from __future__ import annotations

import plistlib
from pathlib import Path
from typing import Any, Final
from xml.parsers.expat import ExpatError

from mem_search.extractors.html import decoded_page, read_page
from mem_search.extractors.refusal import Unreadable
from mem_search.model.documents import Extracted

_BINARY: Final = b"bplist00"
_PAGE: Final = "WebMainResource"
_HTML: Final = ("text/html", "application/xhtml+xml", "")


class WebArchive:
    """Reads the main resource, which is the page; the others are its frames, styles, pictures."""

    name = "webarchive"
    suffixes = (".webarchive",)

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        if head.startswith(_BINARY):
            return suffix in self.suffixes or _PAGE.encode() in head
        return b"<plist" in head and _PAGE.encode() in head

    def extract(self, path: Path, name: str) -> Extracted:
        try:
            with path.open("rb") as file:
                archive: Any = plistlib.load(file)
            page = archive[_PAGE]
            data, kind = page["WebResourceData"], str(page.get("WebResourceMIMEType", ""))
        except (plistlib.InvalidFileException, ExpatError, LookupError, TypeError, ValueError,
                AttributeError, RecursionError) as error:  # fmt: skip
            raise Unreadable(f"it is damaged: {type(error).__name__}: {error}") from None
        if not isinstance(data, bytes) or kind.lower() not in _HTML:
            raise Unreadable(f"it is no saved web page, but {kind[:60] or 'something else'}")
        text = decoded_page(data, str(page.get("WebResourceTextEncodingName", "")))
        return read_page(text, str(page.get("WebResourceURL", "")))

"""Web pages that browsers saved as one file: MHTML (RFC 2557), and Safari's ``.webarchive``."""

from __future__ import annotations

import plistlib
from collections.abc import Iterator
from email import policy
from email.parser import BytesParser
from pathlib import Path
from typing import Any, Final
from xml.parsers.expat import ExpatError

from mem_search.extractors.html import OUTSIDE, read_page
from mem_search.extractors.main_text import visible_words
from mem_search.extractors.refusal import Unreadable
from mem_search.model.ingest import PAGE_BREAK, Extracted
from mem_search.text.charsets import decoded_page

_PAGES: Final = ("text/html", "application/xhtml+xml")
_MAIL: Final = (".eml", ".emlx", ".mbox", ".txt", "")
_FIRST: Final = (b"mime-version", b"from", b"date", b"message-id", b"subject", b"content-type")
"""Headers that such a file may begin with."""


class Mhtml:
    """Reads the first HTML part, which is the page; the others are its frames, styles, pictures."""

    name = "mhtml"
    suffixes = (".mhtml", ".mht")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        lower = head.lower()
        if suffix in _MAIL or b"mime-version:" not in lower or b"multipart/" not in lower:
            return False
        # Confluence and Word write it with the name .doc, Excel with .xls.
        return suffix in self.suffixes or (
            b"multipart/related" in lower and lower.lstrip()[:60].split(b":")[0] in _FIRST
        )

    def extract(self, path: Path, name: str) -> Extracted:
        message = _message(path)
        pages = [*_pages(message)]
        if len(pages) > 1 and "<frameset" in pages[0][1]:
            return _frames([page for _, page in pages[1:]])
        for place, page in pages:
            places = (str(message["Snapshot-Content-Location"] or ""), place)
            return read_page(page, next((each for each in places if "://" in each), ""))
        raise Unreadable("it is damaged: there is no web page in it")

    def held(self, path: Path) -> Iterator[tuple[str, str]]:
        for number, (place, page) in enumerate(_pages(_message(path))):
            yield f"its frame {place[:80]}" if number else OUTSIDE, visible_words(page)


def _message(path: Path) -> Any:
    with path.open("rb") as file:
        return BytesParser(policy=policy.default).parse(file)


def _pages(message: Any) -> Iterator[tuple[str, str]]:
    """Where each page of HTML was, and the page."""
    for part in message.walk():
        if part.get_content_type() in _PAGES:
            data = part.get_payload(decode=True)
            charset = part.get_content_charset("")
            page = decoded_page(data if isinstance(data, bytes) else b"", charset)
            yield str(part["Content-Location"] or ""), page


def _frames(pages: list[str]) -> Extracted:
    """The sheets of a workbook that Excel saved so: a page for each."""
    sheets = [text for page in pages if (text := read_page(page).text.strip())]
    return Extracted(PAGE_BREAK.join(sheets), metadata={"pages": len(sheets)})


_BINARY: Final = b"bplist00"
_PAGE: Final = "WebMainResource"
_HTML: Final = ("text/html", "application/xhtml+xml", "")


class WebArchive:
    """Reads the main resource of a property list, which is the page; others are its pictures."""

    name = "webarchive"
    suffixes = (".webarchive",)

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        if head.startswith(_BINARY):
            return suffix in self.suffixes or _PAGE.encode() in head
        return b"<plist" in head and _PAGE.encode() in head

    def extract(self, path: Path, name: str) -> Extracted:
        return read_page(*_main_page(path))

    def held(self, path: Path) -> Iterator[tuple[str, str]]:
        yield OUTSIDE, visible_words(_main_page(path)[0])


def _main_page(path: Path) -> tuple[str, str]:
    """The page and its address. Raises Unreadable."""
    try:
        with path.open("rb") as file:
            archive: Any = plistlib.load(file)
        page = archive[_PAGE]
        data, kind = page["WebResourceData"], str(page.get("WebResourceMIMEType", ""))
    except (plistlib.InvalidFileException, ExpatError, LookupError, TypeError, ValueError,
            AttributeError, RecursionError) as error:  # fmt: skip
        raise Unreadable(f"it is damaged: {type(error).__name__}: {error}") from None
    if not isinstance(data, bytes) or kind.lower() not in _HTML:
        raise Unreadable(f"it is not a saved web page, but {kind[:60] or 'something else'}")
    text = decoded_page(data, str(page.get("WebResourceTextEncodingName", "")))
    return text, str(page.get("WebResourceURL", ""))

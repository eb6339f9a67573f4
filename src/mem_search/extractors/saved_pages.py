"""Web pages that browsers saved as one file: MHTML (RFC 2557), and Safari's ``.webarchive``."""

from __future__ import annotations

import plistlib
from email import policy
from email.parser import BytesParser
from pathlib import Path
from typing import Any, Final
from xml.parsers.expat import ExpatError

from mem_search.extractors.html import read_page
from mem_search.extractors.refusal import Unreadable
from mem_search.model.ingest import Extracted
from mem_search.text.charsets import decoded_page


class Mhtml:
    """Reads the first HTML part, which is the page; the others are its frames, styles, pictures."""

    name = "mhtml"
    suffixes = (".mhtml", ".mht")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        lower = head.lower()
        return suffix in self.suffixes and b"mime-version:" in lower and b"multipart/" in lower

    def extract(self, path: Path, name: str) -> Extracted:
        with path.open("rb") as file:
            message = BytesParser(policy=policy.default).parse(file)
        for part in message.walk():
            if part.get_content_type() in ("text/html", "application/xhtml+xml"):
                data = part.get_payload(decode=True)
                page = decoded_page(data if isinstance(data, bytes) else b"",
                                    part.get_content_charset(""))  # fmt: skip
                places = (message["Snapshot-Content-Location"], part["Content-Location"])
                url = next((str(each) for each in places if each and "://" in each), "")
                return read_page(page, url)
        raise Unreadable("it is damaged: there is no web page in it")


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

"""Web pages saved as one file by Chrome, Edge and others: MHTML (RFC 2557)."""

from __future__ import annotations

from email import policy
from email.parser import BytesParser
from pathlib import Path

from mem_search.extractors.html import decoded_page, read_page
from mem_search.extractors.refusal import Unreadable
from mem_search.model.documents import Extracted


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

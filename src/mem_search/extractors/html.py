"""Web pages: the article without menus and advertisements, with what the page says of itself."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mem_search.extractors.main_text import main_text, parsed
from mem_search.extractors.zip_package import moment
from mem_search.model.documents import Extracted

_START: Final = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b",
                           re.IGNORECASE | re.DOTALL)  # fmt: skip
_CHARSET: Final = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]{2,40})", re.IGNORECASE
)
_SAVED: Final = re.compile(
    r"<!--\s*(?:saved from url=\(\d+\)|Page saved with SingleFile\s*url:\s*)(https?://\S+)"
)
"""How browsers (with the length of the URL before it) and SingleFile say where a page is from."""

_HEAD: Final = 4096
_ESCAPED: Final = str.maketrans({"(": "%28", ")": "%29", " ": "%20", "<": "%3C", ">": "%3E"})
"""What would end an address of Markdown."""
_AUTHORS: Final = ("author", "citation_author", "dc.creator", "article:author", "parsely-author")
_ANCHOR: Final = "¶#🔗"
"""What generators of documentation put after a heading as a link to it."""


class Html:
    """Reads the text with ``main_text`` and the metadata with trafilatura."""

    name = "html"
    suffixes = (".html", ".htm", ".xhtml")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        text = head.removeprefix(b"\xef\xbb\xbf")
        return bool(_START.match(text)) or (suffix in self.suffixes and b"<" in head)

    def extract(self, path: Path, name: str) -> Extracted:
        return read_page(decoded_page(path.read_bytes()))

    def extract_with_links(self, path: Path, name: str) -> Extracted:
        return read_page(with_links(decoded_page(path.read_bytes())))


def read_page(page: str, url: str = "") -> Extracted:
    """A page of HTML; ``url`` is where it was saved from, where the page itself does not say so."""
    from trafilatura.metadata import extract_metadata

    metadata: dict[str, Any] = {}
    created, title = None, ""
    root = parsed(page)
    found: Any = None
    with suppress(
        ValueError, TypeError, AttributeError
    ):  # values of a form that it does not expect
        found = extract_metadata(root, date_config=None) if root is not None else None
    if found is not None:
        title = (found.title or "").rstrip(_ANCHOR).rstrip()
        # A day that is not on the page was made of a year alone, such as that of the copyright.
        date = found.date if found.date and not _is_guessed(found.date, page) else None
        created = moment(date or "")
        author = _author(root) or found.author
        named = (("author", author), ("site", found.sitename), ("published", date))
        metadata = {key: value for key, value in named if value}
    saved = _SAVED.search(page[:_HEAD])
    stated = (found.url or "") if found is not None else ""
    url = stated or (saved[1] if saved else "") or url
    return Extracted(main_text(page), "website", title, created, url, metadata=metadata)


def with_links(page: str) -> str:
    """The page with each link to another page as Markdown in its text."""
    from lxml import html

    root = parsed(page)
    for anchor in [] if root is None else list(root.iter("a")):
        href = (anchor.get("href") or "").strip()
        if href.startswith("//"):
            href = f"https:{href}"
        if not href.lower().startswith(("http://", "https://")):
            continue
        words = " ".join("".join(anchor.itertext()).split())
        for child in list(anchor):
            anchor.remove(child)
        anchor.text = f"[{words}]({href.translate(_ESCAPED)})"
        anchor.drop_tag()  # a list of references is no menu, although it is all links
    return page if root is None else str(html.tostring(root, encoding="unicode"))


def decoded_page(data: bytes, charset: str = "") -> str:
    """The text of a page: UTF-8, else what it or ``charset`` declares, else the likeliest."""
    from trafilatura.utils import decode_file

    declared = _CHARSET.search(data[:_HEAD])
    named = declared[1].decode("ascii") if declared else charset
    for encoding in ("utf-8-sig", named):
        with suppress(LookupError, UnicodeDecodeError):
            return data.decode(encoding) if encoding else str(decode_file(data))
    return str(decode_file(data))


def _author(root: Any) -> str:
    """The authors as the page's head writes them; trafilatura changes the form of names."""
    for name in _AUTHORS:
        found = root.xpath(".//meta[@name=$name or @property=$name]/@content", name=name)
        names = [" ".join(each.split()) for each in found]
        if names := [each for each in names if each and "://" not in each]:
            return ", ".join(dict.fromkeys(names))
    return ""


def _is_guessed(date: str, page: str) -> bool:
    return date.endswith("-01-01") and date not in page

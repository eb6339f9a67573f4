"""E-books (``.epub``): the chapters in reading order."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mem_search.extractors import zip_package
from mem_search.extractors.main_text import plain_text, visible_words
from mem_search.extractors.refusal import Unreadable
from mem_search.extractors.zip_package import Package, local
from mem_search.model.ingest import Extracted
from mem_search.text.charsets import decoded_page

_CONTAINER = "META-INF/container.xml"
_PAGES = (".xhtml", ".html", ".htm")
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Ways to disguise fonts, which lock no text."""
_MAX_NAMED = 10
_CHAPTERS = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")


class Epub:
    """Reads the chapters that the spine of the package document lists."""

    name = "epub"
    suffixes = (".epub",)

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return zip_package.holds(path, head, _CONTAINER)

    def extract(self, path: Path, name: str) -> Extracted:
        with zip_package.opened(path) as package:
            main = next(
                (e.get("full-path") for e in package.xml(_CONTAINER).iter()
                 if local(e) == "rootfile"), None,
            )  # fmt: skip
            if main is None:
                raise Unreadable("it is damaged: it does not say where its chapters are")
            root = package.xml(main)
            locked = _locked(package)
            if "META-INF/rights.xml" in package.names or any(
                name.endswith(_PAGES) for name in locked
            ):
                raise Unreadable("it is protected (DRM): only the shop's reader can open it")
            order = _spine(root, main)
            parts = [part for part in order if part in package.names]
            gone = [part for part in order if part not in package.names]
            chapters = [plain_text(decoded_page(package.data(part))) for part in parts]
            properties: dict[str, Any] = {}
            for element in root.iter():
                if local(element) == "metadata":
                    properties = zip_package.described(element)
                    break
            unread = tuple(f"its chapter {part} is missing in the file" for part in gone)
            text = "\n\n".join(filter(None, chapters))
            if gone and not text:
                raise Unreadable("it is damaged: its chapters are missing in the file")
            return Extracted(text, unread=unread[:_MAX_NAMED], **properties)

    def held(self, path: Path) -> Iterator[tuple[str, str]]:
        """Every page of the book, in the order of reading or not."""
        with zip_package.opened(path) as package:
            for name in sorted(package.names):
                if name.endswith(_PAGES):
                    yield name, visible_words(decoded_page(package.data(name)))


def _locked(package: Package) -> list[str]:
    """The files that only a shop's reader can open."""
    if "META-INF/encryption.xml" not in package.names:
        return []
    locked = []
    for entry in package.xml("META-INF/encryption.xml").iter():
        if local(entry) == "EncryptedData":
            ways = [e.get("Algorithm") for e in entry if local(e) == "EncryptionMethod"]
            if not any(way in _FONTS for way in ways):
                locked += [e.get("URI", "") for e in entry.iter() if local(e) == "CipherReference"]
    return locked


def _spine(root: Any, main: str) -> list[str]:
    items = {e.get("id"): e for e in root.iter() if local(e) == "item"}
    order = [items.get(e.get("idref")) for e in root.iter() if local(e) == "itemref"]
    chapters = []
    for item in order:
        if item is not None and item.get("media-type") in _CHAPTERS:
            joined = posixpath.join("/", posixpath.dirname(main), unquote(item.get("href", "")))
            part = posixpath.normpath(joined).lstrip("/")
            chapters.append(part)
    return chapters

"""E-books (``.epub``): the chapters in reading order."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mem_search.extractors import zip_package
from mem_search.extractors.main_text import plain_text
from mem_search.extractors.refusal import Unreadable
from mem_search.extractors.zip_package import Package, local
from mem_search.model.ingest import Extracted
from mem_search.text.charsets import decoded_page

_CONTAINER = "META-INF/container.xml"
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
            if "META-INF/rights.xml" in package.names:
                raise Unreadable("it is protected (DRM): only the shop's reader can open it")
            chapters = [
                plain_text(decoded_page(package.data(part))) for part in _spine(package, root, main)
            ]
            properties: dict[str, Any] = {}
            for element in root.iter():
                if local(element) == "metadata":
                    properties = zip_package.described(element)
                    break
            return Extracted("\n\n".join(filter(None, chapters)), **properties)


def _spine(package: Package, root: Any, main: str) -> list[str]:
    items = {e.get("id"): e for e in root.iter() if local(e) == "item"}
    order = [items.get(e.get("idref")) for e in root.iter() if local(e) == "itemref"]
    found = []
    for item in order:
        if item is not None and item.get("media-type") in _CHAPTERS:
            joined = posixpath.join("/", posixpath.dirname(main), unquote(item.get("href", "")))
            part = posixpath.normpath(joined).lstrip("/")
            if part in package.names:
                found.append(part)
    return found

"""Presentations: a page for each slide, with its notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mem_search.extractors import office, zip_package
from mem_search.extractors.zip_package import Package, local
from mem_search.model.ingest import PAGE_BREAK, Extracted

_MAIN = "ppt/presentation.xml"


class Pptx:
    """Reads slides in the order of the presentation."""

    name = "pptx"
    suffixes = (".pptx", ".pptm")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return zip_package.holds(path, head, _MAIN)

    def extract(self, path: Path, name: str) -> Extracted:
        with zip_package.opened(path) as package:
            order = _order(package)
            slides = [_slide(package, part) for part in order]
            blank = [at for at, part in enumerate(order) if _is_picture(package, part, slides[at])]
            unread, lacks = [], ""
            for at in blank:
                read = office.pictures_in(package, [order[at]])
                slides[at] = "\n\n".join(read.texts)
                unread += [f"slide {at + 1}: {said}" for said in read.unread]
                lacks = lacks or read.lacks
            for at, part in enumerate(order):
                said = dict.fromkeys(office.alternative_texts(package.xml(part)))
                slides[at] = "\n\n".join(filter(None, (slides[at], *said)))
            files = office.files_in(package, order)
            properties = package.properties()
        metadata = {**properties.pop("metadata", {}), "pages": len(slides)}
        unread += files.unread
        slides += [""] * (not slides)
        slides[-1] = "\n\n".join(filter(None, (slides[-1], *files.texts)))
        text = PAGE_BREAK.join(slides)
        if not text.strip():
            text = ""
        lacks = lacks or files.lacks
        return Extracted(text, metadata=metadata, unread=tuple(unread), lacks=lacks, **properties)

    def held(self, path: Path) -> Iterator[tuple[str, str]]:
        yield from office.shown_words(path)


def _order(package: Package) -> list[str]:
    targets = package.targets(_MAIN)
    ids = [e for e in package.xml(_MAIN).iter() if local(e) == "sldId"]
    # A slide id has two attributes called "id": its number, and that of the relation.
    keys = [value for e in ids for value in e.attrib.values() if value in targets]
    return [targets[key][1] for key in keys if targets[key][1] in package.names]


def _slide(package: Package, part: str) -> str:
    pieces = [office.text_of(package.xml(part)), *office.drawn(package, part)]
    return "\n\n".join(piece for piece in pieces if piece)


def _is_picture(package: Package, part: str, text: str) -> bool:
    kinds = {kind for kind, _ in package.targets(part).values()}
    return not text.strip() and "image" in kinds and kinds.isdisjoint(office.FILES)

"""The readers of file formats: one file each, and one line each in ``BUILT_IN``.

``identify`` decides by content first, because names are often wrong, and by name second.
``extraction`` runs a reader in a process with limits. A library is imported in that process only,
by the reader that needs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

from mem_search.contracts import (
    CountedExtractor,
    Extractor,
    LinkedExtractor,
    PagedExtractor,
)
from mem_search.extractors import checking
from mem_search.extractors.refusal import Unreadable, reason_for
from mem_search.model.ingest import Extracted
from mem_search.regular_file import open_regular_file

BUILT_IN: Final = {
    "pdf": "mem_search.extractors.pdf:Pdf",
    "docx": "mem_search.extractors.docx:Docx",
    "pptx": "mem_search.extractors.pptx:Pptx",
    "xlsx": "mem_search.extractors.xlsx:Xlsx",
    "sheet": "mem_search.extractors.sheet:Sheet",
    "opendocument": "mem_search.extractors.opendocument:OpenDocument",
    "epub": "mem_search.extractors.epub:Epub",
    "rtf": "mem_search.extractors.rtf:Rtf",
    "image": "mem_search.extractors.image:Image",
    "oldoffice": "mem_search.extractors.old_office:OldOffice",
    "iwork": "mem_search.extractors.iwork:IWork",
    "mobi": "mem_search.extractors.mobi:Mobi",
    "parquet": "mem_search.extractors.table:Parquet",
    "mhtml": "mem_search.extractors.saved_pages:Mhtml",
    "webarchive": "mem_search.extractors.saved_pages:WebArchive",
    "officexml": "mem_search.extractors.office_xml:OfficeXml",
    "html": "mem_search.extractors.html:Html",
    "notebook": "mem_search.extractors.notebook:Notebook",
    "subtitles": "mem_search.extractors.subtitles:Subtitles",
    "table": "mem_search.extractors.table:Table",
    "json": "mem_search.extractors.json_text:JsonText",
    "markdown": "mem_search.extractors.markdown:Markdown",
    "text": "mem_search.extractors.text:Text",
}
"""Name → class of the reader. The first that recognises a file reads it; ``text`` is the last."""

SUFFIXES: Final = (
    ".txt", ".md", ".markdown", ".html", ".htm", ".xhtml", ".mhtml", ".mht", ".webarchive", ".pdf",
    ".docx", ".docm", ".pptx", ".pptm", ".xlsx", ".xlsm", ".xls", ".xlsb", ".ods", ".odt", ".odp",
    ".epub",
    ".doc", ".dot", ".ppt", ".pps", ".pages", ".numbers", ".key", ".mobi", ".azw", ".azw3", ".prc",
    ".fodt", ".fods", ".fodp", ".rtf", ".csv", ".tsv", ".tab", ".parquet", ".ipynb", ".srt", ".vtt",
    ".json", ".jsonl", ".ndjson", ".geojson", ".har", ".rst",
    ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".bmp", ".webp",
    ".heic", ".heif",
)  # fmt: skip
"""Ends of names that say that a reader here can read a file, for uploads. A contract test compares
them with the readers."""

_HEAD: Final = 4096


@cache
def readers() -> tuple[Extractor, ...]:
    """Every reader, in the order in which they are asked."""
    extractors = []
    for value in BUILT_IN.values():
        module, _, name = value.partition(":")
        extractors.append(getattr(import_module(module), name)())
    return tuple(extractors)


def identify(path: Path, name: str) -> Extractor:
    """The reader for the file at ``path``, which is called ``name``. Raises Unreadable."""
    with open_regular_file(path) as file:
        head = file.read(_HEAD)
    if not head:
        raise Unreadable("it is empty", empty=True)
    suffix = Path(name).suffix.lower()
    for reader in readers():
        if reader.recognises(head, path, suffix):
            return reader
    raise Unreadable(reason_for(head, path, suffix))


def extract(path: Path, name: str, page: int = 0, *, links: bool = False) -> Extracted:
    """The text of the file, from ``page`` on, with its links as Markdown where ``links`` is set.

    Its ``unread`` names what the file holds and the text has not. Raises Unreadable with the
    reason, for a person.
    """
    reader = identify(path, name)
    if page and isinstance(reader, PagedExtractor):
        return reader.extract_from(path, name, page)
    if links and isinstance(reader, LinkedExtractor):
        document = reader.extract_with_links(path, name)
    else:
        document = reader.extract(path, name)
    if isinstance(reader, CountedExtractor):
        try:
            lost = [*checking.missing(f"{document.title}\n{document.text}", reader.held(path))]
        except Unreadable as error:  # of a part that the text does not need
            lost = [f"whether it has more than its text is not known: {error.reason}"]
        unread, empty = (*document.unread, *lost), not document.text.strip()
        note = f"its text was not found: {'; '.join(unread)}" if lost and empty else document.note
        document = replace(document, unread=unread, note=note)
    return checking.titled(document, reader.name)


def held(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """What the file holds by the second count of its reader. Raises Unreadable."""
    reader = identify(path, name)
    if isinstance(reader, CountedExtractor):
        yield from reader.held(path)

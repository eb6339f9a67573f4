"""Runs readers where they can stop nothing: in a process with a limit of time and memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from queue import LifoQueue
from typing import Final

from mem_search.extractors import ocr
from mem_search.extractors.refusal import Refused, pages_said
from mem_search.limited_process import Ended, LimitedProcess
from mem_search.model.ingest import OCR_PAGE_NUMBERS, PAGE_BREAK, Extracted
from mem_search.platform.processes import available_memory, usable_processors

SECONDS: Final = 60
"""The processor time that one call may take."""

MEGABYTES: Final = 480
_MAX_AT_ONCE: Final = 4
"""Searches and the embedder need processors, too."""

_MODULE: Final = "mem_search.extractors.extraction_process"


class Extraction:
    """Reads files one at a time, from any thread. Call ``close`` at the end."""

    def __init__(self, seconds: int = SECONDS, megabytes: int = MEGABYTES) -> None:
        limits = {"seconds": seconds, "megabytes": megabytes}
        self._process = LimitedProcess(_MODULE, "that reads files", **limits)

    def read(self, path: Path, name: str, *, links: bool = False) -> Extracted | Refused:
        """The text of the file, or why it has none. Raises SourceError without a process.

        With ``links`` those of a page are part of its text, as Markdown. The limits are those of
        one call; a file of many scanned pages takes several.
        """
        document = self._part(path, name, 0, links)
        while isinstance(document, Extracted) and document.rest:
            more = self._part(path, name, document.rest, links)
            if isinstance(more, Refused):
                left = pages_said(range(document.rest, document.metadata["pages"]))
                said = f"{left} not read: {more.reason}"
                document = replace(document, rest=0, unread=(*document.unread, said))
            else:
                document = _joined(document, more)
        if isinstance(document, Extracted) and not document.text.strip():
            why = document.note or "; ".join(["there is no text in it", *document.unread])
            return Refused(why, empty=True, lacks=document.lacks)
        return document

    def _part(self, path: Path, name: str, page: int, links: bool) -> Extracted | Refused:
        """One call; without looking into pictures if it takes too much with them."""
        document = self._asked(path, name, page, links)
        if not (isinstance(document, Refused) and document.gave_up and ocr.available()):
            return document
        less = self._asked(path, name, page, links, pictures=False)
        if isinstance(less, Extracted):
            return replace(less, unread=tuple(f"{each}: {document.reason}" for each in less.unread))
        return document

    def _asked(
        self, path: Path, name: str, page: int, links: bool, *, pictures: bool = True
    ) -> Extracted | Refused:
        """The reply of the process; of a fresh one, if what it read before left too little room."""
        is_fresh = not self._process.is_running
        try:
            reply = self._process.ask((str(path), name, page, links, pictures))
        except Ended as error:
            return Refused(str(error), gave_up=True)
        if isinstance(reply, str):  # out of memory: what is left of it must not hurt the next file
            self._process.stop()
            again = not is_fresh
            return self._asked(path, name, page, links, pictures=pictures) if again else Refused(
                reply, gave_up=True
            )  # fmt: skip
        assert isinstance(reply, Extracted | Refused)
        return reply

    def close(self) -> None:
        """End the process for good; whatever is read afterwards raises SourceError."""
        self._process.close()


class Extractions:
    """Reads as many files at once as the machine has means for, from any threads.

    Each is read in a process with limits; a process starts when it is needed. Call ``close``.
    """

    def __init__(self, count: int = 0) -> None:
        self.count = count or _at_once()
        self._all = [Extraction() for _ in range(self.count)]
        self._idle: LifoQueue[Extraction] = LifoQueue()
        for each in self._all:
            self._idle.put(each)

    def read(self, path: Path, name: str, *, links: bool = False) -> Extracted | Refused:
        """See ``Extraction.read``; waits while all processes are reading."""
        one = self._idle.get()
        try:
            return one.read(path, name, links=links)
        finally:
            self._idle.put(one)

    def close(self) -> None:
        """End the processes; what they are reading is refused."""
        for each in self._all:
            each.close()


def _at_once() -> int:
    """One for each processor, as long as all may use what memory they are allowed."""
    room = available_memory() // (2 * MEGABYTES * 2**20)
    return max(1, min(usable_processors(), _MAX_AT_ONCE, room))


def _joined(first: Extracted, more: Extracted) -> Extracted:
    """Two parts of one file. The confidence of OCR is the mean over the pages of both."""
    metadata = {**first.metadata, **more.metadata}
    if numbers := [n for part in (first, more) for n in part.metadata.get(OCR_PAGE_NUMBERS, ())]:
        metadata[OCR_PAGE_NUMBERS] = numbers
    if len(numbers) == metadata.get("pages"):
        del metadata[OCR_PAGE_NUMBERS]
    parts = [(p.metadata["ocr_pages"], p.metadata["ocr_confidence"]) for p in (first, more)
             if "ocr_pages" in p.metadata]  # fmt: skip
    if parts:
        pages = sum(pages for pages, _ in parts)
        sure = sum(pages * confidence for pages, confidence in parts) / pages
        metadata |= {"ocr_pages": pages, "ocr_confidence": round(sure, 2)}
    text = f"{first.text}{PAGE_BREAK}{more.text}"
    unread = tuple(dict.fromkeys((*first.unread, *more.unread)))
    lacks = first.lacks or more.lacks
    return replace(first, text=text, metadata=metadata, rest=more.rest, unread=unread, lacks=lacks)

"""Attachments that are no text: what the readers of file formats find in them.

They run in the processes with limits that read documents, which start with the first attachment.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final

from mem_search.extractors.extraction import Extractions
from mem_search.extractors.refusal import Refused
from mem_search.model.documents import Extracted
from mem_search.sources.base import scratch_folder, unpacking
from mem_search.sources.mail.message import Attachment, Mail

_KEPT: Final = 500
"""Readings that are remembered: what is sent to many is read once."""

Reading = tuple[list[Attachment], int, Future[Extracted | Refused]]
"""An attachment that is being read: the list and the place it stands in, and what it will give."""


class AttachmentReader:
    """Reads as many attachments at once as the machine has means for. Call ``close`` at the end."""

    def __init__(self) -> None:
        self._extractions = Extractions()
        self._threads = ThreadPoolExecutor(self._extractions.count, "read-attachments")
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._numbers = count()
        self._known: dict[str, Future[Extracted | Refused]] = {}

    def begin(self, mail: Mail) -> list[Reading]:
        """Begin to read the attachments of ``mail`` and of the messages inside it.

        Their data goes to a file, so that messages that wait for their turn take little memory.
        """
        readings = []
        for place, attached in enumerate(mail.attachments):
            if attached.data:
                readings.append((mail.attachments, place, self._begun(attached)))
                mail.attachments[place] = replace(attached, data=b"")
        for inside in mail.messages:
            readings += self.begin(inside)
        return readings

    def end(self, readings: Sequence[Reading]) -> Iterator[tuple[str, str]]:
        """Wait for the ``readings`` and put the texts into their messages.

        Yields the name of each attachment that gives no text, with the reason.
        """
        for attachments, place, reading in readings:
            attached, found = attachments[place], reading.result()
            if isinstance(found, Refused):
                yield attached.name or f"attachment {place + 1}", found.reason
            else:
                said = {**found.metadata, **({"heading": found.title} if found.title else {})}
                attachments[place] = replace(attached, text=found.text, said=said)

    def close(self) -> None:
        """End the processes and remove what they read."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._extractions.close()  # whatever is still being read is not wanted any more
        self._threads.shutdown()
        if self._folder is not None:
            self._folder.cleanup()

    def _begun(self, attached: Attachment) -> Future[Extracted | Refused]:
        if attached.digest in self._known:
            return self._known[attached.digest]
        with unpacking():
            if self._folder is None:
                self._folder = scratch_folder()
            path = Path(self._folder.name, f"attachment-{next(self._numbers)}")
            path.write_bytes(attached.data)
        reading = self._threads.submit(self._found, path, attached.name)
        if len(self._known) < _KEPT:
            self._known[attached.digest] = reading
        return reading

    def _found(self, path: Path, name: str) -> Extracted | Refused:
        try:
            return self._extractions.read(path, name)
        finally:
            path.unlink()

"""Attachments that are no text: what the readers of file formats find in them.

They run in the process with limits that reads documents, which starts with the first attachment.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from mem_search.extractors.extraction import Extraction
from mem_search.extractors.refusal import Refused
from mem_search.model.documents import Extracted
from mem_search.sources.base import scratch_folder, unpacking
from mem_search.sources.mail.message import Attachment, Mail

_KEPT: Final = 500
"""Readings that are remembered: what is sent to many is read once."""


class AttachmentReader:
    """Reads the attachments of one message after the other. Call ``close`` at the end."""

    def __init__(self) -> None:
        self._extraction = Extraction()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._known: dict[str, Extracted | Refused] = {}

    def read(self, mail: Mail) -> Iterator[tuple[str, str]]:
        """Put the texts of its attachments into ``mail`` and the messages inside it.

        Yields the name of each attachment that gives no text, with the reason.
        """
        for place, attached in enumerate(mail.attachments):
            if not attached.data:
                continue
            found = self._found(attached)
            if isinstance(found, Refused):
                mail.attachments[place] = replace(attached, data=b"")
                yield attached.name or f"attachment {place + 1}", found.reason
            else:
                said = {**found.metadata, **({"heading": found.title} if found.title else {})}
                mail.attachments[place] = replace(attached, data=b"", text=found.text, said=said)
        for inside in mail.messages:
            yield from self.read(inside)

    def close(self) -> None:
        """End the process and remove what it read."""
        self._extraction.close()
        if self._folder is not None:
            self._folder.cleanup()

    def _found(self, attached: Attachment) -> Extracted | Refused:
        if attached.digest in self._known:
            return self._known[attached.digest]
        with unpacking():
            if self._folder is None:
                self._folder = scratch_folder()
            path = Path(self._folder.name, "attachment")
            path.write_bytes(attached.data)
        found = self._extraction.read(path, attached.name)
        path.unlink()
        if len(self._known) < _KEPT:
            self._known[attached.digest] = found
        return found

"""The source `packed`: archives (ZIP, tar, gz, bz2, xz, 7z), read as the folder that is in them.

What lies in one is read by the source that reads it in a folder: notes, chats, mail, tables. An
export that has a source of its own (ChatGPT, Claude, Slack) is left to it. The limits are in
``unpacker``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from mem_search import sources
from mem_search.contracts import FileFormat
from mem_search.errors import SourceError
from mem_search.limited_process import Ended, LimitedProcess
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.regular_file import open_regular_file, path_of
from mem_search.sources.base import scratch_folder, unpacking
from mem_search.sources.packed.unpacker import SUFFIXES, Unpacked, kind_of
from mem_search.sources.whole_files import MAX_FILE_BYTES, WholeFile, WholeFiles, head
from mem_search.zip_files import DAMAGED_ZIP, Archive

NAME: Final = "packed"

_SECONDS: Final = 300
"""Processor time of unpacking one archive; 4 GB of gzip take half a minute, of xz two."""

_MEGABYTES: Final = 1024
_MODULE: Final = "mem_search.sources.packed.unpacking_process"
_OF_DOCUMENTS: Final = frozenset({"[Content_Types].xml", "mimetype", "word/document.xml"})
"""Members of Office files and e-books, which programs write among the first."""
_FIRST: Final = 50

_SAID_BY_FILES: Final = "files of the source "


class Packed(WholeFiles):
    """A file in an archive has the path of the archive and its own as its source id."""

    name = NAME
    follows = True
    file_format = FileFormat(
        SUFFIXES, ("application/zip", "application/gzip", "application/x-tar",
                   "application/x-7z-compressed", "application/x-bzip2", "application/x-xz"),
    )  # fmt: skip

    def recognises(self, path: Path) -> bool:
        if path.suffix.lower() not in SUFFIXES or path.name.lower().endswith(".jsonl.gz"):
            return False
        kind = kind_of(head(path, 512), path.name)
        if not kind or (kind == "zip" and _is_document(path)):
            return False
        others = (each for each in sources.installed() if each.name != NAME)
        return not any(sources.recognises(each, path) for each in others)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        with scratch_folder() as scratch:
            root = Path(scratch, "content")
            root.mkdir()
            unpacked = _unpacked(file, root)
            for name, reason in unpacked.left:
                yield LedgerEntry(f"{file.name}:{name or 'damaged'}", "left", reason)
            if unpacked.more:
                why = f"{unpacked.more} more files were not unpacked"
                yield LedgerEntry(f"{file.name}:more", "left", why)
            for name in sources.names_at(root):
                if name != NAME:
                    yield from _read(file, root, name)


def _is_document(path: Path) -> bool:
    """Whether it is an Office file or an e-book, whatever its name."""
    try:
        with open_regular_file(path, max_bytes=MAX_FILE_BYTES) as file:
            members = islice(Archive(file).members(), _FIRST)
            return any(each.name in _OF_DOCUMENTS for each in members)
    except (OSError, *DAMAGED_ZIP):
        return False


def _unpacked(file: WholeFile, root: Path) -> Unpacked:
    """What is in the archive, in ``root``. Raises ValueError with the reason for none."""
    process = LimitedProcess(_MODULE, "that unpacks", seconds=_SECONDS, megabytes=_MEGABYTES)
    with (
        closing(process),
        unpacking(),
        open_regular_file(file.path, max_bytes=MAX_FILE_BYTES, follow=False) as stored,
    ):
        try:
            place = str(path_of(stored, file.path))
            answer = process.ask((place, Path(file.name).name, str(root)))
        except Ended as error:
            raise ValueError(str(error)) from None
    if isinstance(answer, str):
        raise ValueError(answer)
    assert isinstance(answer, Unpacked)
    return answer


def _read(file: WholeFile, root: Path, name: str) -> Iterator[Draft | LedgerEntry]:
    """What a source makes of the folder, under the name of the archive."""
    place = file.name if file.is_upload else str(file.path)
    unpacked = str(root)

    def named(text: str) -> str:
        return text.replace(unpacked, place)

    try:
        for batch in sources.by_name(name).read(Location(name, unpacked), {}):
            for draft in batch.drafts:
                metadata: dict[str, Any] = {
                    key: named(value) if isinstance(value, str) else value
                    for key, value in draft.metadata.items()
                }
                yield replace(
                    draft,
                    source=NAME if name == "files" else draft.source,
                    source_id=named(draft.source_id),
                    session=named(draft.session),
                    project="" if named(draft.project) != draft.project else draft.project,
                    place=None,
                    links=tuple(replace(link, to=named(link.to)) for link in draft.links),
                    metadata=metadata,
                )
            for entry in batch.ledger:
                if entry.outcome != "taken" and not entry.item.startswith(_SAID_BY_FILES):
                    item = f"{file.name}:{named(entry.item)}"
                    yield replace(entry, item=item, reason=named(entry.reason))
    except SourceError as error:
        yield LedgerEntry(f"{file.name}:{name}", "failed", named(str(error)))

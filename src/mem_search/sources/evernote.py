"""The source `evernote`: notebooks that Evernote exported (`.enex`), with the files in their notes.

The reader of each file is the one that reads it in a folder; pictures without text give no record.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.extractors.extraction import Extractions
from mem_search.extractors.refusal import Refused
from mem_search.model import Draft, LedgerEntry, Link
from mem_search.model.ingest import with_unread
from mem_search.regular_file import open_regular_file
from mem_search.sources.base import scratch_folder, unpacking
from mem_search.sources.conversations import moment
from mem_search.sources.whole_files import WholeFile, WholeFiles, head

NAME: Final = "evernote"

_MAX_BYTES: Final = 4 * 2**30
_MAX_FILE_BYTES: Final = 100 * 2**20
"""Of a file in a note, as of one in a folder."""


class Evernote(WholeFiles):
    """The source id is made of title and time of a note: exports have no other identity."""

    name = NAME
    file_format = FileFormat((".enex",), ("application/enex+xml",))

    def recognises(self, path: Path) -> bool:
        return path.suffix.lower() == ".enex" and b"<en-export" in head(path, 4096)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        from lxml import etree

        seen: dict[str, int] = {}
        with (
            open_regular_file(file.path, max_bytes=_MAX_BYTES) as stored,
            closing(Extractions(1)) as extractions,
        ):
            notes = etree.iterparse(stored, tag="note", huge_tree=True, resolve_entities=False,
                                    no_network=True, load_dtd=False)  # fmt: skip
            number = 0
            try:
                for number, (_, note) in enumerate(notes, 1):  # noqa: B007  told below
                    yield from _drafts(note, file, seen, extractions)
                    note.clear()
                    while note.getprevious() is not None:
                        del note.getparent()[0]
            except etree.XMLSyntaxError as error:
                raise ValueError(f"it is damaged after note {number}: {error}") from None
        stated = _notes(file.path)
        if number != stated:
            why = f"{stated - number} of {stated} notes were not read: the file is damaged"
            yield LedgerEntry(f"{file.name}:count", "failed", why)


def _notes(path: Path) -> int:
    """How often a note begins in the file, whatever its XML says."""
    count, rest = 0, b""
    with open_regular_file(path, max_bytes=_MAX_BYTES) as file:
        while piece := file.read(2**20):
            count += (rest + piece).count(b"<note>")
            rest = piece[-5:]
    return count


def _drafts(
    note: Any, file: WholeFile, seen: dict[str, int], extractions: Extractions
) -> Iterator[Draft | LedgerEntry]:
    title = (note.findtext("title") or "").strip()
    made, changed = _time(note.findtext("created")), _time(note.findtext("updated"))
    said = f"{title}\n{note.findtext('created') or ''}"
    identity = hashlib.blake2b(said.encode(), digest_size=12).hexdigest()
    seen[identity] = count = seen.get(identity, 0) + 1
    identity = identity if count == 1 else f"{identity}#{count}"
    tags = tuple(dict.fromkeys((tag.text or "").strip() for tag in note.findall("tag")))
    attributes = note.find("note-attributes")
    given = {each.tag: each.text or "" for each in attributes} if attributes is not None else {}
    content = note.findtext("content") or ""
    metadata: dict[str, Any] = {
        "folder": Path(file.name).stem,
        "author": given.get("author", ""),
        "location": ", ".join(filter(None, (given.get("latitude"), given.get("longitude")))),
    }
    unread = ["an encrypted part of the note"] * ("<en-crypt" in content)
    files = []
    for number, resource in enumerate(note.findall("resource"), 1):
        for each in _file(resource, f"{identity}#{number}", title, made, file.name, extractions):
            if isinstance(each, Draft):
                files.append(each)
            else:
                unread.append(f"{each.item.rpartition(':')[2]}: {each.reason}")
                yield each
    text = _text(content)
    names = [each.title for each in files]
    if not text.strip() and not title and not files:
        yield LedgerEntry(f"{file.name}:{identity}", "left", "the note is empty")
        return
    metadata = {key: value for key, value in metadata.items() if value}
    yield Draft(
        kind="note",
        source=NAME,
        source_id=identity,
        text="\n\n".join(filter(None, [text, *(f"Attached: {name}" for name in names)])),
        title=title,
        created_at=made,
        updated_at=changed,
        url=given.get("source-url", "") if "://" in given.get("source-url", "") else "",
        tags=tuple(filter(None, tags)),
        metadata=with_unread(metadata, unread),
        links=tuple(Link(each.source_id, "attachment") for each in files),
    )
    yield from files


def _text(content: str) -> str:
    from mem_search.extractors.main_text import plain_text

    page = content.partition("<en-note")[2].partition(">")[2] if "<en-note" in content else content
    for box, sign in (('<en-todo checked="true"', "[x] "), ("<en-todo", "[ ] ")):
        page = page.replace(box, f"{sign}{box.replace('en-todo', 'span')}")
    return plain_text(f"<html><body>{page.replace('</en-note>', '')}</body></html>")


def _file(
    resource: Any, identity: str, title: str, at: int | None, notebook: str,
    extractions: Extractions,
) -> Iterator[Draft | LedgerEntry]:  # fmt: skip
    kind = (resource.findtext("mime") or "").strip().lower()
    name = (resource.findtext("resource-attributes/file-name") or "").strip()
    name = name.replace("\\", "/").rpartition("/")[2] or f"attachment.{kind.rpartition('/')[2]}"
    item = f"{notebook}:{identity}:{name}"
    try:
        data = base64.b64decode(resource.findtext("data") or "")
    except (binascii.Error, ValueError) as error:
        yield LedgerEntry(item, "failed", f"it is damaged: {error}")
        return
    if len(data) > _MAX_FILE_BYTES:
        why = f"it is larger than {_MAX_FILE_BYTES // 2**20} MB"
        yield LedgerEntry(item, "left", why)
        return
    with unpacking(), scratch_folder() as folder:
        place = Path(folder, "attachment")
        place.write_bytes(data)
        extracted = extractions.read(place, name)
    if isinstance(extracted, Refused):
        yield LedgerEntry(item, "left" if extracted.empty else "failed", extracted.reason)
        return
    metadata = {**extracted.metadata, "path": name, "media_type": kind, "attached_to": identity}
    yield Draft(
        kind="file",
        source=NAME,
        source_id=identity,
        text=extracted.text,
        title=extracted.title or Path(name).stem or title,
        created_at=extracted.created_at if extracted.created_at is not None else at,
        tags=extracted.tags,
        metadata=with_unread(metadata, extracted.unread),
    )


def _time(written: str | None) -> int | None:
    """``20240501T101500Z`` in ms since 1970."""
    return moment((written or "").strip())

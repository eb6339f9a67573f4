"""The source ``files``: documents and notes of a folder, or a single file.

``folder`` says what is read, ``extractors`` how. A file becomes one record, whose source id is its
path. The cursor has, for each item, a stamp of time and size and a hash of the content: a file
with the same stamp is not opened, and one with the same content is not processed again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from shlex import quote
from typing import Any, Final

from mem_search import sources
from mem_search.contracts import FileFormat
from mem_search.errors import SourceError
from mem_search.extractors import SUFFIXES, ocr
from mem_search.extractors.extraction import Extractions
from mem_search.extractors.refusal import Refused, Unreadable
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.model.ingest import Extracted, unread_of, with_unread
from mem_search.model.records import VARIETIES
from mem_search.patterns import pattern
from mem_search.platform import spelled
from mem_search.projects import Project, identify
from mem_search.records.registry import installed_kinds
from mem_search.regular_file import open_regular_file, path_of
from mem_search.sources.base import UPLOADED, BaseSource, BatchBuilder
from mem_search.sources.files.folder import MAX_BYTES, Seen, folders, look_at, walk
from mem_search.text.counted import counted as as_counted
from mem_search.text.search_fields import DATED_BY

_DIGEST: Final = 16
"""Characters of the hash of a content that a cursor keeps."""

_MAX_BATCH_CHARS: Final = 4_000_000
"""Characters in one batch, which is held in memory several times."""


_LEFT_TO: Final = "="
"""In place of a hash, before the name of the source that reads the file."""

_NOTION_ID: Final = pattern(r"(?<=\S)[ -][0-9a-f]{32}(?=(?:_all)?$)")

_LACKS_OCR: Final = "?ocr"
"""Marks a file that is to be read again once OCR is installed."""


class Files(BaseSource):
    """A location is a folder or a file. Progress is in files."""

    name = "files"
    follows = True
    file_format: FileFormat | None = FileFormat(
        SUFFIXES, ("text/plain", "text/markdown", "text/html", "application/pdf")
    )
    links = False
    """Whether the text of a page has its links, as Markdown."""

    def to_watch(self, location: Location) -> list[Path]:
        root = Path(location.path)
        # An editor replaces a file by another one, which only the folder tells.
        return folders(root) if root.is_dir() else [root.parent] if root.parent.is_dir() else []

    def elsewhere(self, path: Path) -> str:
        """The source that reads the file instead of this one; "" for none."""
        return sources.for_path(path)

    def draft(
        self, location: Location, item: str, name: str, read: Extracted, modified: int, project: str
    ) -> Draft:
        """The record of a file. Raises Unreadable for one that this source cannot store."""
        return _draft(location, item, name, read, modified, project)

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        root = Path(location.path)
        inside = spelled(root) if root.is_dir() else ""
        known: dict[str, list[str]] = dict(cursor.get("files", {}))
        try:
            seen = list(walk(root)) if root.is_dir() else [look_at(root)]
        except OSError as error:
            if not (isinstance(error, FileNotFoundError) and known and root.parent.is_dir()):
                raise SourceError(f"cannot read {root}: {error.strerror or error}") from error
            seen = []  # a single file that was deleted
        is_same = {"", _LACKS_OCR} if not ocr.available() else {""}
        changed = [
            each
            for each in seen
            if known.get(each.item, [""])[0] not in {each.stamp + end for end in is_same}
        ]
        gone = known.keys() - {each.item for each in seen}
        lost = tuple(f"{each.item}/".removeprefix("./") for each in seen if each.failed)
        gone = {item for item in gone if not item.startswith(lost)} if lost else gone
        if changed or gone:
            with closing(Extractions()) as extractions:
                looked = _look_at_all(self, location, known, changed, extractions, inside)
                with closing(looked):
                    counted = cursor.get("counted", [])
                    yield from _batches(
                        self, location, known, len(changed), sorted(gone), looked, counted
                    )


@dataclass(frozen=True, slots=True)
class _Looked:
    """What was found in a file: its hash and text, or the source that reads it, or an error."""

    digest: str = ""
    read: Extracted | Refused | None = None
    modified: int = 0
    by: str = ""
    error: str = ""
    was: str = ""
    """The hash before, and what was lacking then."""


def digests_of(cursors: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Path → (stamp, hash of the content or ""), from the cursors of locations by their path."""
    digests: dict[str, tuple[str, str]] = {}
    for location, cursor in cursors.items():
        for item, (stamp, digest) in cursor.get("files", {}).items():
            whole = location.endswith(f"/{item}")
            path = location if whole else f"{location.rstrip('/')}/{item}"
            # What gave no text has no hash, perhaps a word about what it lacks.
            digests[path] = (stamp, digest[:_DIGEST] if len(digest) >= _DIGEST else "")
    return digests


def left_to(location: str, cursor: Mapping[str, Any], path: str) -> str:
    """The source that reads the file at ``path`` in ``location``; "" where none does instead."""
    item = path.removeprefix(f"{location.rstrip('/')}/")
    _, digest = cursor.get("files", {}).get(item, ("", ""))
    return digest.removeprefix(_LEFT_TO) if digest.startswith(_LEFT_TO) else ""


def _batches(
    source: Files,
    location: Location,
    known: dict[str, list[str]],
    changed: int,
    gone: list[str],
    looked: Iterable[tuple[Seen, _Looked]],
    counted: Sequence[str],
) -> Iterator[Batch]:
    """The batches. ``counted`` are the sources whose files have an entry in the ledger so far."""
    root = Path(location.path)
    batch = BatchBuilder(total=changed + len(gone))
    near = root if root.is_dir() else root.parent
    project = Project("", "") if location.upload else identify(near)
    size = done = 0
    for done, item in enumerate(gone, 1):
        if len(known.pop(item)[1]) >= _DIGEST:
            batch.delete(identity_of(location, item), "it is no longer there", item)
        else:
            batch.outdate(item)
        if batch.is_full:
            yield batch.build({"files": dict(known), "counted": counted}, done)
    for done, (seen, look) in enumerate(looked, done + 1):  # noqa: B020  the count goes on
        was = known.get(seen.item, ["", ""])[1]
        digest, draft, lacks = "", None, ""
        if look.by:
            digest = f"{_LEFT_TO}{look.by}"
            batch.outdate(seen.item)
        elif seen.skipped:
            (batch.fail if seen.failed else batch.leave)(_shown(location, seen.item), seen.skipped)
        else:
            digest, draft, lacks = _file(source, location, seen, look, project.name, batch)
        if draft is not None:
            item = _shown(location, seen.item)
            placed = draft.project == project.name
            batch.take(replace(draft, place=project.place) if placed else draft, item)
            batch.note(LedgerEntry(item, "taken", _recognition(draft.metadata), records=1))
            size += len(draft.text)
        elif len(was) >= _DIGEST and len(digest) < _DIGEST:
            batch.drop(identity_of(location, seen.item))
        known[seen.item] = [seen.stamp + lacks, digest + lacks]
        if batch.is_full or size > _MAX_BATCH_CHARS:
            yield batch.build({"files": dict(known), "counted": counted}, done)
            size = 0
    if batch or done:
        left = Counter(digest for _, digest in known.values() if digest.startswith(_LEFT_TO))
        now = sorted(digest.removeprefix(_LEFT_TO) for digest in left)
        for name in {*counted, *now}:  # one entry: a mailbox may have many thousands of files
            item = f"files of the source {name}"
            if number := left[f"{_LEFT_TO}{name}"]:
                step = f"mem-search sync {name} {quote(str(root))}"
                reason = f"{as_counted(number, 'file')} for it: {step}"
                batch.leave(item, reason)
            else:
                batch.outdate(item)
        yield batch.build({"files": dict(known), "counted": now}, done)


def _look_at_all(
    source: Files,
    location: Location,
    known: Mapping[str, list[str]],
    changed: Sequence[Seen],
    extractions: Extractions,
    inside: str = "",
) -> Generator[tuple[Seen, _Looked], None, None]:
    """Each of ``changed`` in its turn, while the next ones are being read."""
    before = {each.item: known.get(each.item, ["", ""])[1] for each in changed}
    threads = ThreadPoolExecutor(extractions.count, "read-files")
    ahead: deque[tuple[Seen, Future[_Looked]]] = deque()
    try:
        for seen in changed:
            was = before[seen.item]
            look = partial(_look, source, location, seen, was, extractions, inside)
            ahead.append((seen, threads.submit(look)))
            if len(ahead) > 2 * extractions.count:
                first, looked = ahead.popleft()
                yield first, looked.result()
        while ahead:
            first, looked = ahead.popleft()
            yield first, looked.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        extractions.close()  # whatever is still being read is not wanted any more
        threads.shutdown()


def _look(
    source: Files,
    location: Location,
    seen: Seen,
    was: str,
    extractions: Extractions,
    inside: str,
) -> _Looked:
    """Read the file, unless another source does or its content has the hash ``was``.

    ``inside`` is the real path of the folder when it was listed.
    """
    root = Path(location.path)
    is_folder = root.is_dir()
    path = root / seen.item if is_folder else root
    if seen.skipped and not seen.is_large:
        return _Looked()
    if by := source.elsewhere(path) if is_folder else "":
        return _Looked(by=by)
    if seen.skipped:
        return _Looked()
    try:
        # Of a folder no link is followed, also not one that was a file when the folder was listed.
        with open_regular_file(
            path, max_bytes=MAX_BYTES, follow=not is_folder, inside=inside
        ) as file:
            digest = hashlib.file_digest(file, "blake2b").hexdigest()[:_DIGEST]
            if digest == was:
                return _Looked(digest)
            name, place = _name(location, path), path_of(file, path)
            read = extractions.read(place, name, links=source.links)
            modified = round(os.fstat(file.fileno()).st_mtime * 1000)
            return _Looked(digest, read, modified, was=was)
    except OSError as error:
        return _Looked(error=f"it cannot be read: {error.strerror or error}")


def _name(location: Location, path: Path) -> str:
    return location.options.get("name") or location.upload or path.name


def _file(
    source: Files,
    location: Location,
    seen: Seen,
    looked: _Looked,
    project: str,
    batch: BatchBuilder,
) -> tuple[str, Draft | None, str]:
    """The hash of what is stored of the file, its draft if that is new, and what it lacks."""
    item, read = _shown(location, seen.item), looked.read
    if looked.error:
        batch.fail(item, looked.error)
        return "", None, ""
    if read is None:
        return looked.digest, None, ""
    lacks = _LACKS_OCR if read.lacks else ""
    if isinstance(read, Refused) and looked.digest and looked.was.startswith(looked.digest):
        # The content is that of the record, which was read when less was tried: it stays.
        said = f"it is stored as it was read before; now it is not: {read.reason}"
        batch.note(LedgerEntry(item, "taken", said, records=1))
        return looked.digest, None, ""
    if isinstance(read, Refused):
        (batch.leave if read.empty else batch.fail)(item, read.reason)
        return "", None, lacks
    name = _name(location, Path(location.path) / seen.item)
    try:
        draft = source.draft(location, seen.item, name, read, looked.modified, project)
    except Unreadable as unusable:
        batch.fail(item, unusable.reason)
        return "", None, lacks
    return looked.digest, draft, lacks


def _recognition(metadata: Mapping[str, Any]) -> str:
    """For the ledger: what was recognised in pictures and how surely, and what was not read."""
    said = []
    if "ocr_confidence" in metadata:
        of = (
            f"{as_counted(metadata['ocr_pages'], 'scanned page')}"
            if "ocr_pages" in metadata
            else "its text"
        )
        sure = metadata["ocr_confidence"]
        by = metadata["ocr"]
        if languages := metadata.get("ocr_languages"):
            by += f" ({languages})"
        said.append(f"{of} recognised by {by} with confidence {sure}")
    if wrong := metadata.get("invalid_date"):
        said.append(f"{wrong!r} is not a date; the time of the file is used")
    return "; ".join([*said, *unread_of(metadata)])


def _draft(
    location: Location, item: str, name: str, read: Extracted, modified: int, project: str
) -> Draft:
    identity = identity_of(location, item)
    metadata = {
        **with_unread(read.metadata, read.unread), "path": location.upload or identity,
    }  # fmt: skip
    if location.options:
        return _as_sent(location.options, read, metadata, name)
    folder = PurePath(item).parent.as_posix()
    if read.kind == "note" and folder != ".":
        metadata.setdefault("folder", folder)
    return Draft(
        kind=read.kind,
        source="files",
        source_id=identity,
        text=read.text,
        title=read.title or _stem(name),
        created_at=read.created_at if read.created_at is not None else modified,
        updated_at=modified,
        project=project,
        url=read.url,
        tags=read.tags,
        metadata=metadata,
    )


def _stem(name: str) -> str:
    """The name without its ending, and without the id that Notion puts after it."""
    return _NOTION_ID.sub("", Path(name).stem)


def _as_sent(
    given: Mapping[str, str], read: Extracted, metadata: dict[str, Any], name: str
) -> Draft:
    """The draft of a document that was sent: what was said about it wins."""
    named = installed_kinds().named(given.get("source_type", ""))
    kind = None if named in VARIETIES else named
    created_at = read.created_at
    if "created_at" in given:
        created_at = int(given["created_at"])
    noted = {key: given[key] for key in ("source_type", "sha256", "fetched_from") if key in given}
    if "created_at" in given:
        noted[DATED_BY] = UPLOADED  # before any day that the document states
    return Draft(
        kind=kind or read.kind,
        source=given.get("source", UPLOADED),
        source_id=given["source_id"],
        text=read.text,
        title=given.get("title") or read.title or _stem(name),
        created_at=created_at,
        project=given.get("project", ""),
        url=given.get("url") or read.url or given.get("fetched_from", ""),
        tags=tuple(dict.fromkeys([*json.loads(given.get("tags", "[]")), *read.tags])),
        metadata={**metadata, **noted, **json.loads(given.get("metadata", "{}"))},
    )


def identity_of(location: Location, item: str) -> str:
    """The path of the file, or the name under which it was sent."""
    if location.upload:
        return location.upload
    root = Path(location.path)
    return str(root if root.name == item and not root.is_dir() else root / item)


def _shown(location: Location, item: str) -> str:
    return location.upload or item

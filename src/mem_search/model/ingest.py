"""From a source to the store: batches, prepared drafts, the ledger, and the index outbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

from mem_search.model.forgetting import Tombstone
from mem_search.model.graph import Cite
from mem_search.model.records import Draft, Kind, Passage
from mem_search.patterns import pattern


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What happened to one item (a path, a row, a line) that a source saw."""

    item: str
    outcome: Literal["taken", "left", "failed", "deleted"]
    reason: str = ""
    records: int = 0


@dataclass(frozen=True, slots=True)
class Location:
    """A place a source can read: ``files`` at ``~/notes``.

    ``upload`` is the original name of an uploaded file; ``path`` is then a temporary copy, and
    paths inside the file belong to another machine.
    """

    source: str
    path: str
    label: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    upload: str = ""


@dataclass(frozen=True, slots=True)
class StoredLocation(Location):
    """A location under the names that the store has for it: without secrets.

    ``storage.redacted.stored_location`` makes it, once for a reading; the store takes it as it is.
    """


_SHARED: Final = pattern(r"~\d\Z")
"""How ids end of what shares one (``storage/rules/readings.py``)."""


@dataclass(frozen=True, slots=True)
class WholeSession:
    """A session of which all lines of one file were read: ``given`` are the ids of its records.

    An observation with the id ``SESSION/LINE/…`` was made of a line of the session. One of
    ``lines`` that is not among ``given``, and that other ``rules`` made, is stale. The file knows
    nothing of what ended after its last line, at ``until`` (ms): a longer copy may have been read.
    """

    session: str
    lines: frozenset[str]
    given: frozenset[str]
    until: int | None = None
    rules: int = 0

    def stale(self, stored: Iterable[tuple[str, int, object]]) -> list[str]:
        """Which of the ``stored`` observations (id, end in ms, rules that made it) are stale."""
        return [
            source_id
            for source_id, ended, rules in stored
            if source_id not in self.given
            and rules != self.rules
            and (self.until is None or ended <= self.until)
            and self._has_line_of(source_id)
        ]

    def _has_line_of(self, source_id: str) -> bool:
        if _SHARED.search(source_id):  # another copy of the session has it
            return False
        line, slash = source_id.removeprefix(f"{self.session}/"), "/"
        while slash and line not in self.lines:  # the id of a line can have a slash
            line, slash, _ = line.rpartition("/")
        return line in self.lines


@dataclass(frozen=True, slots=True)
class Batch:
    """A step of reading a location, stored in one transaction together with ``cursor``.

    ``done``/``total`` are the progress after this batch in the source's own unit (bytes, rows,
    commits). ``deletions`` are source ids that the location no longer has. ``released`` are, too,
    but their records stay while another location of the source has them (``Source.having``); a name
    ``ID#CONTENT`` is also that of the record ``ID`` whose metadata ``CONTENT_ID`` is ``CONTENT``.

    For the ledger: earlier entries of the items in ``outdated`` are removed, with those of items
    inside them (``name:7`` in ``name``); an empty item is the whole location. ``places`` are the
    items that the drafts were read from, one for each draft; without them the source ids are used.
    ``item`` is one name for all drafts: its ``taken`` entry counts those that were really stored,
    and ``ledger`` then has none.

    ``shared``: other locations give the same records, as clones of a repository do. Such a record
    keeps the branch on which it was first read, and its project if that is another location's.

    ``tombstones`` refuse records that another store has forgotten. ``even_forgotten``: records
    that were forgotten are stored again. ``whole``: sessions that have been read whole with this
    batch; their stale observations are deleted.
    """

    drafts: tuple[Draft, ...] = ()
    deletions: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    ledger: tuple[LedgerEntry, ...] = ()
    cursor: Mapping[str, Any] = field(default_factory=dict)
    done: int = 0
    total: int = 0
    outdated: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    item: str = ""
    shared: bool = False
    tombstones: tuple[Tombstone, ...] = ()
    even_forgotten: bool = False
    whole: tuple[WholeSession, ...] = ()


@dataclass(frozen=True, slots=True)
class NewEdge:
    """An edge as its record states it: ``target`` as written, ``key`` as the normalized name.

    ``cites`` are the places of the text that state it, where it has the relation ``cites``.
    """

    target: str
    relation: str
    key: str
    origin: Literal["given", "found"]
    strength: float = 1.0
    cites: tuple[Cite, ...] = ()


@dataclass(frozen=True, slots=True)
class FollowedLocation:
    """A location that was read before: when (ms), and the error of the last attempt, if any.

    Only the worker that is ``here``, where it was read last, follows it: its files may be nowhere
    else.
    """

    location: Location
    followed: bool
    read_at: int
    error: str
    here: bool = True


OutboxStep = Literal["embed", "index", "delete"]


@dataclass(frozen=True, slots=True)
class VectorEntry:
    """What the vector index stores beside a vector.

    ``entry`` is ``2 * passage + half``: a long passage is embedded as two halves.
    """

    entry: int
    record: int
    doc_type: str
    created_at: int


@dataclass(frozen=True, slots=True)
class ToEmbed:
    """A passage that needs a vector: the text for the model, and the hash of that text."""

    passage: int
    title: str
    text: str
    digest: bytes
    above: str = ""


@dataclass(frozen=True, slots=True)
class PreparedDraft:
    """A draft that is ready to store: composed, redacted, and cut into passages."""

    draft: Draft
    facets: tuple[tuple[str, str], ...]
    passages: tuple[Passage, ...]
    parts: tuple[str, ...]
    """For each passage, the extra index terms of its text (see text/words.py)."""
    people: str
    """The people and attached files that the metadata names (see text/search_fields.py)."""
    hashes: tuple[bytes, ...]
    """For each passage, the hash of what is embedded: equal hash, equal vector."""
    content_hash: bytes
    edges: tuple[NewEdge, ...]
    names: tuple[str, ...]
    """The names by which other records may refer to it (see ingest/edges.py)."""
    sketch: bytes
    """The sketch that finds near-duplicates (see text/sketch.py)."""
    phrases: tuple[tuple[int, int], ...] = ()
    """Of a report or a page: phrases by their hash and place (see text/shared_phrases.py)."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The outcome of storing one draft; ``number`` is 0 for a forgotten one.

    ``forgotten_at`` is when that one was forgotten, in ms since 1970.
    """

    number: int
    outcome: Literal["new", "changed", "unchanged", "forgotten"]
    forgotten_at: int = 0


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """An entry of the ledger with its location (a path) and when it was written (ms)."""

    source: str
    location: str
    item: str
    outcome: str
    reason: str
    records: int
    at: int


@dataclass(frozen=True, slots=True)
class IngestCounts:
    """How many drafts of a batch were new, changed, unchanged, forgotten, failed or deleted."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    forgotten: int = 0
    failed: int = 0
    deleted: int = 0

    def __add__(self, other: IngestCounts) -> IngestCounts:
        return IngestCounts(
            self.new + other.new,
            self.changed + other.changed,
            self.unchanged + other.unchanged,
            self.forgotten + other.forgotten,
            self.failed + other.failed,
            self.deleted + other.deleted,
        )

    def after(self, before: IngestCounts, *, from_the_start: bool) -> IngestCounts:
        """The counts of a reading that was interrupted after ``before`` and went on with these.

        One that began ``from_the_start`` again has met everything of before once more.
        """
        if not from_the_start:
            return before + self
        return replace(
            self,
            new=before.new + self.new,
            changed=before.changed + self.changed,
            unchanged=max(0, self.unchanged - before.new - before.changed),
            deleted=before.deleted + self.deleted,
        )


_FORGOTTEN = "forgotten on {date}; to store it again: mem-search import --even-forgotten FILE"


def _day(at: int) -> str:
    """The date of a moment in ms since 1970, in UTC."""
    return datetime.fromtimestamp(at / 1000, UTC).date().isoformat()


def _names(source_id: str) -> Iterator[str]:
    """What the ledger may call it: a path in its location is without the location."""
    yield source_id
    while "/" in source_id:
        source_id = source_id.partition("/")[2]
        yield source_id


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """A batch that is ready to store: its drafts, what the ledger calls each, and failures.

    It has the rules of the ledger and of the counts, which are the same for every store.
    """

    batch: Batch
    drafts: tuple[PreparedDraft, ...]
    items: tuple[str, ...]
    failures: tuple[LedgerEntry, ...] = ()

    def ledger(self, stored: Sequence[Stored]) -> list[LedgerEntry]:
        """The ledger entries of the batch, from the outcome of each draft; the last one counts."""
        refused = [
            LedgerEntry(item, "left", _FORGOTTEN.format(date=_day(done.forgotten_at)))
            for item, done in zip(self.items, stored, strict=True)
            if done.outcome == "forgotten"
        ]
        batch, taken = self.batch, len(stored) - len(refused)
        together = [LedgerEntry(batch.item, "taken", records=taken)] if batch.item and taken else []
        told = {entry.item for entry in batch.ledger}
        partly = [
            LedgerEntry(item, "taken", "; ".join(unread), records=0 if batch.item else 1)
            for item, draft in zip(self.items, self.drafts, strict=True)
            if item not in told and (unread := unread_of(draft.draft.metadata))
        ]
        gone = [
            LedgerEntry(item, "deleted", "the source no longer has it")
            for item in batch.deletions
            if told.isdisjoint(_names(item))  # the source may state a better reason
        ]
        return [*gone, *together, *partly, *batch.ledger, *self.failures, *refused]

    def counts(self, stored: Sequence[Stored], deleted: int) -> IngestCounts:
        """The counts of the batch, from the outcome of each draft and the number of deleted
        records.
        """
        outcomes = Counter(item.outcome for item in stored)
        return IngestCounts(
            new=outcomes["new"],
            changed=outcomes["changed"],
            unchanged=outcomes["unchanged"],
            forgotten=outcomes["forgotten"],
            failed=sum(e.outcome == "failed" for e in (*self.failures, *self.batch.ledger)),
            deleted=deleted,
        )


OCR_PAGE_NUMBERS: Final = "ocr_page_numbers"
"""The metadata field with the pages, from 1, that were recognised; missing when all were."""

UNREAD: Final = "unread"
"""The metadata field with ``Extracted.unread``: the ledger and ``why`` tell it."""

MAX_UNREAD: Final = 20
"""Sentences of a record about what was not read; a last one counts the others."""
MAX_UNREAD_CHARS: Final = 300
"""Characters of such a sentence, which may quote the file."""

PAGE_BREAK: Final = "\f"
"""Between two pages of a text whose metadata has ``pages``; a citation counts them."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a file, and what the file says of itself.

    ``created_at`` is in ms since 1970. An empty ``text`` means that there is none to find the file
    by; ``note`` then says why. With several pages (slides), ``text`` has a PAGE_BREAK between two.

    ``unread`` says in plain sentences what the file holds and ``text`` has not: "page 2 and 3 are
    pictures and were not read". A record keeps them (``with_unread``).

    ``lacks`` is what must be installed to read more of the file: ``ocr``. ``rest`` is the page from
    which on nothing is read yet, because one call may not take longer; 0 when all is read.
    """

    text: str
    kind: Kind = "file"
    title: str = ""
    created_at: int | None = None
    url: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    unread: tuple[str, ...] = ()
    lacks: str = ""
    rest: int = 0


def with_unread(metadata: Mapping[str, Any], sentences: Iterable[str]) -> dict[str, Any]:
    """The metadata of a record with what was not read of its file, after what it says already."""
    said = dict.fromkeys([*unread_of(metadata), *(each[:MAX_UNREAD_CHARS] for each in sentences)])
    if not said:
        return dict(metadata)
    told, more = [*said][:MAX_UNREAD], len(said) - MAX_UNREAD
    return {**metadata, UNREAD: [*told, f"{more} more parts were not read"] if more > 0 else told}


def unread_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The sentences about what a record's file holds and its text has not."""
    said = metadata.get(UNREAD)
    return tuple(each for each in said if isinstance(each, str)) if isinstance(said, list) else ()

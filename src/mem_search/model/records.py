"""Stored records, their drafts, refs and citations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from mem_search.errors import InputError
from mem_search.model.projects import ProjectPlace
from mem_search.patterns import pattern

SAMPLE: Final = "sample"
"""The source of our own documents, read where a machine has nothing else. What a store suggests
leaves its records out; ``storage/sqlite`` names it in triggers, too."""

Kind = str
"""The name of a kind of record; ``records.registry`` has all kinds."""

HOLDINGS: Final[Mapping[Kind, str]] = {"report": "research", "website": "url-content"}
"""The kinds of an archive's documents, and the folder that holds each, as ``archive`` says it."""

VARIETIES: Final[Mapping[Kind, tuple[Kind, str]]] = {"commit": ("observation", "git")}
"""What people call a kind of its own → the kind and the source of its records. Stored records,
refs and replies have the kind; listings for people, filters and commands know the variety, too."""

OWN: Final = "own"
"""The metadata field of a commit whose address is the person's."""

KIND_PATTERN = "[a-z][a-z0-9_]{0,39}"
WHOLE_TEXT = "whole_text"
"""The metadata field with a text in its order, of whose parts only some are searched."""
ONLY_COPY = "only_copy"
"""The metadata field with quotes that no other record of the thread says. Its words count as those
of the text do, once for the whole record, and have no vector."""

_REF = pattern(rf"(?:local:)?({KIND_PATTERN}):([0-9]{{1,18}})")


CONTENT_ID = "content_id"
"""The metadata field of a draft whose source may give one ``source_id`` to different things, as
senders of mail do. A stored record with another value is not replaced: the draft gets the id
``source_id#content_id``."""


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """The name of a stored record: ``observation:42``. Numbers never collide between kinds."""

    kind: Kind
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"

    @classmethod
    def parse(cls, text: str, field: str = "ref") -> Self:
        """Read ``kind:number`` or ``local:kind:number``; else raise InputError naming ``field``.

        Only the form is checked: a store may hold records of kinds that are not installed.
        """
        match = _REF.fullmatch(text.strip())
        if match is None:
            raise InputError(
                f"{text!r} is not a ref; write kind:number, such as observation:42", field=field
            )
        return cls(match[1], int(match[2]))


@dataclass(frozen=True, slots=True)
class Link:
    """A pointer from one record to another: ``to`` is a ref, a source id or a URL."""

    to: str
    relation: str = "related"


READING: Final = "reading"
"""The metadata field with what is stored of a ``Reading``."""

SESSIONS: Final = "sessions"
"""The metadata field with the sessions that share a record, if there are several."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How much of a session was read when a draft was made of it (``storage/rules/readings.py``).

    ``events`` of the session up to the last one of the draft, by the version ``rules`` of what
    makes drafts. ``session`` is that of the file, whose name in the ledger is ``item``.
    ``is_copy``: the file has it as copied history. ``is_open``: more may come. ``is_told``: hooks
    told of it. Of a summary: hashes of the ids of its ``turns``, whether somebody gave its title,
    and, if several files tell of the session, the ``parts`` (``storage/rules/summaries.py``).
    """

    rules: int
    events: int
    session: str = ""
    item: str = ""
    is_copy: bool = False
    is_open: bool = False
    is_told: bool = False
    is_titled: bool = False
    turns: tuple[str, ...] = ()
    parts: tuple[Mapping[str, Any], ...] = ()

    @property
    def stored(self) -> dict[str, Any]:
        """What the record keeps of it."""
        kept = {
            "copy": self.is_copy, "open": self.is_open, "told": self.is_told,
            "titled": self.is_titled, "turns": [*self.turns], "parts": [*self.parts],
        }  # fmt: skip
        told = {name: value for name, value in kept.items() if value}
        return {"rules": self.rules, "events": self.events, **told}


@dataclass(frozen=True, slots=True)
class Draft:
    """A record that is not stored yet. ``(source, source_id)`` is its identity for ever;
    if a record of another kind has it already, the kind is appended (``storage/sql/ingest.py``).

    ``text`` is the canonical text: passages and citations are spans of it. ``session`` names
    the conversation the record belongs to, and drafts of one session arrive in its order.
    ``metadata`` holds what only this kind has (see ``records/``). ``earlier`` are kinds
    and source ids that may have had the same words: if one of them was forgotten after this draft
    was made, it is neither stored as a new record nor changes the stored one. ``SESSION`` of
    ``model.forgetting`` with a session: that is an agent's, whose words can be told again.
    ``reading`` is there for what an agent did. ``former`` are source ids of the same thing, as
    earlier versions gave them: such a record becomes this one.
    ``place`` says which project it is of on this machine; ``project`` has its name then, and
    ``project_id`` its number, when the writer has asked the store.
    """

    kind: Kind
    source: str
    source_id: str
    text: str
    title: str = ""
    created_at: int | None = None
    updated_at: int | None = None
    project: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    url: str = ""
    importance: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    earlier: tuple[tuple[Kind, str], ...] = field(default=(), repr=False)
    reading: Reading | None = field(default=None, repr=False)
    former: tuple[str, ...] = field(default=(), repr=False)
    place: ProjectPlace | None = field(default=None, repr=False, compare=False)
    project_id: int = field(default=0, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Record:
    """A stored draft: with a number, times, its position in the session, and its successor.

    ``opened_at`` is when somebody last opened it here.
    """

    number: int
    kind: Kind
    source: str
    source_id: str
    title: str
    text: str
    created_at: int
    updated_at: int
    project: str = ""
    session: str = ""
    position: int = 0
    tags: tuple[str, ...] = ()
    url: str = ""
    importance: float | None = None
    archived: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    superseded_by: Ref | None = None
    supersedes: tuple[Ref, ...] = ()
    opened_at: int | None = field(default=None, compare=False)

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.number)

    @property
    def called(self) -> Kind:
        """What people call its kind: a variety, where it is of one."""
        varieties = (name for name, of in VARIETIES.items() if of == (self.kind, self.source))
        return next(varieties, self.kind)


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a record comes from: ``CitationMetadata`` of the universal search contract.

    ``source_id`` is the ref. What the record does not state is empty or None. Times are
    milliseconds since 1970; ``accessed_at`` is when a person last read it. ``published_in`` is
    (year,) or (year, month) of a publication whose day is not known; ``published_at`` is None then.
    """

    source_id: str
    source_type: Kind
    source_title: str
    url: str = ""
    author: str = ""
    published_at: int | None = None
    created_at: int | None = None
    accessed_at: int | None = None
    folder: str = ""
    domain: str = ""
    published_in: tuple[int, ...] = ()

    @property
    def published_month(self) -> str:
        """``published_in`` as in ISO 8601: ``2024`` or ``2024-02``; "" for none."""
        parts = zip(self.published_in, (4, 2), strict=False)
        return "-".join(f"{part:0{width}}" for part, width in parts)


SUMMARY: Final = -1
"""The ordinal of the passage that is about a whole record; those of its text begin at 0."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The piece of a record that is indexed: ``record.text[start:end]`` of one ``field``.

    ``field`` is ``content``, ``code``, ``ocr`` or ``summary``. ``above`` are lines that say what it
    is about and are embedded before it: the headings above it, the head of its table. A summary has
    the ordinal SUMMARY; what ``above`` says of the whole record then stands in no span of the text.
    """

    ordinal: int
    start: int
    end: int
    field: str = "content"
    page: int | None = None
    above: str = ""


RecordWithLinks = tuple[Record, tuple[Link, ...]]
"""A record with its links, as opening and exporting show it."""

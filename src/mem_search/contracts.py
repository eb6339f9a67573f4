"""Every plug-in contract of mem-search. A plug-in is one file in the folder of its sort.

The ``__init__`` of the folder lists them; third parties register theirs in the entry-point groups
``mem_search.sources`` and ``mem_search.records``. The suites in ``tests/contracts`` run every
plug-in through the same tests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mem_search.model import Batch, Citation, DateRange, Draft, Filters, Kind, Location, Record
from mem_search.model.ingest import Extracted
from mem_search.model.rankings import Numbers, Ranking, Values
from mem_search.model.rankings import Vectors as Vectors
from mem_search.text.words import Words

if TYPE_CHECKING:
    from mem_search.storage.sql.snapshot import SearchSnapshot


@dataclass(frozen=True, slots=True)
class Machine:
    """What a source may look at to find its locations; ``projects`` are folders of known ones."""

    home: Path
    cwd: Path
    environ: Mapping[str, str]
    projects: tuple[str, ...] = ()


class RecordKind(Protocol):
    """One kind of record: its names, and how its records are indexed, shown and cited."""

    name: Kind
    """Lower-case letters, digits and ``_``: ``session_summary``."""
    plural: str
    """The word in routes and commands: ``observations``. Letters, digits and ``-``."""
    label: str
    """The word in listings: ``Observation``."""
    aliases: tuple[str, ...]
    """Further words that people use for the kind in filters: ``session`` for session summaries."""
    asked_as: ClassVar[Mapping[str, str]]
    """Words that ask for such records in a question, lower-case → the field of the query language
    that they mean: ``pdf`` → ``filetype:pdf``."""
    may_be_asked_as: ClassVar[Mapping[str, str]]
    """The same for words that often mean something else, such as ``note``: they raise records and
    filter none."""
    chat: bool
    """Whether records are turns of a talk: short texts that make sense among their neighbours.
    Keyword scores of turns depend less on length, and neighbours of a match are raised."""
    session: bool
    """Whether several matches in one session raise each other, as they do for chat turns."""

    cites: bool
    """Whether its records are research: the pages that their texts name are cited, with the place
    and its words, and not only mentioned."""

    threaded: bool
    """Whether records of one session are one talk that is read as a whole: a thread of mail."""
    coding: bool
    """Whether programs of agents have the kind, too. Clients rely on the route of such a kind;
    the others have the universal search as their successor."""
    documents: bool
    """Whether records are documents, whose texts state amounts, dates and the like
    (``metadata.extraction``)."""
    sparse_weight: float
    """What the sparse score counts where each leg counts 1; 0 for no sparse vectors."""
    source_type: str
    """Where such records come from, in the words of ``/api/v2``: ``direct_input``,
    ``document_upload``, ``web_scrape``, ``api_import``, ``conversation``, ``reflection`` or
    ``checkpoint``."""
    agent_source_type: str
    """The same for records from sessions of an agent; empty where that makes no difference."""
    origin: str
    """Who wrote such records: ``own_words`` of the person, ``own_work`` of an agent,
    ``tool_output`` of a program, or ``external``: anybody (``records.origin``)."""
    csl_type: str
    """The type of CSL-JSON by which the records are cited: ``document``, ``webpage``, ..."""
    genre: str
    """What a citation says the record is: ``Research report``; empty for nothing."""

    def compose(self, draft: Draft) -> Draft:
        """Validate metadata and complete the canonical text with what only metadata holds.

        Idempotent: ``compose(compose(d)) == compose(d)``. Raises InputError naming the field.
        """
        ...

    def own_text(self, record: Record) -> str:
        """The text of ``record`` without what ``compose`` has added from its metadata."""
        ...

    def whole_text(self, record: Record) -> str:
        """The text of ``record`` with what is not searched, such as what a mail quotes."""
        ...

    def facets(self, draft: Draft) -> Iterable[tuple[str, str]]:
        """(name, value) pairs to filter by: type, concept, file_read, file_modified, ..."""
        ...

    def icon(self, record: Record) -> str: ...

    def title(self, record: Record) -> str:
        """One line that names the record in a listing; never empty."""
        ...

    def detail(self, record: Record) -> Iterable[tuple[str, str]]:
        """(label, text) of every field that a full listing shows, in order."""
        ...

    def citation(self, record: Record) -> Citation:
        """Where the record comes from, as far as its metadata says; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class FileFormat:
    """How to recognise a file that a source reads: by the end of its name or by its MIME type.

    An uploaded file is stored under a name that ends with one of ``suffixes``.
    """

    suffixes: tuple[str, ...]
    content_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RankingTraits:
    """What ranking must know of the installed kinds: the names of those with a trait."""

    chat: tuple[Kind, ...] = ()
    session: tuple[Kind, ...] = ()
    sparse: Mapping[Kind, float] = field(default_factory=dict)
    """``sparse_weight`` of the kinds that have one."""
    sparse_in_session: tuple[Kind, ...] = ()
    """Those of them whose records have it in a session only: outside of one, observations are
    commits and issues, which lose by it."""


class Source(Protocol):
    """Where drafts come from. ``sources.base.BaseSource`` has defaults for most of it.

    ``read`` runs in a thread, yields batches of at most a few hundred drafts, and may be
    abandoned between two of them: the next call gets the cursor of the last batch that was
    stored. Reading twice must give the same ``(source, source_id)`` for the same thing.
    It raises SourceError when the location cannot be read, and never writes to it.
    """

    name: str
    follows: bool
    """Whether a location grows while the worker runs and is worth reading again."""

    @property
    def schemes(self) -> tuple[str, ...]:
        """The schemes of the URLs that may be its locations: ``imaps``; mostly none."""
        ...

    @property
    def file_format(self) -> FileFormat | None:
        """The format of files that it reads; None for a source that reads no single files."""
        ...

    def discover(self, machine: Machine) -> Iterable[Location]: ...

    def recognises(self, path: Path) -> bool:
        """Whether a file among others is of the source's format; never for one that any file is."""
        ...

    def locate(self, path: str) -> Location:
        """The location of an absolute ``path`` or a URL; equal for every way of writing it.

        Raises InputError for a URL that names none.
        """
        ...

    def pause(self, location: Location) -> float:
        """Seconds between two regular readings, if it is more than ``MEM_SEARCH_FOLLOW``."""
        ...

    def to_watch(self, location: Location) -> Iterable[Path]:
        """The folders in which a change means that the location should be read at once.

        None for a location for which the regular readings are enough.
        """
        ...

    def having(self, cursor: Mapping[str, Any], ids: Collection[str]) -> Collection[str]:
        """Those of ``ids``, as ``Batch.released`` names them, that the location with this cursor
        has. A source whose locations never have the same record has none.
        """
        ...

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        """Everything at ``location.path`` that is new since ``cursor``; {} is the start."""
        ...


class Extractor(Protocol):
    """The reader of a file format. It runs in a process with limits of time and memory."""

    name: str
    suffixes: tuple[str, ...]
    """Ends of the names of such files, with the dot and in lower case."""

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        """Whether the file, which begins with ``head``, is of this format."""
        ...

    def extract(self, path: Path, name: str) -> Extracted:
        """The text. ``name`` is what a person calls the file. Raises ``extractors.Unreadable``."""
        ...


@runtime_checkable
class PagedExtractor(Extractor, Protocol):
    """A reader whose files may take longer than the limits of one call allow."""

    def extract_from(self, path: Path, name: str, page: int) -> Extracted:
        """The text from ``page`` on, the first being 0, as far as it is read in half a minute."""
        ...


@runtime_checkable
class CountedExtractor(Extractor, Protocol):
    """A reader that counts what a file holds in a second, cheap way (``extractors.checking``)."""

    def held(self, path: Path) -> Iterator[tuple[str, str]]:
        """Each part that shows text, as a person calls it, and its words: not by ``extract``."""
        ...


@runtime_checkable
class LinkedExtractor(Extractor, Protocol):
    """A reader of a format whose links are not in its text."""

    def extract_with_links(self, path: Path, name: str) -> Extracted:
        """The text with its links to the web as Markdown: ``[words](https://…)``."""
        ...


class Embedder(Protocol):
    """Text to unit vectors. ``fingerprint`` identifies the space: spaces never mix."""

    name: str
    dimensions: int
    fingerprint: str

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Blocking and thread-safe. Raises ModelUnavailable."""
        ...


class Reranker(Protocol):
    """Question and texts to scores: an optional second look at the best hits."""

    name: str

    def score(self, question: str, texts: Sequence[str]) -> Values:
        """One finite score a text, the higher the better; scores of two questions do not compare.

        Blocking and thread-safe. Raises ModelUnavailable.
        """
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed search, the same for every leg. ``exact`` excludes the approximate index, so that
    equal searches have equal results. Records from ``times`` are raised, and so are those that pass
    one of ``lifts``, whose words are ``naming`` them. ``is_for_document``: it names the kind or the
    sender of what it is for, so that its times are those of the document itself. What passes one of
    ``leanings`` is raised a little. ``in_words``: what its filters demand was read in plain words.
    ``related`` are the records to which a question in two steps leads, the best first.
    """

    text: str
    words: Words
    filters: Filters
    exact: bool = False
    times: tuple[DateRange, ...] = ()
    lifts: tuple[Filters, ...] = ()
    is_for_document: bool = False
    naming: frozenset[str] = frozenset()
    leanings: tuple[Filters, ...] = ()
    in_words: bool = False
    related: tuple[int, ...] = ()


FeedbackScorer = Callable[[NDArray[np.intp]], tuple[Values, Values] | None]
"""Rows of the answers to move to → scores of all passages before and after, NaN where unknown; None
where no answer has a vector yet."""


Reading = Callable[["SearchSnapshot"], Ranking]
"""What ranks inside one read of the store. Blocking."""


class Retriever(Protocol):
    """Question to ranking. One leg of the search; legs do not know each other."""

    name: str
    scores_early: bool
    """Whether ``score`` can run before ``rank`` has finished."""
    space: str
    """The fingerprint of the model whose space the scores are of; empty where there is none."""

    async def rank(self, question: Question, depth: int) -> Ranking:
        """At least the best ``depth`` records that pass the filters, if there are so many.

        Raises Unavailable when this leg cannot answer at all.
        """
        ...

    async def reading(self, question: Question, depth: int) -> Reading | None:
        """What makes the same ranking in one read, which legs share. It waits for nothing: None
        where a model or an index is to be asked, beside which the other legs rank.
        """
        ...

    def score(
        self,
        snapshot: SearchSnapshot,
        question: Question,
        ranking: Ranking,
        records: Numbers,
    ) -> Values:
        """The exact score of each of ``records``, which the ranking does not list; NaN for none.

        Blocking: it runs inside a read of the store, together with what comes after it.
        """
        ...

    def feedback_scorer(
        self, snapshot: SearchSnapshot, question: Question, passages: Numbers
    ) -> FeedbackScorer | None:
        """What scores ``passages`` for the question moved towards some of them.

        It reads all that the scorer needs, which is then pure. None from a leg whose question
        cannot be moved. Blocking, as ``score``.
        """
        ...

"""Statistics: the store, the corpus that ranking needs, and the log of searches."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class LoggedSearch:
    """A search in the log. ``at`` is in ms since 1970; ``filters`` is a digest, "" for none."""

    at: int
    query: str
    filters: str
    mode: str
    total: int
    took_ms: float
    surface: str


@dataclass(frozen=True, slots=True)
class Click:
    """The record ``number`` was opened after a search for ``query``, at ``at`` (ms since 1970)."""

    at: int
    query: str
    number: int


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """A query of the log: how often and when last it was asked, and how much it found then."""

    query: str
    times: int
    last_at: int
    total: int


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """An embedding space that the store has vectors of."""

    number: int
    name: str
    fingerprint: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class StoreTotals:
    """``embedded`` and ``indexed`` are passages; coverage is indexed over passages."""

    records: dict[str, int]
    passages: int
    embedded: int
    indexed: int
    first_at: int | None
    last_at: int | None

    @property
    def coverage(self) -> float:
        return self.indexed / self.passages if self.passages else 1.0


@dataclass(frozen=True, slots=True)
class StoreSize:
    """Bytes that are ``stored``; ``free`` of them are for later writes."""

    stored: int
    free: int = 0


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """Whether searches are read from the replica at ``place``; ``detail`` says why not.

    ``used``: they are. ``behind``: it lacks too much, so the primary answers. ``away``: it cannot
    be read. ``alone``: it answers because the primary does not. ``lag_s``: what was written in the
    last so many seconds may be lacking; None where that is not known.
    """

    place: str
    state: Literal["used", "behind", "away", "alone"]
    lag_s: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """What ranking needs to know of the corpus: passages by kind, mean length in characters.

    ``waiting`` passages are not in the vector index yet; ``waiting_since`` is when the record of
    the oldest of these was stored, in milliseconds, None when nothing waits. ``summaries`` are in
    that index alone, so they count for the coverage and for nothing else. ``entries_per_record`` is
    how many vectors a record has on average, rather too many than too few.
    """

    passages: dict[str, int]
    lengths: dict[str, float]
    waiting: int
    waiting_since: int | None = None
    summaries: int = 0
    entries_per_record: float = 1.0
    size: int = field(init=False)
    """All passages without the summaries."""
    mean_length: float = field(init=False)
    """Over all passages, at least 1."""
    coverage: float = field(init=False)
    """The share of passages that are in the vector index; 1 for an empty store."""

    def __post_init__(self) -> None:
        size = sum(self.passages.values())
        total = sum(self.passages[kind] * self.lengths[kind] for kind in self.passages)
        entries = size + self.summaries
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "mean_length", max(1.0, total / max(1, size)))
        object.__setattr__(self, "coverage", 1.0 - self.waiting / entries if entries else 1.0)

    def of_kinds(self, kinds: Collection[str]) -> Corpus:
        """The statistics of a store that has only ``kinds``; nothing waits in it."""
        passages = {kind: count for kind, count in self.passages.items() if kind in kinds}
        return Corpus(passages, {kind: self.lengths[kind] for kind in passages}, 0)


@dataclass(frozen=True, slots=True)
class Searchable:
    """``complete`` records have every passage in the vector index; ``last_at`` is when the newest
    of these was stored, in milliseconds. ``relationships`` are stored edges with both ends here.
    """

    records: dict[str, int]
    complete: int
    relationships: int
    last_at: int | None

    @property
    def coverage(self) -> float:
        """The share of records that are complete, 1 for an empty store."""
        total = sum(self.records.values())
        return self.complete / total if total else 1.0


@dataclass(frozen=True, slots=True)
class ProjectTotals:
    """A project, how many records it has, and when its newest record was created."""

    name: str
    records: int
    last_at: int


@dataclass(frozen=True, slots=True)
class Examined:
    """What a store is seen to be without opening it; ``fix`` mends one that cannot be used."""

    is_whole: bool
    detail: str
    fix: str = ""

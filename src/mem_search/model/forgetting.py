"""Forgetting: what is removed beside the records, and the receipt that says how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mem_search.patterns import pattern

ForgetStep = Literal[
    "records", "uploads", "words", "copies", "quotes", "file", "vectors", "index"
]  # fmt: skip
"""What a forgetting has to do, in this order (``FORGET_STEPS``).

``records``: the records with everything derived from them. ``uploads``: files that were sent, whose
job has ended, and that hold their words; events of hooks and lines of transcripts that do, too.
``words``: terms in the full-text index. ``copies``: other files of the home that hold their words
are looked for, and named. ``quotes``: whatever else of the store names or quotes them, looked for a
second time. ``file``: free pages of the database, and its log. ``vectors``: entries of the vector
index. ``index``: the files of that index.
"""

FORGET_STEPS: Final[tuple[ForgetStep, ...]] = (
    "records", "uploads", "words", "copies", "quotes", "file", "vectors", "index"
)  # fmt: skip


Identity = tuple[str, str, str]
"""(source, source id, kind) of a record."""

SESSION: Final = "session"
"""The kind in the identity of a session, and in ``Draft.earlier`` of what an agent did in one."""


TOLD: Final = "told"
"""The same as ``SESSION``, where the times are when somebody told of it, and not when it was."""


def of_session(session: str) -> Identity:
    """The identity of a session, which several sources may tell."""
    return "", session, SESSION


@dataclass(frozen=True, slots=True)
class Copies:
    """What looking through the other files of the home found; forgetting leaves them as they are.

    ``looked_at`` is how many files were read, None when nobody looked: a purge knows no words.
    ``still_in`` are paths of files in the home that hold words of the forgotten records, and
    ``stamps`` say for each which content that was. ``unread`` are paths of files that could not be
    read, or not to their end. Of files that held words, ``gone`` are no longer there, and
    ``changed`` have other content by now.
    """

    looked_at: int | None = None
    still_in: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    stamps: tuple[str, ...] = field(default=(), compare=False)
    gone: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Copies:
        """From what ``dataclasses.asdict`` made of it; of a receipt that nobody looked for: {}."""
        lists = stored.keys() - {"looked_at"}
        return cls(stored.get("looked_at"), **{name: tuple(stored[name]) for name in lists})


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a forgetting has removed, by place, and which steps are still ``pending``.

    ``purge``: it cleans up after all earlier deletions, and removes no record. ``waiting`` says
    why a pending step does not go on. No text of a record is in it. Times are ms since 1970.
    """

    id: str
    purge: bool
    removed: Mapping[str, int]
    pending: tuple[ForgetStep, ...]
    waiting: str
    begun_at: int
    done_at: int | None
    copies: Copies = Copies()


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Refuses a record that was forgotten. ``digest`` is a keyed hash of its identity.

    The key is that of the store in which it was forgotten, see ``docs/adr/0021``.
    """

    key: bytes
    digest: bytes
    forgotten_at: int


MIN_PART_LETTERS: Final = 6
"""Letters of a word from which it is also recognised inside a longer one, as in an identifier."""

MAX_NAME_LETTERS: Final = 256
"""Letters of a word up to which it may be a name made of words; longer ones are encoded data."""

_MAX_WORD_LETTERS: Final = 64
_WORD: Final = pattern(r"[^\W_]+")
_REF: Final = pattern(r"\b[a-z_]+:[0-9]{1,18}\b")


def words_of(text: str) -> set[str]:
    """The words of ``text``, as the list of the store's words has them."""
    return set(_WORD.findall(text.lower()))


@dataclass(frozen=True, slots=True)
class Traces:
    """What gives forgotten records away: words that no other record has, their refs, and names of
    projects, sessions, sources and uploads, which are compared as wholes.
    """

    words: frozenset[str]
    refs: frozenset[str]
    names: frozenset[str] = frozenset()
    _lengths: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        lengths = {len(word) for word in self.words}
        usable = tuple(sorted(n for n in lengths if MIN_PART_LETTERS <= n <= _MAX_WORD_LETTERS))
        object.__setattr__(self, "_lengths", usable)

    def has_word(self, text: str) -> bool:
        """Whether ``text`` has one of the words, also inside a longer word. Linear in ``text``."""
        return any(word in self.words or self._has_part(word) for word in words_of(text))

    def has_ref(self, text: str) -> bool:
        return not self.refs.isdisjoint(_REF.findall(text))

    def found_in(self, texts: Iterable[str]) -> bool:
        """Whether one of ``texts`` names or quotes a forgotten record."""
        return any(
            text in self.names or self.has_ref(text) or self.has_word(text) for text in texts
        )

    def _has_part(self, word: str) -> bool:
        if len(word) > MAX_NAME_LETTERS:
            return False
        return any(
            word[start : start + length] in self.words
            for length in self._lengths
            for start in range(len(word) - length + 1)
        )

"""The kinds of record that this process knows: the built-in ones, then those of third parties.

The registry is built once per process and does not change. Every other part asks it: storage
through ``KIND_CODES``, ranking through ``KindRegistry.ranking``, the surfaces for names, routes
and schemas. A store may also hold records of a kind whose package was removed: ``get`` answers
with an ``UnknownKind`` for these, so that they can still be found and opened.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from mem_search.contracts import RankingTraits, RecordKind
from mem_search.errors import InputError
from mem_search.model import Kind, Ref
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.records import KIND_PATTERN
from mem_search.patterns import pattern
from mem_search.records import BUILT_IN, ENTRY_POINTS, VARIETIES
from mem_search.records.base import BaseKind, Metadata
from mem_search.text.plain_words import Vocabulary
from mem_search.validation import nearest

log = logging.getLogger(__name__)

_PLURAL = pattern("[a-z][a-z0-9-]{0,39}")
_MEMBERS = (
    *RecordKind.__annotations__,
    *(name for name in vars(RecordKind) if callable(getattr(RecordKind, name)) and name[0] != "_"),
)
"""Every attribute and method of the contract."""


PERSONAL: Final = "personal"
"""The word for ``PERSONAL_KINDS``, wherever kinds are named."""

PERSONAL_KINDS: Final[tuple[Kind, ...]] = ("note", "website", "file", "conversation", "memory")
"""The kinds of the universal search's contract: what a person keeps, not what agents did."""


class UnknownKind(BaseKind[Metadata]):
    """A kind that is not installed: its records show what all kinds have in common."""

    sign = "📦"
    model = Metadata

    def __init__(self, name: Kind) -> None:
        self.name = name
        self.plural = name.replace("_", "-")
        self.label = name.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True)
class BrokenKind:
    """An entry point that cannot be used, and why; ``words`` would have meant its kind."""

    entry_point: str
    reason: str
    words: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return (
            f"{ENTRY_POINTS} entry point {self.entry_point!r} cannot be loaded ({self.reason});"
            " correct its package and install it again, or uninstall it"
        )


class KindRegistry:
    """Kinds by name and by what people call them. Iterates over the kinds, built-in ones first."""

    def __init__(
        self,
        kinds: Iterable[RecordKind],
        broken: Iterable[BrokenKind] = (),
        varieties: Iterable[RecordKind] = (),
    ) -> None:
        self._by_name = {kind.name: kind for kind in kinds}
        self.varieties = {kind.name: kind for kind in varieties}
        self.names: tuple[Kind, ...] = tuple(self._by_name)
        self._by_word: dict[str, Kind] = {}
        for kind in (*self, *self.varieties.values()):
            label = kind.label.lower().replace(" ", "_")
            for word in (kind.name, kind.plural, label, *kind.aliases):
                self._by_word.setdefault(word, kind.name)
        self.broken = tuple(broken)
        self.vocabulary = Vocabulary((*self, *self.varieties.values()))
        self.ranking = RankingTraits(
            chat=tuple(kind.name for kind in self if kind.chat),
            session=tuple(kind.name for kind in self if kind.chat or kind.session),
            sparse={kind.name: kind.sparse_weight for kind in self if kind.sparse_weight},
            sparse_in_session=tuple(
                kind.name for kind in self if kind.sparse_weight and kind.session
            ),
        )
        KIND_CODES.codes(self.names)  # the installed kinds have the first codes

    def __iter__(self) -> Iterator[RecordKind]:
        return iter(self._by_name.values())

    def get(self, name: Kind) -> RecordKind:
        """The kind of a stored record, or a variety; an ``UnknownKind`` for what is neither."""
        return self._by_name.get(name) or self.varieties.get(name) or UnknownKind(name)

    def require(self, name: Kind) -> RecordKind:
        """The kind of a record to be stored. Raises InputError for one that is not installed."""
        if name in self._by_name:
            return self._by_name[name]
        known = ", ".join(self.names)
        told = f"{name!r} is not a kind of record; choose one of {known}{self.without}"
        raise InputError(told, field="kind")

    @property
    def without(self) -> str:
        """``; …`` for each entry point that is left out: what somebody misses may be its kind."""
        return "".join(f"; {each}" for each in self.broken)

    def meant_by(self, word: str) -> BrokenKind | None:
        """The entry point that is left out and whose kind the word would have meant."""
        word = word.strip().lower()
        return next((each for each in self.broken if word in each.words), None)

    def check(self, ref: Ref, field: str) -> None:
        """Raises InputError naming ``field`` when no installed kind is called like that of ``ref``.

        For a ref that is in no store: a record may outlive its kind.
        """
        if ref.kind not in self._by_name:
            raise InputError(
                f"{str(ref)!r} is not a ref: no kind of record is called {ref.kind!r};"
                f" choose one of {', '.join(self.names)}{self.without}",
                field=field,
            )

    def missing(self, counts: Mapping[Kind, int]) -> dict[Kind, int]:
        """Those of ``counts`` that belong to kinds that are not installed."""
        return {name: count for name, count in counts.items() if name not in self._by_name}

    def all_named(self, words: Iterable[str]) -> tuple[Kind, ...]:
        """The kinds that the words mean, each once; ``PERSONAL`` is several.

        Raises InputError for a word that is no kind.
        """
        kinds: dict[Kind, None] = {}
        for word in words:
            if word.strip().lower() == PERSONAL:
                kinds |= dict.fromkeys(kind for kind in PERSONAL_KINDS if kind in self._by_name)
            elif kind := self.named(word):
                kinds[kind] = None
            else:
                hint = self.meant_by(word) or nearest(word, [kind.plural for kind in self])
                raise InputError(
                    f"no kind of record is called {word[:60]!r}; {hint}", field="types"
                )
        return tuple(kinds)

    def named(self, word: str) -> Kind | None:
        """The kind or variety that a word means: name, plural, label or an alias; None for none."""
        return self._by_word.get(word.strip().lower())


@cache
def installed_kinds() -> KindRegistry:
    """The registry of this process. An entry point that cannot be used is logged and left out."""
    kinds = [load(EntryPoint(name, place, ENTRY_POINTS)) for name, (place, _) in BUILT_IN.items()]
    broken = []
    for entry in entry_points(group=ENTRY_POINTS):
        words = {entry.name.lower()}
        try:
            kind = load(entry)
            words |= {str(getattr(kind, of, "")).lower() for of in ("name", "plural")}
            _check(kind, kinds, entry.name)
        except Exception as error:  # noqa: BLE001 - foreign code may raise anything
            reason = f"{error}" or type(error).__name__
            broken.append(BrokenKind(entry.name, reason, frozenset(words)))
            log.error("%s", broken[-1])
        else:
            kinds.append(kind)
    varieties = [load(EntryPoint(name, at, ENTRY_POINTS)) for name, (at, _) in VARIETIES.items()]
    return KindRegistry(kinds, broken, varieties)


def load(entry: EntryPoint) -> RecordKind:
    """The kind that an entry point names: an object, or the class of one."""
    plugin: Any = entry.load()
    kind: RecordKind = plugin() if isinstance(plugin, type) else plugin
    return kind


def _check(kind: RecordKind, others: Iterable[RecordKind], entry_point: str) -> None:
    """Raise ValueError when ``kind`` lacks something, or has a name that is taken."""
    if missing := [member for member in _MEMBERS if not hasattr(kind, member)]:
        raise ValueError(f"{kind!r:.60} has no {', '.join(missing)}; derive it from BaseKind")
    if not re.fullmatch(KIND_PATTERN, kind.name):
        raise ValueError(f"name {kind.name!r} is not lower-case letters, digits and _")
    if not _PLURAL.fullmatch(kind.plural):
        raise ValueError(f"plural {kind.plural!r} is not lower-case letters, digits and -")
    for other in others:
        if kind.name == other.name or kind.plural == other.plural:
            raise ValueError(f"the kind {other.name} has this name or plural already")
    if entry_point != kind.plural:
        raise ValueError(f"name the entry point {kind.plural!r}: that is its command")

"""What callers write for a record: a ref, its number, or the id of another program. Pure.

Listings show ``#42``, so people and agents send that back, and ``S12`` or ``P12`` for a session
summary or a prompt. Clients of a program whose records were taken over know its own ids; each is
kept as an *alias* of the record, because our numbers differ: ``cm:2001``, ``cm:S12``, ``cm:P7``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from mem_search.errors import InputError
from mem_search.model import Kind, Ref
from mem_search.model.records import KIND_PATTERN, VARIETIES
from mem_search.patterns import pattern
from mem_search.text.words import STOP_WORDS, is_hash, runs_of

ALIASED: Final = "claude-mem"
"""The source whose own ids are aliases, written with ``cm:``."""

LETTERS: Final[dict[str, Kind]] = {"S": "session_summary", "P": "user_prompt"}
"""The letter before a number → the kind that it means."""

PATTERN: Final = (
    rf"(?:(?:(?:local:)?{KIND_PATTERN}:|#?[SPsp]?|[cC][mM]:#?[SPsp]?)[0-9]{{1,18}}"
    r"|(?:local:)?[cC]ommit:[0-9a-fA-F]{4,64}"
    r"|(?=[0-9]*[a-fA-F])(?=[a-fA-F]*[0-9])[0-9a-fA-F]{7,64})"
)
"""Every form of an id, as a regular expression that JSON Schema reads, too."""

MAX_IDS: Final = 8
"""Ids of one question that are looked up."""

RECORD_ID: Final = pattern(PATTERN)

_COMMIT: Final = pattern(r"(?:local:)?commit:([0-9a-f]{4,64})", re.IGNORECASE)
_MIN_HASH: Final = 7
"""Characters from which digits alone are a hash, as short as git writes one; ``commit:42`` is a
number."""
_ALIAS: Final = pattern(r"cm:#?([SP]?)([0-9]{1,18})", re.IGNORECASE)
_SHORT: Final = pattern(r"#?([SP]?)([0-9]{1,18})", re.IGNORECASE)
_MAX_DIGITS: Final = 18
_ALIASES: Final = "cm"
_FOREIGN: Final = pattern(rf"(?:local:)?({KIND_PATTERN}):([A-Za-z0-9._-]{{1,80}})")
_ROW: Final = pattern(r"(?:[0-9a-f]{8}:)?([a-z_]+):([0-9]{1,18})")
_LETTER_OF: Final = {"observation": "", **{kind: letter for letter, kind in LETTERS.items()}}
_ID_LIKE: Final = pattern(r"[:#SsPp]\d|commit:|[0-9a-f]{7}", re.IGNORECASE)
"""Without any of these a text has no id. Most questions have none."""
_MAX_ID_CHARS: Final = 100
_TOKEN: Final = pattern(r"[^\s\"'`<>()\[\]{}|,;]+")
_ASKING: Final = STOP_WORDS | frozenset("find get give id number open record ref see show".split())
"""Words beside an id that ask for nothing else."""


@dataclass(frozen=True, slots=True)
class RecordId:
    """A ``number``, of the ``kind`` unless that is empty; or an ``alias``, with neither; or the
    beginning of the hash of a ``commit``.

    ``foreign`` is the id that another program would give a record of the kind, such as a UUID: no
    record here has it.
    """

    number: int = 0
    kind: Kind = ""
    alias: str = ""
    foreign: str = ""
    commit: str = ""

    def __str__(self) -> str:
        if self.foreign:
            return f"{self.kind}:{self.foreign}"
        if self.commit:
            return f"commit:{self.commit}"
        return self.alias or (f"{self.kind}:{self.number}" if self.kind else f"#{self.number}")

    @property
    def as_alias(self) -> str:
        """The alias of what ``ALIASED`` calls so; empty for an alias and for kinds of ours."""
        letter = _LETTER_OF.get(self.kind or "observation")
        if self.alias or self.foreign or self.commit or letter is None:
            return ""
        return f"cm:{letter}{self.number}"

    @classmethod
    def of(cls, ref: Ref) -> Self:
        """The id that is a ref."""
        return cls(ref.number, ref.kind)

    @classmethod
    def parse(cls, text: str, field: str = "ref") -> Self:
        """Read any form of an id. Raises InputError naming ``field``."""
        written = text.strip()
        if match := _ALIAS.fullmatch(written):
            return cls(alias=f"cm:{match[1].upper()}{int(match[2])}")
        commit = _COMMIT.fullmatch(written)
        if commit and (not commit[1].isdecimal() or len(commit[1]) >= _MIN_HASH):
            return cls(commit=commit[1].lower())
        if match := _SHORT.fullmatch(written):
            return cls(int(match[2]), LETTERS.get(match[1].upper(), ""))
        match = _FOREIGN.fullmatch(written)
        is_number = match and match[2].isdecimal() and len(match[2]) <= _MAX_DIGITS
        if match and match[1] != _ALIASES and not is_number:
            return cls(kind=match[1], foreign=match[2])
        if is_hash(written.lower()):
            return cls(commit=written.lower())
        try:
            ref = Ref.parse(written)
            return cls(ref.number, VARIETIES.get(ref.kind, (ref.kind, ""))[0])
        except InputError as error:
            more = f"the number alone, or cm:2001 for an id of {ALIASED}"
            raise InputError(f"{error.message}, {more}", field=field) from None


def alias_of(source: str, source_id: str) -> str:
    """The alias of a record that came from ``ALIASED``; empty for any other record."""
    row = _ROW.fullmatch(source_id) if source == ALIASED else None
    if row is None or row[1] not in _LETTER_OF:
        return ""
    return f"cm:{_LETTER_OF[row[1]]}{int(row[2])}"


def is_of_default_store(source_id: str) -> bool:
    """Whether a row of ``ALIASED`` is from the store where it keeps its data by default."""
    return _ROW.fullmatch(source_id) is not None and source_id.count(":") == 1


def find(text: str) -> tuple[RecordId, ...]:
    """The first ids in a question, each once. Never raises, linear in time.

    ``#42``, ``S12`` and ``P12`` may mean something else, such as an issue: they count only where
    the question asks for nothing else. A number alone is no id.
    """
    if not _ID_LIKE.search(text):
        return ()
    sure: dict[RecordId, None] = {}
    maybe: dict[RecordId, None] = {}
    rest = False
    for match in _TOKEN.finditer(text):
        written = match[0].rstrip(".:!?")
        try:
            is_word = written.isdecimal() or len(written) > _MAX_ID_CHARS
            record_id = None if is_word else RecordId.parse(written)
            record_id = None if record_id is not None and record_id.foreign else record_id
        except InputError:
            record_id = None
        if record_id is None:
            rest = rest or not _ASKING.issuperset(runs_of(written))
        elif _SHORT.fullmatch(written):
            maybe[record_id] = None
        else:
            sure[record_id] = None
    return tuple({**sure, **({} if rest else maybe)})[:MAX_IDS]

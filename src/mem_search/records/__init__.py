"""The kinds of record, one file each, and how to find one by its name or its plural.

To add a kind: a file here, a line in ``KINDS``, its name in ``model.Kind``. Packages of third
parties add theirs through the entry-point group ``mem_search.records``, whose entries name an
object that implements ``contracts.RecordKind``; a built-in kind cannot be replaced.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from mem_search.contracts import RecordKind
from mem_search.errors import InputError, MemSearchError
from mem_search.model import Kind
from mem_search.records.conversation import Conversation
from mem_search.records.email import Email
from mem_search.records.file import File
from mem_search.records.memory import Memory
from mem_search.records.note import Note
from mem_search.records.observation import Observation
from mem_search.records.report import Report
from mem_search.records.session_summary import SessionSummary
from mem_search.records.user_prompt import UserPrompt
from mem_search.records.website import Website

ENTRY_POINTS = "mem_search.records"

KINDS: tuple[RecordKind, ...] = (
    Observation(),
    SessionSummary(),
    UserPrompt(),
    Note(),
    Website(),
    File(),
    Conversation(),
    Memory(),
    Email(),
    Report(),
)


_BUILT_IN: dict[str, RecordKind] = {kind.name: kind for kind in KINDS}


def by_name(kind: str) -> RecordKind:
    """The kind called ``observation``, ...; raises InputError listing the names."""
    # The built-in ones first: looking for third parties reads the metadata of every package.
    built_in = _BUILT_IN.get(kind)
    return built_in or _pick(kind, {known.name: known for known in installed()})


def kind_called(word: str) -> Kind | None:
    """The kind that a word means: its name, its plural, or what people call it; None for none."""
    word = word.strip().lower()
    for kind in installed():
        if word in (kind.name, kind.plural, kind.label.lower().replace(" ", "_")):
            return kind.name
    return _CALLED.get(word)


_CALLED: dict[str, Kind] = {
    "session": "session_summary",
    "summary": "session_summary",
    "summaries": "session_summary",
    "prompt": "user_prompt",
}


@cache
def installed() -> tuple[RecordKind, ...]:
    """The built-in kinds, then those of third parties; raises MemSearchError naming a bad one."""
    others = []
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            kind: RecordKind = entry.load()
        except Exception as error:  # foreign code may raise anything when imported
            raise MemSearchError(
                f"{ENTRY_POINTS} entry point {entry.name!r} cannot be loaded ({error}); "
                "repair or uninstall its package"
            ) from error
        others.append(kind)
    return (*KINDS, *(kind for kind in others if kind.name not in _BUILT_IN))


def _pick(word: str, kinds: dict[str, RecordKind]) -> RecordKind:
    if word not in kinds:
        raise InputError(
            f"{word!r} is no kind of record; known are {', '.join(kinds)}", field="kind"
        )
    return kinds[word]

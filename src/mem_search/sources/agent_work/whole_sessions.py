"""Which sessions a reading of a whole file has read, and which records it gave of each.

Rules change from version to version, and with them where steps end and which sentences are
decisions. The store deletes what earlier rules made of the same lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mem_search.model import Draft
from mem_search.model.ingest import WholeSession
from mem_search.sources.agent_work.events import Line


@dataclass(slots=True)
class _Session:
    lines: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)
    until: int | None = None


class WholeSessions:
    """Collects lines and drafts of one file, from its start to its end."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = defaultdict(_Session)
        self._current = ""

    def saw(self, line: Line) -> None:
        """``line`` was read; one that names no session belongs to that of the line before."""
        self._current = line.session or self._current
        session = self._sessions[self._current]
        session.lines.add(line.uuid)
        if line.at is not None:
            session.until = max(line.at, session.until or line.at)

    def gave(self, drafts: Iterable[Draft]) -> None:
        """These records were made; a prompt that waited has an id beside that of its line."""
        for draft in drafts:
            session = self._sessions[draft.session]
            session.given.add(draft.source_id)
            if draft.kind == "user_prompt":
                session.lines.add(draft.source_id.removeprefix(f"{draft.session}/"))

    def ended(self) -> Iterator[WholeSession]:
        """The sessions, at the end of the file."""
        for name, each in self._sessions.items():
            if name and each.lines:
                yield WholeSession(name, frozenset(each.lines), frozenset(each.given), each.until)

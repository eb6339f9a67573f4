"""Which of two readings of a session is kept: the one that knows more. Pure.

One thing that an agent or a person did is one record, however many files have it: copies,
backups, forks, sessions that hooks tell of. A reading replaces a record only if it covers at least
as much of the session, and nothing is deleted because another file lacks it. A copy in another
session's file tells which sessions share the record; the file in which it was written first says
the rest.

Copies of a session that went on differently can give one id to different things: the same prompt
with two answers. What neither goes on with what is stored nor is how it began is a thing of its own
and gets the id with ``~2``, ``~3``, in the order in which they were read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from mem_search.model import Draft, LedgerEntry
from mem_search.model.ingest import PreparedDraft, Stored
from mem_search.model.records import READING, SESSIONS, Reading
from mem_search.storage.rules.identities import MAX_SHARING, sharing
from mem_search.storage.rules.summaries import SUMMARY
from mem_search.text.embedded_data import begins_alike, plain_words

TOLD_LATE_MS: Final = 60_000
"""Hooks may tell of something so much later than the transcript has it."""

SAID: Final = (
    "coalesce(data ->> 'narrative', case kind when 'observation' then title else body end)"
)
"""The column with what was said, which grows at its end."""

DONE: Final = ("facts", "files_read", "files_modified")
"""The metadata of a step that says what was done in it."""

_PROMPT: Final = "user_prompt"
_MAIN: Final = ("main", "")


class ReadBefore(NamedTuple):
    """A stored record; ``reading`` is what it keeps of its ``Reading``, if there was one.

    ``said`` and ``done`` tell it apart from another thing that has its id.
    """

    source_id: str
    number: int
    kind: str
    session: str
    created_at: int
    updated_at: int
    agent: str
    reading: Mapping[str, Any]
    sessions: tuple[str, ...]
    said: str = ""
    done: frozenset[str] = frozenset()

    @classmethod
    def of(cls, row: Sequence[Any]) -> ReadBefore:
        columns, (agent, reading, shared, *told) = row[:6], row[6:]
        kept = json.loads(reading or "{}"), tuple(json.loads(shared or "[]"))
        said, done = (told[0], told[1:]) if told else ("", [])
        did = _done(*(json.loads(each or "[]") for each in done))
        values = [*columns, agent or "", *kept, said, did]
        return cls(*values)

    @property
    def is_told(self) -> bool:
        return bool(self.reading.get("told"))

    @property
    def kept(self) -> dict[str, Any]:
        """The metadata of the record; it does not count for whether a draft changes it."""
        shared = {SESSIONS: list(self.sessions)} if self.sessions else {}
        return {READING: dict(self.reading), **shared} if self.reading else shared

    @property
    def rank(self) -> tuple[object, ...]:
        of = self.reading
        return _rank(self.kind, of["events"], of, self.agent, self.created_at, self.updated_at)


def _rank(
    kind: str, events: int, flags: Mapping[str, Any], agent: str, created: int, updated: int
) -> tuple[object, ...]:
    """What a reading knows. Of copies the earliest is kept: each has the times of its fork; and of
    a prompt, which does not go on: where a file has no time of it, what came later gives one.
    """
    is_copy = bool(flags.get("copy"))
    at = -created if is_copy or kind == _PROMPT else updated
    return events, not is_copy, not flags.get("open"), agent in _MAIN, at


def ids_of(drafts: Iterable[Draft]) -> Iterator[str]:
    """The source ids of stored records that decide what becomes of ``drafts``."""
    for draft in drafts:
        if draft.reading is not None:
            own, other = draft.source_id, apart(draft)
            yield from (*_sharing(draft, own), *_sharing(draft, other), *draft.former)
            if draft.reading.is_told:
                yield f"{draft.session}/summary"


def apart(draft: Draft) -> str:
    """The id of a draft whose own id is that of something else, in another session."""
    return f"{draft.session}/{draft.source_id}"


def _sharing(draft: Draft, source_id: str) -> list[str]:
    """The ids that it may have, where its session has copies; summaries are joined instead."""
    return sharing(source_id) if draft.kind != SUMMARY else [source_id]


def _said(draft: Draft) -> str:
    """As ``SAID`` of a stored record: of a decision its title, whose reasons may be elsewhere."""
    text = draft.title if draft.kind == "observation" else draft.text
    return str(draft.metadata.get("narrative", text))


def _done_by(draft: Draft) -> frozenset[str]:
    return _done(*(draft.metadata.get(name) or () for name in DONE))


def _done(facts: Iterable[str] = (), *files: Iterable[str]) -> frozenset[str]:
    """What was done, so that it can be compared: a copy may not know of which folder files are."""
    names = (path.replace("\\", "/").rpartition("/")[2] for paths in files for path in paths)
    return frozenset(map(plain_words, (*facts, *names)))


@dataclass(slots=True)
class Settled:
    """What becomes of offered drafts. ``items`` has for each what is stored, or what stays.

    ``renamed``: number → its id from now on. ``merged`` are records that are one with another,
    ``noted`` has for source ids what the record keeps of readings, ``until`` of told sessions when
    the transcript's last event was. ``shorter``: file → why what is stored stays.
    """

    items: list[PreparedDraft | Stored] = field(default_factory=list)
    renamed: dict[int, str] = field(default_factory=dict)
    merged: dict[int, LedgerEntry] = field(default_factory=dict)
    noted: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    until: dict[tuple[str, str], int] = field(default_factory=dict)
    shorter: dict[str, str] = field(default_factory=dict)

    @property
    def ledger(self) -> list[LedgerEntry]:
        """What the ledger says of it, after what it says of the files."""
        left = (LedgerEntry(item, "left", why) for item, why in self.shorter.items())
        return [*self.merged.values(), *left]


def settled(
    offered: Sequence[PreparedDraft], stored: Mapping[tuple[str, str], ReadBefore]
) -> Settled:
    """``offered`` in order, against what is ``stored`` by (source, source id)."""
    settled, known = Settled(), dict(stored)
    places: dict[tuple[str, str], list[int]] = {}
    for item in offered:
        becomes: PreparedDraft | Stored = item
        if item.draft.reading:
            gone: list[tuple[str, str]] = []
            becomes = _settle(item, known, settled, gone)
            for key in gone:  # what was offered under it before is this record
                for place in places.pop(key, ()):
                    settled.items[place] = Stored(0, "unchanged")
        if isinstance(becomes, PreparedDraft):
            key = (becomes.draft.source, becomes.draft.source_id)
            places.setdefault(key, []).append(len(settled.items))
        settled.items.append(becomes)
    return settled


def _settle(
    item: PreparedDraft,
    known: dict[tuple[str, str], ReadBefore],
    settled: Settled,
    gone: list[tuple[str, str]],
) -> PreparedDraft | Stored:
    """What becomes of ``item``; ``gone`` gets the ids that earlier records had and it takes."""
    draft, reading = item.draft, item.draft.reading
    assert reading is not None
    old = known.get((draft.source, draft.source_id))
    if old is not None and _is_another(draft, old):
        draft = replace(draft, source_id=apart(draft), former=())
    own = _sharing(draft, draft.source_id)
    draft = _with_own_id(draft, reading, known)
    old = known.get((draft.source, draft.source_id))
    if old is not None and not _is_alike(draft, reading, old):
        why = f"more than {MAX_SHARING} copies of session {draft.session} went on differently"
        settled.shorter[reading.item or draft.source_id] = why
        return Stored(old.number, "unchanged")
    key, was_taken = (draft.source, draft.source_id), False
    for former in draft.former:
        before = known.get((draft.source, former))
        if before is None or before.kind != draft.kind or former in own:
            continue
        if not reading.is_copy and draft.session in before.sessions:
            return Stored(before.number, "unchanged")  # it is known as copied history
        if before.reading and not _is_same(draft, reading, before):
            continue
        del known[draft.source, former]
        gone.append((draft.source, former))
        if old is None:
            # Earlier rules gave what a fork did to its parent, which shares nothing of it. What a
            # copy did not know the origin of belongs to the session that another one names.
            is_better = not before.reading
            if reading.is_copy:
                is_better = bool(before.reading) and reading.events >= before.reading["events"]
            is_of_another = before.session != draft.session
            was_taken = (is_of_another and is_better) or not before.number
            old = before._replace(session="") if was_taken else before
            settled.renamed[before.number] = draft.source_id
        else:
            reason = f"it is one record with {draft.source_id}"
            settled.merged[before.number] = LedgerEntry(former, "deleted", reason)
    told_of = known.get((draft.source, f"{draft.session}/summary"))
    if reading.is_told and told_of is not None and _covers(told_of, draft):
        return Stored(old.number if old else 0, "unchanged")
    takes = old is None or was_taken or _replaces(draft, reading, old)
    carriers = {draft.session, reading.session, *((old.session, *old.sessions) if old else ())}
    sessions = tuple(sorted(filter(None, carriers)))
    sessions = sessions if len(sessions) > 1 else ()
    now = _known(draft, reading, old, sessions)
    if old is not None and not takes:
        now = old._replace(sessions=sessions)
        goes_on = (draft.updated_at or 0) > old.updated_at  # a part of the session, and no copy
        is_own = not (goes_on or reading.is_copy or reading.is_told)
        if draft.kind == SUMMARY and reading.item and is_own:
            settled.shorter[reading.item] = _shorter(draft.session, reading, old)
    elif draft.kind == SUMMARY and not (reading.is_copy or reading.is_told):
        settled.until[draft.source, draft.session] = (draft.updated_at or 0) + TOLD_LATE_MS
    known[key] = now
    if old is not None and (now.reading, now.sessions) != (old.reading, old.sessions):
        settled.noted[key] = now.kept
    if old is not None and not takes:
        return Stored(old.number, "unchanged")
    return replace(item, draft=replace(draft, metadata={**draft.metadata, **now.kept}))


def _shorter(session: str, reading: Reading, old: ReadBefore) -> str:
    events = old.reading.get("events", 0)
    of_all = f" ({reading.events} of {events} events)" if events > reading.events else ""
    return f"a shorter copy of session {session}{of_all}; what is stored of it stays"


def _is_another(draft: Draft, old: ReadBefore) -> bool:
    """Whether a record of another session has the id by chance, and is not the same event."""
    return (
        old.session != draft.session
        and draft.session not in old.sessions
        and old.created_at != draft.created_at
        and not draft.source_id.startswith(f"{draft.session}/")
    )


def _with_own_id(
    draft: Draft, reading: Reading, known: Mapping[tuple[str, str], ReadBefore]
) -> Draft:
    """The draft with the id of the record that it goes on with, else with one that is free."""
    ids = _sharing(draft, draft.source_id)
    stored = {each: known[draft.source, each] for each in ids if (draft.source, each) in known}
    alike = [each for each, old in stored.items() if _is_alike(draft, reading, old)]
    # What other rules made may be alike by its moment only.
    alike.sort(key=lambda each: stored[each].created_at != draft.created_at)
    alike.sort(key=lambda each: stored[each].reading.get("rules") != reading.rules)
    free = [each for each in ids if each not in stored]
    return replace(draft, source_id=[*alike, *free, ids[-1]][0])


def _is_alike(draft: Draft, reading: Reading, old: ReadBefore) -> bool:
    """Whether ``old`` is the same thing, of which one says more. Copied history is that of its
    session, and hooks tell only a part.
    """
    if reading.is_copy or reading.is_told or old.is_told or old.reading.get("copy"):
        return True
    if draft.kind == SUMMARY:
        return True
    if old.reading.get("rules") != reading.rules:  # by which only a turn begins where it did
        is_later = draft.source_id.rpartition("/")[2].isdecimal()
        if is_later or old.created_at == draft.created_at:
            return True
    elif not ((done := _done_by(draft)) <= old.done or old.done <= done):
        return False
    return begins_alike(_said(draft), old.said)


def _is_same(draft: Draft, reading: Reading, before: ReadBefore) -> bool:
    """Whether ``before`` is this event under the id that earlier rules gave it, or this copy, read
    when less was known of where it was written first.
    """
    is_as_old = before.created_at == draft.created_at
    if before.reading.get("rules") != reading.rules and is_as_old:
        return True
    if not reading.is_copy:
        return False
    return before.session == reading.session or (bool(before.reading.get("copy")) and is_as_old)


def _covers(summary: ReadBefore, told: Draft) -> bool:
    """Whether the transcript of a session has what hooks told."""
    return not summary.is_told and (told.updated_at or 0) <= summary.updated_at + TOLD_LATE_MS


def _replaces(draft: Draft, reading: Reading, old: ReadBefore) -> bool:
    updated = draft.updated_at if draft.updated_at is not None else draft.created_at or 0
    if old.reading.get("rules") != reading.rules:
        # What the rules of another version made is made anew, but not of less. Earlier ones let
        # the last file win: what begins at another time is of another file.
        if reading.is_copy and not old.reading.get("copy"):
            return False
        if not (reading.is_copy or old.reading) and draft.created_at != old.created_at:
            return True
        return not reading.is_open or updated >= old.updated_at
    if old.is_told and not reading.is_told:
        return updated + TOLD_LATE_MS >= old.updated_at
    agent = str(draft.metadata.get("agent", ""))
    created = draft.created_at or 0
    mine = _rank(draft.kind, reading.events, reading.stored, agent, created, updated)
    return mine >= old.rank


def _known(
    draft: Draft, reading: Reading, old: ReadBefore | None, sessions: tuple[str, ...]
) -> ReadBefore:
    created = draft.created_at if draft.created_at is not None else old.created_at if old else 0
    updated = draft.updated_at if draft.updated_at is not None else created
    agent = str(draft.metadata.get("agent", ""))
    number = old.number if old else 0
    return ReadBefore(
        draft.source_id, number, draft.kind, draft.session, created, updated, agent,
        reading.stored, sessions, _said(draft), _done_by(draft),
    )  # fmt: skip

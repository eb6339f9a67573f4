"""What this store has of records that several machines share, in one transaction.

A state is under the digest of the record's identity, as a tombstone is: by this store's own key,
or by that of the store that told of something which is not here. A record has several states then,
of which the one with the highest rank counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mem_search.features.mirror.model import (
    Change,
    Version,
    hash_of,
    kept_beside,
    next_revision,
    says_more,
)
from mem_search.model import Draft, Record
from mem_search.model.forgetting import Tombstone
from mem_search.model.ingest import PreparedDraft
from mem_search.model.records import RecordWithLinks
from mem_search.sources.jsonl.exchange import export_line, parse_line
from mem_search.storage.rules.identities import digest, lifted_with, with_own_ids
from mem_search.storage.sql.connection import Connection, Json, from_json
from mem_search.storage.sql.ingest import taken_ids
from mem_search.storage.sql.record_writer import Writer
from mem_search.storage.sql.records import with_links
from mem_search.text.dates import now_ms

AT_ONCE: Final = 200
"""Records of one transaction."""

COLUMNS: Final = (
    "life, fate, revision, at, said, machine, seen, digest, key, record_id, line, own, turn,"
    " learned"
)
_MARKS: Final = ", ".join(["%s"] * 14)


@dataclass(frozen=True, slots=True)
class State:
    """A row: what is known of a record. ``line`` is the hash of what is stored of it here.

    ``own``: this machine read it or wrote it itself. ``learned``: the folder it came from.
    """

    version: Version
    digest: str
    key: str = ""
    number: int | None = None
    line: str = ""
    own: bool = False
    turn: int = 0
    learned: str = ""

    @classmethod
    def of(cls, row: Sequence[Any]) -> State:
        life, fate, revision, at, said, machine, seen = row[:7]
        hexdigest, key, number, line, own, turn, learned = row[7:]
        version = Version(life, fate, revision, at, said, machine, from_json(seen))
        return cls(version, hexdigest, key, number, line, bool(own), turn, learned)

    @property
    def row(self) -> tuple[Any, ...]:
        v = self.version
        return (
            v.life, v.fate, v.revision, v.at, v.said, v.machine, Json(dict(v.seen)), self.digest,
            self.key, self.number, self.line, self.own, self.turn, self.learned,
        )  # fmt: skip


@dataclass(slots=True)
class Applied:
    """What became of changes. ``beside`` are to be stored first, or a text would be lost: of the
    versions ``lost``, because of the changes to try ``again``.
    """

    counts: Counter[str] = field(default_factory=Counter)
    beside: list[Draft] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    again: list[tuple[Change, PreparedDraft]] = field(default_factory=list)


class States:
    """The states of a store in one transaction. Making it waits for other writers."""

    def __init__(self, connection: Connection, writer: type[Writer], machine: str) -> None:
        self._connection, self._machine = connection, machine
        self._writer = writer(connection)
        tombstones = writer.tombstones
        (self._own,) = connection.one(tombstones.own_key)
        self._tombstones = tombstones(connection)
        keys = {bytes(each) for each in connection.column(tombstones.known_keys)}
        told = connection.column("select distinct key from mirror_states where key != ''")
        self._keys = {bytes(self._own), *keys, *map(bytes.fromhex, told)}
        self._turn = connection.count("select max(turn) from mirror_states") + 1

    def learn(self, numbers: Sequence[int]) -> list[State]:
        """New versions of those records that changed here since their last one."""
        records = with_links(self._connection, numbers)
        known = self._known(record for record, _ in records)
        learned: list[State] = []
        noted: list[State] = []
        held: dict[int, str] = {}
        for record, links in records:
            line = hash_of(export_line(record, links))
            own, *others = self._digests(record)
            held[record.number] = own
            mine = known.get(own)
            if mine and mine.version.fate == "stored" and mine.line == line:
                if mine.number != record.number:
                    noted.append(replace(mine, number=record.number))
                continue
            before = _highest(known, (own, *others))
            version = self._next(before, record, line)
            learned.append(State(version, own, "", record.number, line, own=True, turn=self._turn))
        self._write([*learned, *noted])
        renamed = [
            state
            for state in self._at(numbers)
            if state.version.fate == "stored" and held.get(state.number or 0, state.digest)
            != state.digest
        ]  # fmt: skip
        return [*learned, *self._gone(renamed)]

    def _next(self, before: Version | None, record: Record, line: str) -> Version:
        life, revision, seen = 0, 0, dict[str, int]()
        if before is not None and before.fate == "forgotten":
            life = before.life + 1  # a person stored it again
        elif before is not None:
            life, revision, seen = before.life, before.revision, dict(before.seen)
        revision = next_revision(revision, record)
        seen[self._machine] = revision
        return Version(life, "stored", revision, record.updated_at, line, self._machine, seen)

    def learn_forgotten(self) -> list[State]:
        """Versions of what was forgotten since."""
        states: list[State] = []
        last: Tombstone | None = None
        while page := self._tombstones.page(last, AT_ONCE):
            last = page[-1]
            known = by_digest(self._connection, [each.digest.hex() for each in page])
            for each in page:
                name, key = each.digest.hex(), each.key.hex() if each.key != self._own else ""
                before = known.get(name)
                if before is not None and before.version.fate == "forgotten":
                    continue
                life = before.version.life if before else 0
                seen = before.version.seen if before else {}
                version = Version(life, "forgotten", 0, each.forgotten_at, "", self._machine, seen)
                states.append(State(version, name, key, own=True, turn=self._turn))
        self._write(states)
        return states

    def learn_gone(self) -> list[State]:
        """Versions of what is here no more, and was not forgotten."""
        rows = self._connection.execute(
            f"select {COLUMNS} from mirror_states s where fate = 'stored'"
            " and not exists (select 1 from records r where r.id = s.record_id)"
        )
        return self._gone(list(map(State.of, rows)))

    def _gone(self, states: Sequence[State]) -> list[State]:
        gone = []
        for state in states:
            revision = state.version.revision + 1
            seen = {**state.version.seen, self._machine: revision}
            version = replace(
                state.version, fate="gone", revision=revision, at=now_ms(), said="",
                machine=self._machine, seen=seen,
            )  # fmt: skip
            gone.append(State(version, state.digest, turn=self._turn))
        self._write(gone)
        return gone

    def apply(
        self, folder: str, items: Sequence[tuple[Change, PreparedDraft]], kept: Collection[str]
    ) -> Applied:
        """See ``MirrorStore.apply``."""
        given = [item for _, item in items]
        named = [(d.source, f"{d.source_id}{end}") for each in given
                 for d in [each.draft] for end in ("", f"#{d.kind}")]  # fmt: skip
        self.learn(self._numbers(named))  # what changed since the last look
        known = self._known(item.draft for item in given)
        held = {record.number: (record, links) for record, links in with_links(
            self._connection, [s.number for s in known.values() if s.number]
        )}  # fmt: skip
        applied = Applied()
        taken: list[tuple[Change, PreparedDraft, State | None]] = []
        for change, item in items:
            theirs, draft = change.version, item.draft
            names = self._digests(draft)
            mine, best = known.get(names[0]), _highest(known, names)
            wins = best is None or theirs.rank > best.rank
            if mine is not None and mine.version.is_beside(theirs) and mine.number in held:
                stored = _as_draft(held[mine.number])
                winner, loser, whose = (
                    (draft, stored, mine.version) if wins else (stored, draft, theirs)
                )
                if says_more(loser, winner):
                    if whose.said not in kept:
                        applied.beside.append(kept_beside(loser, whose.machine))
                        applied.lost.add(whose.said)
                        applied.again.append((change, item))
                        continue
                    applied.counts["conflicts"] += 1
            if wins:
                taken.append((change, item, mine))
                if best is not None and best.fate == "forgotten":
                    self._tombstones.lift([*lifted_with(item.draft)])
            elif mine is not None and mine.version.life == theirs.life:
                seen = mine.version.seen_with(theirs)
                if seen != mine.version.seen:
                    self._write([replace(mine, version=replace(mine.version, seen=seen))])
        self._store(folder, taken, held, applied.counts)
        return applied

    def _store(
        self,
        folder: str,
        taken: Sequence[tuple[Change, PreparedDraft, State | None]],
        held: Mapping[int, RecordWithLinks],
        counts: Counter[str],
    ) -> None:
        items = []
        for _, item, mine in taken:
            known = held.get(mine.number or 0) if mine else None
            if known is not None:  # under the id that it has here
                item = replace(item, draft=replace(item.draft, source_id=known[0].source_id))
            items.append(item)
        offered = with_own_ids(items, taken_ids(self._connection, items))
        stored = self._writer.store(offered)
        counts.update(each.outcome for each in stored)
        numbers = [each.number for each in stored if each.number]
        lines = {
            record.number: hash_of(export_line(record, links))
            for record, links in with_links(self._connection, numbers)
        }
        self._write(
            State(
                change.version if mine is None or mine.version.life != change.version.life
                else replace(change.version, seen=change.version.seen_with(mine.version)),
                self._digests(item.draft)[0], "", done.number, lines[done.number],
                own=mine is not None and mine.own, turn=self._turn, learned=folder,
            )
            for (change, item, mine), done in zip(taken, stored, strict=True)
            if done.number
        )  # fmt: skip

    def take_away(
        self, folder: str, items: Sequence[tuple[Change, int | None]]
    ) -> tuple[list[int], int]:
        """See ``MirrorStore.take_away``."""
        self.learn([number for _, number in items if number])
        by_number = {s.number: s for s in self._at([n for _, n in items if n])}
        forget: list[int] = []
        removed = 0
        for change, number in items:
            theirs, mine = change.version, by_number.get(number) if number else None
            is_own_life = mine is None or theirs.life >= mine.version.life
            if theirs.fate == "forgotten" and mine is not None and is_own_life:
                forget.append(mine.number or 0)
                continue
            if theirs.fate == "forgotten" and is_own_life:
                forgotten = bytes.fromhex(change.key), bytes.fromhex(change.digest)
                self._tombstones.add([Tombstone(*forgotten, theirs.at)])
            if theirs.fate == "gone" and mine is not None and theirs.rank > mine.version.rank:
                if mine.own:
                    # This machine has it still, so the others get it back.
                    revision = theirs.revision + 1
                    seen = {**mine.version.seen_with(theirs), self._machine: revision}
                    version = replace(
                        mine.version, revision=revision, machine=self._machine, seen=seen
                    )
                    self._write([replace(mine, version=version, turn=self._turn, learned="")])
                else:
                    removed += self._writer.remove([mine.number or 0], forget=False)
                    self._write([State(theirs, mine.digest, turn=self._turn, learned=folder)])
            if change.key != self._own.hex() or mine is None:
                key = "" if change.key == self._own.hex() else change.key
                self._write([State(theirs, change.digest, key, turn=self._turn, learned=folder)])
        return forget, removed

    def _digests(self, record: Any) -> tuple[str, ...]:
        """By every key that is known, this store's own first; ``record`` may be a draft."""
        source, name, kind = record.source, record.source_id, record.kind
        own = digest(self._own, source, name, kind).hex()
        others = {
            digest(key, source, name, each).hex() for key in self._keys for each in (kind, "")
        }
        return (own, *(others - {own}))

    def _known(self, records: Iterable[Any]) -> dict[str, State]:
        names = [name for record in records for name in self._digests(record)]
        return by_digest(self._connection, names)

    def _at(self, numbers: Sequence[int]) -> list[State]:
        rows = self._connection.execute(
            f"select {COLUMNS} from mirror_states where record_id = any(%s::bigint[])",
            (list(numbers),),
        )
        return list(map(State.of, rows))

    def _numbers(self, named: Sequence[tuple[str, str]]) -> list[int]:
        rows = self._connection.execute(
            "select id, source, source_id from records"
            " where source = any(%s::text[]) and source_id = any(%s::text[])",
            (sorted({source for source, _ in named}), [name for _, name in named]),
        )
        wanted = set(named)
        return [number for number, *name in rows if tuple(name) in wanted]

    def _write(self, states: Iterable[State]) -> None:
        self._connection.many(
            f"insert into mirror_states({COLUMNS}) values({_MARKS}) on conflict(owner, digest)"
            " do update set life = excluded.life, fate = excluded.fate,"
            " revision = excluded.revision, at = excluded.at, said = excluded.said,"
            " machine = excluded.machine, seen = excluded.seen, key = excluded.key,"
            " record_id = excluded.record_id, line = excluded.line, own = excluded.own,"
            " turn = excluded.turn, learned = excluded.learned",
            [each.row for each in states],
        )


def by_digest(connection: Connection, digests: Sequence[str]) -> dict[str, State]:
    rows = connection.execute(
        f"select {COLUMNS} from mirror_states where digest = any(%s::text[])", (list(digests),)
    )
    return {state.digest: state for state in map(State.of, rows)}


def _highest(known: Mapping[str, State], digests: Iterable[str]) -> Version | None:
    versions = [known[name].version for name in digests if name in known]
    return max(versions, key=lambda each: each.rank, default=None)


def _as_draft(record_with_links: RecordWithLinks) -> Draft:
    line = parse_line(export_line(*record_with_links).encode("utf-8", "backslashreplace"))
    return line.draft(line.source_id)

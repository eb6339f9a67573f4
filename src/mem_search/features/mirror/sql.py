"""The tables ``mirror_states`` and ``mirrors``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from mem_search.features.mirror.model import Change, hash_of
from mem_search.features.mirror.states import AT_ONCE, COLUMNS, Applied, State, States, by_digest
from mem_search.model.ingest import PreparedDraft
from mem_search.sources.jsonl.exchange import export_line
from mem_search.storage.rules.identities import digest
from mem_search.storage.sql.connection import (
    Connection,
    Json,
    Repository,
    from_json,
    reads,
    writes,
)
from mem_search.storage.sql.record_writer import Writer
from mem_search.storage.sql.records import with_links
from mem_search.text.dates import now_ms

_OVERLAP: Final = 1000
"""Changes that are looked at again: of two writers on a server, the later one may end first."""


class MirrorStore(Repository):
    """What this store has of the records that several machines share."""

    def __init__(self, database: Any, writer: type[Writer]) -> None:
        super().__init__(database)
        self._writer = writer

    @reads
    def changed(self, connection: Connection, cursor: int) -> tuple[list[int], int]:
        """The records that may have changed since ``cursor``, and the next one."""
        oldest, newest = connection.one(
            "select coalesce((select min(revision) from record_changes), 0),"
            " coalesce((select max(revision) from record_changes), 0)"
        )
        if cursor == newest:
            return [], newest
        since = cursor - _OVERLAP
        if cursor and oldest <= cursor <= newest:
            numbers = connection.column(
                "select distinct record_id from record_changes where revision > %s", (since,)
            )
        else:
            numbers = connection.column("select id from records order by id")
        return sorted(numbers), newest

    @writes
    def learn(self, connection: Connection, machine: str, numbers: Sequence[int]) -> int:
        """Give these records, as far as they changed here, their next version; how many."""
        return len(States(connection, self._writer, machine).learn(numbers))

    @writes
    def learn_removed(self, connection: Connection, machine: str) -> int:
        """The same for those that are here no more; how many."""
        states = States(connection, self._writer, machine)
        return len(states.learn_forgotten()) + len(states.learn_gone())

    @writes
    def apply(
        self,
        connection: Connection,
        machine: str,
        folder: str,
        items: Sequence[tuple[Change, PreparedDraft]],
        kept: Collection[str],
    ) -> Applied:
        """Store the versions of another machine that have a higher rank than those here.

        A version that loses against one that was written beside it is returned, unless ``kept``
        has the hash of it; nothing is changed then.
        """
        return States(connection, self._writer, machine).apply(folder, items, kept)

    @reads
    def unknown(self, connection: Connection, changes: Sequence[Change]) -> list[Change]:
        """Those of ``changes`` without a record that this store has not been told."""
        known = by_digest(connection, [each.digest for each in changes])
        return [
            each
            for each in changes
            if each.digest not in known or each.version.rank > known[each.digest].version.rank
        ]

    @reads
    def matching(self, connection: Connection, changes: Sequence[Change]) -> dict[str, int]:
        """digest → the number of the stored record that it is of."""
        asked = {each.digest for each in changes}
        keys = {bytes.fromhex(each.key) for each in changes}
        rows = connection.execute("select id, source, source_id, kind from records")
        return {
            hexdigest: number
            for number, source, source_id, kind in rows
            for key in keys
            for each in (kind, "")  # a tombstone of an earlier version knows no kind
            if (hexdigest := digest(key, source, source_id, each).hex()) in asked
        }

    @writes
    def take_away(
        self,
        connection: Connection,
        machine: str,
        folder: str,
        items: Sequence[tuple[Change, int | None]],
    ) -> tuple[list[int], int]:
        """Note what another machine has forgotten or lost, with the record that it is of.

        Returns the records that are to be forgotten, whose changes are not noted yet, and how many
        were removed.
        """
        return States(connection, self._writer, machine).take_away(folder, items)

    @reads
    def outgoing(
        self, connection: Connection, folder: str, after: tuple[int, str], until: int
    ) -> list[tuple[tuple[int, str], Change, str]]:
        """The next versions to write into ``folder``: their place, and the line of the record."""
        rows = connection.execute(
            f"select {COLUMNS} from mirror_states where (turn, digest) > (%s, %s) and turn <= %s"
            " and learned != %s order by turn, digest limit %s",
            (*after, until, folder, AT_ONCE),
        )
        states = list(map(State.of, rows))
        records = with_links(connection, [each.number for each in states if each.number])
        lines = {record.number: export_line(record, links) for record, links in records}
        own = connection.one(self._writer.tombstones.own_key)[0].hex() if states else ""
        changes = []
        for each in states:
            line = lines.get(each.number or 0, "") if each.version.fate == "stored" else ""
            if each.version.fate == "stored" and (not line or hash_of(line) != each.line):
                continue  # it changed meanwhile, and the next writing has it
            change = Change(each.version, digest=each.digest, key=each.key or own)
            changes.append(((each.turn, each.digest), change, line))
        return changes

    @reads
    def last_turn(self, connection: Connection) -> int:
        return connection.count("select max(turn) from mirror_states")

    @reads
    def rows(self, connection: Connection, folder: str) -> tuple[int, int]:
        """How many states a base of ``folder`` has, and how many are of what was forgotten."""
        every, forgotten = connection.one(
            "select count(*), coalesce(sum(case when fate = 'forgotten' then 1 else 0 end), 0)"
            " from mirror_states where learned != %s",
            (folder,),
        )
        return every, forgotten

    @writes
    def adopt(self, connection: Connection, folder: str) -> None:
        """Write into ``folder`` from now on what was learned there, too: its machine has left."""
        connection.execute("update mirror_states set learned = '' where learned = %s", (folder,))

    @reads
    def mirrors(self, connection: Connection) -> list[tuple[str, dict[str, Any], int | None, str]]:
        """(folder, state, when it was last in step, error) of each folder."""
        rows = connection.execute(
            "select folder, state, at, error from mirrors where true"
            " and home = current_setting('mem_search.home') order by folder"
        )
        return [(folder, from_json(state), at, error) for folder, state, at, error in rows]

    @writes
    def keep(
        self, connection: Connection, folder: str, state: Mapping[str, Any], error: str = ""
    ) -> None:
        """Note how far a folder is; with an ``error`` it is not in step."""
        connection.execute(
            "insert into mirrors(folder, state, at, error) values(%(folder)s, %(state)s, %(at)s,"
            " %(error)s) on conflict(owner, folder) do update set state = excluded.state,"
            " at = coalesce(excluded.at, mirrors.at), error = excluded.error",
            {"folder": folder, "state": Json(dict(state)), "error": error,
             "at": None if error else now_ms()},
        )  # fmt: skip

    @writes
    def drop(self, connection: Connection, folder: str) -> bool:
        """Mirror into the folder no more; False when it was not."""
        deleted = connection.execute("delete from mirrors where folder = %s", (folder,))
        return bool(deleted.rowcount)

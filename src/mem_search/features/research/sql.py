"""The steps of research chains: what was asked, what came back, and the state of the index.

Of a result only its ref, its content hash and its relevance are kept: what a record said is
looked up where it stands, and gone where it was forgotten. Times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from mem_search.model.results import (
    IndexState,
    Operation,
    OperationFilter,
    Session,
    StoredResult,
)
from mem_search.storage.sql.connection import (
    Connection,
    Json,
    Repository,
    from_json,
    reads,
    writes,
)

_COLUMNS: Final = (
    "id, session_id, parent_id, type, query, mode, content_types, request, redacted, results,"
    " total_count, took_ms, report, index_state, created_at"
)


class ResearchStore(Repository):
    """The operations of research sessions: the table ``search_operations``."""

    @writes
    def add(self, connection: Connection, operation: Operation) -> None:
        """Store ``operation``, in place of one with the same id that was interrupted."""
        connection.execute("delete from search_operations where id = %s", (operation.id,))
        connection.execute(
            f"insert into search_operations({_COLUMNS})"
            " values(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (
                operation.id,
                operation.session_id,
                operation.parent_id,
                operation.type,
                operation.query,
                operation.mode,
                Json(list(operation.content_types)),
                Json(operation.request),
                operation.redacted,
                Json([[each.ref, each.digest, each.relevance] for each in operation.results]),
                operation.total_count,
                operation.took_ms,
                Json(operation.report),
                Json(asdict(operation.index_state)),
                operation.created_at,
            ),
        )

    @reads
    def get(self, connection: Connection, operation: str) -> Operation | None:
        row = connection.maybe(
            f"select {_COLUMNS} from search_operations where id = %s", (operation,)
        )
        return _operation(row) if row else None

    @reads
    def chain_length(self, connection: Connection, operation: str) -> int:
        """The number of operations from the first of the chain to ``operation``, inclusive."""
        return connection.count(
            "with recursive chain(id) as ("
            ' select %s::text collate "C" union all select o.parent_id from search_operations o'
            " join chain on o.id = chain.id where o.parent_id is not null)"
            " select count(*) from chain",
            (operation,),
        )

    @reads
    def newest(
        self, connection: Connection, wanted: OperationFilter, limit: int, offset: int
    ) -> tuple[list[Operation], int]:
        """A page of operations, the newest first, and how many there are."""
        condition = (
            "from search_operations where %(session_id)s in ('', session_id)"
            " and %(type)s in ('', type)"
            " and (%(since)s::bigint is null or created_at >= %(since)s)"
            " and (%(until)s::bigint is null or created_at <= %(until)s)"
        )
        values = {**asdict(wanted), "limit": limit, "offset": offset}
        total = connection.count(f"select count(*) {condition}", values)
        rows = connection.execute(
            f"select {_COLUMNS} {condition} order by seq desc limit %(limit)s offset %(offset)s",
            values,
        )
        return [_operation(row) for row in rows], total

    @reads
    def of_session(self, connection: Connection, session: str) -> list[Operation]:
        """All operations of a session, oldest first; empty for an unknown session."""
        rows = connection.execute(
            f"select {_COLUMNS} from search_operations where session_id = %s order by seq",
            (session,),
        )
        return [_operation(row) for row in rows]

    @reads
    def sessions(
        self, connection: Connection, limit: int, offset: int
    ) -> tuple[list[Session], int]:
        """A page of sessions, the last active first, and how many there are."""
        total = connection.count(
            "select count(distinct session_id) from search_operations where session_id != ''"
        )
        rows = connection.execute(
            "select s.session_id, s.operations, o.query, o.created_at, s.last_at from ("
            " select session_id, count(*) as operations, max(created_at) as last_at,"
            " min(seq) as first, max(seq) as last from search_operations"
            " where session_id != '' group by session_id) s"
            " join search_operations o on o.seq = s.first order by s.last desc"
            " limit %s offset %s",
            (limit, offset),
        )
        return [Session(*row) for row in rows], total

    @writes
    def forget_session(self, connection: Connection, session: str) -> int:
        """Delete the operations of a session; returns how many there were."""
        # Steps of other sessions that follow from these go with them and are not counted.
        count = connection.count(
            "select count(*) from search_operations where session_id = %s", (session,)
        )
        connection.execute("delete from search_operations where session_id = %s", (session,))
        return count


def _operation(row: Sequence[Any]) -> Operation:
    values = dict(zip(Operation.__slots__, row, strict=True))
    return Operation(
        **{
            **values,
            "content_types": tuple(from_json(values["content_types"])),
            "request": from_json(values["request"]),
            "redacted": bool(values["redacted"]),
            "results": tuple(StoredResult(*each) for each in from_json(values["results"])),
            "report": from_json(values["report"]),
            "index_state": IndexState(**from_json(values["index_state"])),
        }
    )

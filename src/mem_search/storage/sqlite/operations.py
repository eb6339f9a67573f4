"""The steps of research chains: what was asked, what came back, and the state of the index.

Of a result only its ref, its content hash and its relevance are kept: what a record said is
looked up where it stands, and gone where it was forgotten. Times are milliseconds since 1970.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from mem_search.model.research import (
    IndexState,
    Operation,
    OperationFilter,
    Session,
    StoredResult,
)
from mem_search.storage.sqlite.database import Connection, Repository, reads, writes

_COLUMNS = (
    "id, session_id, parent_id, type, query, mode, content_types, request, redacted, results,"
    " total_count, took_ms, report, index_state, created_at"
)


class SqliteOperations(Repository):
    """``ports.ResearchStore`` over the table ``search_operations``."""

    @writes
    def add(self, connection: Connection, operation: Operation) -> None:
        connection.execute(
            f"insert or replace into search_operations({_COLUMNS})"
            " values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                operation.id,
                operation.session_id,
                operation.parent_id,
                operation.type,
                operation.query,
                operation.mode,
                json.dumps(operation.content_types),
                json.dumps(operation.request),
                int(operation.redacted),
                json.dumps([[each.ref, each.digest, each.relevance] for each in operation.results]),
                operation.total_count,
                operation.took_ms,
                json.dumps(operation.report),
                json.dumps(asdict(operation.index_state)),
                operation.created_at,
            ),
        )

    @reads
    def get(self, connection: Connection, operation: str) -> Operation | None:
        row = connection.execute(
            f"select {_COLUMNS} from search_operations where id = ?", (operation,)
        ).fetchone()
        return _operation(row) if row else None

    @reads
    def chain_length(self, connection: Connection, operation: str) -> int:
        (length,) = connection.execute(
            "with recursive chain(id) as ("
            " select ? union all select o.parent_id from search_operations o"
            " join chain on o.id = chain.id where o.parent_id is not null)"
            " select count(*) from chain",
            (operation,),
        ).fetchone()
        return int(length)

    @reads
    def newest(
        self, connection: Connection, wanted: OperationFilter, limit: int, offset: int
    ) -> tuple[list[Operation], int]:
        condition, values = _where(wanted)
        (total,) = connection.execute(
            f"select count(*) from search_operations where {condition}", values
        ).fetchone()
        rows = connection.execute(
            f"select {_COLUMNS} from search_operations where {condition}"
            " order by seq desc limit ? offset ?",
            (*values, limit, offset),
        )
        return [_operation(row) for row in rows], total

    @reads
    def of_session(self, connection: Connection, session: str) -> list[Operation]:
        rows = connection.execute(
            f"select {_COLUMNS} from search_operations where session_id = ? order by seq",
            (session,),
        )
        return [_operation(row) for row in rows]

    @reads
    def sessions(
        self, connection: Connection, limit: int, offset: int
    ) -> tuple[list[Session], int]:
        (total,) = connection.execute(
            "select count(distinct session_id) from search_operations where session_id != ''"
        ).fetchone()
        rows = connection.execute(
            "select s.session_id, s.operations, o.query, o.created_at, s.last_at from ("
            " select session_id, count(*) as operations, max(created_at) as last_at,"
            " min(seq) as first, max(seq) as last from search_operations"
            " where session_id != '' group by session_id) s"
            " join search_operations o on o.seq = s.first order by s.last desc limit ? offset ?",
            (limit, offset),
        )
        return [Session(*row) for row in rows], total

    @writes
    def forget_session(self, connection: Connection, session: str) -> int:
        (count,) = connection.execute(
            "select count(*) from search_operations where session_id = ?", (session,)
        ).fetchone()
        connection.execute("delete from search_operations where session_id = ?", (session,))
        return int(count)


def _where(wanted: OperationFilter) -> tuple[str, list[Any]]:
    terms = {
        "session_id = ?": wanted.session_id or None,
        "type = ?": wanted.type or None,
        "created_at >= ?": wanted.since,
        "created_at <= ?": wanted.until,
    }
    held = {term: value for term, value in terms.items() if value is not None}
    return " and ".join(held) or "1", list(held.values())


def _operation(row: tuple[Any, ...]) -> Operation:
    (
        operation, session, parent, kind, query, mode, content_types, request, redacted, results,
        total, took, report, state, created,
    ) = row  # fmt: skip
    return Operation(
        id=operation,
        session_id=session,
        parent_id=parent,
        type=kind,
        query=query,
        mode=mode,
        content_types=tuple(json.loads(content_types)),
        request=json.loads(request),
        redacted=bool(redacted),
        results=tuple(StoredResult(*each) for each in json.loads(results)),
        total_count=total,
        took_ms=took,
        report=json.loads(report),
        index_state=IndexState(**json.loads(state)),
        created_at=created,
    )

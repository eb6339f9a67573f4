"""Research chains as plain values for JSON: operations, the tree of a session, replays.

In a reply an operation is exactly seed 000's ``SearchOperation``; where it is looked up it also
says where it stands, what it found and what it depended on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mem_search.model.research import Operation, Session
from mem_search.model.saved_searches import Delivery
from mem_search.text import dates


def delivery_json(delivery: Delivery) -> dict[str, Any]:
    """``state`` is pending, delivered or failed; ``error`` says why it is not delivered."""
    is_pending = delivery.state == "pending"
    return {
        "id": delivery.id,
        "event": delivery.event,
        "url": delivery.url,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "status": delivery.status,
        "error": delivery.error or None,
        "next_attempt_at": dates.iso(delivery.next_at) if is_pending else None,
        "ended_at": None if delivery.ended_at is None else dates.iso(delivery.ended_at),
    }


SOURCES = ("local",)


def operation_json(operation: Operation) -> dict[str, Any]:
    """One step as a reply tells of itself: seed 000's ``SearchOperation``."""
    return {
        "id": operation.id,
        "operation_type": operation.type,
        "query": operation.query,
        "sources": list(SOURCES),
        "content_types": list(operation.content_types) or None,
        "result_count": len(operation.results),
        "execution_time_ms": operation.took_ms,
        "created_at": dates.iso(operation.created_at),
    }


def step_json(operation: Operation) -> dict[str, Any]:
    """One step in a list or a tree: where it stands, too."""
    return {
        **operation_json(operation),
        "session_id": operation.session_id,
        "parent_operation_id": operation.parent_id,
        "mode": operation.mode,
        "total_count": operation.total_count,
        "redacted": operation.redacted,
    }


RequestBody = Callable[[Mapping[str, Any]], dict[str, Any] | None]
"""What ``research.requests.dump`` made, as the body that the API takes; None of a fetch."""


def whole_operation_json(operation: Operation, request_body: RequestBody) -> dict[str, Any]:
    """One step with its request, its results and the state of the index it met."""
    return {
        **step_json(operation),
        "request": request_body(operation.request),
        "asked_at": operation.request.get("asked_at"),
        "result_ids": [f"local:{seen.ref}" for seen in operation.results],
        "results": [
            {
                "id": f"local:{seen.ref}",
                "rank": place,
                "relevance_score": seen.relevance,
                "content_hash": seen.digest,
            }
            for place, seen in enumerate(operation.results, start=1)
        ],
        "search": dict(operation.report) or None,
        "index_state": asdict(operation.index_state),
    }


def session_json(session: Session) -> dict[str, Any]:
    """A session in a list."""
    return {
        "session_id": session.id,
        "operations": session.operations,
        "first_query": session.first_query,
        "started_at": dates.iso(session.started_at),
        "last_at": dates.iso(session.last_at),
    }


def tree_json(session: str, operations: Sequence[Operation]) -> dict[str, Any]:
    """A session as the trees of its chains; ``operations`` are all of it, in their order."""
    return {
        "session_id": session,
        "operations": len(operations),
        "started_at": dates.iso(operations[0].created_at),
        "last_at": dates.iso(operations[-1].created_at),
        "execution_time_ms": round(sum(each.took_ms for each in operations), 3),
        "tree": tree(operations),
    }


def tree(operations: Iterable[Operation]) -> list[dict[str, Any]]:
    """The operations that begin a chain, each with its followers as ``children``."""
    nodes: dict[str, dict[str, Any]] = {}
    roots: list[dict[str, Any]] = []
    for operation in operations:
        node = {**step_json(operation), "children": []}
        nodes[operation.id] = node
        parent = nodes.get(operation.parent_id or "")
        (parent["children"] if parent is not None else roots).append(node)
    return roots

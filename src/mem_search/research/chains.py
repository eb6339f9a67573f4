"""Where an operation stands in its session: behind which other, and whether there is room.

A chain is the way from a first operation through its followers; a session may hold several, and
one operation may have several followers.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from mem_search.errors import Conflict, InputError, NotFound
from mem_search.storage.sqlite import operations
from mem_search.storage.sqlite.database import Database


@dataclass(frozen=True, slots=True)
class Place:
    """``session_id`` is never empty; ``parent_id`` None begins a chain."""

    session_id: str
    parent_id: str | None = None


async def place(database: Database, session_id: str, parent_id: str, most: int) -> Place:
    """Where the next operation goes; a session without a name gets one.

    Without ``session_id`` it goes to the parent's session. Raises NotFound for a parent that
    there is not, InputError for one of another session, Conflict when the chain has ``most``
    operations already; each names its field.
    """
    if not parent_id:
        return Place(session_id or str(uuid.uuid4()))
    parent = await database.read(operations.get, parent_id)
    if parent is None:
        raise NotFound(
            f"no operation {parent_id[:60]!r}; GET /api/v1/search/operations lists them",
            field="parent_operation_id",
        )
    if session_id and parent.session_id != session_id:
        raise InputError(
            f"operation {parent_id} belongs to session {parent.session_id};"
            " name that one, or leave session_id out",
            field="parent_operation_id",
        )
    length = await database.read(operations.chain_length, parent_id)
    if length >= most:
        raise Conflict(
            f"the chain has {length} operations and max_operations is {most};"
            " begin a new chain, or allow more",
            field="max_operations",
        )
    return Place(parent.session_id, parent_id)

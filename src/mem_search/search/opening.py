"""Opening the record that a ref names, with the links it came with."""

from __future__ import annotations

from mem_search import records as kinds
from mem_search.errors import NotFound
from mem_search.model import Ref
from mem_search.storage.sqlite import whole
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.whole import Whole


async def open_record(database: Database, ref: Ref, field: str = "ref") -> Whole:
    """Raises NotFound naming ``field``; says so when the number belongs to another kind."""
    found = await database.read(whole.fetch, [ref.number])
    if not found:
        raise NotFound(f"no record has the number {ref.number}", field=field)
    record, links = found[0]
    if record.kind != ref.kind:
        label = kinds.by_name(record.kind).label
        raise NotFound(
            f"number {ref.number} is no {ref.kind} but a record of the kind {label};"
            f" open {record.ref} (HTTP: /api/records/{record.ref})",
            field=field,
        )
    return record, links

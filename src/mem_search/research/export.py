"""What a session found, as it can be cited now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import tzinfo

from mem_search.citations import bibliography, csl
from mem_search.model import Citation, Record, Ref
from mem_search.renderers.research_export import Export, Source
from mem_search.renderers.universal import url_of
from mem_search.storage.sqlite import operations, records
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.operations import Operation


async def export(
    database: Database,
    citation: Callable[[Record], Citation],
    session: str,
    steps: Sequence[Operation],
    *,
    style: str,
    tz: tzinfo,
    base: str = "",
) -> Export:
    """The session with the sources of ``steps``, all of its operations in their order.

    References are written in ``style`` (``bibliography.STYLES``), their days those of ``tz``;
    ``base`` is where the worker is reached, for links.
    """
    refs = {seen.ref: Ref.parse(seen.ref) for step in steps for seen in step.results}
    numbers = [ref.number for ref in refs.values()]
    found = await database.read(records.fetch, numbers)
    digests = await database.read(operations.digests, numbers)
    items = [csl.item(citation(record), record, tz) for record in found.values()]
    written = await asyncio.to_thread(bibliography.references, items, style)
    references = dict(zip(found, written, strict=True))
    sources = {}
    for text, ref in refs.items():
        record = found.get(ref.number)
        sources[text] = Source(
            ref=text,
            digest=digests.get(ref.number, ""),
            citation=citation(record) if record is not None else None,
            url=url_of(record, base) if record is not None else "",
            reference=references.get(ref.number, ""),
        )
    return Export(session, int(time.time() * 1000), steps, sources)

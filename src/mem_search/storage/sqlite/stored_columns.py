"""Stores the columns that searches have in memory as blocks, for the next start."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from mem_search.errors import StorageError
from mem_search.storage.sqlite import column_blocks, passage_map, postings, record_columns
from mem_search.storage.sqlite.column_blocks import Block, Of, absent
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.passage_map import PassageMapCache
from mem_search.storage.sqlite.postings import PostingsCache
from mem_search.storage.sqlite.record_columns import RecordColumnsCache

log = logging.getLogger(__name__)

_AT_ONCE: Final = 16
"""Blocks of one transaction, in which nothing else is written: some tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class StoredColumns:
    """What is in memory by number, and is stored as blocks."""

    records: RecordColumnsCache
    passages: PassageMapCache
    postings: PostingsCache

    async def store(self, database: Database, least: int = 0) -> None:
        """Bring the blocks up to date, some at a time, after at least so many writes of records.

        A failure is logged and no more: blocks only save time. So a store that no search has read
        is left as it is.
        """
        if not self.records.is_read:
            return
        try:
            if await database.read(column_blocks.writes_since) < least:
                return
            await database.write(column_blocks.drop_outdated)
            while await database.write(self._store_some):
                pass
        except StorageError as error:
            log.warning("the next start reads the columns of all records anew: %s", error)

    def _store_some(self, connection: sqlite3.Connection) -> bool:
        """Store some of the absent blocks; whether there may be more."""
        some = list(islice(self._absent(connection), _AT_ONCE))
        for of, block in some:
            column_blocks.put(connection, of, block)
        return len(some) == _AT_ONCE

    def _absent(self, connection: sqlite3.Connection) -> Iterator[tuple[Of, Block]]:
        columns = self.records.current(connection)
        for span in absent(connection, "records", len(columns.kinds)):
            yield "records", record_columns.block_of(columns, span)
        (last,) = connection.execute("select coalesce(max(id), 0) from passages").fetchone()
        known = self.passages.up_to(connection, last)
        owned = (known.records > 0) & columns.exist(known.records)
        for span in absent(connection, "passages", len(owned)):
            yield "passages", passage_map.block_of(known, owned[span], span)
        statistics = self.postings.current(connection)
        if statistics is not None:
            for span in absent(connection, "words", min(len(owned), len(statistics.lengths))):
                yield "words", postings.block_of(statistics, owned[span], span)

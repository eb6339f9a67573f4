"""Exact answers of the vector leg: stored vectors scored one by one.

For what passes a filter, for what the index has not got, for everything while the index is away.
What a scan costs grows with the number of passages, not with what the filter says (ADR 0015).
"""

from __future__ import annotations

import sqlite3
from typing import Final

import numpy as np

from mem_search.contracts import Vectors
from mem_search.model import Filters
from mem_search.model.rankings import Numbers, Ranking, Values
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.filter_masks import mask_of
from mem_search.storage.sqlite.passage_map import BestPassages, PassageMap, PassageMapCache
from mem_search.storage.sqlite.record_columns import Columns, RecordColumns
from mem_search.storage.sqlite.vector_rows import VectorRows

LEG: Final = "vector"
AWAY: Final = "the index is away or filling: exact scan"


class Scan:
    """Cosines of the passages of one store; query vectors have shape (1, dimensions)."""

    def __init__(
        self,
        database: Database,
        rows: VectorRows,
        owners: PassageMapCache,
        columns: RecordColumns,
    ) -> None:
        self._database = database
        self._rows = rows
        self._owners = owners
        self._columns = columns

    async def passages(self, filters: Filters) -> Numbers:
        """The passages of all records within ``filters``."""
        columns = await self._columns.fresh()
        return await self._database.read(self._passing, filters, columns)

    async def cosines(self, query: Vectors, passages: Numbers) -> tuple[Numbers, Values]:
        """Those of ``passages`` that have a vector, and their cosines."""
        cosines = await self._database.read(self._rows.cosines, query, passages)
        known = ~np.isnan(cosines)
        return passages[known], cosines[known]

    async def among(
        self, query: Vectors, passages: Numbers, depth: int, *, away: bool = False
    ) -> Ranking:
        """The best records by ``passages``; ``away`` says that an index should have answered."""
        return await self._database.read(self._among, query, passages, depth, away)

    def _among(
        self,
        connection: sqlite3.Connection,
        query: Vectors,
        passages: Numbers,
        depth: int,
        away: bool,
    ) -> Ranking:
        cosines = self._rows.cosines(connection, query, passages)
        known = ~np.isnan(cosines)
        owners = self._owners.within(connection, int(passages.max(initial=0)))
        best = owners.best(passages[known], cosines[known])
        return ranking(best, owners, depth, away=away, detail=AWAY if away else "exact")

    def _passing(
        self, connection: sqlite3.Connection, filters: Filters, columns: Columns
    ) -> Numbers:
        (last,) = connection.execute("select coalesce(max(id), 0) from passages").fetchone()
        records = self._owners.within(connection, last).records
        known = np.where(records < columns.size, records, 0)
        return np.flatnonzero(mask_of(connection, columns, filters)[known])


def ranking(
    best: BestPassages, owners: PassageMap, depth: int, *, away: bool = False, detail: str = ""
) -> Ranking:
    """``best`` as the answer of the leg."""
    return Ranking(
        LEG,
        candidates=owners.candidates(best, depth),
        scores=best.by_record(),
        state="degraded" if away else "ok",
        detail=detail,
    )

"""Citations counted (``storage.rules.citation_counts``): what is read for that."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from mem_search.model.archives import HOLDINGS
from mem_search.model.graph import CITES, GraphLabel
from mem_search.storage.rules.citation_counts import Citation
from mem_search.storage.sqlite.graph import labels

_IN: Final = "in (select value from json_each(?))"


class SqliteCitationReader:
    """``CitationReader`` inside one snapshot."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def documents(self, project: str) -> list[int]:
        rows = self._connection.execute(
            f"select id from records where kind {_IN} and (? = '' or project = ?) order by id",
            (json.dumps(list(HOLDINGS)), project, project),
        )
        return [number for (number,) in rows]

    def citations(self, end: str, values: Sequence[int | str], most: int | None) -> list[Citation]:
        rows = self._connection.execute(
            "select from_id, key, max(to_id), max(strength) from edges"
            f" where {end} {_IN} and relation = '{CITES}' group by from_id, key limit ?",
            (json.dumps(values), -1 if most is None else most),
        )
        return [Citation(*row) for row in rows]

    def urls(self, keys: Sequence[str]) -> dict[str, str]:
        rows = self._connection.execute(
            f"select key, min(target) from edges where key {_IN} and relation = '{CITES}'"
            " group by key",
            (json.dumps(keys),),
        )
        return dict(rows.fetchall())

    def labels(self, numbers: Iterable[int]) -> dict[int, GraphLabel]:
        return labels(self._connection, numbers)

    def places(self, documents: Sequence[int]) -> int:
        (count,) = self._connection.execute(
            "select count(*) from edges e join cites c on c.edge_id = e.id"
            f" where e.from_id {_IN} and e.relation = '{CITES}'",
            (json.dumps(documents),),
        ).fetchone()
        return int(count)

    def dates(self, numbers: Sequence[int]) -> list[int]:
        rows = self._connection.execute(
            f"select created_at from records where id {_IN}", (json.dumps(numbers),)
        )
        return [at for (at,) in rows]

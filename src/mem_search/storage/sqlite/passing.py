"""Which of many records pass the filters: what columns tell in memory, the rest by a statement."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mem_search.model import KINDS, DateRange, Filters
from mem_search.storage.sqlite import filters as sql_filters
from mem_search.storage.sqlite.columns import GONE, Columns, Numbers

Mask = NDArray[np.bool_]
ANY_TIME = DateRange()


def passing(
    connection: sqlite3.Connection, columns: Columns, filters: Filters, records: Numbers
) -> Mask:
    """For each of ``records`` whether it is there and within ``filters``.

    ``records`` may hold a number several times, and numbers that ``columns`` have not.
    """
    inside = records < columns.size
    mask = inside & told(columns, filters, np.where(inside, records, 0))
    condition, values = sql_filters.where(untold(filters))
    if condition != "1" and mask.any():
        numbers = np.unique(records[mask]).tolist()
        (found,) = connection.execute(
            "select json_group_array(r.id) from records r"
            f" where r.id in (select value from json_each(?)) and {condition}",
            (json.dumps(numbers), *values),
        ).fetchone()
        mask &= np.isin(records, json.loads(found))
    return mask


def every(connection: sqlite3.Connection, columns: Columns, filters: Filters) -> Mask:
    """The same for every number that ``columns`` have, as an array by record number."""
    mask = told(columns, filters, np.arange(columns.size))
    condition, values = sql_filters.where(untold(filters))
    if condition != "1" and mask.any():
        (found,) = connection.execute(
            f"select json_group_array(r.id) from records r where {condition}", values
        ).fetchone()
        numbers = np.array(json.loads(found), dtype=np.int64)
        rest = np.zeros(columns.size, dtype=np.bool_)
        rest[numbers[numbers < columns.size]] = True
        mask &= rest
    return mask


def told(columns: Columns, filters: Filters, records: Numbers) -> Mask:
    """Whether ``records`` are there and pass those of ``filters`` that columns know."""
    kinds = columns.kinds[records]
    if filters.kinds:
        mask = np.isin(kinds, [KINDS.index(kind) for kind in filters.kinds])
    else:
        mask = kinds != GONE
    if filters.project:
        # As in ``filters``: without regard to the case of ASCII letters.
        wanted = _folded(filters.project)
        projects = columns.names["project"].among(lambda name: _folded(name) == wanted)
        mask &= np.isin(columns.projects[records], projects)
    for column, name, numbers in (
        ("session", filters.session, columns.sessions),
        ("source", filters.source, columns.sources),
    ):
        if name:
            named = columns.names[column].among(name.__eq__)
            mask &= np.isin(numbers[records], named)
    for span, times in ((filters.created, columns.created), (filters.updated, columns.updated)):
        if span.start is not None:
            mask &= times[records] >= span.start
        if span.end is not None:
            mask &= times[records] <= span.end
    if filters.importance is not None:
        mask &= columns.importance[records] >= np.float64(filters.importance)
    if filters.archived is not None:
        mask &= columns.archived[records] == filters.archived
    if filters.without:
        mask &= ~np.isin(records, filters.without)
    if filters.superseded is not None:
        mask &= (columns.successors[records] > 0) == filters.superseded
    return np.asarray(mask, dtype=np.bool_)


def untold(filters: Filters) -> Filters:
    """What of ``filters`` only the store can tell."""
    return replace(
        filters,
        kinds=(),
        project="",
        session="",
        source="",
        created=ANY_TIME,
        updated=ANY_TIME,
        importance=None,
        archived=None,
        without=(),
        superseded=None,
    )


def _folded(name: str) -> str:
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in name)

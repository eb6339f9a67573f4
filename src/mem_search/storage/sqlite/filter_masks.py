"""Which records pass filters, as masks: by columns in memory, and a statement for the rest."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mem_search.model import AllOf, AnyOf, Condition, Demand, Filters, Not, Term
from mem_search.model.kind_codes import KIND_CODES
from mem_search.storage.sqlite import filters
from mem_search.storage.sqlite import filters as sql_filters
from mem_search.storage.sqlite.record_columns import GONE, Columns, Numbers

Mask = NDArray[np.bool_]
MOST_MASKS = 32
"""Filters whose records are remembered until something is written; a byte a record each."""


def passes(
    connection: sqlite3.Connection, columns: Columns, filters: Filters, records: Numbers
) -> Mask:
    """For each of ``records`` whether it exists and is within ``filters``.

    ``records`` may hold a number several times, and numbers that ``columns`` do not have.
    """
    inside = records < columns.size
    return inside & mask_of(connection, columns, filters)[np.where(inside, records, 0)]


def mask_of(connection: sqlite3.Connection, columns: Columns, filters: Filters) -> Mask:
    """The same for every number that ``columns`` have, as an array by record number.

    Kept with the columns: one search needs it several times, and the next search often too.
    """
    mask = columns.masks.get(filters)
    if mask is None:
        mask = _by_columns(columns, filters, np.arange(columns.size))
        for asked in _by_statements(connection, columns, filters):
            mask &= asked
        while len(columns.masks) >= MOST_MASKS:
            columns.masks.pop(next(iter(columns.masks)), None)
        columns.masks[filters] = mask
    return mask


def _by_statements(
    connection: sqlite3.Connection, columns: Columns, filters: Filters
) -> Iterator[Mask]:
    """A mask for each filter that the columns do not know."""
    for condition, values in sql_filters.facets(filters):
        statement = f"select json_group_array(x.record_id) from facets x where {condition}"
        yield _listed(connection, columns, statement, values)
    if filters.stored:
        condition, values = sql_filters.where(Filters(stored=filters.stored))
        statement = f"select json_group_array(r.id) from records r where {condition}"
        yield _listed(connection, columns, statement, values)
    if filters.demand is not None:
        yield _demanded(connection, columns, filters.demand)


def _demanded(connection: sqlite3.Connection, columns: Columns, demand: Demand) -> Mask:
    def asked(part: Demand) -> Mask:
        return _demanded(connection, columns, part)

    match demand:
        case Term():
            condition, values = filters.demand_condition(demand, sql_filters.where)
            statement = f"select json_group_array(r.id) from records r where {condition}"
            return _listed(connection, columns, statement, values)
        case Condition():
            masks = [mask_of(connection, columns, filters) for filters in demand.any_of]
            return np.logical_or.reduce(masks) if masks else np.zeros(columns.size, np.bool_)
        case Not():
            return ~asked(demand.of)
        case AllOf():
            return np.asarray(np.logical_and.reduce([asked(part) for part in demand.of]))
        case AnyOf():
            return np.asarray(np.logical_or.reduce([asked(part) for part in demand.of]))


def _listed(
    connection: sqlite3.Connection, columns: Columns, statement: str, values: Sequence[Any]
) -> Mask:
    """The records whose numbers the one value of ``statement`` lists."""
    (found,) = connection.execute(statement, values).fetchone()
    numbers = np.array(json.loads(found), dtype=np.int64)
    mask = np.zeros(columns.size, dtype=np.bool_)
    mask[numbers[numbers < columns.size]] = True
    return mask


def _by_columns(columns: Columns, filters: Filters, records: Numbers) -> Mask:
    """Whether ``records`` exist and pass those of ``filters`` that the columns know."""
    kinds = columns.kinds[records]
    mask = np.isin(kinds, KIND_CODES.among(filters.kinds)) if filters.kinds else kinds != GONE
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


def _folded(name: str) -> str:
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in name)

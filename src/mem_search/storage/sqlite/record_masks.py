"""Which records pass a filter: a mask over the record columns.

Statements answer only what these do not know.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model import AllOf, AnyOf, Condition, Demand, Filters, Not, Term
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import Numbers
from mem_search.storage.rules.names import ascii_lower
from mem_search.storage.sqlite.filters import FILTERS
from mem_search.storage.sqlite.record_columns import GONE, Columns

Mask = NDArray[np.bool_]
MAX_MASKS: Final = 32
"""Filters whose masks are cached until something is written; one byte a record each."""


def passes(
    connection: sqlite3.Connection, columns: Columns, filters: Filters, records: Numbers
) -> Mask:
    """For each of ``records`` whether it exists and is within ``filters``.

    ``records`` may hold a number several times, and numbers that ``columns`` do not have.
    """
    inside = records < len(columns.kinds)
    return inside & mask_of(connection, columns, filters)[np.where(inside, records, 0)]


def mask_of(connection: sqlite3.Connection, columns: Columns, filters: Filters) -> Mask:
    """The same for every number in ``columns``, as an array by record number. It is cached with the
    columns, because a search needs it several times.
    """
    mask = columns.masks.get(filters)
    if mask is None:
        mask = _by_columns(columns, filters, np.arange(len(columns.kinds)))
        for asked in _by_statements(connection, columns, filters):
            mask &= asked
        while len(columns.masks) >= MAX_MASKS:
            columns.masks.pop(next(iter(columns.masks)), None)
        columns.masks[filters] = mask
    return mask


def _by_statements(
    connection: sqlite3.Connection, columns: Columns, filters: Filters
) -> Iterator[Mask]:
    """A mask for each filter on data that is not in the columns."""
    for condition, values in FILTERS.facets(filters):
        statement = f"select json_group_array(x.record_id) from facets x where {condition}"
        yield _listed(connection, columns, statement, values)
    for test in filters.metadata:
        mask = _mask(columns, columns.metadata.passing(connection, test))
        if test.test == "has":  # tags and derived facets are not in the metadata
            condition, values = FILTERS.among("x.name", test.names)
            statement = f"select json_group_array(x.record_id) from facets x where {condition}"
            mask |= _listed(connection, columns, statement, values)
        yield mask
    rest = Filters(stored=filters.stored, url=filters.url)
    if rest:
        condition, values = FILTERS.where(connection, rest)
        statement = f"select json_group_array(r.id) from records r where {condition}"
        yield _listed(connection, columns, statement, values)
    if filters.demand is not None:
        yield _demanded(connection, columns, filters.demand)


def _demanded(connection: sqlite3.Connection, columns: Columns, demand: Demand) -> Mask:
    def asked(part: Demand) -> Mask:
        return _demanded(connection, columns, part)

    match demand:
        case Term():
            condition, values = FILTERS.demand(connection, demand)
            statement = f"select json_group_array(r.id) from records r where {condition}"
            return _listed(connection, columns, statement, values)
        case Condition():
            masks = [mask_of(connection, columns, filters) for filters in demand.any_of]
            return np.logical_or.reduce(masks) if masks else np.zeros(len(columns.kinds), np.bool_)
        case Not():
            return ~asked(demand.of)
        case AllOf():
            return np.asarray(np.logical_and.reduce([asked(part) for part in demand.of]))
        case AnyOf():
            return np.asarray(np.logical_or.reduce([asked(part) for part in demand.of]))


def _listed(
    connection: sqlite3.Connection, columns: Columns, statement: str, values: Sequence[Any]
) -> Mask:
    """The records whose numbers ``statement`` returns in one row."""
    (found,) = connection.execute(statement, values).fetchone()
    return _mask(columns, np.array(json.loads(found), dtype=np.int64))


def _mask(columns: Columns, numbers: Numbers) -> Mask:
    mask = np.zeros(len(columns.kinds), dtype=np.bool_)
    mask[numbers[numbers < len(columns.kinds)]] = True
    return mask


def _by_columns(columns: Columns, filters: Filters, records: Numbers) -> Mask:
    """Whether ``records`` exist and pass those of ``filters`` that the columns can decide."""
    kinds = columns.kinds[records]
    mask = np.isin(kinds, KIND_CODES.among(filters.kinds)) if filters.kinds else kinds != GONE
    if filters.project:
        # As in ``filters``: without regard to the case of ASCII letters.
        wanted = ascii_lower(filters.project)
        projects = columns.names["project"].among(lambda name: ascii_lower(name) == wanted)
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

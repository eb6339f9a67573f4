"""Records together with the links they came with: what opening and exporting show."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from mem_search.model import Filters, Order
from mem_search.model.records import RecordWithLinks
from mem_search.storage.sqlite import edges, records


def fetch(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[RecordWithLinks]:
    """The records with these numbers that there are, in the order asked for."""
    found = records.fetch(connection, numbers)
    return [
        (found[number], edges.links(connection, number)) for number in numbers if number in found
    ]


def browse(
    connection: sqlite3.Connection, filters: Filters, order: Order, limit: int, offset: int
) -> tuple[list[RecordWithLinks], int]:
    """A page of what passes the filters, by date, and how many do."""
    numbers = records.browse(connection, filters, order, limit, offset)
    return fetch(connection, numbers), sum(records.counts(connection, filters).values())


def export_page(
    connection: sqlite3.Connection, filters: Filters, after: int, size: int
) -> list[RecordWithLinks]:
    """The next records after number ``after``, in the order they were stored."""
    return fetch(connection, records.export_page(connection, filters, after, size))

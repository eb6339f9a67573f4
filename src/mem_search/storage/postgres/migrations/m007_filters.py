"""The step ``m007_filters``."""

from __future__ import annotations

from typing import Final

from mem_search.storage.postgres.connection import Connection

COLUMNS: Final = (
    ("records", "project_lower", "lower(project)"),
    ("records", "title_lower", "lower(left(title, 100))"),
    ("facets", "value_lower", "lower(value)"),
)

REPLACED: Final = (
    "records_owner_lower_created_at_idx",
    "records_owner_kind_created_at_idx",
    "records_owner_lower_idx",
    "facets_owner_name_lower_idx",
)

INDEXES: Final = (
    "index on records(owner, project_lower, created_at) include (id)",
    "index on records(owner, kind, created_at) include (id)",
    "index on records(owner, title_lower)",
    "index on records(owner, project)",
    "index on facets(owner, name, value_lower) include (record_id)",
)


def m007_filters(connection: Connection) -> None:
    """A filter by project, kind or facet reads its numbers from an index, and the list of projects
    is a few seeks. Before, a filter by project and that list read every record of the owner.

    Lower-case values are columns: ``lower`` is not leakproof, so under row-level security the
    planner never uses an index of the expression.
    """
    for table, column, value in COLUMNS:
        connection.execute(
            f"alter table {table} add column {column} text generated always as ({value}) stored"
        )
    for index in REPLACED:
        connection.execute(f"drop index if exists {index}")
    for index in INDEXES:
        connection.execute(f"create {index}")

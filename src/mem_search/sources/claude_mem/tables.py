"""The three tables of claude-mem that are read, and the names their columns have had.

The columns that exist decide how a database is read, not its version number: claude-mem's own
migrations look at columns, too, and branches of it used the same numbers for different changes.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from mem_search.model import Kind

MEMORY_SESSION: Final = ("memory_session_id", "sdk_session_id")
"""The session's id in the observer; the second name is from before 8.2.6."""
CONTENT_SESSION: Final = ("content_session_id", "claude_session_id")
"""The session's id in the coding agent; the second name is from before 8.2.6."""
NEEDED: Final = ("observations", "sdk_sessions", "session_summaries")
"""A database without these tables is not claude-mem's. ``user_prompts`` came later."""


SHARED: Final = {
    "created_at_epoch": ("created_at_epoch",),
    "project": ("project",),
    "merged_into_project": ("merged_into_project",),
    "memory_session": MEMORY_SESSION,
    "content_session": CONTENT_SESSION,
    "prompt_number": ("prompt_number",),
}
"""Fields of every table: our name, and its column's names, newest first."""
SESSION: Final = {
    "session_project": ("project",),
    "session_memory": MEMORY_SESSION,
    "session_content": CONTENT_SESSION,
    "platform": ("platform_source",),
}
"""Fields that a row gets from its session in ``sdk_sessions``."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table; ``own`` are the columns that only it has, which were never renamed."""

    name: str
    kind: Kind
    own: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Our names for the fields of a row, in order, after its id."""
        return (*SHARED, *SESSION, *self.own)

    def select(self, columns: Set[str], session_columns: Set[str]) -> str:
        """SQL for the id and ``names`` of the rows with ids from ``?`` to ``?``, in order of id.

        A column that this database does not have is null.
        """
        wanted = ["t.id"]
        wanted += [_column("t", names, columns) for names in SHARED.values()]
        wanted += [_column("s", names, session_columns) for names in SESSION.values()]
        wanted += [_column("t", (name,), columns) for name in self.own]
        return (
            f"select {', '.join(wanted)} from {self.name} t"  # noqa: S608 - names from above
            f" left join sdk_sessions s on {self._join(columns, session_columns)}"
            " where t.id between ? and ? order by t.id"
        )

    def place(self, name: str) -> int:
        """The index of the field ``name`` in a row."""
        return self.names.index(name) + 1

    def _join(self, columns: Set[str], session_columns: Set[str]) -> str:
        memory, there = _pick(MEMORY_SESSION, columns), _pick(MEMORY_SESSION, session_columns)
        if memory and there:
            return f"s.{there} = t.{memory}"
        content, there = _pick(CONTENT_SESSION, columns), _pick(CONTENT_SESSION, session_columns)
        if not content or not there:
            return "false"
        # The session id of an agent can occur once per platform; any of them will do.
        found = f"(select min(x.id) from sdk_sessions x where x.{there} = t.{content})"  # noqa: S608
        if "session_db_id" in columns:
            found = f"coalesce(t.session_db_id, {found})"
        return f"s.id = {found}"


TABLES: Final = (
    Table(
        "observations",
        "observation",
        (
            "type", "title", "subtitle", "narrative", "text", "facts", "concepts", "files_read",
            "files_modified", "agent_type", "discovery_tokens",
        ),
    ),
    Table(
        "session_summaries",
        "session_summary",
        (
            "request", "investigated", "learned", "completed", "next_steps", "notes",
            "files_read", "files_edited", "discovery_tokens",
        ),
    ),
    Table("user_prompts", "user_prompt", ("prompt_text",)),
)  # fmt: skip


def _pick(names: tuple[str, ...], columns: Set[str]) -> str | None:
    return next((name for name in names if name in columns), None)


def _column(table: str, names: tuple[str, ...], columns: Set[str]) -> str:
    name = _pick(names, columns)
    return f"{table}.{name}" if name else "null"

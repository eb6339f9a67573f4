"""Merging and renaming: records keep the number of their own project, so each is taken back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from mem_search.errors import Conflict, InputError, NotFound
from mem_search.model.projects import EXACTLY, told_apart
from mem_search.storage.sql import projects
from mem_search.storage.sql.connection import Connection, Repository, folded_name, reads, writes
from mem_search.text.dates import now_ms

_CALLED: Final = 'lower({0}) = lower(%s::text collate "C")'


class StoredProjects(Repository):
    """Projects by their names. A project of records that only name it becomes one of the table."""

    @reads
    def paths(self, connection: Connection) -> dict[str, str]:
        """The name of each project → where it was first seen."""
        rows = connection.execute(
            "select name, root from projects where merged_into is null and root != ''"
        )
        return {name: root for name, root in rows}  # noqa: C416  a row is no pair for mypy

    @writes
    def merge(self, connection: Connection, name: str, into: str) -> ProjectChange:
        """Let the records of ``name`` be of ``into``. Raises NotFound, InputError."""
        connection.lock_store()
        number, other = _project_number(connection, name), _project_number(connection, into)
        if number == other:
            raise InputError(f"{name!r} and {into!r} are one project", field="into")
        before, after = (projects.named(connection, each).name for each in (number, other))
        count = connection.count("select count(*) from records where project = %s", (before,))
        connection.execute("update projects set merged_into = %s where id = %s", (other, number))
        projects.rename_in_records(connection, projects.with_merged(connection, number), after)
        return _noted(connection, number, ProjectChange("merge", before, after, count))

    @writes
    def rename(self, connection: Connection, name: str, new: str) -> ProjectChange:
        """Raises NotFound, and Conflict where a project has the new name."""
        connection.lock_store()
        number = _project_number(connection, name)
        before = projects.named(connection, number).name
        others = {
            *connection.column(
                "select name from projects where id != %s and merged_into is null", (number,)
            ),
            *connection.column(
                "select distinct project from records where project != %s", (before,)
            ),
        }
        if folded_name(new) in map(folded_name, others):
            raise Conflict(
                f"there is a project {new!r}; to make them one: mem-search projects"
                f" --merge {before!r} {new!r}",
                field="name",
            )
        connection.execute("update projects set named = true where id = %s", (number,))
        count = projects.rename(connection, number, new)
        return _noted(connection, number, ProjectChange("rename", before, new, count))

    @writes
    def undo(self, connection: Connection) -> ProjectChange:
        """Take back the last change that was not taken back. Raises NotFound for none."""
        connection.lock_store()
        row = connection.maybe(
            "select id, project_id, what, before, after from project_changes where not undone"
            " order by id desc limit 1"
        )
        if row is None:
            raise NotFound("no change of a project is left to take back")
        change, number, what, before, after = row
        connection.execute("update project_changes set undone = true where id = %s", (change,))
        if what == "merge":
            connection.execute("update projects set merged_into = null where id = %s", (number,))
        else:
            connection.execute("update projects set named = false where id = %s", (number,))
        taken = connection.column(
            f"select root from projects where id != %s and merged_into is null"
            f" and {_CALLED.format('name')}",
            (number, before),
        )
        (root,) = connection.one("select root from projects where id = %s", (number,))
        name = told_apart(before, root or str(number), {*taken}) if taken else before
        count = projects.rename(connection, number, name)
        return ProjectChange(what, name, after, count, undone=True)


def _noted(connection: Connection, number: int, change: ProjectChange) -> ProjectChange:
    last = connection.count("select coalesce(max(id), 0) from project_changes")
    connection.execute(
        "insert into project_changes(id, at, project_id, what, before, after)"
        " values(%s, %s, %s, %s, %s, %s)",
        (last + 1, now_ms(), number, change.what, change.before, change.after),
    )
    return change


def _project_number(connection: Connection, name: str) -> int:
    """The number of the project with this name. Raises NotFound, InputError for several."""
    meant = [each for each in projects.names_meant(connection, name) if each]
    exactly = name.removeprefix(EXACTLY)
    same = folded_name(exactly)
    rows = connection.execute("select id, name from projects where merged_into is null")
    numbers = [number for number, called in rows if folded_name(called) == same]
    if not numbers and len(meant) > 1:
        raise InputError(f"{name!r} are several projects: {', '.join(meant[1:])}; name one")
    only_named = connection.column(
        "select distinct project from records where project_id is null order by project"
    )
    called_so = [each for each in only_named if folded_name(each) == same]
    if not numbers:
        if not called_so:
            raise NotFound(f"no project is called {exactly!r}; mem-search projects lists them")
        numbers = [projects.add(connection, called_so[0], called_so[0], "")]
    # What only names the project is meant as well.
    connection.execute(
        "update records set project_id = %s where project_id is null and project = any(%s::text[])",
        (numbers[0], called_so),
    )
    return int(numbers[0])


@dataclass(frozen=True, slots=True)
class ProjectChange:
    """``before`` is the project's name until then, ``after`` that of its records from then on.

    ``records`` are how many records the change gave another name.
    """

    what: Literal["rename", "merge"]
    before: str
    after: str
    records: int
    undone: bool = False

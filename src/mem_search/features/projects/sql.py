"""Merging and renaming: records keep the number of their own project, so each is taken back."""

from __future__ import annotations

from typing import Final

from mem_search.errors import Conflict, InputError, NotFound
from mem_search.features.projects.model import ProjectChange
from mem_search.model.projects import EXACTLY, told_apart
from mem_search.storage.sql import projects
from mem_search.storage.sql.connection import Connection, Repository, reads, writes
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
        number, other = _found(connection, name), _found(connection, into)
        if number == other:
            raise InputError(f"{name!r} and {into!r} are one project", field="into")
        before, after = (projects.named(connection, each).name for each in (number, other))
        count = connection.count("select count(*) from records where project = %s", (before,))
        connection.execute("update projects set merged_into = %s where id = %s", (other, number))
        projects.bear(connection, projects.with_merged(connection, number), after)
        return _noted(connection, number, ProjectChange("merge", before, after, count))

    @writes
    def rename(self, connection: Connection, name: str, new: str) -> ProjectChange:
        """Raises NotFound, and Conflict where a project has the new name."""
        connection.lock_store()
        number = _found(connection, name)
        before = projects.named(connection, number).name
        taken = connection.maybe(
            f"select 1 from projects where id != %s and merged_into is null"
            f" and {_CALLED.format('name')}",
            (number, new),
        ) or connection.maybe(
            f"select 1 from records where {_CALLED.format('project')} and project != %s",
            (new, before),
        )
        if taken:
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


def _found(connection: Connection, name: str) -> int:
    """The number of the project with this name. Raises NotFound, InputError for several."""
    meant = [each for each in projects.names_meant(connection, name) if each]
    numbers = connection.column(
        f"select id from projects where merged_into is null and {_CALLED.format('name')}",
        (meant[0],),
    )
    if not numbers and len(meant) > 1:
        raise InputError(f"{name!r} are several projects: {', '.join(meant[1:])}; name one")
    exactly = name.removeprefix(EXACTLY)
    if not numbers:
        known = connection.maybe(
            f"select project from records where project_id is null and {_CALLED.format('project')}",
            (exactly,),
        )
        if known is None:
            raise NotFound(f"no project is called {exactly!r}; mem-search projects lists them")
        numbers = [projects.add(connection, known[0], known[0], "")]
    # What only names the project is meant as well.
    connection.execute(
        f"update records set project_id = %s where project_id is null"
        f" and {_CALLED.format('project')}",
        (numbers[0], exactly),
    )
    return int(numbers[0])

"""Projects by what tells them apart: a repository by its marks, other folders by their path.

What is seen is recorded, so that a folder that is gone later, a repository that was moved and a
work tree that was removed keep their project. A mark is ``tree:PATH`` of a work tree,
``folder:PATH`` of a folder outside git, or one of ``ProjectPlace.marks``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from mem_search.git.marks import is_repository
from mem_search.model.projects import EXACTLY, KnownProject, ProjectPlace, told_apart
from mem_search.storage.sql.connection import (
    Connection,
    Repository,
    folded_name,
    reads,
    writes,
)
from mem_search.text.dates import now_ms

MAX_DEPTH: Final = 64
"""Folders above a directory in which a recorded work tree is looked for."""

_KEYED: Final = ("path", "symbol")
"""Names of things within a project: ``path:api:src/a.py`` (``ingest.edges``)."""


class ProjectPlaces(Repository):
    """Asks for the projects of places, and records what is seen of them."""

    async def projects_at(self, places: Sequence[ProjectPlace]) -> list[KnownProject]:
        """The project of each place. One that is not known is made, and what is seen recorded."""
        known = [each for each in await self._known_projects(places) if each is not None]
        return known if len(known) == len(places) else await self._settle_projects(places)

    @reads
    def project_folders(self, connection: Connection) -> list[str]:
        """Where projects were first seen, the newest first."""
        return connection.column(
            "select root from projects where root != '' order by created_at desc, id desc"
        )

    @reads
    def _known_projects(
        self, connection: Connection, places: Sequence[ProjectPlace]
    ) -> list[KnownProject | None]:
        return known(connection, places)

    @writes
    def _settle_projects(
        self, connection: Connection, places: Sequence[ProjectPlace]
    ) -> list[KnownProject]:
        return settle(connection, places)


def known(connection: Connection, places: Sequence[ProjectPlace]) -> list[KnownProject | None]:
    """The project of each place; None for one of which something is still to be recorded."""
    projects: list[KnownProject | None] = []
    for place in places:
        marks = _recorded(connection, place)
        number = _project_of(connection, place, marks)
        is_whole = all(marks.get(mark) == number for mark in _own(place)) and all(
            mark in marks for mark in place.marks
        )
        projects.append(named(connection, number) if number and is_whole else None)
    return projects


def settle(connection: Connection, places: Sequence[ProjectPlace]) -> list[KnownProject]:
    """The project of each place, which is made where there is none, with what is seen of it."""
    connection.lock_store()
    numbers = []
    for place in places:
        marks = _recorded(connection, place)
        number = _project_of(connection, place, marks) or _create(connection, place)
        connection.many(
            "insert into project_marks(mark, project_id) values(%s, %s)"
            " on conflict(owner, mark) do update set project_id = excluded.project_id",
            [(mark, number) for mark in _own(place) if place.root or not _is_below(place, marks)],
        )
        connection.many(
            "insert into project_marks(mark, project_id) values(%s, %s) on conflict do nothing",
            [(mark, number) for mark in place.marks],
        )
        numbers.append(number)
    return [named(connection, number) for number in numbers]


def at(connection: Connection, place: ProjectPlace) -> KnownProject | None:
    """The project of the place as far as it is recorded; nothing is written."""
    number = _project_of(connection, place, _recorded(connection, place))
    return named(connection, number) if number else None


def named(connection: Connection, number: int) -> KnownProject:
    """The project with the name of the one that it was merged into, if it was."""
    name, into = connection.one("select name, merged_into from projects where id = %s", (number,))
    while into is not None:
        name, into = connection.one("select name, merged_into from projects where id = %s", (into,))
    return KnownProject(number, name)


def names_meant(connection: Any, name: str) -> list[str]:
    """The names of projects that a filter means: of each folder called so, or of one exactly."""
    if name.startswith(EXACTLY):
        return [name.removeprefix(EXACTLY)]
    folded = folded_name(name)
    rows = connection.execute(
        "select folder, name from projects where merged_into is null and name != folder"
        " order by name"
    )
    return [
        name,
        *(
            called
            for folder, called in rows
            if folded_name(folder) == folded and folded_name(called).startswith(f"{folded} (")
        ),
    ]


def rename(connection: Connection, number: int, name: str) -> int:
    """Name the project and all that was merged into it; how many records have the name now."""
    connection.execute("update projects set name = %s where id = %s", (name, number))
    return rename_in_records(connection, with_merged(connection, number), name)


def rename_in_records(connection: Connection, numbers: Sequence[int], name: str) -> int:
    """Let the records of these projects bear ``name``; how many are changed."""
    of_these = "project_id = any(%s::bigint[])"
    others = connection.column(
        f"select distinct project from records where {of_these} and project != %s",
        (list(numbers), name),
    )
    for old in others:
        move(connection, of_these, [list(numbers)], old, name)
    return connection.count(f"select count(*) from records where {of_these}", (list(numbers),))


def move(connection: Connection, condition: str, values: list[object], old: str, name: str) -> None:
    """Give records of the project ``old`` another; ``condition`` is over ``records``."""
    chosen = f"select id from records where {condition} and project = %s"
    for table, column, record in (("edges", "key", "from_id"), ("names", "name", "record_id")):
        for sort in _KEYED:
            before, after = f"{sort}:{old.lower()}:", f"{sort}:{name.lower()}:"
            connection.execute(
                f"update {table} set {column} = %s || substr({column}, %s)"
                f" where substr({column}, 1, %s) = %s and {record} in ({chosen})",
                (after, len(before) + 1, len(before), before, *values, old),
            )
    connection.execute(
        f"update records set project = %s where {condition} and project = %s", (name, *values, old)
    )


def with_merged(connection: Connection, number: int) -> list[int]:
    """The project and all that was merged into it."""
    numbers = [number]
    for each in numbers:
        numbers += connection.column("select id from projects where merged_into = %s", (each,))
    return numbers


def _own(place: ProjectPlace) -> list[str]:
    """The marks of where it lies."""
    if place.root:
        return list(dict.fromkeys((f"tree:{place.root}", f"tree:{place.checkout}")))
    return [f"folder:{place.directory}"]


def _trees(directory: str) -> Iterator[tuple[str, str]]:
    """The directory and those above it, the nearest first, each with its mark."""
    path = PurePosixPath(directory)
    for each in (path, *path.parents)[:MAX_DEPTH]:
        yield str(each), f"tree:{each}"


def _is_below(place: ProjectPlace, marks: dict[str, int]) -> bool:
    return any(mark in marks for _, mark in _trees(place.directory))


def _recorded(connection: Connection, place: ProjectPlace) -> dict[str, int]:
    """Those of the marks that may tell the place which are recorded, with their projects."""
    wanted = [mark for _, mark in _trees(place.directory)]
    wanted += [*_own(place), f"folder:{place.root or place.directory}", *place.marks]
    wanted += [f"tree:{each.removeprefix('remote:')}" for each in _local(place.marks)]
    rows = connection.execute(
        "select mark, project_id from project_marks where mark = any(%s::text[])", (wanted,)
    )
    recorded: dict[str, int] = dict(rows)
    if not place.root and _is_below(place, recorded):
        nearest = next(recorded[mark] for _, mark in _trees(place.directory) if mark in recorded)
        recorded.setdefault(f"folder:{place.directory}", nearest)
    return recorded


def _local(marks: Iterable[str]) -> list[str]:
    """Those of a repository that was cloned from another one on this machine."""
    return [mark for mark in marks if mark.startswith("remote:/")]


def _project_of(connection: Connection, place: ProjectPlace, marks: dict[str, int]) -> int | None:
    for path, mark in _trees(place.directory):
        # A work tree that is gone, below a repository that is still there.
        if len(path) > len(place.checkout) and mark in marks:
            return marks[mark]
    if not place.root:
        return marks.get(f"folder:{place.directory}")
    here = marks.get(f"tree:{place.root}")
    if here is not None and _may_be(connection, here, place):
        return here
    for mark in place.marks:
        number = marks.get(mark)
        if number is None and mark in _local((mark,)):
            number = marks.get(f"tree:{mark.removeprefix('remote:')}")
        if number is None or number == here:
            continue
        # Two repositories without a remote may begin alike: a copy, or an empty first commit.
        if mark.startswith("remote:") or not _lies_elsewhere(connection, number, place):
            return number
    return None if here is not None else marks.get(f"folder:{place.root}")


def _may_be(connection: Connection, number: int, place: ProjectPlace) -> bool:
    """Whether the repository is the one that was seen at its path before, and no other one."""
    seen = {mark for mark in _marks_of(connection, number) if not mark.startswith(_PATHS)}
    here = set(place.marks)
    if all(any(mark.startswith("remote:") for mark in marks) for marks in (seen, here)):
        # Forks begin alike.
        seen, here = ({m for m in marks if not m.startswith("first:")} for marks in (seen, here))
    return not seen or not here or not seen.isdisjoint(here)


_PATHS: Final = ("tree:", "folder:")


def _lies_elsewhere(connection: Connection, number: int, place: ProjectPlace) -> bool:
    """Whether a repository of the project is still there, at another path."""
    trees = [mark[5:] for mark in _marks_of(connection, number) if mark.startswith("tree:")]
    others = (each for each in trees if each not in (place.root, place.checkout))
    return any(map(is_repository, others))


def _marks_of(connection: Connection, number: int) -> list[str]:
    return connection.column("select mark from project_marks where project_id = %s", (number,))


def _create(connection: Connection, place: ProjectPlace) -> int:
    path = place.root or place.directory
    number = add(connection, place.name, place.name, path)
    alike = connection.execute(
        "select id, name, root, named from projects where id != %s and merged_into is null"
        ' and (lower(folder) = lower(%s::text collate "C")'
        ' or lower(name) = lower(%s::text collate "C"))',
        (number, place.name, place.name),
    ).fetchall()
    if alike:
        paths = {root for _, _, root, _ in alike}
        own = told_apart(place.name, path, paths)
        while own in {name for _, name, _, _ in alike}:
            own = f"{own.removesuffix(')')}, later)"
        connection.execute("update projects set name = %s where id = %s", (own, number))
    for other, name, root, by_person in alike:
        if name == place.name and root and not by_person:
            apart = told_apart(name, root, ({each[2] for each in alike} | {path}) - {root})
            rename(connection, other, apart)
    return number


def add(connection: Connection, name: str, folder: str, root: str) -> int:
    """A new project with this name; its number."""
    number = connection.count("select coalesce(max(id), 0) + 1 from projects")
    connection.execute(
        "insert into projects(id, name, folder, root, created_at) values(%s, %s, %s, %s, %s)",
        (number, name, folder, root, now_ms()),
    )
    return number


def numbers_of(connection: Connection, records: Sequence[int]) -> list[int]:
    """The projects of these records."""
    return connection.column(
        "select distinct project_id from records where project_id is not null"
        " and id = any(%s::bigint[])",
        (list(records),),
    )


def drop_empty(connection: Connection, numbers: Sequence[int]) -> None:
    """Forget those of the projects that have no record any more: their names, paths and remotes."""
    empty = [
        number
        for number in numbers
        if not connection.count(
            "select count(*) from records where project_id = any(%s::bigint[])",
            (with_merged(connection, number),),
        )
    ]
    for table, column in (("project_marks", "project_id"), ("project_changes", "project_id")):
        connection.execute(f"delete from {table} where {column} = any(%s::bigint[])", (empty,))
    connection.execute("delete from projects where id = any(%s::bigint[])", (empty,))

"""``/api/projects``: the projects, and what makes two of them one or gives one another name."""

from __future__ import annotations

from typing import Annotated

from aiohttp import web
from pydantic import Field, StringConstraints

from mem_search.features.projects.sql import ProjectChange, StoredProjects
from mem_search.http.core.parameters import Body, PlatformParameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.model.statistics import ProjectTotals
from mem_search.records.base import MAX_CHARS
from mem_search.renderers.schema import Count, From, Projection, Time, schema
from mem_search.text.redaction import refuse_secret


@schema
class CountedProject(Projection[ProjectTotals]):
    """A project, how many records it has and when the last one was created."""

    name: str
    records: Count
    last: Annotated[Time, From("last_at")]


@schema
class Project(CountedProject):
    """A project; `path` is where it was first seen, empty for one that is only named."""

    path: str


@schema
class Projects:
    """Projects, the one with the newest record first."""

    projects: list[Project]


@schema
class ChangedProject(Projection[ProjectChange]):
    """What was done, or taken back (`undone`): `records` bear another name since."""

    what: str
    before: str
    after: str
    records: Count
    undone: bool


Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_CHARS["project"])
]


class MergeBody(Body):
    """Two projects that are one."""

    project: Name = Field(description="The project whose records get the other name")
    into: Name = Field(description="The project that it becomes a part of")


class RenameBody(Body):
    """A project and its new name."""

    project: Name = Field(description="The project by its name")
    name: Name = Field(description="Its new name")


async def listed(call: Call) -> web.StreamResponse:
    """Projects, the one with the newest record first."""
    params = call.parameters(PlatformParameters)
    rows = await call.runtime.store.records.projects(params.platform)
    paths = await call.runtime.store.part(StoredProjects).paths()
    projects = [Project.of(row, path=paths.get(row.name, "")) for row in rows]
    return json_reply(Projects(projects=projects))


async def merge(call: Call) -> web.StreamResponse:
    """Make two projects one; what is read later of the first goes to the second, too."""
    body = call.json_body(MergeBody)
    change = await call.runtime.store.part(StoredProjects).merge(body.project, body.into)
    return _changed(call, change)


async def rename(call: Call) -> web.StreamResponse:
    """Give a project another name; what is read later of it has that name, too."""
    body = call.json_body(RenameBody)
    refuse_secret(body.name)
    change = await call.runtime.store.part(StoredProjects).rename(body.project, body.name)
    return _changed(call, change)


async def undo(call: Call) -> web.StreamResponse:
    """Take back the last merging or renaming."""
    return _changed(call, await call.runtime.store.part(StoredProjects).undo())


def _changed(call: Call, change: ProjectChange) -> web.StreamResponse:
    call.runtime.search.store.changed()
    return json_reply(ChangedProject.of(change))


# fmt: off
ROUTES = (
    Route("GET", "/api/projects", listed, "List projects, the last active first", "about", PlatformParameters, response=Projects),
    Route("POST", "/api/projects/merge", merge, "Make two projects one", "about", body=MergeBody, write=True, response=ChangedProject, errors=(404,)),
    Route("POST", "/api/projects/rename", rename, "Give a project another name", "about", body=RenameBody, write=True, response=ChangedProject, errors=(404, 409)),
    Route("POST", "/api/projects/undo", undo, "Take back the last merging or renaming of a project", "about", write=True, response=ChangedProject, errors=(404,)),
)

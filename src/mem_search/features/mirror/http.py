"""``/api/mirrors``: folders by which several machines keep in step."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web
from pydantic import Field

from mem_search.errors import InputError
from mem_search.features.mirror.service import JOB
from mem_search.http.core.parameters import Body
from mem_search.http.core.replies import Deleted, json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.http.jobs import SubmittedJob, submitted
from mem_search.renderers.schema import Time, schema
from mem_search.text.redaction import refuse_secret


class MirrorBody(Body):
    """A folder that a sync program carries between machines."""

    folder: str = Field(description="An absolute path on the worker's machine")

    @property
    def place(self) -> str:
        if not Path(self.folder).is_absolute():
            raise InputError(f"{self.folder!r} is not an absolute path", field="folder")
        return refuse_secret(str(Path(self.folder)), "folder")


@schema
class Mirror:
    """A folder, when it was last in step, and why it is not."""

    folder: str
    at: Time | None
    error: str


@schema
class Mirrors:
    """All folders by which this machine keeps in step with others."""

    mirrors: list[Mirror]


async def begin(call: Call) -> web.StreamResponse:
    """Bring the store and a folder in step, and keep them so."""
    return await submitted(call, JOB, {"folder": call.json_body(MirrorBody).place})


async def listed(call: Call) -> web.StreamResponse:
    """All folders, by name."""
    rows = await call.runtime.ingest.mirrors.listed()
    mirrors = [Mirror(folder=folder, at=at, error=error) for folder, _, at, error in rows]
    return json_reply(Mirrors(mirrors=mirrors))


async def stop(call: Call) -> web.StreamResponse:
    """Keep a folder in step no more; its files and all records stay."""
    folder = call.json_body(MirrorBody).place
    await call.runtime.ingest.mirrors.stop(folder)
    return json_reply(Deleted(deleted=folder))


# fmt: off
ROUTES = (
    Route("GET", "/api/mirrors", listed, "List folders by which several machines keep in step", "import", write=True, only="owner", response=Mirrors),
    Route("POST", "/api/mirrors", begin, "Keep in step with other machines by a folder", "import", body=MirrorBody, write=True, defers=True, only="owner", status=202, response=SubmittedJob, errors=(429,)),
    Route("POST", "/api/mirrors/stop", stop, "Keep a folder in step no more", "import", body=MirrorBody, write=True, only="owner", response=Deleted, errors=(404,)),
)

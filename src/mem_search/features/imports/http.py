"""Reading into the store: what is new on this machine, one place of it, a file that is sent."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aiohttp import web
from pydantic import Field

from mem_search import sources
from mem_search.contracts import FileFormat, Source
from mem_search.errors import InputError, MissingField, UnknownType
from mem_search.http.access.authentication import check_jobs
from mem_search.http.core.parameters import Body, Parameters
from mem_search.http.core.reading import pieces
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import ANY_TYPE, Call, Route
from mem_search.http.jobs import NDJSON, SubmittedJob, submitted
from mem_search.ingest import spool
from mem_search.model import Location
from mem_search.renderers.schema import schema
from mem_search.text import secret_rules


@schema
class SourceLocation:
    """A location that a source reads."""

    source: str
    path: str


@schema
class Unfollowed:
    """The location that is no longer read."""

    unfollowed: SourceLocation


EVEN_FORGOTTEN = "Store records again that were forgotten"


_CHUNK = 256 * 1024


class SyncBody(Body):
    """What to read: everything on this machine, one source, or one path."""

    source: str = Field(
        default="", description="With a path, by default every source that reads something there"
    )
    path: str = Field(default="", description="A path, or a URL: imaps://ada@host/, notion://")
    cwd: str = Field(default="", description="The directory whose git repository is read")
    again: bool = Field(default=False, description="Read everything, not only what is new")
    environ: dict[str, str] = Field(
        default_factory=dict,
        description="Where agents have their folders: CLAUDE_CONFIG_DIR, CODEX_HOME, …",
    )


class UnfollowBody(Body):
    """A location that was read, as `GET /api/stats` lists it."""

    source: str
    path: str


class ImportBody(Body):
    """One file to import."""

    source: str = Field(
        default="", description="By default the source that reads files of this name"
    )
    path: str = Field(description="An absolute path on the worker's machine")
    even_forgotten: bool = Field(default=False, description=EVEN_FORGOTTEN)


class UploadedName(Parameters):
    """The name of the uploaded file."""

    name: str = Field(
        default="",
        max_length=255,
        pattern=r"^[^/\x00-\x1f\x7f]*$",
        description="Its name in jobs and in the ledger; a file name, not a path",
    )


class UploadParameters(UploadedName):
    """The name of the uploaded file, and the source that reads it."""

    source: str = Field(
        default="",
        description="By default the source that reads files of this Content-Type or name",
    )
    even_forgotten: bool = Field(default=False, description=EVEN_FORGOTTEN)


async def sync(call: Call) -> web.StreamResponse:
    """Read what is new from the sources of this machine."""
    body = call.json_body(SyncBody)
    if body.source:
        _known(body.source)
    if body.path and sources.by_url(body.path) is None:
        _existing(body.path, "path")
    if body.cwd:
        _existing(body.cwd, "cwd")
    given = body.model_dump(exclude_defaults=True)
    return await submitted(
        call, "sync", {**given, "path": _place(body.path)} if body.path else given
    )


async def unfollow(call: Call) -> web.StreamResponse:
    """Stop reading a location that no longer exists; its records stay."""
    body = call.json_body(UnfollowBody)
    _known(body.source)
    path = _place(body.path)
    await call.runtime.ingest.reader.unfollow(Location(body.source, path))
    return json_reply(Unfollowed(unfollowed=SourceLocation(source=body.source, path=path)))


async def import_file(call: Call) -> web.StreamResponse:
    """Import one file of the worker's machine."""
    body = call.json_body(ImportBody)
    if body.source:
        _known(body.source)
    _existing(body.path, "path")
    source = body.source or await asyncio.to_thread(sources.for_path, Path(body.path))
    source = source or sources.for_file(body.path)[0].name
    return await submitted(
        call,
        "import",
        {"source": source, "path": body.path, **_even(forgotten=body.even_forgotten)},
    )


async def import_upload(call: Call) -> web.StreamResponse:
    """Import the file in the body, with the named source or the one for files of its type."""
    params = call.parameters(UploadParameters)
    content_type = call.request.content_type
    if content_type.startswith("multipart/"):
        raise UnknownType(
            "send the file itself as the body, or use POST /documents/upload with a form"
        )
    source, file_format = sources.for_file(params.name, params.source, content_type)
    return await _upload(
        call, params.name, source, file_format, even_forgotten=params.even_forgotten
    )


async def import_lines(call: Call) -> web.StreamResponse:
    """Import the records in the body, one a line."""
    return await _upload(call, call.parameters(UploadedName).name, *sources.for_file("", "jsonl"))


async def _upload(
    call: Call,
    name: str,
    source: Source,
    file_format: FileFormat,
    *,
    even_forgotten: bool = False,
) -> web.StreamResponse:
    if not call.request.can_read_body:
        raise MissingField("send the file as the body of the request", field="body")
    await check_jobs(call.request, call.runtime)  # before the upload is stored, not only after
    folder, suffixes = call.runtime.settings.spool_dir, file_format.suffixes
    known = ""
    if secret_rules.are_loaded():
        known = name = await asyncio.to_thread(call.runtime.redaction.name, name)
    else:  # the name of the file is not to wait for them
        suffixes = tuple(each for each in suffixes if name.endswith(each)) or suffixes
    spooled = await spool.keep(folder, pieces(call.request, _CHUNK), known, suffixes)
    path = name or spooled.rpartition("/")[2]
    params = {"source": source.name, "path": path, "spooled": spooled}
    return await submitted(call, "import", params | _even(forgotten=even_forgotten))


def _even(*, forgotten: bool) -> dict[str, bool]:
    return {"even_forgotten": True} if forgotten else {}


def _place(path: str) -> str:
    """``path``, or a URL as its source writes it. Raises InputError."""
    source = sources.by_url(path)
    return path if source is None else source.locate(path).path


def _known(source: str) -> None:
    try:
        sources.by_name(source)
    except InputError as error:
        raise InputError(error.message, field="source") from None


def _existing(path: str, field: str) -> None:
    given = Path(path)
    try:
        if not given.is_absolute():
            raise InputError(
                f"{path[:200]!r} is not an absolute path; write the whole path", field=field
            )
        if not given.exists():
            raise InputError(f"{path[:200]!r} does not exist on this machine", field=field)
    except (OSError, ValueError) as error:  # too long, with a null character, or not accessible
        raise InputError(f"{path[:200]!r} cannot be read: {error}", field=field) from None


# fmt: off
ROUTES = (
    Route("POST", "/api/sync", sync, "Import what is new on this machine", "import", body=SyncBody, write=True, defers=True, only="owner", status=202, response=SubmittedJob, errors=(429,)),
    Route("POST", "/api/unfollow", unfollow, "Stop reading a location", "import", body=UnfollowBody, write=True, only="owner", response=Unfollowed, errors=(404,)),
    Route("POST", "/api/import", import_file, "Import a file of this machine", "import", body=ImportBody, write=True, defers=True, only="owner", status=202, response=SubmittedJob, errors=(429,)),
    Route("POST", "/api/import/upload", import_upload, "Import the file in the body", "import", UploadParameters, body_type=ANY_TYPE, write=True, defers=True, status=202, response=SubmittedJob, errors=(429,)),
    Route("POST", "/api/import/jsonl", import_lines, "Import the records in the body, one a line", "import", UploadedName, body_type=NDJSON, write=True, defers=True, status=202, response=SubmittedJob, errors=(429,)),
)

"""``POST /documents/upload`` and ``/documents/fetch``: a document with what is said about it.

The file goes to the spool in pieces, so its size costs no memory. A job reads it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from aiohttp import BodyPartReader, web
from aiohttp.http import HttpProcessingError
from multidict import MultiDict
from pydantic import AfterValidator, BeforeValidator, Field

from mem_search import sources
from mem_search.errors import (
    Conflict,
    InputError,
    MalformedBody,
    MissingField,
    TooLarge,
    UnknownType,
)
from mem_search.extractors.refusal import binary_reason
from mem_search.http.access.authentication import check_jobs
from mem_search.http.core.parameter_types import split
from mem_search.http.core.parameters import Body, Parameters
from mem_search.http.core.problems import Fault, Invalid
from mem_search.http.core.reading import read_query
from mem_search.http.core.request_context import REQUEST_CONTEXT
from mem_search.http.core.routing import Call
from mem_search.http.jobs import submitted
from mem_search.ingest import spool
from mem_search.metadata import faults as metadata_faults
from mem_search.outgoing import RefusedPage, check_url
from mem_search.regular_file import open_regular_file
from mem_search.sources.base import UPLOADED
from mem_search.sources.mail.mailboxes import format_of
from mem_search.sources.sent import OF_ONE
from mem_search.text import secret_rules
from mem_search.text.json_reading import UnusableJson, read_json
from mem_search.text.urls import normal_url
from mem_search.validation import invalid_value, moment
from mem_search.zip_files import DAMAGED_ZIP, Archive, TooManyNames

FORM: Final = "multipart/form-data"
MAX_BYTES: Final = 4 * 2**30
"""Of a file. Most formats are read up to 100 MB; mailboxes and exports may be larger."""

_MAX_FIELD_BYTES: Final = 2**20
_MAX_FIELDS: Final = 200
"""Fields of a form; a tag may be a field of its own."""
_PIECE: Final = 2**18
_HEAD: Final = 4096
_OF_MANY: Final = (".zip", ".json")
"""Ends of names of many programs' files: the content alone tells which source reads them."""

_GENERIC: Final = ("", "application/octet-stream", "text/plain")


def _metadata(value: object) -> dict[str, Any]:
    try:
        read = read_json(str(value).encode())
    except UnusableJson as error:
        raise invalid_value(f"is not usable JSON: {error}") from None
    except ValueError as error:
        raise invalid_value(f"is not JSON: {str(error)[:200]}") from None
    if not isinstance(read, dict):
        raise invalid_value('must be a JSON object, such as {"vendor": "Quay"}')
    return read


def _name(text: str) -> str:
    if "/" in text or not text.isprintable():
        raise invalid_value("must be a file name, without / and control characters")
    return text


Short = Annotated[str, Field(max_length=4000)]


class UploadForm(Parameters):
    """What a form may say beside its `file`."""

    source_type: Annotated[str, Field(max_length=50, pattern=r"^[\w .-]*$")] = Field(
        default="",
        description="What it is or where it comes from: invoice, pdf, google_drive. metadata is"
        " checked against it; the name of a kind decides the kind",
    )
    source_id: Short = Field(
        default="", description="Its id where it comes from; by default the hash of the file"
    )
    title: Short = Field(default="", description="By default what the document says")
    created_at: Annotated[int | None, BeforeValidator(moment, json_schema_input_type=str)] = Field(
        default=None,
        description="RFC 3339, or a day; by default what the document says, else now",
    )
    tags: Annotated[tuple[Short, ...], BeforeValidator(split, json_schema_input_type=str)] = ()
    project: Short = ""
    url: Short = ""
    metadata: Annotated[dict[str, Any], BeforeValidator(_metadata, json_schema_input_type=str)] = (
        Field(default_factory=dict, description="A JSON object; what it says wins")
    )
    name: Annotated[str, Field(max_length=255), AfterValidator(_name)] = Field(
        default="", description="The name of the file, by default as the form has it"
    )
    replace: bool = Field(default=False, description="Replace a document with the same source_id")

    def options(self, source_id: str) -> dict[str, str]:
        """What the source ``files`` reads of it (``sources.base.UPLOADED``)."""
        given = self.model_dump(exclude={"replace", "name", "source_id"}, exclude_defaults=True)
        return {
            "source_id": source_id,
            **{k: v if isinstance(v, str) else json.dumps(v) for k, v in given.items()},
        }


class UploadParameters(Parameters):
    """What may be said in the address as well as in the form."""

    replace: bool = Field(default=False, description="Replace a document with the same source_id")


class FetchBody(Body):
    """A page or a document on the web, and what is said about it."""

    url: str = Field(max_length=2000, description="http or https")
    title: str = Field(default="", max_length=4000, description="By default what the page says")
    tags: list[Short] = Field(default_factory=list)
    project: Short = ""
    metadata: dict[str, Any] = Field(default_factory=dict)


async def fetch(call: Call) -> web.StreamResponse:
    """Queue the job that reads a URL; it is read again, and replaced, when it is sent again."""
    body = call.json_body(FetchBody)
    await check_jobs(call.request, call.runtime)
    try:
        url = check_url(body.url, call.runtime.settings.fetch_allow, RefusedPage)
    except InputError as error:
        error.field = "url"
        raise
    given = body.model_dump(exclude={"url"}, exclude_defaults=True)
    options = {
        "source": "web",
        "source_id": normal_url(str(url)),
        **{k: v if isinstance(v, str) else json.dumps(v) for k, v in given.items()},
    }
    return await submitted(call, "fetch", {"url": str(url), "options": options})


class _Received:
    """A form as it comes in: the fields, and the file in the spool."""

    def __init__(self) -> None:
        self.fields = MultiDict[str]()
        self.spooled = ""
        self.name = ""
        self.content_type = ""
        self.size = 0
        self.head = b""
        self.digest = hashlib.sha256()

    @property
    def is_full(self) -> bool:
        """Whether it has more fields than a form can have."""
        names = len(set(self.fields))
        return names > len(UploadForm.model_fields) or len(self.fields) >= _MAX_FIELDS

    async def chunks(self, part: BodyPartReader) -> AsyncIterator[bytes]:
        while chunk := await part.read_chunk(_PIECE):
            self.size += len(chunk)
            if self.size > MAX_BYTES:
                raise too_large()
            self.head = (self.head + chunk)[:_HEAD] if len(self.head) < _HEAD else self.head
            self.digest.update(chunk)
            yield chunk


async def upload(call: Call) -> web.StreamResponse:
    """Keep the file, check what is said about it, and queue the job that reads it."""
    await check_jobs(call.request, call.runtime)
    if (call.request.content_length or 0) > MAX_BYTES + _MAX_FIELD_BYTES:
        raise too_large()
    folder, received = call.runtime.settings.spool_dir, _Received()
    try:
        await _receive(call, received, folder)
        await secret_rules.ready()
        async with call.runtime.ingest.writer.changing:  # one of two with the same source_id waits
            params = await _job(call, received)
            received.spooled = ""  # from here on it is the job's
            return await submitted(call, "import", params)
    except BaseException:
        if received.spooled:
            spool.discard(folder, received.spooled)
        raise


async def _receive(call: Call, received: _Received, folder: Path) -> None:
    try:
        form = await call.request.multipart()
        while (part := await form.next()) is not None:
            if not isinstance(part, BodyPartReader):
                raise MalformedBody("a part of the form is a form again; send one form")
            name = part.name or ""
            if name == "file":
                if received.spooled:
                    raise InputError("the form has two files; send one form for each", field="file")
                received.name = _file_name(part.filename or "")
                received.content_type = part.headers.get("Content-Type", "").partition(";")[0]
                chunks = received.chunks(part)
                received.spooled = await spool.keep(folder, chunks, received.name, ("",))
            elif received.is_full:
                raise InputError("the form has too many fields", field=name[:100] or "file")
            else:
                received.fields.add(name, await _text(part, name))
    except (ValueError, AssertionError, HttpProcessingError) as error:  # no boundary, no header, …
        raise MalformedBody(
            f"the body is not a complete multipart form: {' '.join(str(error).split())[:200]}"
        ) from None


async def _text(part: BodyPartReader, name: str) -> str:
    pieces = bytearray()
    while piece := await part.read_chunk(_PIECE):
        pieces += piece
        if len(pieces) > _MAX_FIELD_BYTES:
            raise TooLarge(
                f"the field is longer than {_MAX_FIELD_BYTES // 2**20} MB", field=name[:100]
            )
    try:
        return pieces.decode()
    except UnicodeDecodeError:
        raise Invalid([Fault("is not UTF-8", parameter=name[:100])]) from None


async def _job(call: Call, received: _Received) -> Mapping[str, Any]:
    """The parameters of the job. Raises what is wrong with the form."""
    form = _read(call, received.fields)
    if not received.spooled:
        raise MissingField("add the document as the part called file", field="file")
    if not received.size:
        raise InputError("the file is empty", field="file")
    name = form.name or received.name or "document"
    spooled = call.runtime.settings.spool_dir / received.spooled
    source = await asyncio.to_thread(_source, name, received, spooled)
    replaces = form.replace or call.parameters(UploadParameters).replace
    if source.name != "files":
        return await _job_of(call, source.name, form, received, name, replaces=replaces)
    digest = f"sha256:{received.digest.hexdigest()}"
    redaction = call.runtime.redaction
    source_id = redaction.name(form.source_id) or digest
    if not replaces:
        await _check_free(call, UPLOADED, source_id, digest[7:])
    options = {**form.options(source_id), "sha256": digest[7:]}
    return {
        "source": "files",
        "path": redaction.name(name),
        "spooled": received.spooled,
        "options": options,
    }


async def _job_of(
    call: Call, source: str, form: UploadForm, received: _Received, name: str, *, replaces: bool
) -> Mapping[str, Any]:
    """The parameters of the job for a file that another source than ``files`` reads.

    Of one message all can be said that is said of a document. Raises InputError for what cannot be
    true of each of many records, Conflict.
    """
    redaction = call.runtime.redaction
    source_id, sha256 = redaction.name(form.source_id), received.digest.hexdigest()
    options = {k: v for k, v in form.options(source_id).items() if v}
    suffix = Path(name).suffix.lower()
    is_one = source == "mail" and (suffix == ".msg" or format_of(name, received.head) == "message")
    if not is_one and (wrong := [each for each in OF_ONE if each in options]):
        raise InputError(
            f"{name} is read by {source} and may hold many records, which say this themselves;"
            " tags, project and metadata can be given for all of them",
            field=wrong[0],
        )
    if source_id and not replaces:
        await _check_free(call, source, source_id, sha256)
    told = {"options": {**options, "sha256": sha256}} if options else {}
    return {"source": source, "path": redaction.name(name), "spooled": received.spooled, **told}


async def _check_free(call: Call, source: str, source_id: str, sha256: str) -> None:
    """Raises Conflict if another file has the ``source_id``, in the store or in a waiting job."""
    holder = ""
    for job in await call.runtime.store.jobs.unfinished():  # first: what ends now is stored next
        sent = job.params.get("options", {})
        if sent.get("source_id") == source_id and sent.get("sha256", sha256) != sha256:
            holder = f"job {job.id}"
    known = await call.runtime.store.records.named(source, source_id)
    if known is not None and known.metadata.get("sha256") != sha256:
        holder = str(known.ref)
    if holder:
        raise Conflict(
            f"{holder} has this source_id and another file; to replace it: replace=true",
            field="source_id",
        )


def _read(call: Call, fields: MultiDict[str]) -> UploadForm:
    faults: list[Fault] = []
    form = UploadForm()
    try:
        read_as = call.request[REQUEST_CONTEXT].read_as
        form = read_query(UploadForm, fields, call.now, read_as, noun="field")
    except Invalid as error:
        faults += error.faults
    unusable = {fault.parameter for fault in faults} & {"source_type", "metadata"}
    if (source_type := fields.get("source_type")) and not unusable:
        stated = metadata_faults(source_type, _metadata(fields.get("metadata") or "{}"))
        faults += [Fault(detail, parameter=place) for place, detail in stated]
    if faults:
        raise Invalid(faults)
    return form


def _source(name: str, received: _Received, spooled: Path) -> Any:
    """The source for the file. Raises UnknownType for one that no source can read, InputError for
    an archive with more names than are listed.
    """
    if received.head.startswith(b"PK"):
        _check_names(name, spooled)
    if by := sources.for_path(spooled):
        return sources.by_name(by)
    content_type, suffix = received.content_type.lower(), Path(name).suffix.lower()
    for as_name, as_type in (
        (name if suffix not in _OF_MANY else "", ""),
        ("", content_type if content_type not in _GENERIC else ""),
    ):
        try:
            return sources.for_file(as_name, "", as_type)[0]
        except InputError:
            continue
    if reason := binary_reason(received.head, suffix):
        raise UnknownType(f"{name} cannot be read: {reason}", field="file")
    return sources.by_name("files")


def _check_names(name: str, spooled: Path) -> None:
    try:
        with open_regular_file(spooled) as file:
            Archive(file)
    except TooManyNames as error:
        raise InputError(f"{name} cannot be read: {error}", field="file") from None
    except DAMAGED_ZIP:
        pass  # whoever reads it says what is wrong with it


def _file_name(text: str) -> str:
    """The last component of a file name that a client sent."""
    name = text.replace("\\", "/").rpartition("/")[2]
    return "".join(letter for letter in name if letter.isprintable())[:255]


def too_large() -> TooLarge:
    most = MAX_BYTES // 2**30
    return TooLarge(f"the file is larger than {most} GB; split it and send its parts", field="file")

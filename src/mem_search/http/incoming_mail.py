"""``POST /documents/mail``: a message, as it is or as a service sends it to a webhook."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, web
from aiohttp.http import HttpProcessingError

from mem_search.errors import InputError, MalformedBody, TooLarge, UnknownType
from mem_search.http.access.rate_limits import check_jobs
from mem_search.http.core.routing import ANY_TYPE, Call
from mem_search.http.jobs import submitted
from mem_search.http.uploads import FORM
from mem_search.ingest import spool
from mem_search.sources.mail.forms import KNOWN, File, Form, from_form, from_json
from mem_search.sources.mail.mailboxes import format_of
from mem_search.sources.mail.message import LARGEST, TOO_LARGE
from mem_search.text.json_reading import read_json

MOST_BYTES: Final = LARGEST * 4 // 3 + 2**20
"""Of a body: attachments in JSON are a third larger than in the message."""

_RAW: Final = ("message/rfc822", "message/global", "text/plain", ANY_TYPE)
_HEAD: Final = 32_768
_PIECE: Final = 2**18
_MOST_FIELDS: Final = 1_000


async def receive(call: Call) -> web.StreamResponse:
    """Keep the message and queue the job that reads it.

    It answers 200 and not 202, because some services send again after anything else.
    """
    await check_jobs(call.request, call.runtime)
    message = await _message(call.request)
    if format_of("", message[:_HEAD]) != "message":
        raise InputError(
            f"the body is no message: it has no headers of mail; {KNOWN}", field="body"
        )
    if len(message) > LARGEST:
        raise TooLarge(TOO_LARGE, field="body")
    name = f"{hashlib.sha256(message).hexdigest()[:16]}.eml"

    async def whole() -> AsyncIterator[bytes]:
        yield message

    folder = call.runtime.settings.spool_dir
    spooled = await spool.keep(folder, whole(), name, (".eml",))
    try:
        reply = await submitted(
            call, "import", {"source": "mail", "path": name, "spooled": spooled}
        )
    except BaseException:
        spool.discard(folder, spooled)
        raise
    reply.set_status(200)
    return reply


async def _message(request: web.Request) -> bytes:
    if (request.content_length or 0) > MOST_BYTES:
        raise _too_large()
    media_type = request.content_type
    if media_type == FORM:
        return from_form(await _form(request))
    body = bytearray()
    async for chunk in request.content.iter_chunked(_PIECE):
        body += chunk
        if len(body) > MOST_BYTES:
            raise _too_large()
    if media_type in _RAW:
        return bytes(body)
    if media_type == "application/json":
        try:
            return from_json(read_json(bytes(body)))
        except ValueError as error:
            raise MalformedBody(f"the body is not JSON: {str(error)[:200]}") from None
    if media_type == "application/x-www-form-urlencoded":
        try:
            pairs = parse_qsl(
                body.decode("ascii", "replace"),
                errors="surrogateescape",
                max_num_fields=_MOST_FIELDS,
            )
        except ValueError:
            raise MalformedBody(f"the form has more than {_MOST_FIELDS} fields") from None
        return from_form(Form({k: v.encode("utf-8", "surrogateescape") for k, v in pairs}))
    raise UnknownType(f"{media_type} is no mail; {KNOWN}", field="body")


async def _form(request: web.Request) -> Form:
    fields: dict[str, bytes] = {}
    files: list[File] = []
    size = 0
    try:
        form = await request.multipart()
        while (part := await form.next()) is not None:
            if not isinstance(part, BodyPartReader):
                raise MalformedBody("a part of the form is a form again; send one form")
            data = bytearray()
            while chunk := await part.read_chunk(_PIECE):
                data += chunk
                size += len(chunk)
                if size > MOST_BYTES:
                    raise _too_large()
            if len(fields) + len(files) >= _MOST_FIELDS:
                raise MalformedBody(f"the form has more than {_MOST_FIELDS} fields")
            name = part.name or ""
            if part.filename is None or name in ("email", "body-mime"):
                fields[name] = bytes(data)
            else:
                kind = part.headers.get("Content-Type", "")
                files.append(File(part.filename, kind, bytes(data)))
    except (ValueError, AssertionError, HttpProcessingError) as error:  # no boundary, no header, …
        raise MalformedBody(
            f"the body is no whole multipart form: {' '.join(str(error).split())[:200]}"
        ) from None
    return Form(fields, files)


def _too_large() -> TooLarge:
    return TooLarge(f"the body is larger than {MOST_BYTES // 2**20} MiB", field="body")

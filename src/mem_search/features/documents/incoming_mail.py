"""``POST /documents/mail``: a message, as it is or as a service sends it to a webhook.

Where the key of a service is set, only what this service has signed is taken: Mailgun signs a form
in the form (HMAC of time and nonce), SendGrid the whole request in headers (ECDSA). Postmark signs
nothing.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import time
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, MultipartReader, StreamReader, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpProcessingError

from mem_search.errors import Forbidden, InputError, MalformedBody, TooLarge, UnknownType
from mem_search.features.documents.uploads import FORM
from mem_search.http.access.authentication import check_jobs
from mem_search.http.core.routing import ANY_TYPE, Call
from mem_search.http.jobs import submitted
from mem_search.ingest import spool
from mem_search.settings import Settings
from mem_search.sources.mail.forms import KNOWN, File, Form, from_form, from_json
from mem_search.sources.mail.mailboxes import format_of
from mem_search.sources.mail.message import MAX_MESSAGE_BYTES, TOO_LARGE
from mem_search.text.json_reading import read_json

MAX_BYTES: Final = MAX_MESSAGE_BYTES * 4 // 3 + 2**20
"""Of a body: attachments in JSON are a third larger than in the message."""

_RAW: Final = ("message/rfc822", "message/global", "text/plain", ANY_TYPE)
_HEAD: Final = 32_768
_PIECE: Final = 2**18
_MAX_FIELDS: Final = 1_000

_SIGNED: Final = "X-Twilio-Email-Event-Webhook-Signature"
_SIGNED_AT: Final = "X-Twilio-Email-Event-Webhook-Timestamp"
_MAX_AGE_SECONDS: Final = 12 * 3600
"""Mailgun tries for eight hours to deliver; what it signed before that is not taken."""


async def receive(call: Call) -> web.StreamResponse:
    """Keep the message and queue the job that reads it.

    It answers 200 and not 202, because some services send again after anything else.
    """
    await check_jobs(call.request, call.runtime)
    message = await _message(call.request, call.lifecycle.settings)
    if format_of("", message[:_HEAD]) != "message":
        raise InputError(f"the body is not a mail: it has no mail headers; {KNOWN}", field="body")
    if len(message) > MAX_MESSAGE_BYTES:
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


async def _message(request: web.Request, settings: Settings) -> bytes:
    if (request.content_length or 0) > MAX_BYTES:
        raise _too_large()
    body = bytearray()
    async for chunk in request.content.iter_chunked(_PIECE):
        body += chunk
        if len(body) > MAX_BYTES:
            raise _too_large()
    data, media_type = bytes(body), request.content_type
    form = None
    if media_type == FORM:
        form = await _form(request, data)
    elif media_type == "application/x-www-form-urlencoded":
        form = _urlencoded(data)
    if settings.mailgun_key or settings.sendgrid_key:
        by_mailgun = form is not None and is_of_mailgun(form, settings.mailgun_key)
        if not (by_mailgun or is_of_sendgrid(request, data, settings.sendgrid_key)):
            raise Forbidden(
                "the request is not signed by a service whose key is set (mailgun_key,"
                " sendgrid_key); compare the key with that of the service"
            )
    if form is not None:
        return from_form(form)
    if media_type in _RAW:
        return data
    if media_type == "application/json":
        try:
            return from_json(read_json(data))
        except ValueError as error:
            raise MalformedBody(f"the body is not JSON: {str(error)[:200]}") from None
    raise UnknownType(f"{media_type} is not mail; {KNOWN}", field="body")


def is_of_mailgun(form: Form, key: str) -> bool:
    """Whether Mailgun signed the form with the signing key, not long ago."""
    at, nonce, signature = (form.fields.get(n, b"") for n in ("timestamp", "token", "signature"))
    if not (key and at.isdigit() and len(at) < 20):
        return False
    expected = hmac.new(key.encode(), at + nonce, hashlib.sha256).hexdigest()
    is_fresh = abs(time.time() - int(at)) < _MAX_AGE_SECONDS
    return hmac.compare_digest(expected.encode(), signature.strip().lower()) and is_fresh


def is_of_sendgrid(request: web.Request, body: bytes, key: str) -> bool:
    """Whether SendGrid signed the request; ``key`` is its public key as SendGrid shows it."""
    signature, at = request.headers.get(_SIGNED, ""), request.headers.get(_SIGNED_AT, "")
    if not (key and signature):
        return False
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        public = serialization.load_der_public_key(base64.b64decode(key))
        assert isinstance(public, ec.EllipticCurvePublicKey)
    except (ValueError, AssertionError):
        raise InputError(
            "sendgrid_key is not a public key of SendGrid: copy its verification key, one line of"
            " base64", field="sendgrid_key",
        ) from None  # fmt: skip
    try:
        signed = at.encode("utf-8", "replace") + body
        public.verify(base64.b64decode(signature), signed, ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return True


def _urlencoded(body: bytes) -> Form:
    try:
        pairs = parse_qsl(
            body.decode("ascii", "replace"), errors="surrogateescape", max_num_fields=_MAX_FIELDS
        )
    except ValueError:
        raise MalformedBody(f"the form has more than {_MAX_FIELDS} fields") from None
    return Form({k: v.encode("utf-8", "surrogateescape") for k, v in pairs})


async def _form(request: web.Request, body: bytes) -> Form:
    fields: dict[str, bytes] = {}
    files: list[File] = []
    stream = StreamReader(BaseProtocol(asyncio.get_running_loop()), len(body) + 1)
    stream.feed_data(body)
    stream.feed_eof()
    try:
        form = MultipartReader(request.headers, stream)
        while (part := await form.next()) is not None:
            if not isinstance(part, BodyPartReader):
                raise MalformedBody("a part of the form is a form again; send one form")
            data = bytes(await part.read())
            if len(fields) + len(files) >= _MAX_FIELDS:
                raise MalformedBody(f"the form has more than {_MAX_FIELDS} fields")
            name = part.name or ""
            if part.filename is None or name in ("email", "body-mime"):
                fields[name] = data
            else:
                kind = part.headers.get("Content-Type", "")
                files.append(File(part.filename, kind, data))
    except (ValueError, AssertionError, HttpProcessingError) as error:  # no boundary, no header, …
        raise MalformedBody(
            f"the body is not a complete multipart form: {' '.join(str(error).split())[:200]}"
        ) from None
    return Form(fields, files)


def _too_large() -> TooLarge:
    return TooLarge(f"the body is larger than {MAX_BYTES // 2**20} MiB", field="body")

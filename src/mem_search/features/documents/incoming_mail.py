"""``POST /documents/mail``: a message, as it is or as a service sends it to a webhook.

Where the key of a service is set, only what this service has signed is taken: Mailgun signs a form
in the form (HMAC of time and nonce), SendGrid the whole request in headers (ECDSA). Postmark signs
nothing.

SendGrid (Inbound Parse), Mailgun (routes) and Postmark (inbound) take a message apart and send its
parts; each can also send it as it came, which loses nothing. Here it is put together again (RFC
5322), so that all mail is read in one way. The same parts give the same message: a service that
sends twice adds nothing. ``from_form`` and ``from_json`` take any input, in time proportional to
its length.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, quote

from aiohttp import BodyPartReader, MultipartReader, StreamReader, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpProcessingError

from mem_search.errors import Forbidden, InputError, MalformedBody, TooLarge, UnknownType
from mem_search.features.documents.uploads import FORM
from mem_search.http.access.authentication import check_jobs
from mem_search.http.core.reading import pieces
from mem_search.http.core.routing import ANY_TYPE, Call
from mem_search.http.jobs import submitted
from mem_search.ingest import spool
from mem_search.patterns import pattern
from mem_search.settings import Settings
from mem_search.sources.mail.headers import MAX_HEADER_CHARS
from mem_search.sources.mail.mailboxes import format_of
from mem_search.sources.mail.message import MAX_MESSAGE_BYTES, TOO_LARGE
from mem_search.text.charsets import decoded
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
    async for chunk in pieces(request, _PIECE):
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


KNOWN: Final = (
    "what is read is the message itself (message/rfc822), and the forms of SendGrid Inbound Parse,"
    " Mailgun routes and Postmark inbound"
)

_NAME: Final = pattern(r"[!-9;-~]{1,80}\Z")
_TYPE: Final = pattern(r"[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)
_OF_PARTS: Final = pattern(r"content-|mime-version\Z", re.IGNORECASE)
"""Headers that described the parts as they came."""

_MAX_HEADERS: Final = 1_000
_BORDER: Final = "=_mem-search"
"""It separates the parts; base64, in which they are, never has it."""


@dataclass(frozen=True, slots=True)
class File:
    """A file in a form; ``content_id`` where the HTML shows it."""

    name: str
    media_type: str
    data: bytes
    content_id: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form as they were sent, by name, and its files."""

    fields: Mapping[str, bytes]
    files: Sequence[File] = field(default=())


def from_form(form: Form) -> bytes:
    """The message of a form of SendGrid or Mailgun. Raises InputError for any other one."""
    fields = form.fields
    for raw in ("email", "body-mime"):
        if fields.get(raw, b"").strip():
            return fields[raw]
    if "message-headers" in fields or "body-plain" in fields:
        said = _json(fields.get("message-headers", b"[]"), "message-headers")
        pairs = said if isinstance(said, list) else []
        headers = [(str(p[0]), str(p[1])) for p in pairs if isinstance(p, list) and len(p) == 2]
        text, html, charsets = "body-plain", "body-html", {}
    elif "headers" in fields or ("from" in fields and {"text", "html"} & fields.keys()):
        headers = list(_header_lines(decoded(fields.get("headers", b""))))
        read = _json(fields.get("charsets", b"{}"), "charsets")
        text, html, charsets = "text", "html", read if isinstance(read, dict) else {}
    else:
        raise InputError(f"the form is not from a known service; {KNOWN}", field="body")

    def words(name: str) -> str:
        return decoded(fields.get(name, b""), str(charsets.get(name, "")))

    named = [(name, words(name.lower())) for name in ("From", "To", "Cc", "Subject")]
    return _put_together([*headers, *named], words(text), words(html), form.files)


def from_json(body: object) -> bytes:
    """The message of a JSON body of Postmark. Raises InputError for any other one."""
    if not isinstance(body, Mapping) or not {"From", "FromFull", "RawEmail"} & body.keys():
        raise InputError(f"the JSON is not from a known service; {KNOWN}", field="body")

    def words(name: str) -> str:
        value = body.get(name)
        return value if isinstance(value, str) else ""

    if raw := words("RawEmail"):
        return raw.encode("utf-8", "replace")
    headers = [
        (str(each.get("Name", "")), str(each.get("Value", "")))
        for each in _objects(body, "Headers")
    ]
    sender = body.get("FromFull")
    if isinstance(sender, Mapping) and not words("From").strip().endswith(">"):
        name, address = sender.get("Name"), sender.get("Email")
        headers.append(("From", f'"{name}" <{address}>' if name else f"{address}"))
    usual = [(name, words(name)) for name in ("From", "To", "Cc", "Bcc", "Subject", "Date")]
    files = [_file(each) for each in _objects(body, "Attachments")]
    headers += [*usual, ("Reply-To", words("ReplyTo"))]
    return _put_together(headers, words("TextBody"), words("HtmlBody"), files)


def _file(said: Mapping[str, Any]) -> File:
    try:
        data = base64.b64decode(str(said.get("Content", "")))
    except (binascii.Error, ValueError):
        raise InputError("an attachment is not base64", field="Attachments.Content") from None
    name, media_type = str(said.get("Name", "")), str(said.get("ContentType", ""))
    return File(name, media_type, data, str(said.get("ContentID") or ""))


def _objects(body: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    value = body.get(name)
    return (
        each for each in (value if isinstance(value, list) else ()) if isinstance(each, Mapping)
    )


def _json(data: bytes, name: str) -> object:
    try:
        return read_json(data or b"null")
    except ValueError:
        raise InputError("is not JSON", field=name) from None


def _header_lines(text: str) -> Iterator[tuple[str, str]]:
    """The headers of a message as text; a line that begins with a blank continues the last one."""
    name, value = "", []
    for line in text.replace("\r\n", "\n").split("\n"):
        if line[:1] in (" ", "\t"):
            value.append(line)
            continue
        if name:
            yield name, " ".join(value)
        name, _, first = line.partition(":")
        value = [first]
    if name:
        yield name, " ".join(value)


def _put_together(
    headers: Iterable[tuple[str, str]], text: str, html: str, files: Iterable[File]
) -> bytes:
    """A message; of headers that may stand once, the first that says something counts."""
    written: list[bytes] = []
    once: set[str] = set()
    for name, value in headers:
        value, key = " ".join(value[:MAX_HEADER_CHARS].split()), name.lower()
        is_known = key in once or (key != "received" and not value)
        if is_known or _OF_PARTS.match(key) or not _NAME.match(name):
            continue
        if key != "received":
            once.add(key)
        written.append(f"{name}: {value}".encode("utf-8", "replace"))
    bodies = [("text/plain", text), ("text/html", html)]
    parts = [
        _part(f"{kind}; charset=utf-8", body.encode("utf-8", "replace"))
        for kind, body in bodies
        if body.strip()
    ]
    if len(parts) == 2:
        parts = [_together("alternative", parts, f"{_BORDER}-text")]
    for file in files:
        kind = file.media_type.partition(";")[0].strip().lower()
        shown = file.content_id.strip("<>")
        parts.append(
            _part(
                kind if _TYPE.fullmatch(kind) else "application/octet-stream",
                file.data,
                f"{'inline' if shown else 'attachment'}; filename*=UTF-8''{quote(file.name[:255])}",
                f"<{quote(shown[:255])}>" if shown else "",
            )
        )
    return b"\r\n".join([*written[:_MAX_HEADERS], _together("mixed", parts, _BORDER)])


def _part(media_type: str, data: bytes, disposition: str = "", content_id: str = "") -> bytes:
    lines = [f"Content-Type: {media_type}", "Content-Transfer-Encoding: base64"]
    lines += [f"Content-Disposition: {disposition}"] if disposition else []
    lines += [f"Content-ID: {content_id}"] if content_id else []
    return "\r\n".join([*lines, "", ""]).encode() + base64.encodebytes(data)


def _together(kind: str, parts: Sequence[bytes], border: str) -> bytes:
    head = f'Content-Type: multipart/{kind}; boundary="{border}"\r\n\r\n'.encode()
    between = f"--{border}\r\n".encode()
    return (
        head + b"".join(between + each + b"\r\n" for each in parts) + f"--{border}--\r\n".encode()
    )

"""Incoming mail as services send it to a webhook, as a message (RFC 5322).

SendGrid (Inbound Parse), Mailgun (routes) and Postmark (inbound) take a message apart and send its
parts; each can also send it as it came, which loses nothing. Here it is put together again, so that
all mail is read in one way. The same parts give the same message: a service that sends twice adds
nothing. Every function takes any input and time in proportion to its length.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from mem_search.errors import InputError
from mem_search.patterns import pattern
from mem_search.sources.mail.headers import MAX_HEADER_CHARS
from mem_search.text.charsets import decoded
from mem_search.text.json_reading import read_json

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
    return _message([*headers, *named], words(text), words(html), form.files)


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
    return _message(headers, words("TextBody"), words("HtmlBody"), files)


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


def _message(
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

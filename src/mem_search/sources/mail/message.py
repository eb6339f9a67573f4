"""A message in its parts: headers, text, attachments, messages inside it, appointments (MIME).

The standard library parses the structure. Its modern policy (``email.policy.default``) also parses
each header into a tree, which takes longer and raises on malformed headers, so the parts
are read with the tolerant policy and the headers by ``headers``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from email import policy
from email.message import Message
from email.parser import BytesParser
from typing import Any, Final

from mem_search.sources.mail import headers
from mem_search.sources.mail.bodies import html_text, unflowed
from mem_search.text.charsets import decoded, decoded_page
from mem_search.text.redaction import redact

MAX_MESSAGE_BYTES: Final = 36 * 1024 * 1024
"""Bytes of one message. Providers deliver at most about 35 MB after encoding; parsing takes ten
times the size."""

MAX_TEXT_CHARS: Final = 1_000_000
"""Characters of a body or attachment that are indexed. Longer ones are cut, which is recorded."""

TOO_LARGE: Final = f"the message is larger than {MAX_MESSAGE_BYTES // 2**20} MiB"

MAX_LINES: Final = 1_500_000
"""Of one message: three times as many as the largest has in base64. A line takes 50 bytes more."""

MAX_HEADERS: Final = 100_000
_MAX_PARTS: Final = 1_000
_MAX_DEPTH: Final = 20
_READABLE: Final = ("application/json", "application/xml", "application/x-yaml", "application/sql")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a message. ``text`` is its text when it is a text; see ``text_of``.

    ``data`` is the content of a file that is no text, for a reader of its format; ``said`` is what
    that reader finds in it besides the text.
    """

    name: str
    media_type: str
    size: int
    digest: str
    text: str = ""
    data: bytes = field(default=b"", repr=False)
    said: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """An appointment of a calendar part (RFC 5545), as its lines say it."""

    name: str = ""
    start: str = ""
    end: str = ""
    location: str = ""
    organizer: str = ""
    description: str = ""


@dataclass(slots=True)
class Mail:
    """What any mail file says, whatever its format. Addresses are ``Name <address>``.

    ``ids`` of other messages have no brackets; ``references`` begins with the first of the thread.
    ``parts`` are hashes of the texts as they were sent.
    """

    subject: str = ""
    sender: list[str] = field(default_factory=list)
    to: list[str] = field(default_factory=list)
    cc: list[str] = field(default_factory=list)
    bcc: list[str] = field(default_factory=list)
    reply_to: list[str] = field(default_factory=list)
    sent: datetime | None = None
    message_id: str = ""
    in_reply_to: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    mailing_list: str = ""
    labels: list[str] = field(default_factory=list)
    text: str = ""
    parts: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    messages: list[Mail] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)


class _Policy(policy.Compat32):
    """Of one message: its parts and headers are counted while it is parsed, because each of them
    takes a hundred times its bytes. Headers are cut where nothing reads them any more; parameters
    in linear time need that.
    """

    counted: Counter[str]

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        _count(self.counted, "header lines", MAX_HEADERS)
        name, value = super().header_source_parse(sourcelines)
        longest = 8_000 if name.lower().startswith("content-") else headers.MAX_HEADER_CHARS
        return name, value[:longest]


def _count(counted: Counter[str], what: str, most: int) -> None:
    counted[what] += 1
    if counted[what] > most:
        raise ValueError(f"it has more than {most:,} {what}")


def _parsed(data: bytes) -> Message:
    """The parts of a message. Raises ValueError for one with far too many lines, headers, parts."""
    if data.count(b"\n") > MAX_LINES:
        raise ValueError(f"it has more than {MAX_LINES:,} lines")
    counted = Counter[str]()

    def part(policy: policy.Policy = policy.compat32) -> Message:
        _count(counted, "parts", _MAX_PARTS)
        return Message(policy)

    rules = _Policy()
    object.__setattr__(rules, "counted", counted)  # a policy refuses what it does not know
    return BytesParser(part, policy=rules).parsebytes(data)


def read_message(data: bytes) -> Mail:
    """The message in ``data`` (RFC 5322). Raises ValueError when there is none or it is broken."""
    if len(data) > MAX_MESSAGE_BYTES:
        raise ValueError(TOO_LARGE)
    try:
        return _Reader().mail(_parsed(data), 0)
    except RecursionError:
        raise ValueError("its parts are nested too deeply") from None


def text_of(name: str, media_type: str, data: bytes, charset: str = "") -> str:
    """The text of an attachment that is a text by itself; "" for any other type."""
    if media_type in ("text/html", "application/xhtml+xml"):
        return html_text(decoded_page(data, charset))
    if media_type == "text/rtf":
        return ""
    if media_type.startswith("text/") or media_type in _READABLE:
        return decoded(data, charset)
    if media_type == "application/octet-stream" and name.lower().endswith((".txt", ".md", ".csv")):
        return decoded(data, charset)
    return ""


def attachment(
    name: str, media_type: str, data: bytes, charset: str = "", *, inline: bool = False
) -> Attachment:
    """The attachment that ``data`` is. Pictures in the text (``inline``) are mostly logos: of them
    only the name is kept."""
    name = redact(name)[0].replace("\\", "/").rpartition("/")[2][:255]
    text = text_of(name, media_type, data, charset)
    kept = b"" if text or inline or media_type.startswith(("audio/", "video/")) else data
    return Attachment(
        name, media_type, len(data), hashlib.sha256(data).hexdigest(), text, data=kept
    )


class _Reader:
    """Reads one message and those inside it; all their parts together are limited."""

    def __init__(self) -> None:
        self._parts = 0
        self._charset = ""

    def mail(self, message: Message, depth: int) -> Mail:
        fields: dict[str, list[str]] = {}
        for name, value in message.raw_items():
            fields.setdefault(name.lower(), []).append(str(value))

        def one(name: str) -> str:
            return fields.get(name, [""])[0]

        outer, charset = self._charset, headers.charset_of(message)
        self._charset = charset
        received = fields.get("received", [""])[-1].rpartition(";")[2]
        mail = Mail(
            subject=headers.read_words(one("subject"), charset),
            sender=headers.people(fields.get("from", []) or fields.get("sender", []), charset),
            to=headers.people(fields.get("to", []), charset),
            cc=headers.people(fields.get("cc", []), charset),
            bcc=headers.people(fields.get("bcc", []), charset),
            reply_to=headers.people(fields.get("reply-to", []), charset),
            sent=headers.sent_at(one("date")) or headers.sent_at(received.strip()),
            message_id=next(iter(headers.ids(one("message-id"))), ""),
            in_reply_to=headers.ids(one("in-reply-to")),
            references=headers.ids(one("references")),
            mailing_list=headers.read_words(one("list-id")),
            labels=[
                label.strip() for label in headers.read_words(one("x-gmail-labels")).split(",")
            ],
        )
        mail.text = "\n\n".join(
            filter(None, (t.strip("\n") for t in self._texts(message, mail, depth)))
        )
        self._charset = outer
        return mail

    def _texts(self, part: Message, mail: Mail, depth: int) -> Iterator[str]:
        """The texts of ``part`` in order; what is no text is put into ``mail``."""
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise ValueError(f"it has more than {_MAX_PARTS} parts")
        if depth > _MAX_DEPTH:
            raise ValueError(f"its parts are nested deeper than {_MAX_DEPTH} levels")
        media_type = part.get_content_type()
        inside: Any = part.get_payload()
        if not isinstance(inside, list):
            yield from self._leaf(part, media_type, mail)
        elif media_type == "message/rfc822":
            mail.messages += [self.mail(each, depth + 1) for each in inside]
        elif media_type == "multipart/alternative":
            yield from self._best(inside, mail, depth)
        elif media_type.startswith("message/"):  # the blocks of a delivery report
            for block in inside:
                yield "\n".join(
                    f"{name}: {headers.read_words(str(value))}" for name, value in block.raw_items()
                )
        else:
            for each in inside:
                yield from self._texts(each, mail, depth + 1)

    def _best(self, choices: list[Message], mail: Mail, depth: int) -> Iterator[str]:
        """Of the same text in several forms the plain one, else the last that has words."""
        found: list[tuple[bool, list[str]]] = []
        for choice in choices:
            texts = [text for text in self._texts(choice, mail, depth + 1) if text.strip()]
            found.append((choice.get_content_type() == "text/plain", texts))
        plain = [texts for is_plain, texts in found if is_plain and texts]
        yield from next(iter(plain or [texts for _, texts in reversed(found) if texts]), [])

    def _leaf(self, part: Message, media_type: str, mail: Mail) -> Iterator[str]:
        mail.defects += [type(defect).__name__ for defect in part.defects]
        data = part.get_payload(decode=True)
        data = data if isinstance(data, bytes) else b""
        charset = str(part.get_param("charset", "") or "")
        name = headers.file_name(part, charset or self._charset)
        if media_type == "text/calendar":
            mail.events += read_events(decoded(data, charset))
            return
        if media_type.startswith("multipart/"):  # without its boundary
            media_type = "text/plain"
        is_attached = part.get_content_disposition() == "attachment" or bool(name)
        if is_attached or media_type not in (
            "text/plain",
            "text/html",
            "text/enriched",
            "message/delivery-status",
        ):
            if data.strip() or name:
                is_shown = part.get_content_disposition() != "attachment" and "content-id" in part
                inline = media_type.startswith("image/") and is_shown
                mail.attachments.append(attachment(name, media_type, data, charset, inline=inline))
            return
        sent = data.replace(b"\r\n", b"\n").strip()
        mail.parts.append(hashlib.sha256(sent).hexdigest())
        is_page = media_type == "text/html"
        text = decoded_page(data, charset) if is_page else decoded(data, charset)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if is_page:
            text = html_text(text)
        elif str(part.get_param("format", "")).lower() == "flowed":
            delete = str(part.get_param("delsp", "")).lower() == "yes"
            text = unflowed(text, delete_space=delete)
        yield text


def read_events(text: str) -> list[Event]:
    """The appointments of a calendar (RFC 5545)."""
    names = {"summary": "name", "dtstart": "start", "dtend": "end", "location": "location",
             "organizer": "organizer", "description": "description"}  # fmt: skip
    found: list[Event] = []
    open_event: Event | None = None
    unfolded = text.replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "")
    for line in unfolded.split("\n")[:10_000]:
        head, _, value = line[:20_000].partition(":")
        name = head.partition(";")[0].strip().lower()
        if name == "begin" and value.strip().lower() == "vevent":
            open_event = Event()
        elif name == "end" and open_event is not None and value.strip().lower() == "vevent":
            found.append(open_event)
            open_event = None
        elif open_event is not None and name in names:
            plain = (
                value.replace("\\n", "\n")
                .replace("\\N", "\n")
                .replace("\\,", ",")
                .replace("\\;", ";")
            )
            if name == "organizer":
                plain = plain.removeprefix("mailto:").removeprefix("MAILTO:")
            open_event = replace(open_event, **{names[name]: plain.strip()})
    return found

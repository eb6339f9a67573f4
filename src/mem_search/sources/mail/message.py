"""What a message is, whatever its format: headers, text, attachments, messages, appointments."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.message import Message
from typing import Any, Final

from mem_search.extractors import SUFFIXES
from mem_search.extractors.refusal import OLE, is_binary_format, is_text
from mem_search.model import Draft
from mem_search.sources.mail.bodies import html_text
from mem_search.sources.mail.headers import file_name
from mem_search.text.charsets import decoded, decoded_page, sniffed
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
_NAMED: Final = 5
"""Parts that are named as not read, before the others are counted."""
_PLAIN: Final = frozenset(".txt .md .markdown .csv .tsv .tab .rst".split())
_PAGES: Final = (".htm", ".html", ".xhtml")
_OPENED: Final = (".ics", ".vcf", ".vcs", ".eml", ".enex", *sorted({*SUFFIXES} - _PLAIN))
"""Ends of names of what a source or reader of its own reads, whatever type the sender gives it."""
_NO_TEXT: Final = (b"%PDF-", b"{\\rtf", OLE)
_HEAD: Final = 4096

_READABLE: Final = ("application/xml", "application/x-yaml", "application/sql")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a message. ``text`` is its text when it is a text; see ``text_of``.

    ``data`` is the content of a file that is no text, for a reader of its format; ``said`` is what
    that reader finds in it besides the text, and ``unread`` what it did not read. ``inner`` are the
    records of a file that holds others, as an archive does. ``is_told``: the message has its text.
    """

    name: str
    media_type: str
    size: int
    digest: str
    text: str = ""
    data: bytes = field(default=b"", repr=False)
    said: Mapping[str, Any] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    inner: tuple[Draft, ...] = field(default=(), repr=False)
    is_told: bool = False


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
    ``parts`` are hashes of the texts as they were sent. ``sent`` is a time that is believed, and
    ``stated`` the one that the message states. ``more`` are lines that another form of the text has
    alone. ``only_copy`` is what no other message of the thread says.
    ``layout`` counts parts with nothing to find: logos, signatures, other forms for programs.
    ``unread`` says in plain sentences what was not read.
    """

    subject: str = ""
    sender: list[str] = field(default_factory=list)
    to: list[str] = field(default_factory=list)
    cc: list[str] = field(default_factory=list)
    bcc: list[str] = field(default_factory=list)
    reply_to: list[str] = field(default_factory=list)
    sent: datetime | None = None
    stated: datetime | None = None
    message_id: str = ""
    in_reply_to: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    mailing_list: str = ""
    labels: list[str] = field(default_factory=list)
    text: str = ""
    more: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    messages: list[Mail] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    only_copy: str = ""
    layout: int = 0
    unread: list[str] = field(default_factory=list)
    is_deleted: bool = False


def leaves(message: Message) -> list[Message]:
    """The parts of a message that are no containers."""
    return [each for each in message.walk() if not isinstance(each.get_payload(), list)]


def too_deep(part: Message, levels: int, charset: str) -> str:
    """Names ``part``, or the parts in it, as deeper in a message than ``levels``."""
    left = leaves(part)
    named = [file_name(each, charset) or each.get_content_type() for each in left[:_NAMED]]
    more = f" and {rest} more" if (rest := len(left) - len(named)) else ""
    return f"parts nested deeper than {levels} levels were not read: {', '.join(named)}{more}"


def text_of(name: str, media_type: str, data: bytes, charset: str = "") -> str:
    """The text of an attachment that is a text by itself; "" for any other, which a reader opens.

    Mail programs call what they do not know ``text/plain``, so name and content are looked at, too.
    """
    head, name = data[:_HEAD], name.lower()
    if (
        head.startswith(_NO_TEXT)
        or is_binary_format(head)
        or not is_text(sniffed(head).strip(b"\0"))
    ):
        return ""
    is_page = media_type in ("text/html", "application/xhtml+xml")
    if name.endswith(_OPENED) and not (is_page and name.endswith(_PAGES)):
        return ""
    if is_page:
        return html_text(decoded_page(data, charset))
    if media_type.startswith("text/") or media_type in _READABLE:
        return decoded(data, charset)
    if media_type == "application/octet-stream" and name.endswith((".txt", ".md", ".csv")):
        return decoded(data, charset)
    return ""


def attachment(name: str, media_type: str, data: bytes, charset: str = "") -> Attachment:
    """The attachment that ``data`` is."""
    name = redact(name)[0].replace("\\", "/").rpartition("/")[2][:255]
    text = text_of(name, media_type, data, charset)
    kept = b"" if text or media_type.startswith(("audio/", "video/")) else data
    return Attachment(
        name, media_type, len(data), hashlib.sha256(data).hexdigest(), text, data=kept
    )


def read_events(text: str) -> list[Event]:
    """The appointments of a calendar (RFC 5545)."""
    names = {"summary": "name", "dtstart": "start", "dtend": "end", "location": "location",
             "organizer": "organizer", "description": "description"}  # fmt: skip
    events: list[Event] = []
    open_event: Event | None = None
    unfolded = text.replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "")
    for line in unfolded.split("\n")[:10_000]:
        head, _, value = line[:20_000].partition(":")
        name = head.partition(";")[0].strip().lower()
        if name == "begin" and value.strip().lower() == "vevent":
            open_event = Event()
        elif name == "end" and open_event is not None and value.strip().lower() == "vevent":
            events.append(open_event)
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
    return events


def read_message(data: bytes) -> Mail:
    """The message in ``data`` (RFC 5322). Raises ValueError when there is none or it is broken."""
    from mem_search.sources.mail.parts import Reader  # which makes what stands above

    if len(data) > MAX_MESSAGE_BYTES:
        raise ValueError(TOO_LARGE)
    try:
        return Reader().whole(data)
    except RecursionError:
        raise ValueError("its parts are nested too deeply") from None

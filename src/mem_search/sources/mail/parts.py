"""The parts of a message (MIME): its texts, and what becomes a record of its own.

The standard library parses the structure. Its modern policy (``email.policy.default``) also parses
each header into a tree, which takes longer and raises on malformed headers, so the parts are read
with the tolerant policy and the headers by ``headers``. Every part is a text, an attachment, a
message, an appointment, of the layout, or named in ``Mail.unread``; a second count checks it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import quopri
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from email import policy
from email.errors import InvalidBase64LengthDefect
from email.message import Message
from email.parser import BytesParser
from typing import Any, Final

from mem_search.extractors import checking
from mem_search.patterns import pattern
from mem_search.sources.mail import cms, headers, inline, tnef
from mem_search.sources.mail.bodies import (
    new_lines,
    read_html,
    stated_words,
    together,
    unflowed,
    without_footer,
)
from mem_search.sources.mail.mailboxes import Place, format_of, messages_of
from mem_search.sources.mail.message import (
    MAX_HEADERS,
    MAX_LINES,
    MAX_TEXT_CHARS,
    Mail,
    attachment,
    leaves,
    read_events,
    too_deep,
)
from mem_search.text.charsets import decoded, decoded_page

_MAX_PARTS: Final = 1_000
_MAX_DEPTH: Final = 20
_TEXTS: Final = ("text/plain", "text/html", "text/enriched", "text/rfc822-headers",
                 "message/delivery-status")  # fmt: skip
_SIGNATURES: Final = ("application/pkcs7-signature", "application/x-pkcs7-signature",
                      "application/pgp-signature", "application/pgp-keys")  # fmt: skip
_OF_SIGNATURES: Final = (".p7s", "signature.asc")
_OF_CMS: Final = ("application/pkcs7-mime", "application/x-pkcs7-mime")
_CALENDARS: Final = ("text/calendar", "application/ics", "text/x-vcalendar")
_UNTYPED: Final = ("application/octet-stream", "application/x-msg", "application/vnd.ms-outlook",
                   "message/rfc822", "application/mbox", "text/plain")  # fmt: skip
_PGP: Final = "-----BEGIN PGP MESSAGE-----"
_IS_PGP: Final = "encrypted (PGP) and cannot be read here; save it decrypted and add that"

_MAX_LOGO_BYTES: Final = 30_000
"""Of a picture that the HTML shows: above it may be a photo or a screen, and is read as a file."""

_LOOKED_AT: Final = 20_000
_BORDER: Final = pattern(
    rb"^--([^\s][^\r\n]{0,200}?)[ \t]*\r?\n[Cc][Oo][Nn][Tt][Ee][Nn][Tt]-", re.MULTILINE
)
_NO_BASE64: Final = pattern(rb"[^A-Za-z0-9+/]+")
_ABOUT_MIME: Final = pattern(r"mime|multi-?part", re.IGNORECASE)


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


class Reader:
    """Reads one message and those inside it; all their parts together are limited."""

    def __init__(self) -> None:
        self._parts = self._seen = 0
        self._charset = ""
        self._stated: list[tuple[str, str]] = []
        self._hidden: list[str] = []

    def whole(self, data: bytes) -> Mail:
        """The message in ``data``, compared with a second count of its parts and words."""
        message = _parsed(data)
        mail = self.mail(message, 0)
        if (left := len(leaves(message)) - self._seen) > 0:
            mail.unread.append(f"{left} of its parts were not read")
        if self._stated:
            known = "\n".join([*_all_texts(mail), *self._hidden])
            mail.unread += checking.missing(known, self._stated)
        return mail

    def mail(self, message: Message, depth: int) -> Mail:
        fields: dict[str, list[str]] = {}
        for name, value in message.raw_items():
            fields.setdefault(name.lower(), []).append(str(value))

        def one(name: str) -> str:
            return fields.get(name, [""])[0]

        outer, charset = self._charset, headers.charset_of(message)
        self._charset = charset
        passed = [each.rpartition(";")[2].strip() for each in fields.get("received", [])[:50]]
        stated = headers.sent_at(one("date")) or headers.sent_at(passed[-1] if passed else "")
        dates = (stated, *map(headers.sent_at, passed))
        mail = Mail(
            subject=headers.read_words(one("subject"), charset),
            sender=headers.people(fields.get("from", []) or fields.get("sender", []), charset),
            to=headers.people(fields.get("to", []), charset),
            cc=headers.people(fields.get("cc", []), charset),
            bcc=headers.people(fields.get("bcc", []), charset),
            reply_to=headers.people(fields.get("reply-to", []), charset),
            sent=next(filter(headers.is_believed, dates), None),
            stated=stated,
            message_id=next(iter(headers.ids(one("message-id"))), ""),
            in_reply_to=headers.ids(one("in-reply-to")),
            references=headers.ids(one("references")),
            mailing_list=headers.read_words(one("list-id")),
            labels=[
                label.strip() for label in headers.read_words(one("x-gmail-labels")).split(",")
            ],
            is_deleted=_is_deleted(one("x-mozilla-status"), one("x-status")),
        )
        if one("date") and not headers.is_believed(headers.sent_at(one("date"))):
            mail.unread.append(f"its date is not believed: {one('date')[:60]}")
        texts = self._texts(message, mail, depth)
        mail.text = "\n\n".join(filter(None, (t.strip("\n") for t in texts)))
        more, mail.more = mail.more, []
        for each in more:  # what another form of the text says, and this one does not
            if mail.text.strip():
                mail.more += filter(None, [new_lines("\n".join([mail.text, *mail.more]), each)])
            else:
                mail.text = each
        if _PGP in mail.text:
            mail.unread.append(f"a part of it is {_IS_PGP}")
        self._charset = outer
        return mail

    def attach(
        self,
        mail: Mail,
        name: str,
        media_type: str,
        data: bytes,
        charset: str = "",
        *,
        depth: int = 0,
        is_shown: bool = False,
    ) -> Iterator[str]:
        """Put a file into ``mail`` as what it is. Yields the texts of a message that it packs."""
        lower = name.lower()
        if depth > _MAX_DEPTH + 1:  # of what is in it
            mail.unread.append(f"{name or 'a file in it'} is nested too deeply and was not read")
        elif (
            media_type in _SIGNATURES
            or lower.endswith(_OF_SIGNATURES)
            or (media_type.startswith("image/") and is_shown and len(data) <= _MAX_LOGO_BYTES)
        ):
            mail.layout += 1
        elif media_type in _OF_CMS or lower.endswith((".p7m", ".p7z")):
            yield from self._signed(mail, name, data, depth)
        elif media_type == "application/ms-tnef" or tnef.is_tnef(data):
            packed = tnef.unpacked(data)
            mail.more += filter(None, [packed.text])
            mail.unread += packed.unread
            for inner, kind, content in packed.files:
                yield from self.attach(mail, inner, kind, content, depth=self._deeper(depth))
        elif media_type in _UNTYPED and (form := _form(lower, data)):
            self._add_messages(mail, name, form, data, self._deeper(depth))
        else:
            is_calendar = media_type in _CALENDARS or lower.endswith(".ics")
            mail.events += (events := read_events(decoded(data, charset)) if is_calendar else [])
            if data.strip() or name:
                file = attachment(name, media_type, data, charset)
                if events:  # its text is that of the message; a source of calendars may take it
                    file = replace(file, name=file.name or "invite.ics", data=data, is_told=True)
                mail.attachments.append(file)

    def _add_messages(self, mail: Mail, name: str, form: str, data: bytes, depth: int) -> None:
        if form == "outlook":
            from mem_search.sources.mail.outlook import read_outlook

            try:
                mail.messages.append(read_outlook(data, depth))
            except ValueError as error:
                mail.unread.append(f"{name}: {error}")
        elif form == "mbox":
            for message in messages_of(io.BytesIO(data), Place()):
                mail.messages.append(self.mail(self._inner(message.data or b""), depth))
        else:
            mail.messages.append(self.mail(self._inner(data), depth))

    def _signed(self, mail: Mail, name: str, data: bytes, depth: int) -> Iterator[str]:
        try:
            inner = cms.content_of(data)
        except cms.Unopened as error:
            mail.unread.append(f"{name or 'its content'} is {error}")
            return
        if inner.strip():
            yield from self._texts(self._inner(inner), mail, self._deeper(depth))

    def _inner(self, data: bytes) -> Message:
        """A message inside, whose parts the second count does not know."""
        message = _parsed(data)
        self._seen -= len(leaves(message))
        return message

    def _deeper(self, depth: int) -> int:
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise ValueError(f"it has more than {_MAX_PARTS} parts")
        return depth + 1

    def _texts(self, part: Message, mail: Mail, depth: int) -> Iterator[str]:
        """The texts of ``part`` in order; what is no text is put into ``mail``."""
        if depth > _MAX_DEPTH:
            self._seen += len(leaves(part))
            mail.unread.append(too_deep(part, _MAX_DEPTH, self._charset))
            return
        depth = self._deeper(depth)
        media_type = part.get_content_type()
        inside: Any = part.get_payload()
        if not isinstance(inside, list):
            self._seen += 1
            yield from self._leaf(part, media_type, mail, depth)
        elif media_type == "message/rfc822":
            for each in inside:
                mail.messages.append(self.mail(self._unpacked(part, each), depth))
        elif media_type == "multipart/alternative":
            yield from self._best(inside, mail, depth)
        elif media_type == "multipart/encrypted":
            self._seen += len(leaves(part))
            mail.unread.append(f"its content is {_IS_PGP}")
        elif media_type == "message/external-body":
            self._seen += len(leaves(part))
            where = part.get_param("url") or part.get_param("name") or "another place"
            where = re.sub(r"\s", "", headers.read_words(str(where)))[:200]
            mail.unread.append(f"a part of it lies elsewhere ({where}) and was not fetched")
        elif media_type.startswith("message/"):  # the blocks of a delivery report
            for block in inside:
                self._seen += not isinstance(block.get_payload(), list)
                said = [f"{name}: {headers.read_words(str(v))}" for name, v in block.raw_items()]
                rest = block.get_payload()
                yield "\n".join([*said, *([rest] if isinstance(rest, str) else [])]).strip()
        else:
            yield from self._beside(part.preamble)
            for each in inside:
                yield from self._texts(each, mail, depth)
            yield from self._beside(part.epilogue)

    def _beside(self, text: str | None) -> Iterator[str]:
        """Words before and after the parts, which lists and broken programs write."""
        if text and text.strip() and not _ABOUT_MIME.search(text[:1000]):
            yield decoded(text.encode("utf-8", "surrogateescape"), self._charset)

    def _unpacked(self, part: Message, inside: Message) -> Message:
        """The message inside ``part``; some programs encode it, which RFC 2045 forbids."""
        coding = str(part.get("content-transfer-encoding", "")).strip().lower()
        payload = inside.get_payload()
        if coding not in ("base64", "quoted-printable") or not isinstance(payload, str):
            return inside
        raw = inside.as_bytes().strip()
        try:
            data = base64.b64decode(raw) if coding == "base64" else quopri.decodestring(raw)
        except (binascii.Error, ValueError):
            return inside
        self._seen += 1
        return self._inner(data)

    def _best(self, choices: list[Message], mail: Mail, depth: int) -> Iterator[str]:
        """Of the same text in several forms the one that says more, with what others say alone."""
        forms: list[str] = []
        for choice in choices:
            texts = (text.strip("\n") for text in self._texts(choice, mail, depth))
            forms += filter(None, ["\n\n".join(filter(str.strip, texts))])
        best, more = together([form[:MAX_TEXT_CHARS] for form in forms])
        mail.more += filter(None, [more])
        yield best

    def _leaf(self, part: Message, media_type: str, mail: Mail, depth: int) -> Iterator[str]:
        mail.defects += [type(defect).__name__ for defect in part.defects]
        data = _data_of(part)
        charset = str(part.get_param("charset", "") or "")
        name = headers.file_name(part, charset or self._charset)
        if media_type == "text/x-amp-html":  # the same message again, for programs that run it
            mail.layout += 1
            return
        if media_type.startswith("multipart/"):  # without its boundary
            if (border := _BORDER.search(data[:_LOOKED_AT])) is not None:
                del part["content-type"]
                head = f'Content-Type: {media_type}; boundary="'.encode() + border[1] + b'"\n\n'
                yield from self._texts(self._inner(head + data), mail, depth)
                return
            media_type = "text/plain"
        said = part.get_content_disposition()
        if said == "attachment" or name or media_type not in _TEXTS:
            is_shown = said != "attachment" and "content-id" in part
            yield from self.attach(
                mail, name, media_type, data, charset, depth=depth, is_shown=is_shown
            )
            return
        files: inline.Files = []
        if media_type == "text/plain":
            data, files = inline.taken_out(data)
        for inner, content in files:
            if content:
                yield from self.attach(mail, inner, _UNTYPED[0], content, depth=self._deeper(depth))
            else:
                mail.unread.append(f"{inner}, which stands in its text, is damaged or cut off")
        sent = data.replace(b"\r\n", b"\n").strip()
        mail.parts.append(hashlib.sha256(sent).hexdigest())
        is_page = media_type == "text/html"
        text = decoded_page(data, charset) if is_page else decoded(data, charset)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if is_page:
            self._stated.append(("its HTML part", stated_words(text[:MAX_TEXT_CHARS])))
            text, hidden = read_html(text)
            self._hidden.append(hidden)
        elif str(part.get_param("format", "")).lower() == "flowed":
            delete = str(part.get_param("delsp", "")).lower() == "yes"
            text = unflowed(text, delete_space=delete)
        yield text


def _data_of(part: Message) -> bytes:
    """The bytes of a part. Of base64 that is cut off, what came before the cut."""
    footer = ""
    if isinstance(coded := part.get_payload(), str) and part.get_content_maintype() == "text":
        coding = str(part.get("content-transfer-encoding", ""))
        kept, footer = without_footer(coded, coding.strip().lower())
        if kept != coded:
            part.set_payload(kept)
    data = part.get_payload(decode=True)
    data = data if isinstance(data, bytes) else b""
    if any(isinstance(each, InvalidBase64LengthDefect) for each in part.defects):
        letters = _NO_BASE64.sub(b"", data)
        data = base64.b64decode(letters[: len(letters) // 4 * 4])
    return data + footer.encode("utf-8", "surrogateescape")


def _form(name: str, data: bytes) -> str:
    """What mail the file ``name`` is; "" for none. A text that looks like one stays a text."""
    if name.endswith((".eml", ".msg", ".mbox", ".emlx")) or not name:
        form = format_of(name, data[:_LOOKED_AT])
        return form if form in ("message", "outlook", "mbox") else ""
    return ""


def _all_texts(mail: Mail) -> Iterator[str]:
    yield from (mail.subject, mail.text, *mail.more)
    yield from (each.text for each in mail.attachments)
    for inside in mail.messages:
        yield from _all_texts(inside)


def _is_deleted(mozilla: str, status: str) -> bool:
    """Whether a mail program only marked it as deleted: Thunderbird, or mutt and its like."""
    try:
        flags = int(mozilla.strip()[:8] or "0", 16)
    except ValueError:
        flags = 0
    return bool(flags & 0x0008) or "D" in status[:20]

"""Messages that Outlook saved (``.msg``): an OLE file with a stream for each MAPI property.

[MS-OXMSG] describes the streams, [MS-OXPROPS] the properties, [MS-OXRTFCP] the packed RTF.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.parser import HeaderParser
from email.policy import compat32
from typing import Any, Final

from mem_search.sources.mail import headers
from mem_search.sources.mail.bodies import html_text, together
from mem_search.sources.mail.message import Mail
from mem_search.sources.mail.parts import Reader
from mem_search.sources.mail.tnef import rtf_text
from mem_search.text.charsets import decoded, decoded_page

_TEXT: Final = "001F"
_BYTES_TEXT: Final = "001E"
_BINARY: Final = "0102"
_PROPERTIES: Final = "__properties_version1.0"
_MAX_DEPTH: Final = 5
_MAX_MEMBERS: Final = 2_000
"""Recipients or attachments of one message."""


def read_outlook(data: bytes, depth: int = 0) -> Mail:
    """The message that an Outlook file is.

    Raises ValueError when it is broken or is no message, such as a contact.
    """
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            if not file.exists(_PROPERTIES):
                raise ValueError("it is an OLE file, but not an Outlook message")
            return _Item(file, ()).mail(depth)
    except (OSError, struct.error, IndexError, TypeError) as error:  # olefile raises all of them
        raise ValueError(f"it is damaged: {error}") from error


class _Item:
    """The storage ``at`` of an Outlook file: a message, a recipient or an attachment."""

    def __init__(self, file: Any, at: tuple[str, ...], charset: str = "") -> None:
        self._file = file
        self.at = at
        self._fixed = self._read_fixed()
        page = self.number(0x3FFD) or self.number(0x3FDE)
        self._charset = charset or (f"cp{page}" if page else "cp1252")

    def mail(self, depth: int) -> Mail:
        kind = self.text(0x001A).upper()
        if kind and not kind.startswith(
            ("IPM.NOTE", "IPM.SCHEDULE", "REPORT", "IPM.STICKYNOTE", "IPM.POST")
        ):
            raise ValueError(
                f"it is an Outlook item of the class {kind}, not a message; save it in Outlook as"
                " .ics (an appointment), .vcf (a contact) or text, and add that"
            )
        said = HeaderParser(policy=compat32).parsestr(self.text(0x007D))
        to: dict[int, list[str]] = {1: [], 2: [], 3: []}
        for who in self._inside("__recip_version1.0_"):
            address = who.text(0x39FE) or who.text(0x3003)
            to.setdefault(who.number(0x0C15) or 1, []).append(
                headers.mailbox(who.text(0x3001), address)
            )
        sender = headers.mailbox(self.text(0x0C1A), self.text(0x5D01) or self.text(0x0C1F))
        sent = self._time(0x0039) or self._time(0x0E06) or self._time(0x3007)
        stated = headers.sent_at(str(said["date"] or "")) or sent
        mail = Mail(
            subject=" ".join(self.text(0x0037).split()),
            sender=headers.people([str(said["from"])])
            if said["from"]
            else [sender]
            if sender
            else [],
            to=to[1],
            cc=to[2],
            bcc=to[3],
            sent=next(filter(headers.is_believed, (stated, sent)), None),
            stated=stated,
            message_id=next(
                iter(headers.ids(self.text(0x1035) or str(said["message-id"] or ""))), ""
            ),
            in_reply_to=headers.ids(self.text(0x1042) or str(said["in-reply-to"] or "")),
            references=headers.ids(self.text(0x1039) or str(said["references"] or "")),
            mailing_list=headers.read_words(str(said["list-id"] or "")),
        )
        mail.text, more = together(list(filter(str.strip, self._bodies())))
        mail.more += filter(None, [more])
        for attached in self._inside("__attach_version1.0_"):
            self._attach(attached, mail, depth)
        return mail

    def text(self, number: int) -> str:
        """The text of a property; "" when it has none."""
        if data := self.stream(number, _TEXT):
            return data.decode("utf-16-le", "replace").rstrip("\0")
        return decoded(self.stream(number, _BYTES_TEXT), self._charset).rstrip("\0")

    def _bodies(self) -> Iterator[str]:
        """The text in each form that it has: plain, HTML, packed RTF."""
        yield self.text(0x1000).replace("\r\n", "\n").replace("\r", "\n")
        html = self.text(0x1013)
        if not html:  # which may be in another charset than the rest
            page = self.number(0x3FDE)
            html = decoded_page(
                self.stream(0x1013, _BINARY), f"cp{page}" if page else self._charset
            )
        yield html_text(html) if html.strip() else ""
        yield rtf_text(self.stream(0x1009, _BINARY)).replace("\r", "")

    def _attach(self, item: _Item, mail: Mail, depth: int) -> None:
        inner = (*item.at, "__substg1.0_3701000D")
        name = item.text(0x3707) or item.text(0x3704) or item.text(0x3001)
        if self._file.exists("/".join((*inner, _PROPERTIES))):
            if depth < _MAX_DEPTH:
                mail.messages.append(_Item(self._file, inner, self._charset).mail(depth + 1))
            else:
                mail.unread.append(f"a message in it is nested too deeply: {name}")
            return
        data = item.stream(0x3701, _BINARY)
        media_type = item.text(0x370E).lower() or "application/octet-stream"
        is_shown = bool(item.text(0x3712))  # by its Content-ID
        texts = Reader().attach(mail, name, media_type, data, depth=depth, is_shown=is_shown)
        for text in filter(str.strip, texts):  # of a signed message
            mail.text = "\n\n".join(filter(None, (mail.text, text.strip("\n"))))

    def _inside(self, prefix: str) -> list[_Item]:
        depth = len(self.at)
        names = {
            entry[depth]
            for entry in self._file.listdir(streams=True, storages=False)
            if len(entry) > depth
            and tuple(entry[:depth]) == self.at
            and entry[depth].startswith(prefix)
        }
        return [
            _Item(self._file, (*self.at, name), self._charset)
            for name in sorted(names)[:_MAX_MEMBERS]
        ]

    def stream(self, number: int, kind: str) -> bytes:
        """The bytes of a property; none when it has none."""
        name = "/".join((*self.at, f"__substg1.0_{number:04X}{kind}"))
        if not self._file.exists(name):
            return b""
        data: bytes = self._file.openstream(name).read()
        return data

    def _read_fixed(self) -> dict[int, bytes]:
        """Properties of fixed length: entries of 16 bytes after a head, [MS-OXMSG] 2.4."""
        name = "/".join((*self.at, _PROPERTIES))
        if not self._file.exists(name):
            return {}
        data: bytes = self._file.openstream(name).read()
        is_inside = self.at and self.at[-1].startswith("__substg1.0_3701")
        head = 32 if not self.at else 24 if is_inside else 8
        entries = (data[at : at + 16] for at in range(head, len(data) - 15, 16))
        return {struct.unpack("<H", entry[2:4])[0]: entry[8:16] for entry in entries}

    def number(self, number: int) -> int:
        """The whole number of a property; 0 when it has none."""
        value: int = struct.unpack("<i", self._fixed.get(number, bytes(8))[:4])[0]
        return value

    def _time(self, number: int) -> datetime | None:
        """A FILETIME: tenths of microseconds since 1601."""
        ticks = struct.unpack("<Q", self._fixed.get(number, bytes(8)))[0]
        try:
            return (
                datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)
                if ticks
                else None
            )
        except OverflowError:
            return None

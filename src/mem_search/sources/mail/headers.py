"""Headers of messages as text, people, dates and ids (RFC 5322, RFC 2047).

The standard parser's own decoding (``email.policy.default``) raises on many malformed headers and
takes quadratic time for some long ones. These functions take any text, never raise, and take time
in proportion to its length.
"""

from __future__ import annotations

import binascii
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import unquote_to_bytes

from mem_search.patterns import pattern
from mem_search.text.addresses import addresses
from mem_search.text.charsets import decoded
from mem_search.text.redaction import redact

MAX_HEADER_CHARS: Final = 100_000
"""Characters. The rest of a longer header is not read."""

_MAX_WORD_CHARS: Final = 2_000
"""Characters. RFC 2047 allows an encoded word 75; some programs write longer ones."""

_URL_ESCAPES: Final = pattern("%[89A-Fa-f][0-9A-Fa-f]")
_ID: Final = pattern(r"<([^<>\s]{1,998})>")
_MAX_REFERENCES: Final = 1_000

_SECONDS: Final = pattern(r"([0-9]{9,10})")
_CLOCK: Final = "([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)"
_ISO: Final = pattern(
    r"(?:[A-Za-z]{3,9},? )?([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})(?:[T ]{1,2}"
    + _CLOCK
    + r"(?:[.,][0-9]{1,9})?( ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}))?)?"
)
_DAY_FIRST: Final = pattern(
    rf"(?:[A-Za-z]{{2,9}},? )?([0-9]{{1,2}})\.([0-9]{{1,2}})\.([0-9]{{4}})(?:,? {_CLOCK})?"
)
_FIRST_MAIL: Final = 31_536_000
"""Seconds since 1970: of 1971, the first year with mail between computers. What has no date says
1970."""
_AHEAD: Final = 2 * 86_400
"""Seconds that a clock may be ahead, or a zone wrong."""


def read_words(header: str, charset: str = "") -> str:
    """``header`` on one line, with its encoded words (RFC 2047) and raw bytes decoded.

    ``charset`` is that of the text: raw bytes say of none that they are in.
    """
    header = _readable(header[:MAX_HEADER_CHARS], charset)
    pieces: list[str] = []
    waiting: list[tuple[str, bytes]] = []  # a character may be cut between two words
    at = 0
    while (start := header.find("=?", at)) >= 0:
        between, word = header[at:start], _encoded_word(header, start)
        if word is None:
            pieces += [_together(waiting), between, "=?"]
            at = start + 2
            continue
        if between.strip() or not waiting:  # only spaces between two words are dropped
            pieces += [_together(waiting), between]
        elif waiting[0][0] != word[0]:
            pieces.append(_together(waiting))
        waiting.append(word[:2])
        at = word[2]
    pieces += [_together(waiting), header[at:]]
    return " ".join("".join(pieces).split())


def _together(words: list[tuple[str, bytes]]) -> str:
    """The text of words in one charset, which are taken out of ``words``."""
    text = decoded(b"".join(data for _, data in words), words[0][0]) if words else ""
    words.clear()
    return text


def file_name(part: Message, charset: str = "") -> str:
    """The name of the file that ``part`` is: with a charset of its own (RFC 2231), in encoded
    words, in raw bytes (see ``read_words``), or in the escapes of URLs.
    """
    said = Message()
    for name, value in part.raw_items():
        if name.lower() in ("content-disposition", "content-type"):
            said[name] = _readable(str(value), charset)
    given: str | tuple[str | None, str | None, str] = ""
    for header, parameter in (("content-disposition", "filename"), ("content-type", "name")):
        given = given or said.get_param(parameter, "", header) or ""
    if isinstance(given, tuple):  # its bytes as characters of Latin-1
        try:
            return read_words(decoded(given[2].encode("latin-1"), given[0] or "", hint=charset))
        except UnicodeEncodeError:
            given = given[2]
    if _URL_ESCAPES.search(given) and not (data := unquote_to_bytes(given)).isascii():
        given = decoded(data, "utf-8", hint=charset)
    return read_words(given)


def charset_of(message: Message) -> str:
    """The charset of the first text in ``message`` that declares one; "" for none."""
    charsets = (part.get_param("charset", "") for part in message.walk())
    return next((each for each in charsets if isinstance(each, str) and each), "")


def people(headers: Iterable[str], charset: str = "") -> list[str]:
    """Each mailbox of address headers once, as ``Name <address>`` or one of the two."""
    pairs: list[tuple[str, str]] = []
    for each in headers:
        # An address that is a URL with a password would be taken apart at its @ and colon.
        header, secrets = redact(_readable(each[:MAX_HEADER_CHARS], charset))
        pairs += _without_grammar(header) if secrets else addresses([header])
    mailboxes = [mailbox(read_words(name), address) for name, address in pairs]
    return list(dict.fromkeys(who for who in mailboxes if who))


def _without_grammar(header: str) -> Iterator[tuple[str, str]]:
    """The (name, address) of each person in a header that has markers, which are no addresses."""
    for person in header.split(","):
        name, bracket, address = person.strip().removesuffix(">").rpartition("<")
        yield (name.strip(' "'), address) if bracket else (person.strip(), "")


def mailbox(name: str, address: str) -> str:
    """``Name <address>``; the name is quoted where a comma or bracket would end it."""
    name, address = " ".join(name.split()), "".join(address.split())
    if not name or not address or name == address:
        return name or address
    if any(mark in name for mark in '(),:;<>@[]\\"'):
        name = '"' + name.replace("\\", "").replace('"', "'") + '"'
    return f"{name} <{address}>"


def ids(header: str) -> list[str]:
    """The message ids of ``Message-ID``, ``In-Reply-To`` or ``References``, without brackets."""
    header = _readable(header[:MAX_HEADER_CHARS])
    message_ids = _ID.findall(header)
    if not message_ids and "@" in header and "<" not in header:
        message_ids = header.split()[:1]
    return list(dict.fromkeys(message_ids))[:_MAX_REFERENCES]


def sent_at(header: str) -> datetime | None:
    """The time of a ``Date`` header with its zone; without one it is UTC. None if there is none.

    Programs also write ``2023-03-14T10:12:00+01:00``, ``14.03.2023 10:12`` and seconds since 1970.
    """
    said = _readable(header[:200]).strip()
    try:
        if (number := _SECONDS.fullmatch(said)) is not None:
            at = datetime.fromtimestamp(int(number[1]), UTC)
        elif (iso := _ISO.match(said)) is not None:
            year, month, day, clock, zone = iso.groups()
            zone = (zone or "").strip().replace("UTC", "Z").replace("GMT", "Z")
            at = datetime.fromisoformat(f"{year}-{month}-{day}T{clock or '00:00'}{zone}")
        elif (german := _DAY_FIRST.match(said)) is not None:
            day, month, year, clock = german.groups()
            at = datetime.fromisoformat(f"{year}-{month:0>2}-{day:0>2}T{clock or '00:00'}")
        else:
            at = parsedate_to_datetime(said)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def is_believed(at: datetime | None) -> bool:
    """Whether a message can have been sent then: there was mail, and it is not yet to come."""
    if at is None:
        return False
    try:
        seconds = at.timestamp()
    except (OverflowError, ValueError):
        return False
    return _FIRST_MAIL <= seconds <= time.time() + _AHEAD


def _readable(header: str, charset: str = "") -> str:
    """Raw bytes, which the parser gives as surrogates, as characters."""
    if header.isascii() and "\x1b" not in header:
        return header
    # Of one header: other bytes beside text that was decoded already are damage.
    return decoded(header.encode("utf-8", "surrogateescape"), hint=charset)


def _encoded_word(header: str, start: int) -> tuple[str, bytes, int] | None:
    """Charset, bytes and end of the encoded word at ``start``, if there is one."""
    charset, first, rest = header[start + 2 : start + _MAX_WORD_CHARS].partition("?")
    encoding, second, rest = rest.partition("?")
    payload, end, _ = rest.partition("?=")
    if not (first and second and end and charset) or encoding.lower() not in ("q", "b"):
        return None
    length = len(charset) + len(encoding) + len(payload) + 6
    raw = payload.encode("utf-8", "replace")
    try:
        data = (
            binascii.a2b_qp(raw, header=True)
            if encoding.lower() == "q"
            else binascii.a2b_base64(raw + b"==")
        )
    except binascii.Error:
        return None
    return charset.partition("*")[0].lower(), data, start + length

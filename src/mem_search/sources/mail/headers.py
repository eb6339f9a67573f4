"""Headers of messages as text, people, dates and ids (RFC 5322, RFC 2047).

The standard parser's own decoding (``email.policy.default``) raises on many malformed headers and
takes quadratic time for some long ones. These functions take any text, never raise, and take time
in proportion to its length.
"""

from __future__ import annotations

import binascii
import codecs
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from mem_search.patterns import pattern
from mem_search.text.addresses import addresses
from mem_search.text.redaction import redact

MAX_HEADER_CHARS: Final = 100_000
"""Characters. The rest of a longer header is not read."""

_MAX_WORD_CHARS: Final = 2_000
"""Characters. RFC 2047 allows an encoded word 75; some programs write longer ones."""

_WIDER: Final = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
"""Charsets that programs name when they mean a wider one (WHATWG Encoding Standard)."""

_SLOW: Final = frozenset({"punycode", "idna", "undefined", "mbcs", "oem"})
"""Codecs that are no charsets of mail, take quadratic time or exist on one system only."""

_ID: Final = pattern(r"<([^<>\s]{1,998})>")
_MAX_REFERENCES: Final = 1_000


def decoded(data: bytes, charset: str = "") -> str:
    """``data`` in ``charset``, else in UTF-8, else in Windows-1252. Never raises."""
    try:
        name = codecs.lookup(charset.strip() or "utf-8").name
    except (LookupError, ValueError):
        name = "utf-8"
    wide = _WIDER.get(name, name)
    # UTF-8 that is called Latin-1 is common, and Latin-1 is hardly ever valid UTF-8.
    for codec in ("utf-8", wide) if wide == "cp1252" or wide in _SLOW else (wide, "utf-8"):
        if codec not in _SLOW:
            try:
                return data.decode(codec)
            except (LookupError, ValueError):
                continue
    return data.decode("cp1252", "replace")


def read_words(header: str) -> str:
    """``header`` on one line, with its encoded words (RFC 2047) and raw bytes decoded."""
    header = _readable(header[:MAX_HEADER_CHARS])
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


def people(headers: Iterable[str]) -> list[str]:
    """Each mailbox of address headers once, as ``Name <address>`` or one of the two."""
    pairs: list[tuple[str, str]] = []
    for each in headers:
        # An address that is a URL with a password would be taken apart at its @ and colon.
        header, secrets = redact(_readable(each[:MAX_HEADER_CHARS]))
        pairs += _without_grammar(header) if secrets else addresses([header])
    found = [mailbox(read_words(name), address) for name, address in pairs]
    return list(dict.fromkeys(who for who in found if who))


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
    found = _ID.findall(header)
    if not found and "@" in header and "<" not in header:
        found = header.split()[:1]
    return list(dict.fromkeys(found))[:_MAX_REFERENCES]


def sent_at(header: str) -> datetime | None:
    """The time of a ``Date`` header with its zone; without one it is UTC. None if there is none."""
    try:
        at = parsedate_to_datetime(_readable(header[:200]))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _readable(header: str) -> str:
    """Raw bytes, which the parser gives as surrogates, as characters."""
    if header.isascii():
        return header
    return decoded(header.encode("utf-8", "surrogateescape"))


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

"""The text of bytes, whoever wrote them: mails, pages, tables, notes, names of files.

What a text declares counts, by the table of the WHATWG (https://encoding.spec.whatwg.org/#names-and-labels)
with its supersets, unless its bytes are not valid in it. Then UTF-8, where single bad bytes do not
count against many good ones; then what ``chardet`` takes all of the text for. Nothing raises, and
the time is linear.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from mem_search.patterns import pattern

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE: Final = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_NOT_ASCII: Final = bytes([*range(9), *range(14, 32), *range(127, 256)])
_SINGLE: Final = 0.8
"""Share of printable ASCII in what has a byte for each character. Two bytes for each have half."""
_HEAD: Final = 4096
"""Bytes that show whether a text has two or four of them for each character."""

_DECLARED_WITHIN: Final = 65_536
"""Bytes of a page in which it may say its charset: some have long styles before it."""

_NO_LABELS: Final = frozenset(
    "ascii usascii ansix341968 iso646us csascii unknown unknown8bit xunknown 8bit 7bit binary none"
    " default xuserdefined userdefined any utf16 ucs2 iso10646ucs2 unicode csunicode".split()
)
"""Labels of programs that did not know. UTF-16 shows itself, by its mark or its zeros."""

_LABELS: Final = {
    codec: frozenset(labels.split())
    for codec, labels in {
        "utf-8": "xunicode20utf8 unicode11utf8 unicode20utf8 unicode utf8mb4 cp65001 utf8n",
        "utf-7": "unicode11utf7 xunicode20utf7 unicode20utf7 csunicode11utf7 cp65000",
        "utf-16-le": "utf16le ucs2le unicodefeff cp1200",
        "utf-16-be": "utf16be unicodefffe cp1201",
        "cp1252": "iso88591 latin1 l1 ibm819 cp819 isoir100 csisolatin1 iso885911987 xcp1252 xansi"
        " ansi cp28591 windowslatin1 iso88591windows30latin1 iso88591windows31latin1",
        "cp1250": "xcp1250 windowslatin2", "cp1251": "xcp1251 win1251", "cp1253": "xcp1253",
        "cp1254": "iso88599 latin5 l5 isoir148 csisolatin5 iso885991989 xcp1254 cp28599",
        "cp1255": "xcp1255", "cp1256": "xcp1256", "cp1257": "xcp1257", "cp1258": "xcp1258",
        "cp874": "tis620 iso885911 dos874 windows874 xwindows874 cp874 tis6200 tis62025331",
        "iso8859-2": "cp28592", "iso8859-3": "cp28593", "iso8859-4": "cp28594",
        "iso8859-5": "cp28595", "iso8859-15": "cp28605 csisolatin9",
        "iso8859-6": "iso88596i iso88596e csiso88596i csiso88596e cp28596 asmo708 ecma114",
        "iso8859-7": "suneugreek ecma118 elot928 cp28597",
        "iso8859-8": "iso88598i iso88598e csiso88598i csiso88598e logical visual cp28598 cp38598",
        "cp932": "shiftjis sjis xsjis mskanji csshiftjis windows31j cswindows31j ms932 xmscp932"
        " windows932 cp932 shiftjisx0213 cp943 ibm943",
        "euc_jp": "eucjp xeucjp xeuc cseucpkdfmtjapanese cp51932 cp20932",
        "iso2022_jp": "iso2022jp csiso2022jp cp50220 cp50221 cp50222 iso2022jpms",
        "iso2022_kr": "iso2022kr csiso2022kr cp50225",
        "cp949": "euckr cseuckr ksc56011987 ksc56011989 ksc5601 isoir149 korean csksc56011987"
        " windows949 ms949 uhc xwindows949 cp949 cp51949",
        "gb18030": "gb2312 gb231280 csgb2312 gbk xgbk cp936 ms936 windows936 chinese isoir58"
        " csiso58gb231280 euccn xeuccn gb18030 cp54936 cp51936 cngb",
        "hz": "hzgb2312 hz cp52936",
        "big5hkscs": "big5 big5hkscs cnbig5 csbig5 xxbig5 big5tw big5eten cp950 ms950 windows950",
        "mac_roman": "macintosh mac xmacroman csmacintosh macroman cp10000",
        "mac_cyrillic": "xmaccyrillic xmacukrainian maccyrillic cp10007",
        "mac_latin2": "xmacce maccentraleurope macce cp10029", "mac_greek": "xmacgreek cp10006",
        "mac_turkish": "xmacturkish cp10081",
        "koi8-r": "koi8r koi cskoi8r koi8 cp20866", "koi8-u": "koi8u koi8ru cp21866",
        "cp866": "ibm866 csibm866 dos866",
    }.items()
}  # fmt: skip
"""Codec of Python → labels without their signs that Python does not know, or as a narrower one."""

_CODECS: Final = {label: codec for codec, labels in _LABELS.items() for label in labels}

_NO_CHARSETS: Final = frozenset(
    "punycode idna undefined mbcs oem unicode_escape raw-unicode-escape raw_unicode_escape".split()
)
"""Codecs that are no charsets of texts, take quadratic time or exist on one system only."""

_MANY_BYTES: Final = frozenset(
    "cp932 euc_jp iso2022_jp iso2022_kr cp949 gb18030 hz big5hkscs utf-7 johab".split()
)
"""Charsets whose text is hardly ever valid by chance: their label comes before UTF-8."""

_SIGN: Final = pattern("[^a-z0-9]+")
_OTHER_NAMES: Final = pattern(
    r"\Ax?(?:(?P<page>windows|win|ibm|dos|ms|oem|cp|codepage)(?=\d{3,5}\Z)|(?:iso|isoiec)?8859)"
)
"""How programs call a page of a vendor, or a part of ISO 8859."""
_MAX_LABEL_CHARS: Final = 60
_BAD: Final = pattern("[\udc80-\udcff]")
_BAD_RUN: Final = pattern("[\udc80-\udcff]+")
_CUT: Final = pattern("[\udcc2-\udcf4][\udc80-\udcbf]{0,2}\\Z")
_LATIN: Final = pattern(
    "(?<![\udc80-\udcff])(?:(?<=[A-Za-z])|(?=.[a-z]))"
    "[\udce0-\udcf6\udcf8-\udcfc](?![\udc80-\udcff])"
)
"""A lone byte at a letter that is one of Windows-1252: ``caf\\xe9`` among lines in UTF-8."""
_UNUSED: Final = pattern("[\ue000-\uf8ff]")
"""Private characters, as which Asian codecs read what they have no character for."""
_CONTROL: Final = pattern("[\0-\x08\x0e-\x1a\x7f]")
_DECLARED: Final = pattern(
    rb"<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,200}?encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})",
    re.IGNORECASE,
)

# What is looked for without a label. Charsets that no mail or file of today has are left out: in
# short texts they win by chance.
_LIKELY: Final = (
    "windows-1252 windows-1250 windows-1251 windows-1253 windows-1254 windows-1255 windows-1256"
    " windows-1257 windows-1258 windows-874 koi8-r koi8-u cp866 cp850 mac-roman mac-cyrillic cp932"
    " euc-jp gb18030 big5 cp949"
).split()
_ISO: Final = ["iso-8859-2", "iso-8859-6", "iso-8859-7"]
_BEYOND_ASCII: Final = pattern(rb"[\x80-\xff]")
_UMLAUT_OF_DOS: Final = pattern(rb"(?<=[A-Za-z])[\x81\x84\x94](?=[a-z])")
_C1: Final = pattern(rb"[\x80-\x9f]")
"""Bytes that no text in a charset of ISO 8859 has."""
_OTHER_SCRIPT: Final = pattern("[\u0370-\u06ff]")
_MIXED: Final = pattern("(?<=[A-Za-z])[\u0370-\u06ff]|[\u0370-\u06ff](?=[A-Za-z])")
_OLD: Final = frozenset("cp850 cp866 macroman maccyrillic".split())
_SURE: Final = 0.1
"""Of chardet's confidence: with less of it, no charset of DOS or of old Macs is believed."""
_MOSTLY: Final = 0.75
"""Share of letters, blanks and ends of lines in a text of a mainframe."""
_NEAR: Final = 0.6
"""Of the best score: Windows-1252, by far the most frequent, wins from here on. In 57 short texts
it had .73 and more where it was right, and at most .50 where it was not (docs/lab/reading.md)."""


def decoded(data: bytes, *labels: str, hint: str = "") -> str:
    """The text of ``data``, which is said to be in the first of ``labels``, or in the next one.

    ``hint`` is a charset that other parts of the same thing are in: better than a guess.
    """
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    if codec := wide(data[:_HEAD]):
        return data.decode(codec, "replace").rstrip("\0")
    if b"\x1b$" in data and data.isascii():
        for escaped in (_iso_2022_jp, lambda each: each.decode("iso2022_kr")):
            with suppress(ValueError):
                return escaped(data)
    named = [codec for codec in map(codec_of, labels) if codec]
    for codec in named:
        if (text := _declared(data, codec)) is not None:
            return text
    if (text := _as_utf_8(data, least=2)) is not None:
        return text
    hinted = codec_of(hint)
    if hinted and (text := _declared(data, hinted)) is not None:
        return text
    if _is_ebcdic(data):
        return data.decode("cp1140").replace("\x85", "\n")
    return data.decode(_likeliest(data), "replace")


def _is_ebcdic(data: bytes) -> bool:
    """Whether mainframes wrote it: blanks and letters are where theirs are, and none of ASCII's."""
    if b" " in data or data.count(b"@") * 20 < len(data):
        return False
    letters = sum(0x81 <= byte <= 0xE9 or byte in b"@\x15\x25\x4b\x6b" for byte in data)
    return letters >= _MOSTLY * len(data)


def decoded_page(data: bytes, charset: str = "") -> str:
    """The text of HTML: in ``charset``, which came with it, else in what it declares itself."""
    declared = _DECLARED.search(data[:_DECLARED_WITHIN])
    return decoded(data, charset, declared[1].decode("ascii") if declared else "")


def codec_of(label: str) -> str:
    """Python's codec for a charset as texts declare it; "" for none."""
    label = label.partition(";")[0].strip(" \t\r\n\"'").lower()[:_MAX_LABEL_CHARS]
    key = _SIGN.sub("", label)
    if not key or key in _NO_LABELS:
        return ""
    if known := _CODECS.get(key):
        return known
    other = _OTHER_NAMES.sub(lambda name: "cp" if name["page"] else "iso8859-", key)
    if known := _CODECS.get(_SIGN.sub("", other)):
        return known
    for name in (label, key, key.removeprefix("x"), other):
        try:
            codec = codecs.lookup(name)
        except (LookupError, ValueError):
            continue
        # Python marks what codes bytes as bytes: base64, zip.
        is_text = getattr(codec, "_is_text_encoding", True) and codec.name not in _NO_CHARSETS
        return _CODECS.get(_SIGN.sub("", codec.name), codec.name) if is_text else ""
    return ""


def wide(head: bytes) -> str:
    """The codec of a text of two or four bytes a character, without a mark; else ""."""
    if b"\0" not in head:
        return ""
    single = len(head.translate(None, _NOT_ASCII))
    if single >= _SINGLE * len(head):  # a table or log in which a program left single zeros
        return ""
    best, most = "", 0
    for codec in _WIDE:
        try:
            # Not final: the head may end within a character.
            text = codecs.getincrementaldecoder(codec)().decode(head).rstrip("\0")
        except UnicodeDecodeError:
            continue
        ascii_chars = len(text.encode("ascii", "ignore"))
        if ascii_chars > most and not _CONTROL.search(text) and all(map(_is_assigned, text)):
            best, most = codec, ascii_chars
    return best


def sniffed(head: bytes) -> bytes:
    """The beginning of a file in UTF-8, where it is a text of two or four bytes a character."""
    codec = next((codec for mark, codec in _MARKS[1:] if head.startswith(mark)), "") or wide(head)
    if not codec:
        return head
    return head.decode(codec, "ignore").lstrip("\ufeff").encode("utf-8", "replace")


def _is_assigned(char: str) -> bool:
    return char.isascii() or unicodedata.category(char) not in ("Cn", "Co", "Cs")


def _declared(data: bytes, codec: str) -> str | None:
    """The text of ``data`` in the declared ``codec``; None where it is plainly in another one."""
    if codec == "utf-8":
        return _as_utf_8(data, least=1)
    if codec not in _MANY_BYTES and (text := _as_utf_8(data, least=2)) is not None:
        return text  # which is called something else often, and is hardly ever valid by chance
    for decode in (*_WIDER.get(codec, ()), codec):
        try:
            text = decode(data) if callable(decode) else data.decode(decode)
        except (LookupError, ValueError):
            continue
        return text if 10 * len(_UNUSED.findall(text)) <= _beyond_ascii(text) else None
    try:
        text = data.decode(codec, "replace")
    except (LookupError, ValueError):
        return None
    bad = text.count("\ufffd") + len(_UNUSED.findall(text))
    return text if bad * 10 <= _beyond_ascii(text) - bad else None


def _as_utf_8(data: bytes, *, least: int) -> str | None:
    """The text, if it has ``least`` times as many characters beyond ASCII as bad bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
    every = len(_BAD.findall(text))
    cut = _CUT.search(text, max(0, len(text) - 3))  # the text ends within a character
    bad, good = every - (len(cut[0]) if cut else 0), _beyond_ascii(text) - every
    if good < max(least - 1, least * bad):
        return None
    if 2 * sum("\xa0" <= char < "\u0180" for char in text if char > "\x7f") >= good:
        text = _LATIN.sub(lambda byte: chr(ord(byte[0]) & 0xFF), text)
    return _BAD_RUN.sub("\ufffd", text)


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def _likeliest(data: bytes) -> str:
    """The codec that the text is most likely in."""
    from chardet import detect_all

    if 2 * len(_UMLAUT_OF_DOS.findall(data)) > len(_BEYOND_ASCII.findall(data)):
        return "cp850"  # in Windows-1252 these are quotes, and none stands within a word

    among = [*_LIKELY, *(() if _C1.search(data) else _ISO)]
    guesses = detect_all(data, ignore_threshold=True, max_bytes=len(data), include_encodings=among)
    scores = [(codec_of(str(each["encoding"] or "")), each["confidence"]) for each in guesses]
    scores = [
        (codec, score)
        for codec, score in scores
        if codec and (score >= _SURE or _SIGN.sub("", codec) not in _OLD)
    ]
    for best, most in sorted(scores, key=lambda each: -each[1]):
        if dict(scores).get("cp1252", 0.0) >= _NEAR * most:
            break
        if not _mixes_scripts(data.decode(best, "replace")):
            return best
    if b"\r" in data and b"\n" not in data:
        return "mac_roman"  # no program but those of old Macs ends lines so
    # Byte A4 is the euro sign in ISO 8859-15, and in Windows-1252 a sign that few texts have.
    return "iso8859-15" if b"\xa4" in data and not _C1.search(data) else "cp1252"


def _mixes_scripts(text: str) -> bool:
    """Whether most Cyrillic, Greek, Hebrew or Arabic letters stand beside Latin ones: no word."""
    return 2 * len(_MIXED.findall(text)) > len(_OTHER_SCRIPT.findall(text))


# Japanese programs write characters of NEC and IBM in every charset, as Shift_JIS has them.

_JIS: Final = pattern(rb"\x1b(\$[@B]|\([BJI])([^\x1b]*)")
_EUC: Final = pattern(rb"([\x00-\x7f]+)|(\x8e[\xa1-\xdf])|((?:[\xa1-\xfe]{2})+)|(.)", re.DOTALL)


def _iso_2022_jp(data: bytes) -> str:
    """Raises UnicodeDecodeError for other bytes."""
    try:
        return data.decode("iso2022_jp")
    except UnicodeDecodeError:
        first = data.find(b"\x1b")
        pieces = [data[: max(0, first)].decode("ascii")]
        if first < 0 or len(_JIS.sub(b"", data)) != first:
            raise
    for match in _JIS.finditer(data):
        mode, said = match[1], match[2]
        if mode == b"(I":
            pieces.append(bytes(byte | 0x80 for byte in said).decode("cp932"))
        else:
            pieces.append(said.decode("ascii") if mode[:1] == b"(" else _of_pairs(said))
    return "".join(pieces)


def _euc_jp(data: bytes) -> str:
    """Raises UnicodeDecodeError for other bytes."""
    pieces = []
    for plain, kana, pairs, other in _EUC.findall(data):
        if other:  # of JIS X 0212
            return data.decode("euc_jp")
        pieces.append(plain.decode("ascii") or kana[1:].decode("cp932") or _of_pairs(pairs))
    return "".join(pieces)


def _of_pairs(data: bytes) -> str:
    """Characters of JIS X 0208 by row and column, in seven or eight bits; lines may end between."""
    done = bytearray()
    rows = iter(byte & 0x7F for byte in data)
    for row in rows:
        if row < 0x21:
            done.append(row)
            continue
        column = next(rows, 0)
        lead = (row - 0x21) // 2 + 0x81
        shift = 0x1F + (column >= 0x60) if row % 2 else 0x7E
        done += bytes((lead + 0x40 * (lead > 0x9F), (column + shift) & 0xFF))
    return done.decode("cp932")


_WIDER: Final[dict[str, Iterable[str | Callable[[bytes], str]]]] = {
    "iso2022_jp": (_iso_2022_jp,),
    "euc_jp": (_euc_jp,),
    "big5hkscs": ("big5hkscs", "cp950"),
    "iso8859-8": ("iso8859-8", "cp1255"),
    "iso8859-6": ("iso8859-6", "cp1256"),
}
"""What is tried before a codec, or after it: others with the same characters and more."""

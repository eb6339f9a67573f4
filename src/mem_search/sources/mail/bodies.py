"""Bodies of messages: HTML as text, unwrapped lines, and what of a reply is its own.

Every function takes any text and time in proportion to its length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Final, cast

from mem_search.patterns import pattern

_BLOCKS: Final = frozenset(
    "address article aside blockquote body center dd div dl dt fieldset figure footer form h1 h2"
    " h3 h4 h5 h6 header hr li main nav ol p pre section table tbody tfoot thead tr ul".split()
)
_UNSEEN: Final = frozenset("head script style template title noscript object".split())
_VOID: Final = frozenset("area base br col embed hr img input link meta source wbr".split())
_SIGNATURES: Final = ("gmail_signature", "moz-signature")
_HIDDEN: Final = pattern(r"display\s{0,9}:\s{0,9}none", re.IGNORECASE)

_NO_WORDS: Final = pattern(r"<(style|script)[\s>]|<!--")
_TAG: Final = pattern(r"<[a-zA-Z/!?][^<>]{0,20000}>")
_WORD: Final = pattern(r"[^\W_]{2,}")
_URL: Final = pattern(r"(?:https?://|www\.|mailto:|cid:)[^\s<>]{1,2000}")
_SOFT_END: Final = pattern(r"=[ \t]++(?=\r?\n)")
_NO_BASE64: Final = pattern(r"\n(?=[^\n]{0,200}[^A-Za-z0-9+/=\s])")
_BASE64: Final = pattern(r"^[A-Za-z0-9+/]{60,76}\r?$", re.MULTILINE)
_NO_WIDTH: Final = pattern("[\u00ad\u034f\u200b-\u200f\u2060-\u2064\ufeff]")
_NO_EDGE: Final = "\u00ad\u034f\u200b\u200c\u2060\ufeff"
_FILLERS: Final = pattern(
    "(?<!\\S)[\u00ad\u034f\u115f\u1160\u200b-\u200f\u2060-\u2064\u2800\u3164\ufeff\uffa0]+(?:[^\\S\n]+|$)"
    f"|(?<!\\S)[{_NO_EDGE}]+|(?<![{_NO_EDGE}])[{_NO_EDGE}]+(?!\\S)",
    re.MULTILINE,
)
"""What newsletters put behind their first line, so that mail programs show nothing else of the
text: words of characters that nobody sees, and such characters at the edge of a word."""
_MAX_COMPARED: Final = 500
"""Words of one form that are looked for in all of another one, a millisecond each at the most."""

_ORIGINAL: Final = pattern(
    r"[ >]*-{2,20}[ ]?(?:original (?:message|appointment)|ursprüngliche nachricht|message d'origine"
    r"|mensaje original|messaggio originale|mensagem original|oorspronkelijk bericht"
    r"|oprindelig meddelelse|ursprungligt meddelande|исходное сообщение|原始邮件)[ ]?-{2,20}\s*\Z",
    re.IGNORECASE,
)
_FORWARDED: Final = pattern(
    r"[- >]{0,20}(?:begin )?(?:forwarded (?:message|by)|weitergeleitete nachricht|message transféré"
    r"|mensaje reenviado|messaggio inoltrato|mensagem encaminhada|doorgestuurd bericht"
    r"|vidarebefordrat meddelande|videresendt (?:meddelelse|melding)|пересылаемое сообщение"
    r"|转发的邮件)",
    re.IGNORECASE,
)
_FROM: Final = pattern(
    r"\*?(?:from|von|de|da|van|fra|från|от|发件人|差出人)\*? ?[:：]", re.IGNORECASE
)
_FIELD: Final = pattern(
    r"\*?(?:sent|date|to|cc|subject|gesendet|datum|an|betreff|envoyé|à|objet|enviado|fecha|para|asunto"
    r"|inviato|data|a|oggetto|verzonden|aan|onderwerp|sendt|til|emne|skickat|till|ämne|отправлено"
    r"|кому|тема|发送时间|收件人|主题|送信日時|宛先|件名)\*? ?[:：]",
    re.IGNORECASE,
)
_SAID: Final = pattern(
    r"\d{4}|\d:\d\d|@|\b(?:wrote|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|skrev"
    r"|napisał|написал|kirjoitti)|写道|書きました"
)
_SENT_FROM: Final = pattern(
    r"(?:sent from|get outlook for|gesendet (?:von|mit)|von meinem|envoyé de|enviado desde"
    r"|inviato da|enviado do meu|verstuurd vanaf|skickat från|sendt fra|отправлено с|发自)"
    r" ?.{1,60}\Z",
    re.IGNORECASE,
)
MAX_TAGS: Final = 1_000_000
"""Of the HTML of a message: two seconds of the worker. Newsletters have ten thousand."""

_LINE: Final = 400
"""Characters of a line that are looked at."""
_FIELDS_WITHIN: Final = 7
_MAX_SIGNATURE_LINES: Final = 30


@dataclass(frozen=True, slots=True)
class Reply:
    """A text taken apart: what its writer added, what it quotes, and the signature.

    ``whole`` is all of it in its order, where an answer follows what it quotes.
    """

    own: str
    quoted: str = ""
    signature: str = ""
    whole: str = ""


def html_text(html: str) -> str:
    """The words of ``html`` that a reader sees, a line for each block, quotes after ``> ``.

    Raises ValueError for more than ``MAX_TAGS``.
    """
    return read_html(html)[0]


def read_html(html: str) -> tuple[str, str]:
    """The ``html_text``, and the words that nobody sees. Raises ValueError as it does."""
    from lxml import etree

    page = _Page()
    parser = etree.HTMLParser(target=cast(Any, page), encoding="utf-8", no_network=True)
    try:
        parser.feed(html.encode("utf-8", "replace"))
        parser.close()
    except etree.LxmlError:  # what was read so far counts
        page.end_line()
    return page.text(), " ".join(page.hidden)


def stated_words(html: str) -> str:
    """The words of ``html`` by a second, cheap way: all that is outside of its tags."""
    lower, kept, at = html.lower(), list[str](), 0
    for match in _NO_WORDS.finditer(lower):
        if match.start() < at:
            continue
        kept.append(html[at : match.start()])
        ending = "-->" if match[0] == "<!--" else f"</{match[1]}"
        end = lower.find(ending, match.end())
        if end < 0:
            at = len(html)
            break
        at = end
    return unescape(_TAG.sub(" ", " ".join([*kept, html[at:]])))


def together(forms: Sequence[str]) -> tuple[str, str]:
    """Of one text in several forms the one that says more, and the lines that others have alone.

    The first counts where others say no more. Addresses of pages are no words here: a text has
    them written out, and HTML in its links.
    """
    best, more = forms[0] if forms else "", list[str]()
    for other in forms[1:]:
        left, right = new_lines(best, other), new_lines(other, best)
        if not left:
            continue
        if right and len(_words(best)) >= len(_words(other)):
            more.append(left)
        else:
            best, more = other, [*more, *filter(None, [right])]
    return best, "\n".join(more)


def new_lines(known: str, text: str) -> str:
    """The lines of ``text`` with words that ``known`` has not."""
    words, joined = _words(known), ""
    lines: list[str] = []
    looked = 0
    for line in text.split("\n"):
        new = _words(line) - words
        if new and looked < _MAX_COMPARED:
            # Without spaces: languages that have none, and words that are cut at the end of a line.
            joined = joined or "".join(_folded(known).split())
            looked += len(new)
            new = {word for word in new if word not in joined}
        if new:
            lines.append(line)
    return "\n".join(lines).strip("\n")


def _words(text: str) -> set[str]:
    return set(_WORD.findall(_URL.sub(" ", _folded(text))))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", _NO_WIDTH.sub("", text)).casefold()


class _Page:
    """A parser target that collects lines. It builds no tree, so depth costs no memory."""

    def __init__(self) -> None:
        self.hidden: list[str] = []
        self._lines: list[str] = []
        self._line: list[str] = []
        self._quotes = self._unseen = self._as_is = self._tags = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._tags += 1
        if self._tags > MAX_TAGS:
            raise ValueError(f"its HTML has more than {MAX_TAGS:,} tags")
        if self._unseen:
            self._unseen += tag not in _VOID
            return
        if tag not in _VOID and (
            tag in _UNSEEN or _HIDDEN.search((attributes.get("style") or "")[:_LINE])
        ):
            self._unseen = 1
            return
        if tag in _BLOCKS or tag == "br":
            self.end_line()
        if tag == "blockquote":
            self._quotes += 1
        elif tag == "pre":
            self._as_is += 1
        elif tag == "li":
            self._line.append("- ")
        elif tag in ("td", "th"):
            self._line.append(" ")
        elif tag == "img" and (alternative := attributes.get("alt")):
            self._line.append(f" {alternative[:_LINE]} ")
        kinds = attributes.get("class") or ""
        if any(name in kinds for name in _SIGNATURES):
            self.end_line()
            self._lines.append("-- ")

    def end(self, tag: str) -> None:
        if self._unseen:
            self._unseen -= tag not in _VOID
            return
        if tag in _BLOCKS:
            self.end_line()
            if tag in ("p", "h1", "h2", "h3", "table", "blockquote"):
                self._lines.append("")
        if tag == "blockquote":
            self._quotes = max(0, self._quotes - 1)
        elif tag == "pre":
            self._as_is = max(0, self._as_is - 1)

    def data(self, data: str) -> None:
        if self._unseen:
            self.hidden.append(data)
            return
        if not self._as_is:
            self._line.append(data)
            return
        first, *others = data.split("\n")
        self._line.append(first)
        for line in others:
            self.end_line()
            self._line.append(line)

    def close(self) -> None:
        self.end_line()

    def end_line(self) -> None:
        line, self._line = "".join(self._line), []
        line = line.rstrip() if self._as_is else " ".join(line.split())
        if line or self._as_is:
            self._lines.append(">" * min(self._quotes, 20) + " " * bool(self._quotes) + line)

    def text(self) -> str:
        return _joined(self._lines)


def without_footer(coded: str, coding: str) -> tuple[str, str]:
    """A text as it was encoded, and what a list wrote behind it, in plain letters.

    Blanks behind a line that goes on came on the way (RFC 2045, 6.7).
    """
    if coding == "quoted-printable" and coded.isascii():
        return _SOFT_END.sub("=", coded), ""
    footer = _NO_BASE64.search(coded) if coding == "base64" else None
    if footer is None or _BASE64.search(coded, footer.end()):
        return coded, ""
    return coded[: footer.start()], coded[footer.start() :]


def unflowed(text: str, *, delete_space: bool = False) -> str:
    """Text in ``format=flowed`` (RFC 3676) with its paragraphs on one line each."""
    done: list[str] = []
    flowing: list[str] = []
    before = 0
    for line in text.split("\n"):
        rest = line.lstrip(">")
        depth = len(line) - len(rest)
        rest = rest.removeprefix(" ")
        if flowing and depth != before:
            done.append("".join(flowing))
            flowing = []
        if not flowing:
            flowing.append(">" * depth + " " * bool(depth))
        soft = rest.endswith(" ") and rest != "-- "
        flowing.append(rest[:-1] if soft and delete_space else rest)
        before = depth
        if not soft:
            done.append("".join(flowing))
            flowing = []
    return "\n".join([*done, "".join(flowing)] if flowing else done)


def take_apart(text: str) -> Reply:
    """What the writer of ``text`` added, what it quotes, and the signature.

    Quoted are lines after ``>`` with the line that introduces them, and everything after the head
    of an original message. A forwarded message is not quoted: it may be stored nowhere else. When
    nothing else is left, the quote is the text. Fillers are no text.
    """
    lines = _FILLERS.sub("", text).split("\n")
    quoted = [line.lstrip(" ").startswith(">") for line in lines]
    for number, line in enumerate(lines):
        if _FORWARDED.match(line[:_LINE]):
            break
        if _begins_original(lines, number):
            quoted[number:] = [True] * (len(lines) - number)
            break
    for number in range(1, len(lines)):
        if quoted[number] and not quoted[number - 1]:
            _mark_introduction(lines, quoted, number)
    own = [line for line, is_quoted in zip(lines, quoted, strict=True) if not is_quoted]
    signature = _signature_of(own)
    own = own[: len(own) - len(signature)]
    rest = [line for line, is_quoted in zip(lines, quoted, strict=True) if is_quoted]
    if not any(line.strip() for line in own):
        return Reply(_joined(lines))
    first = quoted.index(True) if any(quoted) else len(lines)
    before = sum(not is_quoted for is_quoted in quoted[:first])
    between = any(line.strip() for line in own[before:])
    return Reply(_joined(own), _joined(rest), _joined(signature), _joined(lines) if between else "")


def _begins_original(lines: list[str], number: int) -> bool:
    line = lines[number][:_LINE]
    if _ORIGINAL.match(line):
        return True
    if not _FROM.match(line.lstrip(" ")):
        return False
    following = lines[number + 1 : number + _FIELDS_WITHIN]
    fields = sum(bool(_FIELD.match(each[:_LINE].lstrip(" "))) for each in following)
    return fields >= 2 and any(each.strip() for each in lines[max(0, number - 9) : number])


def _mark_introduction(lines: list[str], quoted: list[bool], number: int) -> None:
    """Mark the lines above a quote that say who wrote it when."""
    last = number - 1
    while last > max(0, number - 3) and not lines[last].strip():
        last -= 1
    if quoted[last] or not lines[last][-_LINE:].rstrip().endswith((":", "：")):
        return
    for first in range(last, max(-1, last - 3), -1):
        if quoted[first] or not lines[first].strip():
            return
        said = " ".join(line[-_LINE:] for line in lines[first : last + 1])
        if _SAID.search(said) and (first == last or len(said) > 20):
            if first > 0 and lines[first - 1].startswith(("On ", "Am ", "Le ", "El ", "Il ")):
                first -= 1
            quoted[first:number] = [True] * (number - first)
            return


def _signature_of(own: list[str]) -> list[str]:
    end = len(own)
    while end and not own[end - 1].strip():
        end -= 1
    for number in range(end - 1, max(-1, end - 1 - _MAX_SIGNATURE_LINES), -1):
        if own[number].rstrip("\r") in ("-- ", "--", "—", "__"):
            return own[number:]
    if end and _SENT_FROM.match(own[end - 1].strip()[:_LINE]):
        return own[end - 1 :]
    return []


def _joined(lines: list[str]) -> str:
    """The lines without blank ones at both ends and with one blank line between paragraphs."""
    kept: list[str] = []
    for line in lines:
        if line.strip() or (kept and kept[-1]):
            kept.append(line.rstrip() if line.strip() else "")
    while kept and not kept[-1]:
        kept.pop()
    return "\n".join(kept)

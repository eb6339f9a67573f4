"""Places where a value is a secret, whatever it looks like, or where its name stands elsewhere.

``after_name`` reads the value of a name that is not followed by a sign and the value: in XML, in
a block of YAML, in Terraform, in prose. The other finders know the place without a name: cookies,
headers, logins in URLs and Kubernetes secrets; ``secret_columns`` has tables.

Every pattern is bounded and starts at a literal, so the time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mem_search.patterns import pattern
from mem_search.text.secret_values import (
    Place,
    is_credential,
    is_evident,
    is_placeholder,
    is_secret,
)

Span = tuple[int, int, str]
"""(start, end, kind) of a secret."""

_MIN_TOKEN: Final = 16
"""Shorter values of cookies and signatures are settings and counters."""
_MIN_PASSWORD: Final = 8


def with_breaks(text: str) -> str:
    """``text`` with escaped line breaks made real ones; each character stays in its place."""
    return text.replace("\\\\n", "  \n").replace("\\n", " \n") if "\\n" in text else text


# ---- values whose name stands elsewhere -----------------------------------------------------

QUOTE: Final = r"""\\{0,7}["']"""
"""Also one that is escaped, in a string in a string."""
_QUOTED: Final = r"""[^"'<>\n\\]{1,400}"""
_IN_TAG: Final = pattern(
    rf"""[^<>\n]{{0,200}}?\s(?:value|content)\s?=\s?{QUOTE}(?P<attribute>{_QUOTED}){QUOTE}"""
    rf"""|[^<>\n]{{0,100}}>\s{{0,20}}(?:<value>)?(?P<element>[^\s<>][^<>]{{0,400}}?)\s{{0,20}}</"""
)
_AFTER: Final = pattern(
    rf"""</\w{{1,20}}>\s{{0,40}}<\w{{1,20}}>(?P<string>[^<>]{{1,400}})</  # a property list
    |(?:{QUOTE})?\s{{0,3}}:\s{{0,3}}[|>][+-]?[0-9]?[ \t]{{0,9}}\r?\n
      (?P<block>(?:[ \t]{{1,40}}[^\s]{{8,400}}[ \t]{{0,9}}\r?\n?){{1,60}})
    |(?:{QUOTE})?\s{{0,3}}\{{[^{{}}]{{0,400}}?\b(?:default|value)\s{{0,9}}=\s{{0,9}}\\{{0,7}}"
      (?P<default>[^"\n\\]{{1,400}})\\{{0,7}}"
    |(?:{QUOTE})?\s{{0,3}},?\s{{0,40}}(?:{QUOTE})?value(?:{QUOTE})?\s{{0,3}}[:=]\s{{0,3}}(?:{QUOTE})?
      (?P<value>[^\s"',}}\\]{{1,400}})
    |{QUOTE}\s{{0,3}},\s{{0,5}}{QUOTE}(?P<argument>[^"'\n\\]{{1,400}}){QUOTE}
    |(?:{QUOTE})?[ \t]{{1,3}}{QUOTE}(?P<literal>[^"'\n\\]{{1,400}}){QUOTE}
    |(?:\s(?:for|of|von|für|de|di|от)(?:\s[\w.@-]{{1,40}}){{1,4}}?)?["'*_`]{{0,3}}\s{{0,3}}(?:
        (?<=\w):\s|\s(?:is|was|are|lautet|ist|war|est|es|era|è|é|jest|to|это|->|—|–|-)(?:\s?:)?\s{{1,3}}
        |[:=][*_`]{{1,3}}\s{{1,3}}|(?:是|は|为|為):?)
      \s{{0,3}}["'*_`“„«]{{0,3}}(?P<said>[^\s"'`“”„«»,;()<>\[\]\\]{{4,200}})
    |\s?[:=]\s?[\w.:?!$()\["'\]]{{1,60}}\s?(?:\|\||\?\?|\bor\b)\s{{0,3}}
      {QUOTE}(?P<otherwise>[^"'\n\\]{{8,400}}){QUOTE}
    |\s?[:=]\s?[\w.:]{{1,40}}[(\[]\s?{QUOTE}\w{{1,60}}{QUOTE}\s?,\s?
      {QUOTE}(?P<given>[^"'\n\\]{{8,400}}){QUOTE}
    |\s?[:=]\s?(?:new\s)?[\w.:]{{1,40}}\(\s?{QUOTE}(?P<made>[^"'\n\\]{{8,400}}){QUOTE}
    |[ \t][0-9][ \t]{{1,3}}(?P<typed>[^\s"'`\\;,|<>]{{6,200}})  # of Cisco: password 7 …
    |[ \t]{{1,3}}(?P<bare>[A-Za-z0-9/+_-]{{8,400}}={{0,2}})(?![A-Za-z0-9/+_=-])""",
    re.VERBOSE,
)
_BEFORE: Final = pattern(
    rf"""\svalue\s?=\s?{QUOTE}(?P<attribute>{_QUOTED}){QUOTE}[^<>\n]{{0,100}}\Z"""
)
_PLACES: Final[dict[str, Place]] = {
    "said": "data", "bare": "data", "block": "data", "argument": "code", "typed": "data",
}  # fmt: skip
"""How sure it is that a value is meant: two arguments side by side are often two names."""
_MAX_TAG_CHARS: Final = 300


def after_name(
    text: str, start: int, end: int, *, password: bool
) -> tuple[int, int, str, Place] | None:
    """(start, end, value, place) of the value of the name ``text[start:end]``, if it has one."""
    match = None
    opened = text.rfind("<", max(0, start - _MAX_TAG_CHARS), start)
    if opened >= 0 and text.find(">", opened, start) < 0:
        match = _IN_TAG.match(text, end) or _BEFORE.search(text, opened, start)
    match = match or _AFTER.match(text, end)
    if match is None or match.lastgroup is None:
        return None
    group = match.lastgroup
    value = match[group]
    first = match.start(group) + len(value) - len(value.lstrip())
    value = value.strip().rstrip(".:")
    last = first + len(value)
    if group == "block":
        value = "".join(value.split())
    if group == "said" and not password and not (len(value) >= _MIN_TOKEN and is_evident(value)):
        return None
    if group in ("bare", "made", "otherwise", "given", "literal") and not (
        password and group == "literal"
    ):
        least = _MIN_PASSWORD if password else _MIN_TOKEN
        if len(value) < least or not is_evident(value):
            return None
    return first, last, value, _PLACES.get(group, "string")


# ---- URLs, headers and cookies ---------------------------------------------------------------

_LOGIN: Final = pattern(r"""://[^\s/:@"'<>]{0,100}:(?P<value>[^\s/@"'<>]{1,200})@""")
_USER: Final = pattern(r"""://(?P<value>[A-Za-z0-9_.~%-]{16,200})(?::[\w-]{0,20})?@""")
_PARAMETER: Final = pattern(
    r"[?&](?:key|auth|sid|code|hmac|session(?:_?id)?)=(?P<value>[A-Za-z0-9%+/_.~-]{16,2000}+)"
)
_SIGNATURE: Final = pattern(r"ignature=(?P<value>[A-Za-z0-9%+/_~=-]{16,2000}+)")
_SAS: Final = pattern(r"sig=(?<![A-Za-z0-9_]sig=)(?P<value>[A-Za-z0-9%+/_~=-]{16,2000}+)")
_SIGNED: Final = pattern(r"(?<![A-Za-z0-9])(?:s[vepr]|skn)=")
"""What stands beside the signature of Azure: version, end, rights, resource, name of the key."""
_SIGNED_CHARS: Final = 400
_HEADER: Final = pattern(
    r"""[Aa](?i:uthorization)(?:\\{0,7}["'`])?\s{0,5}[:=,]\s{0,5}(?:\\{0,7}["'`])?"""
    r"""(?:(?P<scheme>[A-Za-z][\w-]{1,20})\s{1,5})?(?P<value>[^\s"'`\\,;<>]{8,4000}+)"""
)
_BEARER: Final = pattern(r"[Bb](?i:earer)\s(?P<value>[A-Za-z0-9._~+/=-]{20,}+)")
_SCHEMES: Final = ("bearer", "basic", "token", "apikey")
_COOKIE: Final = pattern(
    r"""ookie(?<=[Cc]ookie)["']?\s{0,3}[:=]\s{0,3}["']?(?P<value>[^\n"'<>]{8,4000}+)"""
)
_PAIR: Final = pattern(r"=(?P<value>[^\s;,=&]{16,4000}+)")


def addresses(text: str) -> Iterator[Span]:
    """Passwords and tokens before the @ of a URL, and signatures of URLs."""
    if "://" in text and "@" in text:
        for match in _LOGIN.finditer(text):
            if not is_placeholder(match["value"]):
                yield (*match.span("value"), "url-password")
        for match in _USER.finditer(text):
            if is_secret(match["value"], "code", password=False):
                yield (*match.span("value"), "url-password")
    if "?" in text:
        for match in _PARAMETER.finditer(text):
            if is_evident(match["value"]):
                yield (*match.span("value"), "secret")
    if "ignature" in text:
        for match in _SIGNATURE.finditer(text):
            if _is_token(match["value"]):
                yield (*match.span("value"), "signature")
    for match in _SAS.finditer(text) if "sig=" in text else ():
        before, after = match.start() - _SIGNED_CHARS, match.end() + _SIGNED_CHARS
        if not is_placeholder(match["value"]) and _SIGNED.search(text, max(0, before), after):
            yield (*match.span("value"), "signature")


def headers(text: str) -> Iterator[Span]:
    """Credentials of ``Authorization`` in any scheme, and the values of cookies."""
    for match in _HEADER.finditer(text) if "horization" in text or "HORIZATION" in text else ():
        value, scheme = match["value"], match["scheme"] or ""
        known = scheme.lower() in _SCHEMES
        if is_credential(value) if known else len(value) >= _MIN_TOKEN and is_evident(value):
            yield (*match.span("value"), "authorization")
    for match in _BEARER.finditer(text) if "earer" in text or "EARER" in text else ():
        if is_credential(match["value"]):
            yield (*match.span("value"), "authorization")
    if "ookie" in text:
        for match in _COOKIE.finditer(text):
            for pair in _PAIR.finditer(text, match.start("value"), match.end("value")):
                if _is_token(pair["value"]):
                    yield (*pair.span("value"), "cookie")


def _is_token(value: str) -> bool:
    return len(value) >= _MIN_TOKEN and is_secret(value, "code", password=False)


# ---- PINs and seed phrases --------------------------------------------------------------------

_PIN: Final = pattern(
    r"""P(?:IN|UK)(?<![A-Za-z0-9]...)(?:[ -]?(?:[Cc]ode|Nummer))?["'`*_]{0,3}\s{0,3}"""
    r"""(?:[:=]|ist|is|est|es)\s{0,3}["'`*_]{0,3}(?P<value>[0-9]{4,8})(?![\w.,:/-]?\w)"""
)
_SEED: Final = pattern(
    r"(?:mnemonic|(?:seed|recovery|backup|wallet|secret)[ _-]?(?:phrase|words)|seed"
    r"|wiederherstellungsphrase|wiederherstellungswörter)[^\n:=]{0,40}?"
    r"(?:[:=]|\s(?:is|are|ist|lautet|est|es)\s|\n)[\s\"'`*_\[\\]{0,12}"
    r"(?P<words>(?:[0-9]{1,2}[.):]?\s{0,3})?[a-z]{3,8}(?:[\s,\"'`\\]{1,9}(?:[0-9]{1,2}[.):]?\s{0,3})?"
    r"[a-z]{3,8}(?![a-z])){11,24})"
)
_SEED_LABELS: Final = ("mnemonic", "phrase", "seed", "words", "wörter")
_NO_SEED: Final = pattern(
    r"\b(?:[A-Z]|(?:the|and|for|with|from|are|was|has|not|your|und|der|die|das)\b)"
)
"""Words of sentences that BIP-39 has not among its 2,048."""
_MIN_SEED_WORDS: Final = 12


def wallets_and_pins(text: str) -> Iterator[Span]:
    """PINs behind their name, and the words of BIP-39 that are the key of a wallet."""
    for match in _PIN.finditer(text) if "PIN" in text or "PUK" in text else ():
        yield (*match.span("value"), "pin")
    lower = text.replace("İ", "I").lower()
    if any(label in lower for label in _SEED_LABELS):
        for match in _SEED.finditer(lower):
            start, end = match.span("words")
            small = text[start].islower()  # then a capital begins a sentence
            sentence = _NO_SEED.search(text if small else lower, start, end)
            words = lower[start : sentence.start() if sentence else end]
            if len(re.findall("[a-z]+", words)) >= _MIN_SEED_WORDS:
                yield start, start + len(words.rstrip()), "seed-phrase"


# ---- Kubernetes ---------------------------------------------------------------------------

_SECRET_KIND: Final = pattern(r"""kind["']?:\s{0,3}["']?Secret\b""")
_DATA: Final = pattern(r"""\bdata(?<=[\s"'{,]data)["']?:\s{0,9}\{?|\bstringData["']?:\s{0,9}\{?""")
_ENTRY: Final = pattern(
    r"""(?P<indent>\s{0,40})["']?[\w.-]{1,120}["']?:\s{0,3}["']?(?P<value>[^\s"',}]{1,9000}+)["']?,?"""
)
_MAX_SECRET_CHARS: Final = 6000
_MAX_ENTRIES: Final = 100


def kubernetes(text: str) -> Iterator[Span]:
    """The values of ``data`` in a Kubernetes ``Secret``, as YAML or JSON."""
    if "Secret" not in text:
        return
    text, read = with_breaks(text), 0
    for kind in _SECRET_KIND.finditer(text):
        first = max(read, kind.start() - _MAX_SECRET_CHARS)
        last = min(len(text), kind.end() + _MAX_SECRET_CHARS)
        for data in _DATA.finditer(text, first, last):
            at = data.end()
            line = text[text.rfind("\n", first, data.start()) + 1 : data.start()]
            for _ in range(_MAX_ENTRIES):
                entry = _ENTRY.match(text, at, last)
                if entry is None or entry["value"][0] in "|>{[":
                    break
                _, lines, indent = entry["indent"].rpartition("\n")
                if lines and "{" not in data[0] and len(indent) <= len(line):
                    break  # the next field of the object
                if not is_placeholder(entry["value"]):
                    yield (*entry.span("value"), "secret")
                at = entry.end()
        read = last

"""Where a text has secrets: the spans that ``redaction`` replaces.

A finder reads the whole text: marked blocks (``<private>``, keys), values known by the name that
they are assigned to (``password = "…"``), of which ``secret_values`` decides whether they are
secrets, values known by their place (``secret_places``), and tokens known by their form, by the
rules of others and ours (``secret_rules``).

Every pattern is bounded or possessive and starts at a literal, so the time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final

from mem_search.patterns import pattern
from mem_search.text import secret_rules
from mem_search.text.secret_columns import columns, html_tables, lines, statements
from mem_search.text.secret_places import (
    QUOTE,
    Span,
    addresses,
    after_name,
    headers,
    kubernetes,
    wallets_and_pins,
    with_breaks,
)
from mem_search.text.secret_values import Place, is_phrase, is_placeholder, is_secret

# Passwords that a program or a call takes as an argument, and those in files of logins.
#
# Every pattern is bounded and starts at a literal, so the time is linear in the text.

_GIVEN: Final = r"""(?:\\{0,7}["'])?(?P<value>[^\s"'`|;&<>()\\]{4,200})"""


def _of(program: str, option: str, gap: str = r"\s{1,3}", value: str = _GIVEN) -> str:
    """A password that ``program`` takes by ``option``, somewhere in its arguments."""
    return rf"{program}\s(?:[^\n|]{{0,120}}?\s)?{option}{gap}{value}"


_OPTIONS: Final = tuple(
    (sign, word, pattern(form))
    for sign, word, form in (
        (" -p", "login", rf"login\s[^\n|]{{0,120}}?-p[\s=]{{1,3}}{_GIVEN}"),
        (" -p", "sshpass", rf"sshpass\s{{1,3}}-p\s{{0,3}}{_GIVEN}"),
        (" -p", "mysql", _of(r"mysql\w{0,10}", "-p", "")),
        (" -p", "mariadb", _of(r"mariadb[\w-]{0,10}", "-p", "")),
        (" -p", "mongo", _of(r"mongo\w{0,10}", "-p")),
        (" -a", "redis-cli", _of("redis-cli", "-a")),
        (" -w", "ldap", _of(r"ldap\w{1,10}", "-w")),
        (" -P", "zip", _of("zip", "-P")),
        ("htpasswd", "htpasswd",
         rf"htpasswd\s-\w{{0,5}}b\w{{0,5}}\s\S{{1,99}}\s\S{{1,60}}\s{_GIVEN}"),
        ("net use", "net use", rf"net use\s[^\n|]{{0,120}}?/user:\S{{1,60}}\s{{1,3}}{_GIVEN}"),
        ("net use", "net use", rf"net use\s\S{{1,60}}\s\S{{1,100}}\s{_GIVEN}\s{{1,3}}/user:"),
        ("net use", "net user", rf"net user\s\S{{1,60}}\s{_GIVEN}\s{{1,3}}/"),
        ("pass:", "/pass:", rf"/pass:{_GIVEN}"),
        ("echo", "echo", rf"echo\s(?:-n\s)?{_GIVEN}['\"]?\s{{0,3}}\|[^\n|]{{0,80}}"
                         "(?:-stdin|-fd 0|sudo -S|passwd)"),
        ("sqlplus", "sqlplus", r"sqlplus\s[^\s/]{1,40}/(?P<value>[^\s@\"'/]{4,100})@"),
        (":thin:", ":thin:", r":thin:[^\s/]{1,40}/(?P<value>[^\s@\"'/]{4,100})@"),
        (" -a", "http", _of("https?", r"-a\s[^\s:]{1,60}:", "")),
        ("pass:", "pass:", r"pass:(?:(?<=-passin pass:)|(?<=-passout pass:)|(?<=-pass pass:))"
                           + _GIVEN),
        (" -P", " -U", rf"\s-U\s\S{{1,60}}\s(?:[^\n|]{{0,60}}?\s)?-P\s{_GIVEN}"),
        ("auth=(", "auth=(", rf"auth=\({QUOTE}[^\"'\n]{{1,60}}{QUOTE},\s?(?={QUOTE}){_GIVEN}"),
        (" -U", " -U", rf"""\s-U\s{{0,3}}["']?[\w.\\/-]{{1,60}}%{_GIVEN}"""),
        ("SecureString", "SecureString",
         rf"""SecureString\s(?:-\w{{1,12}}\s{{1,3}}){{0,3}}(?={QUOTE}){_GIVEN}"""),
        ("curl", "curl",
         rf"""curl(?:\s[^\n]{{0,120}}?)?\s(?:-[uU]|--user|--proxy-user)[\s=]{{1,3}}["']?"""
                 rf"""[^\s:"']{{1,60}}:{_GIVEN}"""),
        ("curl", "curl",
         _of("curl", r"""(?:-b|--cookie)\s["']?[\w.-]{1,40}=""", "")),
        (" -p", "7z", _of(r"7z\w?", "-p", "")),
        (" -p", "rar", _of("rar", "-p", "")),
        (" -N", "ssh-keygen", _of("ssh-keygen", "-N")),
        (" -P", "ssh-keygen", _of("ssh-keygen", "-P")),
        (" -k", "openssl", _of("openssl", "-k")),
        (" -P", "mosquitto", _of(r"mosquitto_\w{2,4}", "-P")),
        ("rabbitmqctl", "rabbitmqctl",
         rf"rabbitmqctl\s(?:add_user|change_password)\s{{1,3}}\S{{1,60}}\s{{1,3}}{_GIVEN}"),
        ("snmp", "snmp-server", rf"snmp-server community\s(?!public\s|private\s){_GIVEN}"),
        ("snmp", "snmp",
         _of("snmp[a-z]{3,8}", r"-c\s{1,3}(?!public\s|private\s)", "")),
        ("WIFI:", "WIFI:", r"WIFI:(?:[^\n]{0,120}?;)?P:(?P<value>[^;\n\"']{4,100})"),
        (" -pw", " -pw", rf"\s-pw\s{{1,3}}{_GIVEN}"),
        ("send", "assword", rf"""assword[^\n]{{0,40}}?(?:\n|\\n|[;{{}}])[^\n]{{0,40}}?"""
                            rf"""send\s(?:--\s)?{QUOTE}(?P<value>[^"'\s\\]{{4,200}})\\{{1,7}}[rn]"""),
        ("machine", "machine", r"machine\s{1,20}\S{1,200}+\s{1,20}login\s{1,20}\S{1,200}+\s{1,20}"
                    r"password\s{1,20}(?P<value>\S{1,200}+)"),
        (":543", ":543", rf":543[0-9]:[\w*-]{{1,60}}:[\w.@-]{{1,60}}:{_GIVEN}"),  # .pgpass
        ("]:", "]:", rf"\]:(?:587|465|25)\s{{1,20}}[^\s:]{{1,100}}:{_GIVEN}"),  # Postfix
    )
)  # fmt: skip
"""(what many texts lack, the word that the form begins with, the form): looking for a word takes
half a millisecond in a megabyte, so few are looked for.
"""

_JUDGED: Final = tuple(
    (word, pattern(form))
    for word, form in (
        ("login(", rf"login\(\s?{QUOTE}[^\"'\n]{{1,60}}{QUOTE},\s?(?={QUOTE}){_GIVEN}"),
        ("Auth(", rf"Auth\(\s?{QUOTE}[^\"'\n]{{1,60}}{QUOTE},\s?(?={QUOTE}){_GIVEN}"),
        *((word, rf"{word}\(\s?(?={QUOTE}){_GIVEN}") for word in ("PASSWORD", "_password")),
        ("/p:", r"/p:(?<=\s/p:)(?P<value>[^\s\"'=;<>|&)\\]{4,100})"),
        ("cred", rf"cred(?:s|entials)?\s?[:=]\s?[\w.@-]{{1,40}}/{_GIVEN}"),
        *((word, _of(word, r"[\w.-]{1,40}:", "", r"(?P<value>[^\s@/:]{4,100})@"))
          for word in ("scp", "sftp", "rsync", "ssh")),
    )
)  # fmt: skip
"""Likewise, where also ordinary words may stand."""

_SIGNS: Final = {sign for sign, _, _ in _OPTIONS}


def options(text: str) -> Iterator[Span]:
    """Passwords that a program takes as an argument, and those in files of logins."""
    signs = {sign for sign in _SIGNS if sign in text}
    for sign, word, form in _OPTIONS:
        if sign in signs and (word == sign or word in text):
            for match in form.finditer(text):
                value = match["value"]
                if not is_placeholder(value) and not value.isdigit() and value[0] not in "-/{[$%":
                    yield (*match.span("value"), "password")
    for word, form in _JUDGED:
        for match in form.finditer(text) if word in text else ():
            if is_secret(match["value"], "string", password=True):
                yield (*match.span("value"), "password")


Finder = Callable[[str], Iterator[Span]]


_MAX_NAME_CHARS: Final = 100
"""Of the end of a key, which is what names a secret."""


def name_of_secret(key: object) -> str:
    """The part of a key that names a secret: ``password`` of ``dbPassword``; "" for none."""
    return _name_of(key[-_MAX_NAME_CHARS:]) if isinstance(key, str) else ""


@lru_cache(4096)  # the keys of records, and heads of columns, come again and again
def _name_of(key: str) -> str:
    if key.lower().endswith(("words", "keys", "tokens")):
        key = key[:-1]
    return next((name for _, end, name in _names.__wrapped__(key) if end == len(key)), "")


def says_password(name: str) -> bool:
    """Whether ``name``, of ``name_of_secret``, is one of a password, which a person chose."""
    return name.startswith(_PASSWORD)


# ---- secrets that are marked ----------------------------------------------------------------

# A tag alone between backticks is only mentioned.
_PRIVATE: Final = pattern(r"<(?!(?<=`<)/?private>`)(/?)private(?:\s[^<>]{0,200})?>", re.IGNORECASE)
# No possessive groups: Python before 3.11.5 compiles them wrongly, and keys would remain.
_PEM: Final = pattern(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?P<body>[^-]*+(?:-(?!----(?:BEGIN|END) )[^-]*+)*)-----END [A-Z0-9 ]{0,60}-----"
    r"|(?:\s|\\[nr])*[A-Za-z0-9+/=]{24,}+(?:(?:\s|\\[nr])+[A-Za-z0-9+/=]{24,}+)*)"
)
_PUTTY: Final = pattern(
    r"Private-Lines:\s{0,3}[0-9]{1,4}\s{1,3}(?P<value>"
    # Whole, with what quotes or numbers its lines; or cut off.
    r"[^:]{8,20000}+:(?<=Private-MAC:)\s{0,3}[0-9a-f]{0,64}+"
    r"|[A-Za-z0-9+/=]{16,80}+(?:\s{1,3}[A-Za-z0-9+/=]{4,80}+(?![:-]))*+)"
)


def _private(text: str) -> Iterator[Span]:
    """The outermost blocks; one that is not closed ends with the text."""
    depth = start = 0
    for tag in _PRIVATE.finditer(text):
        if not tag[1]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield start, tag.end(), "private"
    if depth:
        yield start, len(text), "private"


def _blocks(text: str) -> Iterator[Span]:
    for match in _PEM.finditer(text):
        # Code that only names both lines has no key between them.
        if match["body"] is None or re.search("[A-Za-z0-9+/=]{8}", match["body"]):
            yield (*match.span(), "private-key")
    for match in _PUTTY.finditer(with_breaks(text)) if "Private-Lines" in text else ():
        yield (*match.span("value"), "private-key")


# ---- secrets known by their name -----------------------------------------------------------

# Searched in lower case, each alone: a pattern that begins with letters is found much faster than
# one with a choice or with IGNORECASE.
_NAME_END: Final = (
    "(?:[_-]?(?:key|value|prod|production|dev|staging|live|base|data"
    "|b64|hex|raw|enc|encoded|plain|new|old|current|primary|secondary)){0,2}[0-9]{0,3}(?![a-z0-9])"
)
_PASSWORDS: Final = (
    "psk", "kennwort", "mdp", "contraseña", "contrasena", "clave", "parola d'ordine",
    "parola d’ordine", "senha", "wachtwoord", "hasło", "haslo", "lösenord", "heslo", "şifre",
    "wlan-schlüssel", "wlan schlüssel", "wlanschlüssel", "wpa-schlüssel", "wpa2-schlüssel",
    "netzwerkschlüssel", "netzwerksicherheitsschlüssel", "clé wifi", "clé wi-fi", "clé wpa",
    "wifi key", "wi-fi key", "wlan key", "network security key",
    "пароль", "密码", "密碼", "口令", "パスワード", "비밀번호",
)  # fmt: skip
"""Names of a value that a person chose, beside ``pass…``: words of sixteen languages in all."""
_NAMES: Final = tuple(
    (word, pattern(form + _NAME_END))
    for word, form in (
        # passwd, passphrase, passcode; Passwort, mot de passe, passord
        ("pass", "pass(?<!bypass)(?<!compass)(?<!surpass)(?:w(?:or)?d|phrase|code|wort|ord|e"
                 r"|(?!\s{0,3}[:=]\s{0,3}[0-9]{1,12}(?!\w)))"),  # "pass: 12" counts tests
        ("pw", "pw(?:d|(?<![a-z0-9]pw))"),
        ("secret", "secret"), ("token", "token"), ("credential", "credentials?"),
        ("_auth", "_auth"), ("key", "key"), ("_pat", "_pat(?=[^\\n]{1,8}[A-Za-z0-9]{20})"),
        ("identified by", "identified by"),
        ("identified with", "identified with [\"'`\\w]{1,40} (?:by|as)"),
        ('"auth"', '"auth'), ("'auth'", "'auth"),
        *((word, f"{word}(?<![a-z]{word})") for word in _PASSWORDS),
    )
)  # fmt: skip
_WORDS: Final = {word for word, _ in _NAMES}
_ASCII_WORDS: Final = {word for word in _WORDS if word.isascii()}
_KEY_OF: Final = pattern(
    r"(?:api|app|access|private|account|shared|signing|encryption|master|auth|client)[_\- ]?\Z"
)
_MAX_KEY_OF_CHARS: Final = 11
_PASSWORD: Final = ("pass", "pw", "identified ", *_PASSWORDS)
_VALUE: Final = pattern(
    r"""(?:\\{0,7}["'`]\]?)?
    (?:\s{0,5}:\s{0,5}(?P<type>[A-Za-z&][\w.|\[\] ?&'<>]{0,30}+)(?==))?  # password: str = …
    (?P<sign>\s{0,5}(?:=>|:=|==|=|::?)\s{0,5}|\s{1,3})
    (?:[&!][\w!.-]{1,30}\s)?  # an anchor or a tag of YAML
    (?:[A-Za-z]{0,2}(?P<quote>(?P<one>\\{0,7}["'`])(?:(?P=one){2})?)(?P<string>[^\n]{1,400}?)(?:(?<!\\)|(?<=\\\\))(?P=quote)
      |(?:\\{0,7}["'`])?  # a string that is cut off
          (?P<bare>[^\s"'`\\,;&(){}<>\[\]\x00-\x1f]{1,400}+
          (?:&(?!\w{1,30}=)[^\s"'`\\,;&(){}<>\[\]\x00-\x1f]{0,100}+){0,3}+)(?P<call>[(\[])?)""",
    re.VERBOSE,
)
_LONG: Final = 60
_REST: Final = pattern(r"[A-Za-z0-9+/=_-]*+")
"""Of a longer value than ``_VALUE`` reads: the key of a kubeconfig has thousands of characters."""
_MAX_VALUE_CHARS: Final = 400
_WIDE: Final = (("：", ":"), ("﹕", ":"), ("＝", "="))
"""Signs between a name and its value in Chinese and Japanese, each read as the ASCII one."""


@lru_cache(2)  # four finders ask for those of a text
def _names(text: str) -> Sequence[tuple[int, int, str]]:
    """(start, end, name) of each name of a secret, in their order."""
    # İ is the only letter whose lower case is longer, which would shift all places after it.
    lower = text.replace("İ", "I").lower()
    names = []
    words = {word for word in (_ASCII_WORDS if lower.isascii() else _WORDS) if word in lower}
    for word, form in _NAMES:
        if word not in words:
            continue
        for match in form.finditer(lower):
            start = match.start()
            if match[0].startswith("key"):
                of = _KEY_OF.search(lower, max(0, start - _MAX_KEY_OF_CHARS), start)
                if of is None:
                    continue
                start = of.start()
            names.append((start, match.end(), lower[start : match.end()]))
    return sorted(names)


def _assigned(text: str) -> Iterator[Span]:
    end = 0
    for wide, sign in () if text.isascii() else _WIDE:
        text = text.replace(wide, sign)
    in_lines = with_breaks(text)
    for start, name_end, name in _names(text):
        if start < end:
            continue
        password = says_password(name)
        match = _VALUE.match(text, name_end)
        span = match and _direct(text, start, match, password=password)
        if span is None and (later := after_name(in_lines, start, name_end, password=password)):
            first, last, value, place = later
            span = (first, last) if is_secret(value, place, password=password) else None
        if span:
            end = span[1]
            yield *span, "password" if password else "secret"
        elif match and match.end() - name_end > _LONG:  # else each name in it is checked again
            end = match.end("string" if match["quote"] else "bare")


def _direct(
    text: str, start: int, match: re.Match[str], *, password: bool
) -> tuple[int, int] | None:
    """Where the value is that is assigned to the name at ``start``, when it is a secret."""
    if match["type"]:
        # Two columns of a log, "password: … | status=200", look like an annotation.
        first, column, _ = match["type"].partition("|")
        if column and is_secret(first, "data", password=password):
            return match.start("type"), match.start("type") + len(first)
    group = "string" if match["quote"] else "bare"
    place = _place(text, start, match)
    value = match[group] if match["quote"] else match[group].rstrip(".:")
    if place and (
        is_secret(value, place, password=password)
        or (password and place == "string" and is_phrase(value))
    ):
        last = match.start(group) + len(value)
        if len(value) >= _MAX_VALUE_CHARS and (rest := _REST.match(text, last)):
            last = rest.end()
        return match.start(group), last
    return None


def _place(text: str, start: int, match: re.Match[str]) -> Place | None:
    """The kind of place of the value; None when nothing is assigned to the name at ``start``."""
    if not match["sign"].strip():
        option = text.rfind("--", max(0, start - 32), start)
        return "data" if option >= 0 and " " not in text[option:start] else None
    if match["quote"]:
        return "string"
    if match["call"]:
        return None
    if match["sign"].strip() == "::":  # Base64 of LDAP; without a blank it is C++
        return "data" if match["sign"][-1].isspace() else None
    return "data" if match["sign"] == "=" or match["sign"].strip() == ":" else "code"


_RUN: Final = pattern(rf"[\w+~-]{{{secret_rules.MIN_RUN_CHARS}}}")
_BLOB_LENGTH: Final = 100
_BLOB: Final = pattern(f"[A-Za-z0-9+/]{{{_BLOB_LENGTH}}}")
"""What stands on both sides of a part of an image in Base64 that only looks like a secret."""
_BLOB_WINDOW: Final = 2 * _BLOB_LENGTH


def _by_rules(text: str) -> Iterator[Span]:
    if not _RUN.search(text):  # short names need not wait for the rules to be compiled
        return
    for start, end, kind in secret_rules.spans(text):
        secret = text[start:end]
        if not (secret.endswith("EXAMPLE") or is_placeholder(secret) or _is_part(text, start, end)):
            yield start, end, kind


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether Base64 stands on both sides, also in lines."""
    before = "".join(text[max(0, start - _BLOB_WINDOW) : start].split())[-_BLOB_LENGTH:]
    after = "".join(text[end : end + _BLOB_WINDOW].split())
    return _BLOB.match(before) is not None and _BLOB.match(after) is not None


FINDERS: Final[tuple[Finder, ...]] = (
    _private,
    _blocks,
    addresses,
    options,
    headers,
    wallets_and_pins,
    _assigned,
    *(
        partial(find, names=_names, name_of=name_of_secret)
        for find in (columns, statements, html_tables)
    ),
    lines,
    kubernetes,
    _by_rules,
)

UNNAMED: Final[tuple[Finder, ...]] = (_by_rules,)
"""Those that need no name of the value before it."""

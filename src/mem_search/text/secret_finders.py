"""Where a text has secrets: the spans that ``redaction`` replaces.

A finder reads the whole text: marked blocks (``<private>``, PEM keys), tokens known by their shape
(one row of ``_SHAPES`` or ``_FORMS`` each), values known by the name that they are assigned to
(``password = "…"``), of which ``secret_values`` decides whether they are secrets, and the rules of
Kingfisher (``secret_rules``).

Every pattern is bounded or possessive and starts at a literal, so the time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from mem_search.patterns import pattern
from mem_search.text import secret_rules
from mem_search.text.secret_values import Place, is_credential, is_placeholder, is_secret

Span = tuple[int, int, str]
"""(start, end, kind) of a secret."""

Finder = Callable[[str], Iterator[Span]]


def name_of_secret(key: object) -> str:
    """The part of a key that names a secret: ``password`` of ``dbPassword``; "" for none."""
    if not isinstance(key, str):
        return ""
    if key.lower().endswith(("words", "keys", "tokens")):
        key = key[:-1]
    return next((name for _, end, name in _names(key) if end == len(key)), "")


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


# ---- secrets known by their shape ----------------------------------------------------------

_WORD: Final = "[A-Za-z0-9_-]"
_SHAPES: Final = tuple(
    # No letter precedes a prefix, except the n of an escaped line break. The check is written
    # after the prefix, so that the search can jump from one prefix to the next.
    (kind, prefix, pattern(
        rf"{re.escape(prefix)}"
        rf"(?:(?<![A-Za-z0-9]{re.escape(prefix)})|(?<=\\[nrt]{re.escape(prefix)})){rest}"
    ))
    for kind, prefix, rest in (
        ("aws-access-key", "AKIA", "[A-Z0-9]{16}(?<!EXAMPLE)(?![A-Za-z0-9])"),
        ("aws-access-key", "ASIA", "[A-Z0-9]{16}(?<!EXAMPLE)(?![A-Za-z0-9])"),
        ("github-token", "ghp_", "[A-Za-z0-9]{20,}+"),
        ("github-token", "gho_", "[A-Za-z0-9]{20,}+"),
        ("github-token", "ghu_", "[A-Za-z0-9]{20,}+"),
        ("github-token", "ghs_", "[A-Za-z0-9]{20,}+"),
        ("github-token", "ghr_", "[A-Za-z0-9]{20,}+"),
        ("github-token", "github_pat_", "[A-Za-z0-9_]{20,}+"),
        ("gitlab-token", "glpat-", "[A-Za-z0-9_.-]{16,}+"),
        ("slack-token", "xox", rf"[a-z](?:\.xox[a-z])?-{_WORD}{{10,}}+"),
        ("slack-token", "xapp-", rf"[0-9]-{_WORD}{{10,}}+"),
        ("slack-webhook", "hooks.slack.com/", r"[a-z]{4,20}/[A-Za-z0-9/_+-]{16,}+"),
        ("discord-webhook", "com/api/webhooks/", rf"(?P<value>[0-9]{{6,25}}/{_WORD}{{30,}}+)"),
        ("azure-sas", "sig=", "(?P<value>[A-Za-z0-9/+%]{40,}+(?:=|%3[Dd])?)"),
        ("anthropic-key", "sk-ant-", rf"{_WORD}{{16,}}+"),
        ("openai-key", "sk-proj-", rf"{_WORD}{{16,}}+"),
        ("openai-key", "sk-svcacct-", rf"{_WORD}{{16,}}+"),
        ("openai-key", "sk-admin-", rf"{_WORD}{{16,}}+"),
        ("openrouter-key", "sk-or-", rf"{_WORD}{{16,}}+"),
        ("openai-key", "sk-", "[A-Za-z0-9]{20,}+"),
        ("google-key", "AIza", rf"{_WORD}{{30,}}+"),
        ("google-token", "ya29.", rf"{_WORD}{{20,}}+"),
        ("google-secret", "GOCSPX-", rf"{_WORD}{{20,}}+"),
        ("stripe-key", "sk_live_", "[A-Za-z0-9]{10,}+"),
        ("stripe-key", "rk_live_", "[A-Za-z0-9]{10,}+"),
        ("stripe-key", "sk_test_", "[A-Za-z0-9]{10,}+"),
        ("webhook-secret", "whsec_", "[A-Za-z0-9+/=]{20,}+"),
        ("npm-token", "npm_", "[A-Za-z0-9]{30,}+"),
        ("pypi-token", "pypi-", rf"(?:AgE{_WORD}{{12,}}+|{_WORD}{{50,}}+)"),
        ("huggingface-token", "hf_", "[A-Za-z0-9]{30,}+"),
        ("sendgrid-key", "SG.", rf"{_WORD}{{16,40}}\.{_WORD}{{30,}}+"),
        ("digitalocean-token", "dop_v1_", "[a-f0-9]{40,}+"),
        ("databricks-token", "dapi", "[a-f0-9]{32}(?![A-Za-z0-9])"),
        ("vault-token", "hvs.", rf"{_WORD}{{20,}}+"),
        ("groq-key", "gsk_", "[A-Za-z0-9]{30,}+"),
        ("mem-search-token", "mst_", rf"{_WORD}{{40,}}+"),
        ("tailscale-key", "tskey-", "[a-z]{3,12}-[A-Za-z0-9]{6,40}-[A-Za-z0-9]{16,}+"),
        ("sentry-token", "sntrys_", rf"{_WORD}{{30,}}+=*+{_WORD}*+"),
        ("notion-token", "secret_", "[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
        # Kingfisher knows the following, but not before a full stop, as in the name of a file.
        ("gitlab-token", "gldt-", "[A-Za-z0-9_-]{16,}+"),
        ("gitlab-token", "glrt-", "[A-Za-z0-9_-]{16,}+"),
        ("sentry-token", "sntryu_", "[a-f0-9]{40,}+"),
        ("notion-token", "ntn_", "[A-Za-z0-9]{40,}+"),
        ("xai-key", "xai-", "[A-Za-z0-9]{40,}+"),
        ("perplexity-key", "pplx-", "[A-Za-z0-9]{32,}+"),
        ("nvidia-key", "nvapi-", rf"{_WORD}{{40,}}+"),
        ("replicate-token", "r8_", "[A-Za-z0-9]{30,}+"),
        ("figma-token", "figd_", rf"{_WORD}{{30,}}+"),
        ("atlassian-token", "ATATT3", rf"{_WORD}{{60,}}+(?:=[A-F0-9]{{8}})?"),
        ("linear-key", "lin_api_", "[A-Za-z0-9]{30,}+"),
        ("docker-token", "dckr_pat_", rf"{_WORD}{{20,}}+"),
        ("postman-key", "PMAK-", "[a-f0-9]{20,}+-[a-f0-9]{30,}+"),
        ("shopify-token", "shp", "(?:at|ss|ca|pa)_[a-fA-F0-9]{32}"),
        ("1password-token", "ops_eyJ", rf"{_WORD}{{100,}}+=*+"),
        ("twilio-key", "SK", "[0-9a-f]{32}(?![A-Za-z0-9])"),
        ("grafana-token", "glsa_", "[A-Za-z0-9]{32}_[a-f0-9]{8}"),
        ("age-key", "AGE-SECRET-KEY-1", "[A-Z0-9]{40,}+"),
        # Three base64url parts. No base64 before it: a long run would be tried again from each
        # "eyJ" inside it.
        ("jwt", "eyJ", r"(?<![_-]eyJ)" + rf"{_WORD}{{6,}}+\.{_WORD}{{6,}}+\.{_WORD}{{6,}}+"),
    )
)  # fmt: skip


# Secrets that do not begin with what they are known by: the end that is searched for, and what
# must stand before it.
_FORMS: Final = tuple(
    (kind, pattern(end), pattern(rf"{start}\Z"))
    for kind, end, start in (
        ("discord-token", rf"\.{_WORD}{{6}}\.{_WORD}{{27,45}}+(?![\w-])",
         rf"(?<![\w.-])[MNO]{_WORD}{{22,28}}"),
        ("telegram-token", rf":AA{_WORD}{{32,}}+", "(?<![0-9])[0-9]{8,10}"),
        ("azure-secret", r"Q~[\w.~-]{31,34}+(?![\w~-])", r"(?<![\w.~-])[\w.~-]{3}[0-9]"),
    )
)  # fmt: skip
_LONGEST_START: Final = 30


def _shapes(text: str) -> Iterator[Span]:
    for kind, prefix, form in _SHAPES:
        if prefix in text:
            group = "value" if form.groups else 0
            yield from ((*match.span(group), kind) for match in form.finditer(text))
    for kind, ending, beginning in _FORMS:
        for end in ending.finditer(text):
            at = end.start()
            if start := beginning.search(text, max(0, at - _LONGEST_START), at):
                yield start.start(), end.end(), kind


# ---- secrets known by their name -----------------------------------------------------------

_LOGIN: Final = pattern(r"""://[^\s/:@"'<>]{0,100}:(?P<value>[^\s/@"'<>]{1,200})@""")
_CURL: Final = pattern(
    r"""curl(?:\s[^\n]{0,120}?)?\s(?:-u|--user)[\s=]{1,3}["']?[^\s:"']{1,60}:"""
    r"""(?P<value>[^\s"'`]{1,200})"""
)
_NETRC: Final = pattern(
    r"machine\s{1,20}[^\s]{1,200}+\s{1,20}login\s{1,20}[^\s]{1,200}+\s{1,20}password\s{1,20}"
    r"(?P<value>[^\s]{1,200}+)"
)
_HEADER: Final = pattern(
    r"""[Aa](?i:uthorization)(?:\\{0,2}["'`])?\s{0,5}[:=,]\s{0,5}(?:\\{0,2}["'`])?"""
    r"""(?i:bearer|basic|token|apikey)\s{1,5}(?P<value>[^\s"'`\\,;<>]{8,4000}+)"""
)
_BEARER: Final = pattern(r"[Bb](?i:earer)\s(?P<value>[A-Za-z0-9._~+/=-]{20,}+)")
# Searched in lower case, each alone: a pattern that begins with letters is found much faster than
# one with a choice or with IGNORECASE.
_NAME_END: Final = "(?:[_-]?(?:key|value|prod|production|dev|staging|live))?[0-9]{0,3}(?![a-z0-9])"
_NAMES: Final = tuple(
    pattern(name + _NAME_END)
    for name in ("passw(?:or)?d", "passphrase", "pwd", "_pass", "secret", "token", "credentials?",
                 "_auth", "key")
)  # fmt: skip
_KEY_OF: Final = pattern(
    r"(?:api|access|private|account|shared|signing|encryption|master|auth)[_\- ]?\Z"
)
_LONGEST_KEY_OF: Final = 11
_PASSWORD: Final = ("passw", "passphrase", "pwd", "_pass")
_VALUE: Final = pattern(
    r"""(?:\\{0,2}["'`]\]?)?
    (?:\s{0,5}:\s{0,5}[A-Za-z][\w.|\[\] ]{0,30}+(?==))?  # an annotation: password: str = …
    (?P<sign>\s{0,5}(?:=>|:=|==|=|:)\s{0,5}|\s{1,3})
    (?:[A-Za-z]{0,2}(?P<quote>\\{0,2}["'`])(?P<string>[^\n]{1,400}?)(?P=quote)
      |(?:\\{0,2}["'`])?  # a string that is cut off
          (?P<bare>[^\s"'`\\,;&(){}<>\[\]]{1,400}+
          (?:&(?!\w{1,30}=)[^\s"'`\\,;&(){}<>\[\]]{0,100}+){0,3}+)(?P<call>[(\[])?)""",
    re.VERBOSE,
)
_LONG: Final = 60


def _judged(
    text: str, form: re.Pattern[str], kind: str, judge: Callable[[str], bool]
) -> Iterator[Span]:
    for match in form.finditer(text):
        if judge(match["value"]):
            yield (*match.span("value"), kind)


def _no_placeholder(value: str) -> bool:
    return not is_placeholder(value)


def _names(text: str) -> list[tuple[int, int, str]]:
    """(start, end, name) of each name of a secret, in their order."""
    # İ is the only letter whose lower case is longer, which would shift all places after it.
    lower = text.replace("İ", "I").lower()
    found = []
    for form in _NAMES:
        for match in form.finditer(lower):
            start = match.start()
            if match[0].startswith("key"):
                of = _KEY_OF.search(lower, max(0, start - _LONGEST_KEY_OF), start)
                if of is None:
                    continue
                start = of.start()
            found.append((start, match.end(), lower[start : match.end()]))
    return sorted(found)


def _assigned(text: str) -> Iterator[Span]:
    end = 0
    for start, name_end, name in _names(text):
        if start < end or (match := _VALUE.match(text, name_end)) is None:
            continue
        group = "string" if match["quote"] else "bare"
        place = _place(text, start, match)
        value = match[group] if match["quote"] else match[group].rstrip(".:")
        password = says_password(name)
        if place and is_secret(value, place, password=password):
            end = match.start(group) + len(value)
            yield match.start(group), end, "password" if password else "secret"
        elif len(value) > _LONG:  # else each name inside it would be checked again
            end = match.end(group)


def _place(text: str, start: int, match: re.Match[str]) -> Place | None:
    """The kind of place of the value; None when nothing is assigned to the name at ``start``."""
    if not match["sign"].strip():
        option = text.rfind("--", max(0, start - 32), start)
        return "data" if option >= 0 and " " not in text[option:start] else None
    if match["quote"]:
        return "string"
    if match["call"]:
        return None
    return "data" if match["sign"] == "=" or match["sign"].strip() == ":" else "code"


_RUN: Final = pattern(rf"[\w+~-]{{{secret_rules.SHORTEST}}}")
_BLOB_LENGTH: Final = 100
_BLOB: Final = pattern(f"[A-Za-z0-9+/]{{{_BLOB_LENGTH}}}")
"""What stands on both sides of a part of an image in Base64 that only looks like a secret."""


def _by_rules(text: str) -> Iterator[Span]:
    if not _RUN.search(text):  # short names need not wait for the rules to be compiled
        return
    for start, end, kind in secret_rules.spans(text):
        is_part = _BLOB.match(text, end) and _BLOB.match(text, max(0, start - _BLOB_LENGTH))
        if not is_part and not is_placeholder(text[start:end]):
            yield start, end, kind


FINDERS: Final[tuple[Finder, ...]] = (
    _private,
    _blocks,
    _shapes,
    *(
        partial(_judged, form=form, kind=kind, judge=judge)
        for form, kind, judge in (
            (_LOGIN, "url-password", _no_placeholder),
            (_CURL, "url-password", _no_placeholder),
            (_NETRC, "netrc-password", _no_placeholder),
            (_HEADER, "authorization", is_credential),
            (_BEARER, "authorization", is_credential),
        )
    ),
    _assigned,
    _by_rules,
)

UNNAMED: Final[tuple[Finder, ...]] = (_shapes, _by_rules)
"""Those that need no name of the value before it."""

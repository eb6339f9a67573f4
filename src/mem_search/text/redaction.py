"""Removes secrets from text before it is stored, indexed, embedded or logged.

Three passes go over the whole text: marked blocks (``<private>``, PEM keys), tokens known by
their shape (one row of ``_SHAPES`` each), and values known by the name that they are assigned to
(``password = "…"``), of which ``secret_values`` decides whether they are secrets. A secret becomes
``[redacted:<kind>]``.

Every pattern is bounded or possessive and starts at a literal, so the time is linear in the
text. ``redact(redact(x)) == redact(x)``: a marker is never redacted again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mem_search.text.secret_values import Place, is_credential, is_placeholder, is_secret


def redact(text: str) -> tuple[str, int]:
    """The text without its secrets, and how many were removed."""
    found = 0
    for step in (_without_private, _without_blocks, _without_shapes, _without_values):
        text, count = step(text)
        found += count
    return text, found


def _marker(kind: str) -> str:
    return f"[redacted:{kind}]"


def _replaced(text: str, spans: Iterator[tuple[int, int, str]]) -> tuple[str, int]:
    """The text with each span replaced by a marker; spans are in order and do not overlap."""
    parts: list[str] = []
    last = count = 0
    for start, end, kind in spans:
        parts += text[last:start], _marker(kind)
        last, count = end, count + 1
    return "".join((*parts, text[last:])), count


# ---- secrets that are marked ----------------------------------------------------------------

# A tag alone between backticks is only mentioned.
_PRIVATE: Final = re.compile(
    r"(?!(?<=`)</?private>`)<(/?)private(?:\s[^<>]{0,200})?>", re.IGNORECASE
)
# No possessive groups: Python before 3.11.5 compiles them wrongly, and keys would remain.
_PEM: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?P<body>[^-]*+(?:-(?!----(?:BEGIN|END) )[^-]*+)*)-----END [A-Z0-9 ]{0,60}-----"
    r"|(?:\s|\\[nr])*[A-Za-z0-9+/=]{24,}+(?:(?:\s|\\[nr])+[A-Za-z0-9+/=]{24,}+)*)"
)


def _without_private(text: str) -> tuple[str, int]:
    return _replaced(text, _private_spans(text))


def _private_spans(text: str) -> Iterator[tuple[int, int, str]]:
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


def _without_blocks(text: str) -> tuple[str, int]:
    return _replaced(
        text,
        (
            (*match.span(), "private-key")
            for match in _PEM.finditer(text)
            # Code that only names both lines has no key between them.
            if match["body"] is None or re.search("[A-Za-z0-9+/=]{8}", match["body"])
        ),
    )


# ---- secrets known by their shape ----------------------------------------------------------

_WORD: Final = "[A-Za-z0-9_-]"
_SHAPES: Final = tuple(
    # No letter precedes a prefix, except the n of an escaped line break. The check is written
    # after the prefix, so that the search can jump from one prefix to the next.
    (kind, prefix, re.compile(
        rf"{re.escape(prefix)}"
        rf"(?:(?<![A-Za-z0-9]{re.escape(prefix)})|(?<=\\[nrt]{re.escape(prefix)})){rest}"
    ))
    for kind, prefix, rest in (
        ("aws-access-key", "AKIA", "[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("aws-access-key", "ASIA", "[A-Z0-9]{16}(?![A-Za-z0-9])"),
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
        ("discord-webhook", "/api/webhooks/", rf"[0-9]{{6,25}}/{_WORD}{{30,}}+"),
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
        ("age-key", "AGE-SECRET-KEY-1", "[A-Z0-9]{40,}+"),
        # Three base64url parts. No base64 before it: a long run would be tried again from each
        # "eyJ" inside it.
        ("jwt", "eyJ", r"(?<![_-]eyJ)" + rf"{_WORD}{{6,}}+\.{_WORD}{{6,}}+\.{_WORD}{{6,}}+"),
    )
)  # fmt: skip


def _without_shapes(text: str) -> tuple[str, int]:
    found = 0
    for kind, prefix, pattern in _SHAPES:
        if prefix in text:
            text, count = pattern.subn(_marker(kind), text)
            found += count
    return text, found


# ---- secrets known by their name -----------------------------------------------------------

_LOGIN: Final = re.compile(r"""://[^\s/:@"'<>]{0,100}:(?P<value>[^\s/@"'<>]{1,200})@""")
_CURL: Final = re.compile(
    r"""curl(?:\s[^\n]{0,120}?)?\s(?:-u|--user)[\s=]{1,3}["']?[^\s:"']{1,60}:"""
    r"""(?P<value>[^\s"'`]{1,200})"""
)
_HEADER: Final = re.compile(
    r"""[Aa](?i:uthorization)(?:\\{0,2}["'`])?\s{0,5}[:=,]\s{0,5}(?:\\{0,2}["'`])?"""
    r"""(?i:bearer|basic|token|apikey)\s{1,5}(?P<value>[^\s"'`\\,;<>]{8,4000}+)"""
)
_BEARER: Final = re.compile(r"[Bb](?i:earer)\s(?P<value>[A-Za-z0-9._~+/=-]{20,}+)")
# Searched in lower case: IGNORECASE would try it at every letter.
_NAME: Final = re.compile(
    r"(?:passw(?:or)?d|passphrase|pwd|_pass|secret|token|credentials?|_auth"
    r"|(?:api|access|private|account|shared|signing|encryption|master|auth)[_\- ]?key)"
    r"(?:[_-]?(?:key|value|prod|production|dev|staging|live))?[0-9]{0,3}(?![a-z0-9])"
)
_PASSWORD: Final = ("passw", "passphrase", "pwd", "_pass")
_VALUE: Final = re.compile(
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


def _without_values(text: str) -> tuple[str, int]:
    found = 0
    for pattern, kind, judge in (
        (_LOGIN, "url-password", lambda value: not is_placeholder(value)),
        (_CURL, "url-password", lambda value: not is_placeholder(value)),
        (_HEADER, "authorization", is_credential),
        (_BEARER, "authorization", is_credential),
    ):
        text, count = _replaced(
            text,
            (
                (*match.span("value"), kind)
                for match in pattern.finditer(text)
                if judge(match["value"])
            ),
        )
        found += count
    text, count = _replaced(text, _assigned(text))
    return text, found + count


def _assigned(text: str) -> Iterator[tuple[int, int, str]]:
    end = 0
    # İ is the only letter whose lower case is longer, which would shift all places after it.
    for name in _NAME.finditer(text.replace("İ", "I").lower()):
        if name.start() < end or (match := _VALUE.match(text, name.end())) is None:
            continue
        group = "string" if match["quote"] else "bare"
        place = _place(text, name.start(), match)
        value = match[group] if match["quote"] else match[group].rstrip(".:")
        password = name[0].startswith(_PASSWORD)
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

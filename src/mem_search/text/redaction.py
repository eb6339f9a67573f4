"""Removes secrets from everything before it is stored, indexed, embedded or logged.

The finders of ``secret_finders`` look at a text as it is, then without escapes and line breaks
(``decoding``). A secret becomes ``[redacted:<kind>]``. A marker is never redacted again, so
``redact(redact(x)) == redact(x)``.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any, Final

from mem_search.errors import InputError
from mem_search.text import instructions, secret_rules, stems, word_forms
from mem_search.text.decoding import View, without_escapes, without_folds
from mem_search.text.search_fields import CITATION_RULES, FACT_RULES
from mem_search.text.secret_finders import (
    FINDERS,
    UNNAMED,
    Finder,
    name_of_secret,
    says_password,
)
from mem_search.text.secret_places import Span
from mem_search.text.secret_values import is_secret, is_told

Mark = Callable[[str, str], str]
"""(kind, secret) → what replaces the secret."""

_OWN_RULES: Final = 6
"""Raise it when our own finders learn to find more."""
MARKER: Final = "[redacted:"
"""How what stands for a secret begins."""

_KEY_BYTES: Final = 6
"""Of a keyed hash: two of a million secrets get the same marker once in 500 stores."""
_CACHED: Final = 4096
_MAX_DEPTH: Final = 100
"""What lies deeper is not looked at, and not kept; no record may be nested so deeply."""
_MIN_PIN: Final = 100_000
"""Smaller numbers under a name like ``password`` are lengths, counts and years."""
_MAX_CACHED_CHARS: Final = 1000
_MAX_NAME_CHARS: Final = 200
_ROUNDS: Final = 8
"""So many secrets glued together are told apart; each further round costs as much as the first."""

_VIEWS: Final = (
    (without_escapes, FINDERS),
    # A line break between two words is no part of a value: only shapes are told apart from prose.
    (without_folds, UNNAMED),
    # The index has the plain form of a word, so what was hidden in it would stand there.
    (word_forms.view, FINDERS),
)


@cache
def rules() -> str:
    """The version of the rules, also of those for instructions, facts, citations and words; a store
    that others filled is looked at again.
    """
    scanner = f"{version('kingfisher-secret-scanner')}+{secret_rules.fingerprint()}"
    others = (instructions.RULES, FACT_RULES, CITATION_RULES, word_forms.RULES, stems.RULES)
    return "+".join((str(_OWN_RULES), scanner, *others))


def redact(text: str) -> tuple[str, int]:
    """The text without its secrets, and how many were removed.

    Names, paths and ids come again and again in the records of one source.
    """
    return _redacted_name(text) if len(text) <= _MAX_NAME_CHARS else _redacted(text, _marker)


@lru_cache(_CACHED)
def _redacted_name(text: str) -> tuple[str, int]:
    return _redacted(text, _marker)


def refuse_secret(name: str, field: str = "name") -> str:
    """``name``, which is shown, stored and typed again. Raises InputError when it is a secret."""
    if redact(name)[1]:
        raise InputError("looks like a secret, and names are stored; choose another", field=field)
    return name


def redacted_values(value: Any) -> Any:
    """A JSON value without secrets; a value under a name like ``password`` is judged with it."""
    return _values(value, lambda text: redact(text)[0], _marker)


class Redaction:
    """Redacts names and ids: equal secrets get equal markers, others get other markers.

    The marker, ``[redacted:<kind>#<12 hex digits>]``, has a hash that is keyed with ``key``, so
    nobody without the key can try out passwords.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._cached = lru_cache(_CACHED)(self._redacted)

    def name(self, text: str) -> str:
        """``text`` without secrets."""
        return self._cached(text) if len(text) <= _MAX_CACHED_CHARS else self._redacted(text)

    def values(self, value: Any) -> Any:
        """A JSON value whose strings are names, ids or messages, without secrets."""
        return _values(value, self.name, self._mark)

    def _redacted(self, text: str) -> str:
        return _redacted(text, self._mark)[0]

    def _mark(self, kind: str, secret: str) -> str:
        data = secret.encode("utf-8", "surrogatepass")
        digest = hmac.new(self._key, data, hashlib.sha256).digest()
        return f"{MARKER}{kind}#{digest[:_KEY_BYTES].hex()}]"


def _marker(kind: str, _: str) -> str:
    return f"{MARKER}{kind}]"


def _redacted(text: str, mark: Mark) -> tuple[str, int]:
    """The text without secrets. One glued to another is only known once that one is gone."""
    total = 0
    for _ in range(_ROUNDS):
        text, count = _one_round(text, mark)
        total += count
        if not count:
            break
    return text, total


def _one_round(text: str, mark: Mark) -> tuple[str, int]:
    total = 0
    for find in FINDERS:
        text, count = _replaced(text, find(text), mark)
        total += count
    for view_of, finders in _VIEWS:
        if view := view_of(text):
            text, count = _replaced(text, _spans_in(view, finders), mark)
            total += count
    return text, total


def _replaced(text: str, spans: Iterable[Span], mark: Mark) -> tuple[str, int]:
    """The text with each span replaced by a marker, and how many; overlapping spans are one."""
    joined: list[Span] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if joined and start < joined[-1][1]:
            before = joined[-1]
            joined[-1] = (before[0], max(before[1], end), before[2])
        else:
            joined.append((start, end, kind))
    parts: list[str] = []
    last = 0
    for start, end, kind in joined:
        parts += text[last:start], mark(kind, text[start:end])
        last = end
    return ("".join((*parts, text[last:])), len(joined)) if joined else (text, 0)


def _spans_in(view: View, finders: Iterable[Finder]) -> list[Span]:
    """The secrets of a view, by their places in the original text."""
    return [
        (*view.span(start, end), kind)
        for find in finders
        for start, end, kind in find(view.text)
        # A marker is no secret, whatever stands around it.
        if MARKER not in view.text[start:end]
    ]


def _values(
    value: Any,
    clean: Callable[[str], str],
    mark: Mark,
    name: str = "",
    depth: int = 0,
    key: object = "",
) -> Any:
    """``value``, which is under ``key``, with its strings cleaned; ``name`` is the name of a secret
    that it belongs to.
    """
    if depth > _MAX_DEPTH:
        return _marker("nested", "")
    password = says_password(name)
    match value:
        case str():
            cleaned = clean(value)
            if (
                name
                and cleaned == value
                and (
                    is_secret(value, "string", password=password)
                    or (isinstance(key, str) and is_told(key, value))
                )
            ):
                return mark("password" if password else "secret", value)
            return cleaned
        case int() if password and not isinstance(value, bool) and value >= _MIN_PIN:
            return mark("password", f"{value:x}")
        case Mapping():
            # {"name": "DB_PASSWORD", "value": "…"}
            named = name_of_secret(value.get("name", value.get("key")))
            kept: dict[Any, Any] = {}
            for own, item in value.items():
                at = clean(own) if isinstance(own, str) else own
                if at in kept:  # two secrets became the same marker
                    at = f"{at}#{len(kept)}"
                secret = (named if own == "value" else "") or name_of_secret(own) or name
                kept[at] = _values(item, clean, mark, secret, depth + 1, own)
            return kept
        case list() | tuple():
            return [_values(item, clean, mark, name, depth + 1, key) for item in value]
        case _:
            return value

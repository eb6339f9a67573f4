"""The values behind a field, read and written: between commas, each in quotes or up to a space."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mem_search.patterns import pattern

QUOTED: Final = pattern(r'"([^"]*)"')
_PLAIN: Final = pattern(r'(?!:|//)[^\s",()`]+')
_MAX_VALUES: Final = 32
_PART: Final = pattern(r'"([^"]*)"|[^",]+')
"""A value of a parameter: up to a comma, or in quotes."""


def values_at(text: str, at: int, inside: bool) -> tuple[tuple[str, ...], int]:
    """Comma-separated values, each quoted or up to a space; empty when the first is missing."""
    values: list[str] = []
    while len(values) < _MAX_VALUES:
        if quoted := QUOTED.match(text, at):
            value, end = quoted[1].strip(), quoted.end()
        else:
            end = _end(text, at, inside)
            value = text[at:end]
        if not value:
            break
        values.append(value)
        at = end
        more = text.startswith(',"', at) or _end(text, at + 1, inside) > at + 1
        if not (text.startswith(",", at) and more):
            break
        at += 1
    return tuple(dict.fromkeys(values)), at


def _end(text: str, at: int, inside: bool) -> int:
    depth = 0
    while at < len(text) and not text[at].isspace() and text[at] not in '",':
        if text[at] == "(":
            depth += 1
        elif text[at] == ")":
            if not depth and inside:
                break
            depth -= 1
        at += 1
    return at


def parts_of(value: str) -> list[str]:
    """The values in a parameter: between commas, where quotes hold a comma."""
    values = (match[1] or match[0] for match in _PART.finditer(value))
    return [part for each in values if (part := each.strip().strip('"').strip())]


def listed(values: Iterable[str]) -> str:
    """Several values as the query language writes them."""
    return ",".join(map(written, values))


def written(value: str) -> str:
    """A value as it can be read again, quoted if necessary."""
    return value if _PLAIN.fullmatch(value) else f'"{value}"'

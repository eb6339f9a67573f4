"""Reads JSON from outside, and says which field of it goes over a limit.

Python's reader raises RecursionError for deep nesting, refuses integers of more than 4300 digits
and reads ``1e400`` as infinity. It never says where. So a document that fails is read a second
time by its signs alone, up to the place of the fault. Both readings take time linear in it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any, Final, NoReturn

from mem_search.patterns import pattern

MAX_LEVELS: Final = 32
"""Lists and objects that may lie inside each other below a field."""

MAX_VALUES: Final = 3_000_000
"""Values of one document: each takes up to a hundred bytes, however short it is written."""

MAX_DIGITS: Final = 300
"""Digits of an integer; a double of IEEE 754 has at most 309."""

_NAMED: Final = 2
"""Names of a place that are told: ``metadata.reply`` is enough to find it."""
_OUTER: Final = 2
"""Levels above a field: the document, and an object of fields such as ``metadata``."""

_TOKEN: Final = pattern(
    r'"(?:[^"\\]++|\\.)*+"?|-?(?:[0-9][0-9.eE+-]*+|Infinity)|NaN|[\[\]{},:]', re.DOTALL
)


class UnusableJson(ValueError):
    """A value goes over a limit, or is a number that JSON does not have.

    ``path`` has the names that lead to it. ``is_json``:
    the document is JSON.
    """

    def __init__(self, message: str, path: tuple[str, ...], *, is_json: bool = True) -> None:
        super().__init__(f"{'.'.join(path)}: {message}" if path else message)
        self.message = message
        self.path = path
        self.is_json = is_json


class _Fault(Exception):
    def __init__(self, message: str, *, is_json: bool = True) -> None:
        super().__init__(message)
        self.is_json = is_json


def with_texts(value: Any, change: Callable[[str], str], *, names: bool = False) -> Any:
    """A JSON value with its texts changed; with ``names`` those of its fields, too."""
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [with_texts(item, change, names=names) for item in value]
        case Mapping():
            return {
                change(key) if names and isinstance(key, str) else key: with_texts(
                    item, change, names=names
                )
                for key, item in value.items()
            }
        case _:
            return value


def read_json(data: bytes | str) -> Any:
    """The value of ``data``, which is UTF-8 with or without a byte order mark.

    Raises UnusableJson for a value over a limit, UnicodeDecodeError and json.JSONDecodeError.
    """
    text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    try:
        check_values(text)
    except ValueError as error:
        raise UnusableJson(str(error), ()) from None
    try:
        value = json.loads(text, parse_int=_int, parse_float=_float, parse_constant=_constant)
    except _Fault as fault:
        path = _path_to(text, number=True)
        raise UnusableJson(str(fault), path, is_json=fault.is_json) from None
    except RecursionError:
        is_deep = True
    else:
        is_deep = _is_deeper(value, MAX_LEVELS + _OUTER)
    if is_deep:
        raise UnusableJson(f"nested deeper than {MAX_LEVELS} levels", _path_to(text))
    return value


def loads(text: str | bytes) -> Any:
    """``json.loads`` of what may be millions of empty lists. Raises ValueError, RecursionError."""
    check_values(text)
    return json.loads(text)


def check_values(text: str | bytes, start: int = 0) -> None:
    """Raise ValueError where the text after ``start`` has more values than are read at once."""
    if len(text) - start <= MAX_VALUES:
        return
    if isinstance(text, str):
        count = sum(text.count(sign, start) for sign in ",[{")
    else:
        count = sum(text.count(sign, start) for sign in (b",", b"[", b"{"))
    if count > MAX_VALUES:
        raise ValueError(f"it has more than {MAX_VALUES:,} values")


def open_path(text: str) -> tuple[str, ...]:
    """The field in which ``text``, the beginning of a document, breaks off."""
    return _path_to(text)


def _int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _Fault(f"a number of {len(digits)} digits; at most {MAX_DIGITS} are possible")
    return int(digits)


def _float(written: str) -> float:
    number = float(written)
    if len(written) > MAX_DIGITS or not math.isfinite(number):
        raise _Fault(f"the number {written[:20]} is too big or too long; use at most 1e308")
    return number


def _constant(name: str) -> NoReturn:
    raise _Fault(f"{name} is not JSON", is_json=False)


def _is_deeper(value: object, levels: int) -> bool:
    inside: list[Any] = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        inside = [
            item
            for each in inside
            for item in (each.values() if isinstance(each, dict) else each)
            if isinstance(item, (dict, list))
        ]
    return bool(inside)


def _path_to(text: str, *, number: bool = False) -> tuple[str, ...]:
    """The path to the first value that is too deep, or that is an unusable ``number``.

    Without such a value, the path at the end of ``text``. It has the names before the first list,
    at most ``_NAMED``.
    """
    path: list[str | int] = []
    name = ""
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{" | "[" as opening:
                if not number and len(path) == MAX_LEVELS + _OUTER:
                    break
                path.append("" if opening == "{" else 0)
            case "}" | "]":
                if path:
                    path.pop()
            case ",":
                if path:
                    last = path[-1]
                    path[-1] = last + 1 if isinstance(last, int) else ""
            case ":":
                if path and isinstance(path[-1], str):
                    path[-1] = name
            case string if string.startswith('"'):
                name = _name(string)
            case written if number and not _is_usable(written):
                break
    names = takewhile(lambda step: isinstance(step, str), path)
    return tuple(str(name) for name in names if name)[:_NAMED]


def _is_usable(written: str) -> bool:
    try:
        json.loads(written, parse_int=_int, parse_float=_float, parse_constant=_constant)
    except (_Fault, ValueError):
        return False
    return True


def _name(string: str) -> str:
    """A key as it is meant, short enough for a message."""
    if len(string) > 200:
        return string[1:60] + "…"
    try:
        # A lone surrogate cannot be stored or printed.
        return str(json.loads(string)).encode("utf-8", "replace").decode()
    except ValueError:
        return string.strip('"')

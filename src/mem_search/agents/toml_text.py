"""Tables of ours in a TOML file: one block of text between two marked lines at its end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from mem_search.agents.json_text import NotJson

_START: Final = "# mem-search: from here to its end, written by `mem-search install`"
_END: Final = "# mem-search: end"

Table = tuple[Sequence[str], dict[str, Any]]
"""The path of a table, and what is in it: texts, lists of texts, and tables of these."""


def read(text: str) -> dict[str, Any]:
    """The content. Raises NotJson with the reason for what is no TOML."""
    import tomllib  # the command line starts without it

    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise NotJson(str(error)) from error


def with_block(text: str, tables: Sequence[Table]) -> str:
    """``text``, which has no block, with these tables. Raises NotJson where they do not fit."""
    if not tables:
        return text
    wanted: Any = read(text)
    lines: list[str] = []
    for path, value in tables:
        lines += _lines(path, value)
        wanted = _deep(wanted, path, value)
    block = "\n".join([_START, *lines, _END]) + "\n"
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    new = text + gap + block
    if read(new) != wanted:
        raise NotJson("it cannot be changed without changing something else in it")
    return new


def without_block(text: str) -> str:
    """``text`` without our block and the blank line before it."""
    start = text.find(_START)
    end = text.find(_END, start)
    if start < 0 or end < 0:
        return text
    head, tail = text[:start], text[end + len(_END) :].removeprefix("\n")
    head = head[:-1] if head.endswith("\n\n") else head
    return head + tail


def _deep(into: Any, path: Sequence[str], value: Any) -> Any:
    """A table with ``value`` at ``path``."""
    if not path:
        return value
    table = into if isinstance(into, dict) else {}
    return {**table, path[0]: _deep(table.get(path[0]), path[1:], value)}


def _lines(path: Sequence[str], value: dict[str, Any]) -> list[str]:
    lines = [f"[{'.'.join(path)}]"]
    plain = {key: each for key, each in value.items() if not isinstance(each, dict)}
    lines += [f"{key} = {json.dumps(each, ensure_ascii=False)}" for key, each in plain.items()]
    for key, each in value.items():
        if isinstance(each, dict):
            lines += _lines([*path, key], each)
    return lines

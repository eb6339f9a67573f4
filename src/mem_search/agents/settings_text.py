"""Changes of JSON and TOML files that keep every other character of them.

Agents' settings are edited by hand, and many agents read JSON with comments, trailing commas,
single quotes and bare keys (JSON5, https://spec.json5.org). So a change is made in the text: the
members are found with their places, and the smallest piece of text is written or removed. The
result is read again, and a change that did anything else than asked is refused.

Of a TOML file, tables of ours are one block of text between two marked lines at its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mem_search.patterns import pattern

Path = tuple[str, ...]

_SPACE: Final = pattern(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_BARE: Final = pattern(r"[\w$+.-]+")
_STRING: Final = pattern(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""", re.DOTALL)
_WORDS: Final = {"true": True, "false": False, "null": None}
_MAX_DEPTH: Final = 200


class NotJson(ValueError):
    """The text is not JSON, also not with comments; the message has the line."""


@dataclass(slots=True)
class Node:
    """A value, where it stands, and for an object or a list what is in it."""

    start: int
    end: int = 0
    value: Any = None
    members: list[Member] = field(default_factory=list)


@dataclass(slots=True)
class Member:
    """A member of an object, or an item of a list, whose key is its place.

    ``comma`` is where the comma after it stands, -1 without one.
    """

    key: str
    start: int
    node: Node
    comma: int = -1


def read(text: str) -> Any:
    """The value of ``text``; an empty object for an empty file. Raises NotJson."""
    return _parse(text).value if text.strip(" \t\r\n\ufeff") else {}


def with_member(text: str, path: Path, value: Any) -> str:
    """``text`` with ``value`` at ``path``; objects on the way are made. Raises NotJson."""
    if not text.strip(" \t\r\n\ufeff"):
        text = "{}\n"
    wanted = _set(read(text), path, value)
    return _checked(_write(text, path, value), wanted)


def with_item(text: str, path: Path, value: Any) -> str:
    """``text`` with ``value`` at the end of the list at ``path``, which is made if needed."""
    items = at(read(text), path)
    if items is None:
        return with_member(text, path, [value])
    if not isinstance(items, list):
        raise NotJson(f"{'.'.join(path)} is not a list")
    node = _find(_parse(text), path)
    assert node is not None
    changed = _inserted(text, node, len(path) + 1, "", value)
    return _checked(changed, _set(read(text), path, [*items, value]))


def without_member(text: str, path: Path) -> str:
    """``text`` without what is at ``path``."""
    return _without(text, path[:-1], lambda member: member.key == path[-1])


def without_items(text: str, path: Path, value: Any) -> str:
    """``text`` without the items of the list at ``path`` that equal ``value``."""
    return _without(text, path, lambda member: bool(member.node.value == value))


def at(value: Any, path: Path) -> Any:
    """What is at ``path`` of a value; None for nothing."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _without(text: str, path: Path, matches: Any) -> str:
    node = _find(_parse(text), path)
    while node is not None:
        gone = next((each for each in reversed(node.members) if matches(each)), None)
        if gone is None:
            break
        text = _removed(text, node, gone)
        node = _find(_parse(text), path)
    return text


def _removed(text: str, node: Node, gone: Member) -> str:
    """``text`` without a member, its comma, and the line that it leaves empty."""
    place = node.members.index(gone)
    start, end = gone.start, gone.node.end
    cut = -1
    if gone.comma >= 0:
        end = gone.comma + 1
    elif place:
        cut = node.members[place - 1].comma
    line = text.rfind("\n", 0, start) + 1
    if line and not text[line:start].strip(" \t"):
        rest = re.compile(r"[ \t]*(?=\r?\n)").match(text, end)
        if rest or place == len(node.members) - 1:
            start, end = line - 1 - (text[line - 2 : line - 1] == "\r"), rest.end() if rest else end
    text = text[:start] + text[end:]
    text = text if cut < 0 else text[:cut] + text[cut + 1 :]
    if len(node.members) > 1:
        return text
    # Nothing is left: "{ }" again, unless there is a comment.
    emptied = re.compile(r"\s*(?=[}\]])").match(text, node.start + 1)
    return text[: node.start + 1] + text[emptied.end() :] if emptied else text


def _write(text: str, path: Path, value: Any) -> str:
    node, depth = _parse(text), 0
    while True:
        if not isinstance(node.value, dict):
            raise NotJson(f"{'.'.join(path[:depth]) or 'the whole'} is not an object")
        known = next((each for each in reversed(node.members) if each.key == path[depth]), None)
        if known is None:
            for key in reversed(path[depth + 1 :]):
                value = {key: value}
            return _inserted(text, node, depth + 1, f"{json.dumps(path[depth])}: ", value)
        node, depth = known.node, depth + 1
        if depth == len(path):
            return text[: node.start] + _shown(text, value, depth) + text[node.end :]


def _inserted(text: str, node: Node, depth: int, key: str, value: Any) -> str:
    """``text`` with a new last member of ``node``, on a line of its own."""
    close = node.end - 1
    kept = close
    while kept > node.start + 1 and text[kept - 1] in " \t\r\n":
        kept -= 1
    unit, newline = _style(text)
    gap = text[kept:close]
    gap = gap if "\n" in gap else newline + unit * (depth - 1)
    line = f"{newline}{unit * depth}{key}{_shown(text, value, depth)}"
    last = node.members[-1] if node.members else None
    if last is None:
        return text[:kept] + line + gap + text[close:]
    if last.comma >= 0:
        return text[:kept] + line + "," + gap + text[close:]
    return text[: last.node.end] + "," + text[last.node.end : kept] + line + gap + text[close:]


def _shown(text: str, value: Any, depth: int) -> str:
    unit, newline = _style(text)
    shown = json.dumps(value, indent=unit, ensure_ascii=False)
    return shown.replace("\n", newline + unit * depth)


def _style(text: str) -> tuple[str, str]:
    """The indentation of a level, and the end of a line."""
    return _unit(text, _parse(text), 1) or "  ", ("\r\n" if "\r\n" in text else "\n")


def _unit(text: str, node: Node, depth: int) -> str:
    """The indentation of a level, as the first member on a line of its own shows; else empty."""
    for member in node.members:
        before = text[text.rfind("\n", 0, member.start) + 1 : member.start]
        if "\n" in text[: member.start] and before and not before.strip(" \t"):
            return before[: len(before) // depth]
        if unit := _unit(text, member.node, depth + 1):
            return unit
    return ""


def _checked(text: str, wanted: Any) -> str:
    if read(text) != wanted:
        raise NotJson("it cannot be changed without changing something else in it")
    return text


def _set(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    inner = value if isinstance(value, dict) else {}
    return {**inner, path[0]: _set(inner.get(path[0]), path[1:], new)}


def _find(node: Node, path: Path) -> Node | None:
    for key in path:
        members = [each for each in node.members if each.key == key]
        if not members or not isinstance(node.value, dict):
            return None
        node = members[-1].node
    return node


def _parse(text: str) -> Node:
    at = _skip(text, 0)
    node = _value(text, at, 0)
    if (end := _skip(text, node.end)) < len(text):
        raise _fault(text, end)
    return node


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _MAX_DEPTH:
        raise NotJson(f"it is nested deeper than {_MAX_DEPTH} levels")
    sign = text[at : at + 1]
    if sign and sign in "{[":
        return _container(text, at, depth, "}" if sign == "{" else "]")
    if match := _STRING.match(text, at):
        return Node(at, match.end(), _string(match[0], text, at))
    if not (match := _BARE.match(text, at)):
        raise _fault(text, at)
    word = match[0]
    try:
        value = _WORDS[word] if word in _WORDS else json.loads(word)
    except ValueError:
        value = ("JSON5", word)  # a number of JSON5, such as .5 or 0xF: it is only kept
    return Node(at, match.end(), value)


def _container(text: str, at: int, depth: int, close: str) -> Node:
    node, place = Node(at), _skip(text, at + 1)
    while text[place : place + 1] != close:
        if node.members and node.members[-1].comma < 0:
            raise _fault(text, place)
        start, key = place, str(len(node.members))
        if close == "}":
            if match := _STRING.match(text, place):
                key = _string(match[0], text, place)
            elif match := _BARE.match(text, place):
                key = match[0]
            else:
                raise _fault(text, place)
            colon = _skip(text, match.end())
            if text[colon : colon + 1] != ":":
                raise _fault(text, colon)
            place = _skip(text, colon + 1)
        inner = _value(text, place, depth + 1)
        member, place = Member(key, start, inner), _skip(text, inner.end)
        if text[place : place + 1] == ",":
            member.comma, place = place, _skip(text, place + 1)
        node.members.append(member)
    node.end = place + 1
    values = [each.node.value for each in node.members]
    keys = (each.key for each in node.members)
    node.value = dict(zip(keys, values, strict=True)) if close == "}" else values
    return node


def _string(quoted: str, text: str, at: int) -> str:
    if quoted[0] == "'":
        inner = quoted[1:-1].replace("\\'", "'").replace('"', '\\"')
        quoted = f'"{inner}"'
    try:
        return str(json.loads(quoted, strict=False))
    except ValueError:
        raise _fault(text, at) from None


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _fault(text: str, at: int) -> NotJson:
    line = text.count("\n", 0, at) + 1
    shown = text[at : at + 20].split("\n")[0]
    return NotJson(f"line {line} is not JSON: {shown!r}" if shown else f"it ends in line {line}")


_START: Final = "# mem-search: from here to its end, written by `mem-search install`"
_END: Final = "# mem-search: end"

TomlTable = tuple[Path, dict[str, Any]]
"""The path of a table, and what is in it: texts, lists of texts, and tables of these."""


def read_toml(text: str) -> dict[str, Any]:
    """The content. Raises NotJson with the reason for what is no TOML."""
    import tomllib  # the command line starts without it

    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise NotJson(str(error)) from error


def with_block(text: str, tables: Sequence[TomlTable]) -> str:
    """``text``, which has no block, with these tables. Raises NotJson where they do not fit."""
    if not tables:
        return text
    wanted: Any = read_toml(text)
    lines: list[str] = []
    for path, value in tables:
        lines += _toml_lines(path, value)
        wanted = _set(wanted, tuple(path), value)
    block = "\n".join([_START, *lines, _END]) + "\n"
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    new = text + gap + block
    if read_toml(new) != wanted:
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


def _toml_lines(path: Sequence[str], value: dict[str, Any]) -> list[str]:
    lines = [f"[{'.'.join(path)}]"]
    plain = {key: each for key, each in value.items() if not isinstance(each, dict)}
    lines += [f"{key} = {json.dumps(each, ensure_ascii=False)}" for key, each in plain.items()]
    for key, each in value.items():
        if isinstance(each, dict):
            lines += _toml_lines([*path, key], each)
    return lines

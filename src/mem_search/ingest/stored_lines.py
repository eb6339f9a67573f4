"""What a stored line of JSON says, and whether that gives a forgotten record away.

A line of a transcript and an event of a hook have words of their format, too: the names of fields,
the kinds of blocks, the names of tools. Nobody wrote these, so they quote nothing: a forgotten word
that is one of them is in every line there is. Of an id only the whole counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from mem_search.model.forgetting import Traces
from mem_search.patterns import pattern
from mem_search.text.json_reading import loads

_FORMAT: Final = frozenset({
    "agent", "agenttype", "api", "commandmode", "effort", "entrypoint", "finishreason",
    "hookeventname", "kind", "level", "mediatype", "mimetype", "mode", "model", "operation",
    "permissionmode", "platform", "priority", "promptsource", "provider", "role", "servicetier",
    "status", "stopreason", "stopsequence", "subtype", "thinkinglevel", "toolname", "trigger",
    "type", "usertype", "version",
})  # fmt: skip
"""Fields of the agents' formats whose values are words of the format, without case and ``_``."""

_OF_EVENTS: Final = frozenset({"reason", "source"})
"""In an event of a hook these say why a session began or ended, elsewhere somebody's words."""

_TIMES: Final = ("timestamp", "Time", "Updated", "_at", "At")
_IDS: Final = ("id", "Id", "ID", "uuid", "Uuid", "hash", "Hash")
_GIVEN: Final = frozenset({"input", "tool_input", "args", "arguments", "parameters"})
"""What an agent gave to a tool: all of it is content, its fields are those of the tool."""

_TOKEN: Final = pattern(r"[\w.:+-]{1,200}")
"""What a word of a format, a time and an id look like. A text under the same name counts."""


class _Said(NamedTuple):
    """A text of a line. ``is_id``: it names a session, a message or a call."""

    text: str
    is_id: bool = False


def quotes(line: bytes, traces: Traces) -> bool:
    """Whether a line of JSON quotes a forgotten record, or is of a session that was forgotten.

    A line that is no JSON is taken as a text.
    """
    try:
        said = list(_said_in(loads(line)))
    except (ValueError, RecursionError):
        return traces.found_in([line.decode("utf-8", "replace")])
    return any(
        each.text in traces.names if each.is_id else traces.found_in([each.text]) for each in said
    )


def _said_in(value: Any, *, given: bool = False) -> Iterator[_Said]:
    """The texts in ``value`` that are not of the format; all of what was ``given`` to a tool."""
    match value:
        case str():
            yield _Said(value)
        case list():
            for each in value:
                yield from _said_in(each, given=given)
        case dict():
            calls = not _GIVEN.isdisjoint(value)
            for name, each in value.items():
                if given or not isinstance(each, str):
                    yield from _said_in(each, given=given or name in _GIVEN)
                elif name in _GIVEN:
                    yield from _said_in(_parsed(each), given=True)
                elif not _TOKEN.fullmatch(each):
                    yield _Said(each)
                elif name.endswith(_IDS):
                    yield _Said(each, is_id=True)
                elif not (
                    _is_of_format(name)
                    or (name in ("name", "displayName") and (calls or "response" in value))
                    or (name in _OF_EVENTS and "hook_event_name" in value)
                ):
                    yield _Said(each)


def _is_of_format(name: str) -> bool:
    return name.endswith(_TIMES) or name.replace("_", "").lower() in _FORMAT


def _parsed(arguments: str) -> Any:
    """What a tool was given, of an agent that keeps it as a text of JSON."""
    try:
        return loads(arguments)
    except (ValueError, RecursionError):
        return arguments

"""Which records the calls of tools in a transcript belong to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final

from mem_search.errors import InputError
from mem_search.projects import named_after
from mem_search.regular_file import open_regular_file
from mem_search.sources.agent_work.drafts import DraftBuilder
from mem_search.sources.agent_work.events import ToolCall
from mem_search.sources.claude_code.files import (
    NAME,
    Incomplete,
    Place,
    complete_lines,
    has_own_transcript,
)
from mem_search.sources.claude_code.lines import parse_line
from mem_search.text.json_reading import loads

MAX_BYTES: Final = 256 * 2**20
"""Of a transcript: as many as the route reads of all; calls behind that have no record."""


def records_of_calls(path: Path) -> Mapping[str, tuple[str, ...]]:
    """The calls in the transcript: id → the source ids that its work may be stored under.

    The first is that of its step, then those of its turn and of its prompt. A call in a line that
    is read from another transcript is not there. Raises OSError. Linear in the file, which is read
    up to ``MAX_BYTES``.
    """
    builder, found = DraftBuilder(NAME, named_after), dict[str, tuple[str, ...]]()
    place, is_copy = Place(), cache(partial(has_own_transcript, path))
    with open_regular_file(path, follow=False, own=True) as file:
        for raw in complete_lines(file, place, Incomplete()):
            if place.offset > MAX_BYTES:
                break
            try:
                value = loads(raw or b"null")
                line = parse_line(value, place.line) if isinstance(value, dict) else None
            except (ValueError, RecursionError, InputError):
                continue  # the ledger has it since the transcript was read
            if line is None or is_copy(line.session):
                continue
            for _ in builder.feed(line):
                pass
            for event in line.events:
                if isinstance(event, ToolCall):
                    found[event.call] = builder.at_work_on(line.agent)
    return found

"""Taking out of a message what the person did not write: injected and private blocks. Pure."""

from __future__ import annotations

import re

_BLOCK = re.compile(
    r"<(/?)(system[-_]reminder|private|claude-mem-context|mem-search-context"
    r"|system[-_]instructions?|persisted-output|task-notification|teammate-message"
    r"|hook_additional_context|user-prompt-submit-hook|new-diagnostics|available-deferred-tools"
    r"|ide_opened_file|ide_selection|ide_diagnostics"
    r"|local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)"
    r"|command-(?:name|message|args|contents))\b[^<>]*>",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"<command-name>\s*([^<]*?)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>\s*([^<]*(?:<(?!/command-args>)[^<]*)*)</command-args>")


def without_injected(text: str) -> str:
    """``text`` without injected blocks, also nested ones.

    A tag that is never closed is somebody writing about the tag, and stays.
    """
    opened: list[tuple[str, int]] = []
    kept: list[str] = []
    spans: list[tuple[int, int]] = []
    for tag in _BLOCK.finditer(text):
        name = tag[2].lower()
        if not tag[1]:
            opened.append((name, tag.start()))
            continue
        depth = next((i for i in reversed(range(len(opened))) if opened[i][0] == name), None)
        if depth is not None:
            start = opened[depth][1]
            del opened[depth:]
            while spans and spans[-1][0] >= start:
                spans.pop()
            spans.append((start, tag.end()))
    at = 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]]).strip()


def command_words(text: str) -> str | None:
    """What the person wrote after a slash command, with its name; None if it is no command.

    ``/review the new parser`` are the person's words; ``/model opus`` or ``/clear`` is the
    operation of the program and gives the empty text.
    """
    name = _COMMAND.search(text)
    if name is None:
        return None
    arguments = _ARGUMENTS.search(text)
    words = without_injected(arguments[1]) if arguments else ""
    return f"{name[1]} {words}" if len(words.split()) > 1 else ""

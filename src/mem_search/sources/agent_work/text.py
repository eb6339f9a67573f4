"""Text of a transcript: cleaned, without injected blocks; its headline, and words to look for."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Final, cast

from mem_search.patterns import LazyPattern, pattern
from mem_search.text.embedded_data import without_data
from mem_search.text.shortening import beginning, one_line

_BLOCK = pattern(
    r"<(/?)(system[-_]reminder|private|claude-mem-context|recalled-memory"
    r"|system[-_]instructions?|persisted-output|task-notification|teammate-message"
    r"|hook_context|hook_additional_context|user-prompt-submit-hook|new-diagnostics|available-deferred-tools"
    r"|ide_opened_file|ide_selection|ide_diagnostics"
    r"|local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)"
    r"|command-(?:name|message|args|contents))\b[^<>]*>",
    re.IGNORECASE,
)
_COMMAND = pattern(r"<command-name>\s*([^<]*?)\s*</command-name>")
_ARGUMENTS = pattern(r"<command-args>\s*([^<]*(?:<(?!/command-args>)[^<]*)*)</command-args>")


def without_injected(text: str) -> str:
    """``text`` without injected blocks, nested ones included.

    A tag that is never closed is part of what somebody wrote and stays.
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
    """What the person wrote after a slash command, with its name; None if it is not a command.

    ``/review the new parser`` is what the person says; ``/model opus`` or ``/clear`` only operates
    the program and gives an empty text.
    """
    name = _COMMAND.search(text)
    if name is None:
        return None
    arguments = _ARGUMENTS.search(text)
    words = without_injected(arguments[1]) if arguments else ""
    return f"{name[1]} {words}" if len(words.split()) > 1 else ""


HEADLINE: Final = 100
"""Characters of a title."""
_MAX_HEADLINE_AT: Final = 8_000
"""Characters in which a title is looked for; they are redacted before."""

_UNWANTED = pattern(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MARKUP = pattern(r"^(?:[#>*+•✓✅-]+\s+|\d{1,3}[.)]\s+|[*_]{2})+")
_RULE = pattern(r"^[\W_]*$")
_ANNOUNCEMENT = pattern(
    r"\b(?:let me|let's|i'll|i will|i need to|i'm going to)\b|:$"
    r"|^(?:(?:ok(?:ay)?|good|great|perfect|excellent|alright|now|so)\b[\s,.!—-]*)*"
    r"i (?:now )?(?:see|understand|have (?:all|enough|a (?:\w+ )?(?:picture|understanding)))\b"
    r"|^now (?:i|run|commit|update|add|create|test|verify|check)\b",
    re.IGNORECASE,
)
_ENOUGH_WORDS = 3


def clean_text(value: object) -> str:
    """``value`` without lone surrogates, terminal colours, control characters and pictures.

    Empty for anything that is not a string.
    """
    if not isinstance(value, str):
        return ""
    return without_data(_UNWANTED.sub("", value.encode("utf-8", "replace").decode("utf-8")))


def headline(text: str, limit: int = HEADLINE) -> str:
    """The first line with content, without Markdown; empty if there is no text.

    A line that only announces what comes ("Let me look at ...") is used when there is no other.
    Lines of code are not used, nor what stands behind the first characters of a long text.
    """
    text = beginning(text, _MAX_HEADLINE_AT) if len(text) > limit else text
    announcement = fragment = ""
    in_code = False
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("```"):
            in_code = not in_code
        if in_code or line.startswith(("```", "|")) or _RULE.match(line):
            continue
        line = _MARKUP.sub("", line).replace("**", "").strip()
        if len(line.split()) < _ENOUGH_WORDS:
            fragment = fragment or line
        elif _ANNOUNCEMENT.search(line):
            announcement = announcement or line
        else:
            return one_line(line, limit)
    return one_line(announcement or fragment, limit)


# The words of ``wording.toml``, in several languages: kinds of work, and choosing one way.

_FILE: Final = Path(__file__).with_name("wording.toml")
_LISTED: Final = pattern(r"<(\w+)>")


class _WordedPattern(LazyPattern[str]):
    """A pattern that reads its words at its first use: a start needs none of them."""

    def source(self) -> str:
        return _expanded(self.pattern)


def worded(template: str) -> re.Pattern[str]:
    """A pattern in any case of letters; ``<name>`` stands for one entry of the list ``name``."""
    return cast("re.Pattern[str]", _WordedPattern(template, re.IGNORECASE))


def any_of(*names: str) -> re.Pattern[str]:
    """Finds an entry of these lists where it begins at the beginning of a word."""
    return worded(rf"(?:\b|(?=\W))(?:{'|'.join(f'<{name}>' for name in names)})")


def _expanded(template: str) -> str:
    return _LISTED.sub(lambda match: _one_of(match[1]), template)


def _one_of(name: str) -> str:
    entries = (_expanded(entry.replace("’", "['’]")) for entry in _lists()[name])
    return f"(?:{'|'.join(entries)})"


@cache
def worn_words() -> frozenset[str]:
    """Words that any step of work can have, in several languages."""
    return frozenset(_lists()["worn"])


@cache
def _lists() -> dict[str, list[str]]:
    with _FILE.open("rb") as file:
        lists: dict[str, list[str]] = tomllib.load(file)
    return lists

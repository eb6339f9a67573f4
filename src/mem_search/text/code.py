"""Telling source code from prose, by its shape alone: a record often comes without a path."""

from __future__ import annotations

import re

SAMPLE = 4000
"""Characters looked at: the head of a text tells what it is."""

LEAST_SHARE = 0.2
"""Share of lines that look like code; prose with a snippet in it stays prose."""

_CODE_LINE = re.compile(
    r"""^\s*(?:
        (?:async\s+)?(?:def|class|fn|func|function|struct|impl|interface|enum|trait|module)\s+\w
        | (?:import|from|use|package|namespace|\#include|\#define|using|require)\b[^.!?]*$
        | (?:public|private|protected|static|const|let|var|export|pub)\s+\w
        | (?:return|raise|throw|yield|await|assert|del|echo|local)\b.*[^.!?]$
        | (?:if|elif|else|for|while|with|try|except|switch|case|match)\b.*[:{]\s*$
        | [\w.\[\]'", ]{1,60}(?:[-+*/|&%]|:\ ?[\w.\[\]]{1,40}\ )?=[^=]
        | [\w.]+\(
        | @\w[\w.]*(?:\(.*)?$
        | .*[{};]\s*$
        | [)\]}]+[,;]?\s*$
        | (?:\#|//)\s*\w.*
    )""",
    re.VERBOSE,
)


def is_code(text: str) -> bool:
    """Whether ``text`` is source code: enough of its lines look like statements."""
    lines = [line for line in text[:SAMPLE].splitlines() if line.strip()]
    if not lines:
        return False
    return sum(bool(_CODE_LINE.match(line[:160])) for line in lines) >= LEAST_SHARE * len(lines)

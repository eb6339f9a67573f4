"""Reading the summary that the agent itself writes when a session is compacted. Pure."""

from __future__ import annotations

import re
from textwrap import dedent

from mem_search.sources.claude_code.injected import without_injected
from mem_search.sources.claude_code.prose import cut

_SECTION = 3000
_WHOLE = 8000
_HEADINGS = {
    # how a heading of the agent's summary begins: the field of a session summary
    "primary request": "request",
    "key technical concepts": "notes",
    "files and code": "investigated",
    "errors and fixes": "learned",
    "problem solving": "learned",
    "all user messages": "",  # they are records of their own
    "pending tasks": "next_steps",
    "current work": "completed",
    "optional next step": "next_steps",
    "next step": "next_steps",
}
_HEADING = re.compile(
    rf"^\s*(?:#+\s*)?(?:\d+\.\s*)?\**({'|'.join(_HEADINGS)})[^\n:]{{0,40}}:\**[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_START = re.compile(r"^(?:<summary>|Summary:)\s*$", re.MULTILINE)
_END = re.compile(
    r"^(?:</summary>|If you need specific details from before compaction"
    r"|Please continue the conversation|Continue the conversation from where)",
    re.MULTILINE,
)
_CODE = re.compile(r"^[ \t]*```.*?^[ \t]*```[ \t]*\n?", re.MULTILINE | re.DOTALL)


def fields(text: str) -> dict[str, str]:
    """The parts of a compaction summary by claude-mem's names.

    The agent's notes to itself before the summary, and the words that make it go on after,
    are not part of it. A summary without the usual headings is ``notes`` as a whole.
    """
    if start := _START.search(text):
        text = text[start.end() :]
    if end := _END.search(text):
        text = text[: end.start()]
    text = without_injected(text)
    headings = list(_HEADING.finditer(text))
    if not headings:
        return {"notes": cut(text.strip(), _WHOLE)} if text.strip() else {}
    found: dict[str, str] = {}
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, until in zip(headings, ends, strict=True):
        name = _HEADINGS[heading[1].lower()]
        content = dedent(_CODE.sub("", text[heading.end() : until])).strip()
        if name and content:
            before = f"{found[name]}\n\n" if name in found else ""
            found[name] = cut(before + content, _SECTION)
    return found

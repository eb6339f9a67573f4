"""Results as a Markdown list with links, to paste into a note or an issue.

Text of records is never markup: the signs of CommonMark are escaped, and only web addresses
become links. A record without an address links to its page in the worker.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from mem_search.model import Record, Result, SearchPage
from mem_search.patterns import pattern
from mem_search.renderers.listing import heading, notes, paging
from mem_search.renderers.record_line import DisplayOptions
from mem_search.renderers.safe_text import one_line
from mem_search.renderers.universal import url_of

_SIGNS = pattern(r"([\\`*_{}\[\]<>#|~&!$])")
_BLOCK = pattern(r"^(?:([-+=])|(\d+)([.)]))")
"""What begins a list or underlines a heading at the start of a line."""
_IN_ADDRESS = "/:?#[]@!$&'*+,;=%~"


def as_markdown(page: SearchPage, display: DisplayOptions, base: str) -> str:
    """The listing of ``page``; ``base`` is the address of the worker, ``http://127.0.0.1:37777``."""
    first = page.request.offset + 1
    entries = [
        _entry(number, result, display, base) for number, result in enumerate(page.results, first)
    ]
    remarks = [escaped(line) for line in (paging(page, display), *notes(page, display)) if line]
    blocks = [f"# {escaped(heading(page, display).rstrip(':'))}", "\n".join(entries), *remarks]
    return "\n\n".join(block for block in blocks if block) + "\n"


def escaped(text: str) -> str:
    """``text`` on one line, escaped so that Markdown shows it unchanged."""
    signs = _SIGNS.sub(r"\\\1", one_line(text))
    return _BLOCK.sub(lambda found: f"{found[2] or ''}\\{found[1] or found[3]}", signs)


def _entry(number: int, result: Result, display: DisplayOptions, base: str) -> str:
    record = result.record
    kind = display.kinds(record.kind)
    facts = ", ".join(
        fact
        for fact in (kind.label, display.day(record.created_at), escaped(record.project))
        if fact
    )
    line = f"{number}. [{escaped(kind.title(record))}]({_address(record, base)}): {facts}"
    lines = [f"{line}, `{record.ref}`", *_quoted(result, " " * len(f"{number}. "))]
    return "\n".join(lines)


def _quoted(result: Result, indent: str) -> Iterator[str]:
    """The snippet as a quotation, unless it repeats the title."""
    words = one_line(result.snippet.text)
    if words and words != one_line(result.record.title):
        yield f"{indent}> {escaped(words)}"


def _address(record: Record, base: str) -> str:
    return quote(one_line(url_of(record, base)), safe=_IN_ADDRESS)

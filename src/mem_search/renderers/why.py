"""The line under a title that shows why a record was found: a snippet, and where the words are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mem_search.model import Record, Result, SearchPage
from mem_search.records.canonical_text import listed
from mem_search.renderers.record_json import title_of
from mem_search.renderers.safe_text import one_line
from mem_search.search.citations import words_of
from mem_search.text.highlight import WordMatcher, snippet, word_matcher

WIDTH = 92
"""Characters of the line: with its indentation it fits a terminal of 100 columns."""

_FILES = ("path", "files_modified", "files_read")
"""Metadata with names of files."""

_IN_A_NAME = "in a file name, "

_IN_THE_TEXT, _BY_MEANING = "in the text: ", "by meaning: "
_ON_A_PAGE = {
    "": "page {}: ", _IN_THE_TEXT: "on page {}: ", _BY_MEANING: "by meaning, page {}: ",
}  # fmt: skip

_SIGNS = " .,;:!?)]}>*#|/-–—•"
"""What a snippet does not begin with: the end of a sentence before it, and signs of lists."""

_SAME = 40
"""Characters of a snippet that repeat the title when they are equal."""


def why_found(page: SearchPage) -> Callable[[Result], str]:
    """A function that gives the line of a result of ``page``, without a line break; or ""."""
    words = words_of(page.report.analyzed)
    matcher = word_matcher(words)
    ranked = bool(words) and page.report.realised != "filter"

    def why(result: Result) -> str:
        title = one_line(title_of(result.record))
        reason = _reason(result, matcher) if ranked and not matcher.stands_in(title) else ""
        text, around = result.snippet.text, words
        if (page := page_of(result)) and not reason.startswith(_IN_A_NAME):
            reason = _ON_A_PAGE[reason].format(page)
        if reason.startswith(_IN_A_NAME):  # the reason has the words; the text says what it is
            text, around = result.record.text.removeprefix(result.record.title), ()
        cut = snippet(text, 0, len(text), around, length=WIDTH - len(reason))
        shown = one_line(cut.text).lstrip(_SIGNS)
        if title.startswith(shown[:_SAME]):
            return reason.removesuffix(": ")
        return f"{reason}{shown}"

    return why


def page_of(result: Result) -> int | None:
    """The page of what was found, of a document with several."""
    return result.snippet.page if result.record.metadata.get("pages") != 1 else None


def _reason(result: Result, matcher: WordMatcher) -> str:
    """Where the words are that the title does not have."""
    text = result.snippet.text
    places = matcher.spans(text)
    names = list(_files(result.record))
    named = [(at, at + len(name)) for name in names if (at := text.find(name)) >= 0]
    only_names = all(any(a <= start and end <= b for a, b in named) for start, end in places)
    if not only_names or (not places and matcher.stands_in(result.record.text.replace(text, ""))):
        return _IN_THE_TEXT
    if name := next((name for name in names if matcher.stands_in(name)), ""):
        return f"{_IN_A_NAME}{one_line(name)[: WIDTH // 2]}: "
    return _BY_MEANING


def _files(record: Record) -> Iterator[str]:
    for field in _FILES:
        yield from listed(record.metadata.get(field))

"""A page of results for a person's terminal: two lines a result, by which it is recognised.

The first line has the icon, the kind as people say it and the title; the second the best span of
the text. Project, folder or sender, the date and the ref stand behind the title where there is
room, else before the span. Agents and programs get ``listing``, which clients parse.

Stored text gets here through ``plain`` alone, so that it is one line without control
characters and marks of colours (``text.control_characters``). A line is as wide as the terminal at
most: widths are those of ``rich``, and nothing is cut inside a grapheme.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.cells import cell_len, split_graphemes

from mem_search.model import Link, Record, Result, SearchPage
from mem_search.patterns import pattern
from mem_search.records.origin import INSTRUCTION_LIKE
from mem_search.renderers.identity import (
    alike,
    kind_of,
    names_a_day,
    original_of,
    people_of,
    place_beside,
    place_of,
    title_of,
)
from mem_search.renderers.listing import advice, facet_lines, heading, notes
from mem_search.renderers.listing import details as all_details
from mem_search.renderers.local_dates import local_clock, local_date, local_day
from mem_search.renderers.record_line import DisplayOptions, explanation
from mem_search.renderers.safe_text import harmless, one_line
from mem_search.search.citations import words_of
from mem_search.text.control_characters import BOLD, DIM, HINT, KIND, MARKS, PLAIN, REF, WORD
from mem_search.text.highlight import WordMatcher, snippet, word_matcher
from mem_search.text.stems import stored_language

MIN_COLUMNS: Final = 40
MAX_COLUMNS: Final = 240
"""Longer lines are hard to read, and a header may name any number."""
_INDENT: Final = "   "
_MIN_SPAN: Final = 24
"""Columns of a span that tells something."""
_ABOUT_A_LINE: Final = 48
"""Columns of a span beside its place at 80 columns."""
_MIN_TITLE: Final = 36
"""Columns of a title that is cut for the sake of the span; with less, the title has the line."""
_MAX_KIND: Final = 10
_MAX_PLACE: Final = 24
"""Columns; a longer place loses its beginning."""
_MIN_PLACE: Final = 6
_GAP: Final = "  "
_BETWEEN: Final = " · "
_LINK: Final = pattern(
    r"!?\[([^\[\]\n]{0,200})\]\((?:[^\s()]|\([^\s()]{0,200}\)){0,2000}(?: \"[^\"\n]{0,200}\")?\)"
)
_WIKILINK: Final = pattern(r"\[\[(?:[^\[\]|\n]{0,200}\|)?([^\[\]|\n]{1,200})\]\]")
_MARKUP: Final = pattern(r"(?m)^\s*(?:#{1,6}|[-*+>]|\d{1,3}[.)])\s+|[*_`]{2,}")
NO_MARKS: Final = dict.fromkeys(map(ord, MARKS))


@dataclass(frozen=True, slots=True)
class Screen:
    """A person's terminal, in columns; ``locale`` writes its dates (``de_DE``), ``details``: all
    fields of an opened record are wanted.
    """

    columns: int
    locale: str = ""
    details: bool = False

    @classmethod
    def read(cls, header: str) -> Screen | None:
        """What ``X-Terminal: 80; locale=de_DE; details`` says; None for anything else."""
        width, *options = (part.strip() for part in header.split(";"))
        if not (width.isascii() and width.isdigit() and len(width) < 6):
            return None
        named = dict(option.partition("=")[::2] for option in options)
        columns = max(MIN_COLUMNS, min(int(width), MAX_COLUMNS))
        return cls(columns, named.get("locale", ""), "details" in named)


def listing(page: SearchPage, display: DisplayOptions, screen: Screen, spans: bool = True) -> str:
    """``page`` for ``screen``; without ``spans`` a line a result."""
    words = words_of(page.report.analyzed)
    groups = _folded(page)
    wide = max((cell_len(_kind(result.record)) for result, _ in groups), default=0)
    lines = [PLAIN + heading(page, display)] if not page.relevant else []
    for result, others in groups:
        matcher = word_matcher(words, stored_language(result.record.metadata))
        lines += _lines(result, others, words, matcher, display, screen, wide, spans)
    lines += _wrapped([totals(page, display)] if page.relevant else [], screen)
    lines += _wrapped((*facet_lines(page), *notes(page, display)), screen)
    hints = "" if page.results else "\n".join(advice(page, display))
    text = "\n".join(lines)
    text = text if text.startswith(PLAIN) else PLAIN + text
    return f"{text}{HINT}{hints}" if hints else text


def totals(page: SearchPage, display: DisplayOptions) -> str:
    """One sentence: ``10 of 247; more: --offset 10; weaker matches: --all``."""
    shown, first = len(page.results), page.request.offset
    places = page.total - page.folded
    order = {"date_desc": ", newest first", "date_asc": ", oldest first"}.get(
        page.request.order, ""
    )
    if not shown:
        return f"Nothing from {first + 1} on; there are {places}"
    if first or shown < places:
        of = f"{first + 1} to {first + shown}" if first else f"{shown}"
        said = f"{of} of {places} found{order}"
    else:
        said = f"{places} found{order}"
    more = [display.parameter("offset", first + shown)] if first + shown < places else []
    further = [f"more: {each}" for each in more]
    further += ["weaker matches: --all"] if page.weaker else []
    return "; ".join((said, *further))


def first_places(page: SearchPage, places: int) -> SearchPage:
    """The beginning of ``page`` that fills so many places when equal results fold."""
    groups = _folded(page)
    if len(groups) > places:
        following = page.results.index(groups[places][0])
        page = replace(page, results=page.results[:following])
    return replace(page, request=replace(page.request, limit=places))


Group = tuple[Result, tuple[Result, ...]]


def _folded(page: SearchPage) -> list[Group]:
    """The results, each with those on the page that are like it: ten bumps of a dependency."""
    if not page.request.fold:
        return [(result, ()) for result in page.results]
    groups: dict[object, list[Result]] = {}
    for result in page.results:
        groups.setdefault(alike(result.record) or result.record.number, []).append(result)
    return [(first, tuple(others)) for first, *others in groups.values()]


def _lines(
    result: Result, others: Sequence[Result], words: tuple[str, ...], matcher: WordMatcher,
    display: DisplayOptions, screen: Screen, wide: int, spans: bool,
) -> Iterator[str]:  # fmt: skip
    record, columns = result.record, screen.columns
    before, name = title_of(record, display)
    title = plain(f"{before} › {name}" if before else name)
    icon, kind = _icon(record, display), padded(_kind(record), wide)
    about, remarks = _about(record, before, display, screen), _remarks(result, len(others))
    said = f"{DIM}{remarks}{PLAIN}{_GAP}" if remarks else ""
    room = columns - cell_len(icon) - cell_len(kind) - len(_GAP)
    beside = room - cell_len(about) - len(_GAP)
    text = best_text(result, name, words, matcher) if spans else ""
    wide_text = columns - len(_INDENT) - (cell_len(remarks) + len(_GAP) if remarks else 0)
    below = wide_text - cell_len(about) - len(_GAP)
    head = f"{icon}{KIND}{kind}{PLAIN}{_GAP}"
    no_room = below < min(_MIN_SPAN, cell_len(text)) and beside >= _MIN_TITLE
    if cell_len(title) <= beside or not spans or no_room:
        yield f"{head}{_marked(cut(title, beside), matcher, BOLD)}{_GAP}{_dim(about, record)}"
        text = _beyond(title, beside, matcher, text) if spans else text
        if text or said:
            yield (_INDENT + said + _span(text, words, matcher, wide_text)).rstrip()
    else:
        yield f"{head}{_marked(cut(title, room), matcher, BOLD)}"
        text = _beyond(title, room, matcher, text)
        # Two or three words of a text tell nothing.
        shown = _span(text, words, matcher, below) if below >= _MIN_PLACE * 2 else ""
        span = _GAP + said + shown if shown or said else ""
        yield f"{_INDENT}{_dim(about, record)}{span}".rstrip()
    for line in explanation(result.scores):
        yield _INDENT + line.strip()


def _kind(record: Record) -> str:
    return cut(plain(kind_of(record)), _MAX_KIND)


def _icon(record: Record, display: DisplayOptions) -> str:
    return padded(plain(display.kinds(record.kind).icon(record)), 2) + " "


def _about(
    record: Record, before: str, display: DisplayOptions, screen: Screen, when: str | None = None
) -> str:
    """``web · Mar 3 · note:12`` in at most three fifths of a line; the place gives way."""
    if when is None and not names_a_day(record):
        when = local_day(record.created_at, display.tz, display.now, screen.locale)
    surely = _BETWEEN.join(filter(None, (when, str(record.ref))))
    place = place_beside(record, before)
    room = min(_MAX_PLACE, screen.columns * 3 // 5 - cell_len(surely) - len(_BETWEEN))
    place = end_of(plain(place), room) if room >= _MIN_PLACE else ""
    return _BETWEEN.join(filter(None, (place, surely)))


def _remarks(result: Result, others: int) -> str:
    """What has to be known of a record before it is read."""
    record, remarks = result.record, []
    if alike_ones := others + len(result.similar):
        remarks.append(f"+{alike_ones} like it")
    if record.superseded_by is not None:
        remarks.append(f"replaced by {record.superseded_by}")
    if record.metadata.get(INSTRUCTION_LIKE):
        remarks.append("reads like instructions")
    return _BETWEEN.join(remarks)


def _dim(about: str, record: Record) -> str:
    """``about`` with a link to the record on its ref."""
    before, ref, after = about.rpartition(str(record.ref))
    return f"{DIM}{before}{REF}{ref}{PLAIN}{DIM}{after}{PLAIN}"


def best_text(result: Result, title: str, words: tuple[str, ...], matcher: WordMatcher) -> str:
    """The text in which the span is: without lines that repeat the title, and without markup."""
    bare = _bare(result.snippet.text, title)
    if bare and not words:
        return bare

    def told(text: str) -> int:
        return matcher.count_in(snippet(text, 0, len(text), words, length=_ABOUT_A_LINE).text)

    if bare and told(bare) >= len(words):
        return bare
    whole = _bare(result.record.text[:4000], title)
    return max((bare, whole), key=told) if bare else whole


def _beyond(title: str, room: int, matcher: WordMatcher, text: str) -> str:
    """The end of a title that is cut, if more words of the question are there than in ``text``."""
    kept = cut(title, room)
    rest = title[len(kept) - 1 :] if kept != title else ""
    return f"…{rest}" if matcher.count_in(rest) > matcher.count_in(text) else text


def _bare(text: str, title: str) -> str:
    said = _letters(title)
    shown = _MARKUP.sub("", _LINK.sub(r"\1", _WIKILINK.sub(r"\1", text)))
    return plain(" ".join(line for line in shown.splitlines() if _letters(line) not in ("", said)))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _span(text: str, words: tuple[str, ...], matcher: WordMatcher, room: int) -> str:
    """The part of ``text`` with the most words that fits into ``room``, marked."""
    if cell_len(text) > room:
        begun, part = cut(text, room), snippet(text, 0, len(text), words, length=max(room - 1, 1))
        if matcher.count_in(begun) < matcher.count_in(part.text):
            ended = "…" if part.end < len(text) and cell_len(part.text) + 1 < room else ""
            begun = cut(f"{'…' if part.start else ''}{part.text}{ended}", room)
        text = begun
    return _marked(text, matcher, "")


def _marked(text: str, matcher: WordMatcher, base: str) -> str:
    """``text`` in the style ``base`` with the words of the question emphasised."""
    pieces = [base]
    last = 0
    for start, end in matcher.spans(text):
        pieces += [text[last:start], WORD, text[start:end], PLAIN, base]
        last = end
    return "".join((*pieces, text[last:], PLAIN if base else ""))


def _wrapped(texts: Iterable[str], screen: Screen, style: str = DIM) -> Iterator[str]:
    for text in texts:
        for line in split_to_width(plain(text), screen.columns):
            yield f"{style}{line}{PLAIN}"


def opened(
    record: Record, display: DisplayOptions, screen: Screen,
    links: Sequence[Link] = (), thread: Sequence[Record] = (),
) -> str:  # fmt: skip
    """One record for ``screen``: what it is, its text, then what is known of it."""
    before, name = title_of(record, display)
    title = plain(f"{before} › {name}" if before else name)
    when = [
        local_date(record.created_at, display.tz, screen.locale),
        local_clock(record.created_at, display.tz, screen.locale),
    ]
    times = "" if names_a_day(record) else ", ".join(when)
    about = [plain(kind_of(record)), plain(place_of(record)), times, str(record.ref)]
    top = [*split_to_width(title, screen.columns - len(_INDENT))]
    lines = [PLAIN + _icon(record, display) + BOLD + top[0] + PLAIN]
    lines += [f"{_INDENT}{BOLD}{line}{PLAIN}" for line in top[1:]]
    lines += _wrapped([_BETWEEN.join(filter(None, about))], screen)
    lines += _wrapped([f"{label}: {said}" for label, said in people_of(record)], screen)
    lines += _wrapped(filter(None, [original_of(record)]), screen)
    if record.superseded_by is not None:
        lines += _wrapped([f"replaced by {record.superseded_by}"], screen, BOLD)
    if record.metadata.get(INSTRUCTION_LIKE):
        lines += _wrapped(["This text reads like instructions to an agent."], screen, BOLD)
    lines.append("")
    text = harmless(record.text.translate(NO_MARKS))
    body = text.removeprefix(f"# {record.title}\n").strip("\n")
    lines += [
        part for line in body.split("\n") for part in split_to_width(line.rstrip(), screen.columns)
    ]
    if len(thread) > 1:
        lines += ["", f"{BOLD}Thread{PLAIN}"]
        lines += [
            line_of(each, display, screen, "<- this" if each.ref == record.ref else "")
            for each in thread
        ]
    fields = all_details(record, display, links)
    if screen.details:
        lines += ["", f"{BOLD}Details{PLAIN}"]
        lines += _wrapped([line for field in fields for line in field.split("\n")], screen)
        return "\n".join(lines)
    return "\n".join(lines) + f"{HINT}Details: mem-search get {record.ref} --meta"


def line_of(
    record: Record, display: DisplayOptions, screen: Screen,
    note: str = "", when: str | None = None,
) -> str:  # fmt: skip
    """One line: the icon, the title, its place, when it was, the ref and a ``note``."""
    before, name = title_of(record, display)
    icon, note = _icon(record, display), cut(plain(note), _MAX_PLACE)
    about = _about(record, before, display, screen, when)
    room = screen.columns - cell_len(icon) - len(_GAP) - cell_len(about)
    room -= cell_len(note) + len(_GAP) if note else 0
    title = cut(plain(f"{before} › {name}" if before else name), room)
    end = f"{_GAP}{note}" if note else ""
    return f"{icon}{title}{_GAP}{_dim(about, record)}{end}"


def grouped(top: str, groups: Iterable[tuple[str, Iterable[str]]], screen: Screen) -> str:
    """Lines of ``line_of`` below headings, and ``top`` above all."""
    lines = [*_wrapped([top], screen, BOLD)]
    for heading_of_group, members in groups:
        lines += [*_wrapped([heading_of_group], screen), *members]
    return PLAIN + "\n".join(lines)


def plain(text: str) -> str:
    """Stored ``text`` on one line, without what acts on a terminal or is a mark of ours."""
    return one_line(text.translate(NO_MARKS))


def cut(text: str, room: int) -> str:
    """``text`` in at most ``room`` columns; it ends in ``…`` when it is cut."""
    if cell_len(text) <= room:
        return text
    taken = 0
    for start, _, wide in split_graphemes(text)[0]:
        if taken + wide > room - 1:
            return text[:start].rstrip() + "…"
        taken += wide
    return text


def end_of(text: str, room: int) -> str:
    """The end of ``text`` in at most ``room`` columns."""
    if cell_len(text) <= room:
        return text
    taken = 0
    for _, end, wide in reversed(split_graphemes(text)[0]):
        if taken + wide > room - 1:
            return "…" + text[end:]
        taken += wide
    return text


def padded(text: str, room: int) -> str:
    """``text`` with blanks up to ``room`` columns."""
    return text + " " * (room - cell_len(text))


def split_to_width(line: str, room: int) -> Iterator[str]:
    """``line`` in pieces of at most ``room`` columns, between words where it can be."""
    kept = ""
    for word in re.findall(r"\s*\S+", line):
        if kept and cell_len(kept) + cell_len(word) > room:
            yield kept
            kept, word = "", word.lstrip()
        kept += word
        while cell_len(kept) > room:
            head = _head_of(kept, room)
            yield head
            kept = kept[len(head) :]
    yield kept


def _head_of(text: str, room: int) -> str:
    taken = 0
    for start, _, wide in split_graphemes(text)[0]:
        if taken + wide > room:
            return text[:start] or text[:1]
        taken += wide
    return text

"""The listings of a page of results: ``index``, a line a record, and ``full``, every record whole.

Both have a heading, the results, what the search has to say of itself, and how to go on. To add
a listing, add a line to ``LISTINGS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mem_search.errors import InputError
from mem_search.model import DateRange, Link, Record, Ref, Result, SearchPage, SearchRequest
from mem_search.model.records import VARIETIES
from mem_search.model.results import NEAREST_SHOWN
from mem_search.records.origin import INSTRUCTION_LIKE
from mem_search.renderers.record_line import (
    DisplayOptions,
    explanation,
    index_line,
    name_of,
    notices_of,
    reading_notes,
    total_scores,
)
from mem_search.renderers.safe_text import cut, fenced, harmless, marked, one_line
from mem_search.renderers.token_budget import (
    cut_text,
    fits,
    most_that,
    open_command,
    shortened,
)
from mem_search.text import token_count
from mem_search.text.date_words import to_ms

RULE = "\n\n---\n\n"
_QUERY_LENGTH = 100
_VALUE_LENGTH = 60
_WORTH_CUTTING_FOR = 60
"""Tokens; a smaller part of a record is of no use."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A page as text. ``name`` is the word in ``format=``; ``between`` separates two entries.

    ``may_cut``: a part of an entry is of use. ``tips``: it ends with how to go on.
    """

    name: str
    entry: Callable[[Result, DisplayOptions], str]
    between: str
    may_cut: bool = False
    tips: bool = False


@dataclass(frozen=True, slots=True)
class Fitted:
    """``text`` costs ``tokens``; ``page`` has the listed results."""

    text: str
    page: SearchPage
    tokens: int


def render(page: SearchPage, format: str, display: DisplayOptions, *, title: str = "") -> str:  # noqa: A002
    """``page`` as the listing called ``format``; ``title`` replaces its first line.

    Raises InputError listing the formats.
    """
    listing = _by_name(format)
    blocks = [
        title or heading(page, display),
        listing.between.join([listing.entry(result, display) for result in page.results]),
        "\n".join(filter(None, (paging(page, display), *facet_lines(page), *notes(page, display)))),
        "\n".join(_tips(page, display, listing.tips) if page.results else advice(page, display)),
    ]
    return "\n\n".join(filter(None, blocks))


def fitted(
    page: SearchPage,
    format: str,  # noqa: A002 - the word callers write
    display: DisplayOptions,
    max_tokens: int | None,
    *,
    title: str = "",
) -> Fitted:
    """As ``render``, within ``max_tokens``: where needed with fewer results."""
    text = render(page, format, display, title=title)
    if max_tokens is None or fits(text, max_tokens) or not page.results:
        text = text if max_tokens is None else token_count.cut(text, max_tokens)
        return Fitted(text, page, token_count.count(text))
    return _shortened_listing(page, _by_name(format), display, max_tokens, title)


def _shortened_listing(
    page: SearchPage, listing: Listing, display: DisplayOptions, limit: int, title: str
) -> Fitted:
    """As many results as fit, without tips; the last one is cut if the listing ``may_cut``."""
    ranked = page.results
    written = {id(result): listing.entry(result, display) for result in ranked}
    top = title or heading(page, display)

    def text_of(kept: int, last: str = "") -> tuple[str, SearchPage]:
        shown = shortened(page, kept, limit, kept + bool(last), display.parameter)
        entries = [written[id(result)] for result in shown.results]
        body = listing.between.join([*entries, last] if last else entries)
        blocks = (top, body, "\n".join(notes(shown, display)))
        return "\n\n".join(filter(None, blocks)), shown

    kept = most_that(lambda count: fits(text_of(count)[0], limit), len(ranked))
    text, shown = text_of(kept)
    if listing.may_cut and kept < len(ranked):
        room = limit - token_count.count(text)
        entry, step = written[id(ranked[kept])], f"open it whole: {open_command(ranked[kept])}"
        part = most_that(
            lambda count: fits(text_of(kept, cut_text(entry, count, step))[0], limit), max(1, room)
        )
        if part >= _WORTH_CUTTING_FOR or (part and not kept):
            text, shown = text_of(kept, cut_text(entry, part, step))
    elif not kept and ranked:
        # Within a very small limit one result is worth more than heading and notices.
        following = display.parameter("offset", page.request.offset + 1)
        line = f"{written[id(ranked[0])]}\n\nNext: {following}"
        if fits(line, limit):
            text, shown = line, shortened(page, 1, limit)
    text = token_count.cut(text, limit)
    return Fitted(text, shown, token_count.count(text))


def _by_name(name: str) -> Listing:
    for listing in LISTINGS:
        if listing.name == name:
            return listing
    known = ", ".join(listing.name for listing in LISTINGS)
    raise InputError(f"{name!r} is not a text format; choose one of {known}", field="format")


_MAX_MISSING: Final = 3
"""Words of a question that are named when no record has them."""

_NOW: Final = 60_000
"""Milliseconds within which two readings of the clock mean the same moment."""


def heading(page: SearchPage, display: DisplayOptions) -> str:
    """``Found 15 result(s) matching "auth" with type=bugfix:``."""
    matching = f' matching "{cut(page.request.text, _QUERY_LENGTH)}"' if page.request.text else ""
    named = described(page.request, display)
    limited = f" with {named}" if named else ""
    if any(each.endswith(NEAREST_SHOWN) for each in page.report.notices):
        return f"{_unanswered(page)}{limited}; nearest:"
    if not page.total:
        return f"No results found{matching}{limited}"
    if not page.request.text and _is_everything(page.request, display):
        return f"The newest of {page.total} record(s):"
    return f"Found {page.total} result(s){matching}{limited}:"


def _unanswered(page: SearchPage) -> str:
    said = ", ".join(f"“{cut(word, _VALUE_LENGTH)}”" for word in page.report.missing[:_MAX_MISSING])
    return f"No record mentions {said}" if said else "No answer found"


def _is_everything(request: SearchRequest, display: DisplayOptions) -> bool:
    """Whether a request without words asks for all until now, newest first (``recent``)."""
    created = request.filters.created
    return (
        request.order == "date_desc"
        and not (request.where or replace(request.filters, created=DateRange()))
        and created.start is None
        and created.end is not None
        and created.end >= to_ms(display.now) - _NOW
    )


def described(request: SearchRequest, display: DisplayOptions) -> str:
    """The filters as they are written: ``type=bugfix, project=web``; empty for none."""
    filters = request.filters
    varieties = [
        name for name, (kind, source) in VARIETIES.items()
        if (filters.kinds, filters.source) == ((kind,), source)
    ]  # fmt: skip
    if varieties:
        filters = replace(filters, kinds=(), source="")
    named: list[tuple[str, str]] = [
        *(("types", kind) for kind in (*filters.kinds, *varieties)),
        *(("type", value) for value in filters.types),
        *(("concept", value) for value in filters.concepts),
        *(("file", value) for value in filters.files),
        *(("tag", value) for value in filters.tags),
        ("project", filters.project),
        ("session", filters.session),
        ("source", filters.source),
        ("created", _described_range(filters.created, display)),
        ("updated", _described_range(filters.updated, display)),
        ("importance", "" if filters.importance is None else f"{filters.importance:g}"),
        ("archived", "" if filters.archived is None else str(filters.archived).lower()),
        *filters.facets,
        *((name, value) for name, values in request.where.items() for value in values),
    ]
    alternatives: dict[str, list[str]] = {}
    for name, value in named:
        if value:
            alternatives.setdefault(name, []).append(cut(value, _QUERY_LENGTH))
    return ", ".join(f"{name}={'|'.join(values)}" for name, values in alternatives.items())


def _described_range(dates: DateRange, display: DisplayOptions) -> str:
    if not dates:
        return ""
    start, end = ("" if at is None else display.day(at) for at in (dates.start, dates.end))
    return f"{start or '…'} to {end or '…'}"


def paging(page: SearchPage, display: DisplayOptions) -> str:
    """Which part of all results this is, and how many are folded; empty when it is all."""
    shown, offset, limit = len(page.results), page.request.offset, page.request.limit
    places = page.total - page.folded
    if not shown and page.total:
        here, last = (
            display.parameter("offset", at) for at in (offset, (places - 1) // limit * limit)
        )
        return f"Nothing at {here}; the last page starts at {last}"
    parts = []
    if shown < places:
        parts.append(f"Showing {offset + 1}-{offset + shown} of {places}")
        if offset + shown < places:
            parts.append(f"next: {display.parameter('offset', offset + shown)}")
    if page.request.limit_per_kind is not None:
        parts = [f"At most {page.request.limit_per_kind} of each kind"]
        if shown == limit:
            parts.append(f"next: {display.parameter('offset', offset + shown)}")
    if page.folded:
        option = "--no-fold" if display.command_line else "fold=false"
        parts.append(f"{page.folded} near-duplicate(s) folded: {option} lists them")
    if page.weaker:
        option = "--all" if display.command_line else "include_weaker=true"
        parts.append(f"{page.weaker} weaker match(es) left out: {option} lists them")
    return "; ".join(parts)


def facet_lines(page: SearchPage) -> list[str]:
    """``By project: web 12, api 3, 4 more`` for each facet of the request."""
    lines = []
    for name, facet in page.facets.items():
        parts = [f"{cut(value, _VALUE_LENGTH)} {count}" for value, count in facet.values]
        if more := facet.distinct - len(parts):
            parts.append(f"{more} more")
        lines.append(f"By {name}: {', '.join(parts) or 'none'}")
    return lines


def notes(page: SearchPage, display: DisplayOptions) -> list[str]:
    """A better spelling, and a ``Note: …`` for each difference from the request."""
    report = page.report
    # The heading says what no record mentions.
    told = [each for each in notices_of(report) if not each.endswith(NEAREST_SHOWN)]
    lines = [cut(each, 300) for each in told]
    bounds, back = "dateStart/dateEnd", "as_words=kind"
    if display.command_line:
        bounds, back = "--since/--until", "--as-words kind"
    lines += reading_notes(report.analyzed, bounds, back)
    meant = ", ".join([cut(text, _QUERY_LENGTH) for text in report.suggestions])
    return [
        *([f"Did you mean: {meant}?"] if meant else []),
        *[f"Note: {line}" for line in dict.fromkeys(lines)],
    ]


def _index_entry(result: Result, display: DisplayOptions) -> str:
    """One line; further ones tell why it was found and how it was scored, where asked for."""
    page = result.found_on if display.why is None else None  # else the next line says it
    lines = [index_line(result.record, display, result.similar, page)]
    if display.why is not None and (why := display.why(result)):
        lines.append(f"    {marked(why)}")
    return "\n".join((*lines, *explanation(result.scores)))


def _full_entry(result: Result, display: DisplayOptions) -> str:
    """The whole record, and the scores by which it was found."""
    parts = ", ".join(f"{name} {value:.3g}" for name, value in total_scores(result.scores))
    why = f"Score: {result.score:.3g}{f' ({parts})' if parts else ''}"
    similar = [f"Similar: {_refs(result.similar)}"] if result.similar else []
    similar += [f"Found on page {result.found_on}"] if result.found_on else []
    reasons = "\n".join((*similar, why, *explanation(result.scores)))
    return "\n\n".join([*_blocks(result.record, display), reasons])


LISTINGS: tuple[Listing, ...] = (
    Listing("index", _index_entry, "\n", tips=True),  # every line stays under 60 tokens
    Listing("full", _full_entry, RULE, may_cut=True),
)


def _tips(page: SearchPage, display: DisplayOptions, wanted: bool) -> list[str]:
    """Tips for the next step that costs the fewest tokens."""
    if not wanted or display.command_line:
        return []  # who types commands is told on standard error, programs are not
    ref = page.results[0].record.ref
    return [
        f"Tip: open only what you need: mem-search get {ref} (HTTP: /api/records/{ref})",
        f"Tip: what happened around it: mem-search timeline {ref}",
        "Tip: format=full prints every result whole; use it with a small limit",
    ]


def advice(page: SearchPage, display: DisplayOptions) -> list[str]:
    """What to try when nothing was found."""
    if page.total:
        return []
    lines = []
    if page.request.text:
        lines.append("Try: fewer words, or other words for the same thing")
    if filters := described(page.request, display):
        lines.append(f"Try: drop a filter ({filters})")
    return [*lines, "Try: mem-search stats, to see what is stored at all"]


def render_record(
    record: Record,
    display: DisplayOptions,
    links: Sequence[Link] = (),
    thread: Sequence[Record] = (),
) -> str:
    """One whole record, as opening a ref shows it, and its ``thread`` if others are in it."""
    lines = [
        f"{index_line(each, display)}{'  <- this' if each.ref == record.ref else ''}"
        for each in thread
    ]
    listed = ["\n".join(["### Thread", *lines])] if len(lines) > 1 else []
    return "\n\n".join([*_blocks(record, display, links), *listed])


def _blocks(record: Record, display: DisplayOptions, links: Sequence[Link] = ()) -> Iterator[str]:
    yield f"## {name_of(record, display)}"
    fields = [(each, is_said) for each, is_said in _fields(record, display, links) if each]
    text = harmless(record.text)
    if record.metadata.get(INSTRUCTION_LIKE):
        yield "\n".join(line for line, is_said in fields if not is_said)
        said = "\n".join(line for line, is_said in fields if is_said)
        yield fenced("\n\n".join(filter(None, [said, text])))
    else:
        yield "\n".join(line for line, _ in fields)
        yield text


def _fields(
    record: Record, display: DisplayOptions, links: Sequence[Link]
) -> Iterator[tuple[str, bool]]:
    """The line of each field, and whether anybody may have written it, as the text."""
    yield _line("Ref", str(record.ref)), False
    yield _line("Date", display.full_date(record.created_at)), False
    if record.updated_at != record.created_at:
        yield _line("Updated", display.full_date(record.updated_at)), False
    yield _line("Project", one_line(record.project)), False
    yield _line("Session", one_line(record.session)), False
    yield _line("Source", one_line(record.source)), False
    yield _line("Tags", one_line(", ".join(record.tags))), True
    yield _line("URL", one_line(record.url)), True
    importance = "" if record.importance is None else f"{record.importance:g}"
    yield _line("Importance", importance), False
    yield _line("Archived", "yes" if record.archived else ""), False
    yield _line("Superseded by", str(record.superseded_by or "")), False
    yield _line("Supersedes", _refs(record.supersedes)), False
    for label, text in display.kind_of(record).detail(record):
        yield _line(one_line(label), harmless(text)), True
    links_shown = ", ".join(f"{one_line(ln.relation)} {one_line(ln.to)}" for ln in links)
    yield _line("Links", links_shown), True


def details(record: Record, display: DisplayOptions, links: Sequence[Link] = ()) -> list[str]:
    """Each field that is known of a record beside its text, as ``label: text``."""
    return [each for each, _ in _fields(record, display, links) if each]


def _line(label: str, text: str) -> str:
    """``label: text``; empty without a text."""
    if not text:
        return ""
    return f"{label}:\n{text}" if "\n" in text else f"{label}: {text}"


def _refs(refs: Sequence[Ref]) -> str:
    return ", ".join(map(str, refs))

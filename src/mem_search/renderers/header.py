"""What a listing says around its records: how many, under which filters, how it was done."""

from __future__ import annotations

from mem_search.model import DateRange, Filters, SearchPage
from mem_search.renderers.safe_text import cut
from mem_search.renderers.view import View

_QUERY_LENGTH = 100


def heading(page: SearchPage, view: View) -> str:
    """``Found 15 result(s) matching "auth" with type=bugfix:``."""
    matching = f' matching "{cut(page.request.text, _QUERY_LENGTH)}"' if page.request.text else ""
    filters = described(page.request.filters, view)
    held = f" with {filters}" if filters else ""
    if not page.total:
        return f"No results found{matching}{held}"
    return f"Found {page.total} result(s){matching}{held}:"


def described(filters: Filters, view: View) -> str:
    """The filters as they are written: ``type=bugfix, project=web``; empty for none."""
    named: list[tuple[str, str]] = [
        *(("types", kind) for kind in filters.kinds),
        *(("type", value) for value in filters.types),
        *(("concept", value) for value in filters.concepts),
        *(("file", value) for value in filters.files),
        *(("tag", value) for value in filters.tags),
        ("project", filters.project),
        ("session", filters.session),
        ("source", filters.source),
        ("created", _described_range(filters.created, view)),
        ("updated", _described_range(filters.updated, view)),
        ("importance", "" if filters.importance is None else f"{filters.importance:g}"),
        ("archived", "" if filters.archived is None else str(filters.archived).lower()),
        *filters.facets,
    ]
    alternatives: dict[str, list[str]] = {}
    for name, value in named:
        if value:
            alternatives.setdefault(name, []).append(cut(value, _QUERY_LENGTH))
    return ", ".join(f"{name}={'|'.join(values)}" for name, values in alternatives.items())


def paging(page: SearchPage) -> str:
    """Where these results lie among all, and how many are folded; empty when they are all."""
    shown, offset, limit = len(page.results), page.request.offset, page.request.limit
    places = page.total - page.folded
    if not shown and page.total:
        last = (places - 1) // limit * limit
        return f"Nothing at offset={offset}; the last page starts at offset={last}"
    said = []
    if shown < places:
        said.append(f"Showing {offset + 1}-{offset + shown} of {places}")
        if offset + shown < places:
            said.append(f"next: offset={offset + shown}")
    if page.folded:
        said.append(f"{page.folded} near-duplicate(s) folded: fold=false (--no-fold) lists them")
    return "; ".join(said)


def notes(page: SearchPage) -> list[str]:
    """What to ask instead, and ``Note: ...`` for all that is other than what was asked for."""
    report = page.report
    said = [cut(notice, 300) for notice in report.notices]
    for leg in report.legs:
        told = any(leg.name in notice for notice in report.notices)
        if leg.state in ("degraded", "failed") and not told:
            said.append(f"{leg.name} search {leg.state}{f' ({leg.detail})' if leg.detail else ''}")
    if report.realised not in (report.requested, "filter") and not said:
        said.append(f"asked for {report.requested} search, answered by {report.realised}")
    if report.coverage < 1 and not any("%" in line for line in said):
        # Rounded down: 100 % would say that nothing is missing.
        said.append(
            f"{int(report.coverage * 100)}% of the passages have vectors yet;"
            " the others are found by their words only"
        )
    said += [cut(warning, 300) for warning in report.analyzed.warnings]
    meant = ", ".join(cut(text, _QUERY_LENGTH) for text in report.suggestions)
    return [
        *([f"Did you mean: {meant}?"] if meant else []),
        *(f"Note: {line}" for line in dict.fromkeys(said)),
    ]


def _described_range(dates: DateRange, view: View) -> str:
    if not dates:
        return ""
    start, end = ("" if at is None else view.day(at) for at in (dates.start, dates.end))
    return f"{start or '…'} to {end or '…'}"

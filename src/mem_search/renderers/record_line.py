"""The line that names a record in every listing, and the ``DisplayOptions``: time zone and clock.

Listings are pure functions of values and these options, so the snapshot of one never ages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Final

from mem_search.contracts import RecordKind
from mem_search.model import Analyzed, DateRange, Record, Ref, Result, SearchReport
from mem_search.records.origin import INSTRUCTION_LIKE
from mem_search.renderers.safe_text import cost, cut, cut_to_cost, fenced_title
from mem_search.text import dates

_LONG_AGO = datetime(4, 1, 1, tzinfo=UTC)
"""A date in the far past as ``now``, so that dates are written with their year."""

_LEG_PARTS = ("rank", "z", "bonus", "weight")
_TITLE_COST = 120
"""Quarters of a token. With some 25 tokens of frame a line stays under 60 in any script."""

_MIN_TITLE_QUARTERS = 20
"""Quarters of a token that a title keeps beside the longest marks."""


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """How listings show records.

    ``kinds`` finds a kind by its name (``KindRegistry.get``), ``now`` is aware. On the command
    line parameters are written as its options. Times are milliseconds since 1970.
    ``why`` gives the line under a title of the index (``why_found``); None for no such line.
    """

    kinds: Callable[[str], RecordKind]
    tz: tzinfo
    now: datetime
    command_line: bool = False
    why: Callable[[Result], str] | None = None

    def kind_of(self, record: Record) -> RecordKind:
        """The kind as people say it on the command line; others know the stored one."""
        return self.kinds(record.called if self.command_line else record.kind)

    def parameter(self, name: str, value: object) -> str:
        """``offset=3``, on the command line ``--offset 3``."""
        return f"--{name.replace('_', '-')} {value}" if self.command_line else f"{name}={value}"

    def date(self, at: int) -> str:
        """``Nov 17, 5:45 PM``, with the year when it is not the current one."""
        return dates.local(at, self.tz, self.now)

    def full_date(self, at: int) -> str:
        """``Nov 17, 2025, 5:45 PM``."""
        return dates.local(at, self.tz, _LONG_AGO)

    def day(self, at: int) -> str:
        """``Nov 17, 2025``."""
        return self.full_date(at).rpartition(", ")[0]

    def range(self, span: DateRange) -> str:
        """``Nov 9-15``, with the year when it is not the current one."""
        return dates.local_range(span, self.tz, self.now)

    def time(self, at: int) -> str:
        """``5:45 PM``."""
        return self.full_date(at).rpartition(", ")[2]


_FILLED_LATER: Final = "sparse"
"""A score that is filled after the legs: until then a search is whole without it, as its report
says."""

_ORDINARY: Final = "the index is starting"
"""How the detail of a leg begins where nothing is wrong with it."""


def notices_of(report: SearchReport) -> list[str]:
    """What a reply says of its search, in words: every surface says the same.

    How words of the question were read is in ``reading_notes``.
    """
    told = "\n".join(report.notices)
    lines = [
        *report.notices,
        *(
            leg.detail
            if leg.detail.startswith(_ORDINARY)
            else f"{leg.name} search {leg.state}{f' ({leg.detail})' if leg.detail else ''}"
            for leg in report.legs
            if leg.state in ("degraded", "failed") and leg.name not in told
            if leg.name != _FILLED_LATER
        ),
    ]
    if report.realised not in (report.requested, "filter") and not lines:
        lines.append(f"asked for {report.requested} search, answered by {report.realised}")
    if report.coverage < 1 and "%" not in "\n".join(lines):
        # Rounded down, because 100 % means that nothing is missing.
        lines.append(
            f"{int(report.coverage * 100)}% of the passages have vectors yet;"
            " the others are found by their words only"
        )
    if operators := " and ".join(report.analyzed.operators):
        what = "is an operator" if " " not in operators else "are operators"
        lines.append(f"{operators} {what} here: {cut(report.analyzed.demanded, 200)}")
    return list(dict.fromkeys((*lines, *report.analyzed.warnings)))


def reading_notes(analyzed: Analyzed, bounds: str, as_words: str = "as_words=kind") -> list[str]:
    """How words of a question were read: ``"last week" read as Nov 9-15; …``.

    ``bounds`` are the parameters that keep only what is from a time, ``as_words`` is the one that
    takes a reading back; empty where there is none.
    """
    notes = []
    back = f", or with {as_words}," if as_words else ""
    for named in analyzed.readings:
        read = f'"{cut(named.phrase, 60)}" read as {named.filter}'
        what = f"in quotes{back.replace('kind', named.part)} it is a word"
        if named.use == "lift":
            what = f"these are raised; {named.filter} in the query keeps only them"
        notes.append(f"{read}: {what}")
    for each in analyzed.dates:
        read = f'"{cut(each.phrase, 60)}" read as {each.read_as}'
        if each.use == "lift":
            notes.append(f"{read}; {bounds} keep only that")
            continue
        what = "which is still to come" if each.ahead else "all that is from then, newest first"
        notes.append(f"{read}: {what}")
    return notes


def index_line(
    record: Record, display: DisplayOptions, similar: Sequence[Ref] = (), page: int | None = None
) -> str:
    """``🟣 Observation #5678 - Added login endpoint (Nov 17, 5:45 PM)``, and its ``marks``."""
    marked = marks(record, similar, page)
    return f"{name_of(record, display, marked)} ({display.date(record.created_at)}){marked}"


def name_of(record: Record, display: DisplayOptions, beside: str = "") -> str:
    """``🟣 Observation #5678 - Added login endpoint``, cut so that ``beside`` fits as well."""
    kind = display.kind_of(record)
    title = kind.title(record)
    if record.metadata.get(INSTRUCTION_LIKE):
        title = fenced_title(title)
    title = cut_to_cost(
        title, max(_MIN_TITLE_QUARTERS, _TITLE_COST - (cost(beside) if beside else 0))
    )
    return f"{kind.icon(record)} {kind.label} #{record.number} - {title}"


def marks(record: Record, similar: Sequence[Ref] = (), page: int | None = None) -> str:
    """`` [superseded by #14]`` or `` [page 7; supersedes #9; 3 similar: #7, …]``; or empty.

    ``similar`` are the near-duplicates that are folded under the record, ``page`` is where in it
    something was found.
    """
    notes = [f"page {page}"] if page else []
    if record.superseded_by is not None:
        notes.append(f"superseded by #{record.superseded_by.number}")
    if older := record.supersedes:
        notes.append(f"supersedes {_first(older) if len(older) == 1 else _counted(older, '')}")
    if similar:
        notes.append(_counted(similar, " similar"))
    return f" [{'; '.join(notes)}]" if notes else ""


def _counted(refs: Sequence[Ref], what: str) -> str:
    return f"{len(refs)}{what}: {_first(refs)}"


def _first(refs: Sequence[Ref]) -> str:
    return f"#{refs[0].number}{', …' if len(refs) > 1 else ''}"


def explanation(scores: Mapping[str, float]) -> Iterator[str]:
    """``    why: keyword 4.2 = #1 1×(1.9+1) · vector 0.61 = #2 1×(1.2+0.5) · neighbours +0.3``.

    Yields nothing for scores without parts.
    """
    legs = list(dict.fromkeys([name.partition(".")[0] for name in scores if "." in name]))
    if not legs:
        return
    parts = [_leg(name, scores) for name in legs]
    added = (item for item in total_scores(scores) if item[0] not in (*legs, "fused"))
    parts += [f"{name} {value:+.3g}" for name, value in added]
    yield "    why: " + " · ".join(parts)


def total_scores(scores: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """The scores without the parts that they are made of."""
    return ((name, value) for name, value in scores.items() if "." not in name)


def _leg(name: str, scores: Mapping[str, float]) -> str:
    rank, z, bonus, weight = (scores.get(f"{name}.{part}") for part in _LEG_PARTS)
    raw = f"{scores[name]:.3g}" if name in scores else "unknown"
    place = "unranked" if rank is None else f"#{rank:.0f}"
    return f"{name} {raw} = {place} {weight or 0:.3g}×({z or 0:.3g}{bonus or 0:+.3g})"

"""Citations without a link: which reports and pages share enough rare phrases.

The outcome does not depend on the order in which documents come: a phrase that becomes common takes
back what it had shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from mem_search.model.archives import HOLDINGS
from mem_search.text.shared_phrases import LENGTH, SharedRun, shared

SIMILAR: Final = "similar"
"""The origin of these edges."""

MAX_PAGES: Final = 2
"""Different pages that may have a phrase; what more have does not tell which one was read."""

MAX_REPORTS: Final = 8
"""Reports that may have it; what more have is a turn of speech."""

MIN_SHARED_PHRASES: Final = 3
"""Shared phrases from which a report cites a page, such as six words in a row
(``scripts/evaluate implicit``; docs/lab/graph.md has the figures)."""

SUREST: Final = 0.95
"""No similarity is as sure as a link."""

COMPARED: Final = 20
"""Documents with which one is compared: those that share the most phrases."""

ANCHORS: Final = 50
"""Shared phrases around which two texts are compared."""

_KINDS: Final = tuple(HOLDINGS)


def to_compare(
    number: int, rows: Iterable[tuple[int, int, str, str]]
) -> tuple[list[int], list[tuple[int, int]]]:
    """The phrases that became common with the record ``number``, and the pairs (report, page) to
    compare since it was written; first those that share the most phrases.

    ``rows`` are (phrase, record, kind, url) for each phrase of ``number`` and each record that has
    it. What common phrases had shown is compared again.
    """
    holders: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    for each, record, kind, url in rows:
        holders[each].append((record, kind, url))
    shown: Counter[tuple[int, int]] = Counter()
    common: list[int] = []
    again: set[tuple[int, int]] = set()
    for each, found in holders.items():
        reports = [known for known, kind, _ in found if kind == _KINDS[0]]
        pages = {known: url or str(known) for known, kind, url in found if kind == _KINDS[1]}
        ways = [(r, p) for r in reports for p in pages]
        if len(set(pages.values())) > MAX_PAGES or len(reports) > MAX_REPORTS:
            common.append(each)
            again.update(ways)
        else:
            shown.update(way for way in ways if number in way)
    best = sorted(shown, key=lambda way: (-shown[way], way))[:COMPARED]
    return common, [*best, *sorted(again.difference(best))]


def compared(
    report: str, page: str, anchors: Sequence[tuple[int, int]]
) -> tuple[Sequence[SharedRun], float] | None:
    """The runs that both texts have, and how sure the citation is; None if it is none."""
    runs = shared(report, page, anchors)
    phrases = sum(run.length - LENGTH + 1 for run in runs)
    return (runs, confidence(phrases)) if phrases >= MIN_SHARED_PHRASES else None


def confidence(phrases: int) -> float:
    """How sure a citation is by so many shared phrases: .6 for three, .8 for eight."""
    return round(min(SUREST, phrases / (phrases + 2)), 3)

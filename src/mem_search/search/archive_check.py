"""Is a question already answered in reports and saved pages: the confidence of each result.

Two signals decide: the cosine of the question and the passage that matched, and how much of the
question the passage and the title say, by its words, of which rare ones weigh more. A logistic
function makes a probability of them. Its constants were fitted on one half of the questions of
``scripts/evaluate check`` with the bundled embedding model; docs/lab/ranking.md has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from mem_search.model import Filters, Result, SearchPage, SearchRequest
from mem_search.model.archives import HOLDINGS
from mem_search.storage.ports.search import SearchSnapshot, SearchStore
from mem_search.text.highlight import word_matcher
from mem_search.text.words import WordPhrase, is_cjk

MIN_SCORE: Final = 0.1
"""What is less sure is not worth opening, so a check does not name it."""

_COSINE, _SHARE, _BOTH = 12.5, 4.5, -9.0
_SHARE_ALONE, _ALONE = 9.0, -7.0
"""Without vectors words decide, and more of them are wanted."""


LOOKED_AT: Final = 5
"""Results that are judged at least: the best one need not be the one that answers."""


def request_of(query: str, archive: str, limit: int) -> SearchRequest:
    """The search whose page ``confidences`` judges."""
    filters = Filters(kinds=tuple(HOLDINGS), project=archive)
    return SearchRequest(query, filters, limit=max(limit, LOOKED_AT), neighbours=0)


async def confidences(store: SearchStore, page: SearchPage) -> list[float]:
    """For each result of ``page`` how sure it is that it answers the question, 0 to 1."""
    analyzed = page.report.analyzed
    near = dict(analyzed.near)
    asked = dict.fromkeys(
        (*analyzed.words, *(word for phrase in analyzed.phrases for word in phrase.split()))
    )
    forms = {word: (word, *(each.rstrip("*") for each in near.get(word, ()))) for word in asked}
    weights = await store.read(_weights, forms)
    return [_confidence(result, forms, weights) for result in page.results]


def _weights(snapshot: SearchSnapshot, forms: Mapping[str, Sequence[str]]) -> Mapping[str, float]:
    """How much each word says: the inverse document frequency (Spärck Jones 1972), smoothed."""
    size = sum(snapshot.counts(Filters()).values())
    found = {}
    for word, several in forms.items():
        # A run of CJK is no word of the index; it counts as a rare one.
        counts = [
            0 if is_cjk(each) else len(snapshot.records_with_words(WordPhrase((each,))))
            for each in several
        ]
        found[word] = math.log1p(size / (max(counts) + 0.5))
    return found


def _confidence(
    result: Result, forms: Mapping[str, Sequence[str]], weights: Mapping[str, float]
) -> float:
    record, place = result.record, result.context
    start, end = (place.start, place.end) if place else (0, len(record.text))
    text = f"{record.title}\n{record.text[start:end]}"
    said = sum(
        weights[word]
        for word, several in forms.items()
        if word_matcher(tuple(several)).stands_in(text)
    )
    share = said / (sum(weights.values()) or 1.0)
    cosine = result.scores.get("vector")
    if cosine is None:
        evidence = _SHARE_ALONE * share + _ALONE
    else:
        evidence = _COSINE * cosine + _SHARE * share + _BOTH
    return round(1 / (1 + math.exp(-evidence)), 3)

"""Reranking: the best hits of a search in the order of a model that reads question and text.

It is left out and named in the notices when it fails or takes longer than its time. The model runs
in a thread of its own; a question that waits there is withdrawn when its time is over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from mem_search.contracts import Question, Reranker
from mem_search.errors import MemSearchError, ModelUnavailable
from mem_search.model import Hit, SearchRequest
from mem_search.model.rankings import PassageSpan, Values
from mem_search.rerankers import MissingReranker, open_reranker
from mem_search.settings import Settings
from mem_search.storage.sql.snapshot import SearchSnapshot

log = logging.getLogger(__name__)

TOP = 50
"""Hits that are read again; what each costs is in docs/retrieval.md."""

MAX_TEXT_CHARS = 2_000
"""Characters of a text; a cross-encoder reads 512 tokens."""


class Reranking:
    """One reranker with its thread and its time, in seconds for each search."""

    def __init__(self, reranker: Reranker, seconds: float) -> None:
        self.reranker = reranker
        self._seconds = seconds
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rerank")

    async def order(
        self, question: str, hits: Sequence[Hit], texts: Sequence[str]
    ) -> tuple[Sequence[Hit], str]:
        """``hits`` with the first ``len(texts)`` in the new order, and a notice, which is "" when
        the reranker answered.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._seconds):
                scores = await loop.run_in_executor(
                    self._thread, self.reranker.score, question, texts
                )
        except TimeoutError:
            return hits, self._left_out(f"no answer within {self._seconds:g} s")
        except MemSearchError as error:
            return hits, self._left_out(error.message)
        return [*reordered(hits[: len(texts)], scores), *hits[len(texts) :]], ""

    async def close(self) -> None:
        """Wait for the question at work, if there is one."""
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)
        self.reranker.close()

    def _left_out(self, why: str) -> str:
        name = self.reranker.name
        return f"the reranker {name} is left out ({why}); results keep their order without it"


def open_reranking(settings: Settings) -> Reranking | None:
    """What the settings choose; None for none. Blocks while a model loads.

    A reranker that cannot be opened is named by every search. Raises InputError for a setting
    that is none.
    """
    if not settings.reranker:
        return None
    reranker: Reranker
    seconds = settings.reranker_seconds
    try:
        reranker = open_reranker(
            settings.reranker, settings.models_dir, key=settings.reranker_key, seconds=seconds
        )
    except ModelUnavailable as error:
        log.warning("searches are not reranked until the next start: %s", error)
        reranker = MissingReranker(settings.reranker, error.message)
    return Reranking(reranker, seconds)


def is_reranked(query: SearchRequest, question: Question) -> bool:
    """Whether the page has hits that are read again: not of research, which is repeatable."""
    return (
        query.order == "relevance"
        and query.fusion is None
        and not question.exact
        and query.offset < TOP
    )


def with_first_hits(query: SearchRequest) -> SearchRequest:
    """The search for the page from the first hit on: the same are read again for every page."""
    return replace(query, offset=0, limit=max(TOP, query.offset + query.limit))


def texts_to_rerank(snapshot: SearchSnapshot, hits: Sequence[Hit]) -> list[str]:
    """Title and matching passage of each of the first hits; "" of one that was deleted since it was
    ranked.
    """
    hits = hits[:TOP]
    records = snapshot.records([hit.number for hit in hits])
    spans = snapshot.spans([hit.passage for hit in hits if hit.passage is not None])
    texts = []
    for hit in hits:
        record = records.get(hit.number)
        if record is None:
            texts.append("")
            continue
        start, end, _, above = spans.get(hit.passage or 0, PassageSpan(0, MAX_TEXT_CHARS))
        passage = record.text[start : min(end, start + MAX_TEXT_CHARS)]
        texts.append("\n".join(filter(None, (record.title, above, passage))).strip())
    return texts


def reordered(hits: Sequence[Hit], scores: Values) -> list[Hit]:
    """``hits`` by ``scores``, best first, equal ones in their order.

    The fused scores stay with the places, so that they fall along the page and on to the next.
    """
    order = np.argsort(-scores, kind="stable").tolist()
    return [
        hits[row]._replace(
            score=hits[place].score, scores={**hits[row].scores, "reranker": float(scores[row])}
        )
        for place, row in enumerate(order)
    ]

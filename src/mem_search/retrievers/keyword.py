"""The leg by words: it ranks passages, and a record by its best one."""

from __future__ import annotations

import numpy as np

from mem_search.contracts import Question, Reading
from mem_search.model.rankings import Numbers, Ranking, Values
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.store import SearchStore
from mem_search.text.words import Words, any_of


class KeywordRetriever:
    """BM25 over passages. The statistics, the parameters and the correction for chat turns are the
    store's.
    """

    name = "keyword"
    scores_early = False
    space = ""

    def __init__(self, store: SearchStore) -> None:
        self._store = store

    async def rank(self, question: Question, depth: int) -> Ranking:
        """See ``Retriever``; a question without words has no candidates."""
        return await self._store.read(self._rank, question, depth)

    async def reading(self, question: Question, depth: int) -> Reading:
        """See ``Retriever``: words are always looked up in one read."""
        return lambda snapshot: self._rank(snapshot, question, depth)

    def _rank(self, snapshot: SearchSnapshot, question: Question, depth: int) -> Ranking:
        query = any_of(question.words)
        if query is None:
            return Ranking(self.name, detail="no words to look for")
        words = question.words
        guessed = any_of(Words(near=words.untyped)) if words.untyped else None
        forms = [(*each.words, *each.forms) for each in words.stems]
        candidates, matched = snapshot.word_matches(query, question.filters, depth, guessed, forms)
        unknown = tuple(snapshot.unknown_words(words.words))
        return Ranking(self.name, candidates=candidates, matched=matched, unknown=unknown)

    def score(
        self, snapshot: SearchSnapshot, question: Question, ranking: Ranking, records: Numbers
    ) -> Values:
        """Known without a read: a record that does not match scores 0."""
        return np.nan_to_num(ranking.matched.of(records), copy=False)

    def feedback_scorer(
        self, snapshot: SearchSnapshot, question: Question, passages: Numbers
    ) -> None:
        """None: the words of a question stay what they are."""

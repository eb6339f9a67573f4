"""The word query of a word that records have to have (``model.Term``)."""

from __future__ import annotations

from mem_search.model import Term
from mem_search.text.words import AnyWords, WordPhrase, WordQuery, known_word, runs_of


def word_query(term: Term) -> WordQuery:
    """The query that a passage with ``term`` matches."""
    exact = WordPhrase(term.words)
    if term.form == "exact":
        return exact
    word = "_".join(term.words)
    known = term.near or ((f"{word}*",) if term.form == "prefix" else ())
    alternatives = dict.fromkeys(map(known_word, known))
    if term.form == "wildcard" and not alternatives:
        alternatives = {WordPhrase(runs_of(word)): None}
    if term.form == "fuzzy":
        alternatives = {exact: None, **alternatives}
    return AnyWords(tuple(alternatives))

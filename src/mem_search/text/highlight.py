"""A text with the words of a question set off by asterisks."""

from __future__ import annotations

from collections.abc import Iterable

from mem_search.text.lit import WORD, lit


def highlight(text: str, words: Iterable[str]) -> str | None:
    """``text`` with each word that is one of ``words``, or inflects one, as ``**word**``.

    None when there is none: the record was found by meaning or by a link. ``words`` are
    lower-case; a run of characters without spaces between words is set off where it has one.
    """
    is_lit = lit(tuple(words))
    marked = WORD.sub(lambda match: f"**{match[0]}**" if is_lit(match[0]) else match[0], text)
    return marked if marked != text else None

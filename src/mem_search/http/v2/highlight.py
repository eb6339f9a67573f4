"""A snippet with the words of the question set off by asterisks."""

from __future__ import annotations

import re
from collections.abc import Collection

from mem_search.text.snippets import stem

_WORD = re.compile(r"\w+")


def highlight(text: str, words: Collection[str]) -> str | None:
    """``text`` with each word that is one of ``words``, or inflects one, as ``**word**``.

    None when there is none: the record was found by meaning or by a link. ``words`` are
    lower-case. Runs of characters without spaces between words are set off where they have one.
    """
    stems = {stem(word) for word in words}
    unspaced = [word for word in words if not word.isascii()]

    def mark(match: re.Match[str]) -> str:
        word = match[0].lower()
        found = stem(word) in stems or any(part in word for part in unspaced)
        return f"**{match[0]}**" if found else match[0]

    marked = _WORD.sub(mark, text)
    return marked if marked != text else None

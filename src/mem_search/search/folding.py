"""Folding: near-duplicates stand under the best of them, as a pure function.

What is nearly the same is told by sketches (``text/sketch.py``), among all hits at once, so that
every page of a search folds alike. Only records of one kind fold: a kind is what people
look for. A record that is still current does not hide under one that is superseded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mem_search.model import Hit
from mem_search.text import sketch
from mem_search.text.sketch import Sketches


def fold(
    hits: Sequence[Hit],
    kinds: Mapping[int, str],
    sketched: Collection[int],
    sketches: Sketches,
    superseded: Collection[int] = (),
) -> list[Hit]:
    """``hits``, best first, without those that are ``similar`` to a better one, which names them.

    ``sketches`` has a row for each record of ``sketched``; a hit without one stays as it is.
    """
    if not sketched:
        return [*hits]
    rows = {number: row for row, number in enumerate(sketched)}
    words = sketch.heads(sketches).tolist()
    place = {hit.number: at for at, hit in enumerate(hits)}
    under: dict[int, list[int]] = {}
    standing: dict[tuple[int, int, str], list[int]] = {}
    for hit in hits:
        number = hit.number
        if number not in rows:
            under[number] = []
            continue
        row = rows[number]
        keys = [(column, word, kinds[number]) for column, word in enumerate(words[row])]
        near = [
            other
            for other in {other for key in keys for other in standing.get(key, ())}
            if (number in superseded or other not in superseded)
            and sketch.is_near(sketches[rows[other]], sketches[row])
        ]
        if near:
            under[min(near, key=place.__getitem__)].append(number)
            continue
        under[number] = []
        for key in keys:
            standing.setdefault(key, []).append(number)
    return [
        hit._replace(similar=tuple(under[hit.number])) if under[hit.number] else hit
        for hit in hits
        if hit.number in under
    ]

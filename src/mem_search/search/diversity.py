"""Diversity: results of one session make room for those of others, as a pure function.

Off unless it is asked for: on chats, where what belongs together stands in one session, it costs
recall (docs/retrieval.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from mem_search.model import Hit


def spread(hits: Sequence[Hit], sessions: Mapping[int, int], per_session: int) -> list[Hit]:
    """``hits`` in rounds of at most ``per_session`` (1 or more) of each session.

    The order within a round is theirs. ``sessions`` are numbers; a hit whose is 0, or that has
    none, is in the first round.
    """
    seen: Counter[int] = Counter()
    rounds: list[int] = []
    for hit in hits:
        session = sessions.get(hit.number, 0)
        rounds.append(seen[session] // per_session if session else 0)
        seen[session] += 1
    return [hits[at] for at in sorted(range(len(hits)), key=rounds.__getitem__)]

"""Diversity: results of one session make room for those of others, as a pure function.

Off unless it is asked for: on chats, where what belongs together stands in one session, it costs
recall (docs/retrieval.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from mem_search.model import Hit


def spread(
    hits: Sequence[Hit], sessions: Mapping[int, Hashable], per_session: int | None
) -> list[Hit]:
    """``hits`` in rounds of at most ``per_session`` (1 or more) of each session.

    The order within a round is theirs. A hit that is in none of the ``sessions`` is in the first
    round.
    """
    if per_session is None:
        return [*hits]
    seen: Counter[Hashable] = Counter()
    rounds: list[int] = []
    for hit in hits:
        session = sessions.get(hit.number)
        rounds.append(0 if session is None else seen[session] // per_session)
        seen[session] += 1
    return [hits[at] for at in sorted(range(len(hits)), key=rounds.__getitem__)]

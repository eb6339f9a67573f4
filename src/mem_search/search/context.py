"""Context: what stands around a record in its conversation raises it, as a pure function.

A chat turn answers together with its neighbours, and a session where several records match is
more likely the one meant. Weights and their flat optimum are in docs/retrieval.md. Only what
speaks for a record is passed on: negative scores count as nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mem_search.model import KINDS
from mem_search.retrievers.keyword import CHAT_KINDS

NEIGHBOURS: Mapping[int, float] = {-1: 0.4, 1: 0.3, -2: 0.2, 2: 0.1}
"""Weight of a neighbour's score by its distance: the turn before helps most."""

SESSION_WEIGHT = 0.5
SESSION_DEPTH = 3
SESSION_KINDS = CHAT_KINDS | {"observation"}

Scores = NDArray[np.float64]
_CHAT = [place for place, kind in enumerate(KINDS) if kind in CHAT_KINDS]
_SESSION = [place for place, kind in enumerate(KINDS) if kind in SESSION_KINDS]


@dataclass(frozen=True, slots=True)
class Places:
    """Where records stand, as columns in the order of the union.

    ``conversations`` are numbers, 0 for none; ``positions`` count a kind in its conversation.
    """

    kinds: NDArray[np.uint8]
    conversations: NDArray[np.int64]
    positions: NDArray[np.int32]


def add_context(fused: Scores, places: Places) -> dict[str, Scores]:
    """What context adds to each record, by reason: ``neighbours`` and ``session``."""
    support = np.maximum(fused, 0.0)
    chats = np.isin(places.kinds, _CHAT)
    mixed = bool(len(places.kinds)) and bool((places.kinds != places.kinds[0]).any())
    nothing = np.zeros(len(fused))
    return {
        "neighbours": nothing if mixed or not chats.any() else _neighbours(support, places, chats),
        "session": _session(support, places, mixed=mixed),
    }


def _neighbours(support: Scores, places: Places, chats: NDArray[np.bool_]) -> Scores:
    rows = np.flatnonzero(chats & (places.conversations > 0)).tolist()
    stands = list(
        zip(places.conversations.tolist(), places.kinds.tolist(), places.positions.tolist(),
            strict=True)
    )  # fmt: skip
    at = {stands[row]: row for row in rows}
    added = np.zeros(len(support))
    for row in rows:
        conversation, kind, position = stands[row]
        for distance, weight in NEIGHBOURS.items():
            neighbour = at.get((conversation, kind, position + distance))
            if neighbour is not None:
                added[row] += weight * support[neighbour]
    return added


def _session(support: Scores, places: Places, *, mixed: bool) -> Scores:
    """Half the mean of the best three of a conversation, for each of its members."""
    counts = places.conversations > 0
    if not mixed:
        counts = counts & np.isin(places.kinds, _SESSION)
    added = np.zeros(len(support))
    rows = np.flatnonzero(counts)
    if not len(rows):
        return added
    _, group = np.unique(places.conversations[rows], return_inverse=True)
    order = np.lexsort((-support[rows], group))
    first = np.searchsorted(group[order], np.arange(group.max() + 1))
    place_in_group = np.arange(len(rows)) - first[group[order]]
    best = order[place_in_group < SESSION_DEPTH]
    sums = np.bincount(group[best], weights=support[rows][best])
    added[rows] = SESSION_WEIGHT * sums[group] / SESSION_DEPTH
    return added

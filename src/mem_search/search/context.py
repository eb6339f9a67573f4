"""Context: what stands around a record in its conversation raises it, as a pure function.

A chat turn answers together with its neighbours, and a session where several records match is
more likely the one meant. Weights and their flat optimum are in docs/retrieval.md. Only what
speaks for a record is passed on: negative scores count as nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mem_search.retrievers.keyword import CHAT_KINDS

NEIGHBOURS: Mapping[int, float] = {-1: 0.4, 1: 0.3, -2: 0.2, 2: 0.1}
"""Weight of a neighbour's score by its distance: the turn before helps most."""

SESSION_WEIGHT = 0.5
SESSION_DEPTH = 3
SESSION_KINDS = CHAT_KINDS | {"observation"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands: its conversation and its position among its kind there."""

    kind: str
    conversation: tuple[str, str]
    position: int


def add_context(
    fused: Mapping[int, float], places: Mapping[int, Place]
) -> dict[str, dict[int, float]]:
    """What context adds to each record, by reason: ``neighbours`` and ``session``."""
    support = {record: max(0.0, score) for record, score in fused.items()}
    mixed = len({places[record].kind for record in fused if record in places}) > 1
    return {
        "neighbours": {} if mixed else _neighbours(support, places),
        "session": _session(support, places, mixed=mixed),
    }


def _neighbours(support: Mapping[int, float], places: Mapping[int, Place]) -> dict[int, float]:
    at = {
        (place.conversation, place.kind, place.position): record
        for record, place in places.items()
        if place.conversation[1] and place.kind in CHAT_KINDS
    }
    added: dict[int, float] = defaultdict(float)
    for (conversation, kind, position), record in at.items():
        for distance, weight in NEIGHBOURS.items():
            neighbour = at.get((conversation, kind, position + distance))
            if neighbour is not None:
                added[record] += weight * support.get(neighbour, 0.0)
    return dict(added)


def _session(
    support: Mapping[int, float], places: Mapping[int, Place], *, mixed: bool
) -> dict[int, float]:
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for record, place in places.items():
        if place.conversation[1] and (mixed or place.kind in SESSION_KINDS):
            members[place.conversation].append(record)
    return {
        record: SESSION_WEIGHT * _mean_of_best([support.get(member, 0.0) for member in group])
        for group in members.values()
        for record in group
    }


def _mean_of_best(scores: Sequence[float]) -> float:
    return sum(sorted(scores, reverse=True)[:SESSION_DEPTH]) / SESSION_DEPTH

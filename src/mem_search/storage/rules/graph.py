"""The graph of records: how far a walk goes, and how edges count. Stores read the edges.

Edges between records that share a file, issue, page or symbol are derived on request (``ties``) and
never stored: n records of one file would be n² edges. The strength of a shared item is divided by
the number of its records; with less damping common files outweigh explicit links (docs/graph.md).
An item of more than ``MAX_MEMBERS`` records links none of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final

from mem_search.model.graph import Edge, GraphLabel, GraphWalk, Relationship

MAX_DEPTH: Final = 5
MAX_NODES: Final = 300
"""Most records of a walk; further ones add time and hardly any mass."""
MAX_EXPANDED: Final = 60
"""Most records of one distance from which the walk continues, those with the strongest edges."""
MAX_EDGES: Final = 5000
"""Stored edges read in one step."""

FOLLOWS: Final = 0.5
SAME_SESSION: Final = 0.4
MAX_SUMMARISED_MEMBERS: Final = 50
"""Members of a session that have an edge to its summary, at most."""

MAX_MEMBERS: Final = 50
MAX_FILES: Final = 30
"""A record that touched more files than this is about none of them."""
MAX_HUBS: Final = 300
"""Most items that one step looks up; those of earlier records come first."""
MAX_SHARED_FILE_ROWS: Final = 2000
"""Rows of one file in all projects beyond which it counts as a file of every project."""

FACETS: Final = ("file_modified", "file_read", "path")
SHARED: Final = {
    "path": ("same_file", 0.1),
    "issue": ("same_issue", 0.12),
    "url": ("same_page", 0.1),
    "symbol": ("same_symbol", 0.08),
    "commit": ("same_commit", 0.12),
    "title": ("same_title", 0.1),
    "id": ("same_target", 0.12),
    "ref": ("same_target", 0.12),
}
"""Prefix of a key → relation, and the strength between the only two records that share it."""

Hub = tuple[str, str]
"""(the key of an item, its project or "")."""

Tie = tuple[int, int, str, float]
"""(the record of the lower number, the other, relation, strength)."""

RecordName = tuple[int, str, str, int | None]
"""(record, the key of what it names, its project, the record that the key means, if any)."""


def walk(
    neighbours: Callable[[Sequence[int]], list[Edge]],
    seeds: Collection[int],
    depth: int,
    most: int = MAX_NODES,
) -> GraphWalk:
    """The records within ``depth`` (1 to 5) steps of ``seeds``; ``neighbours`` has the edges of
    some records. Where more than ``most`` records are in reach, those with the strongest edges are
    kept.
    """
    depths = dict.fromkeys(seeds, 0)
    edges: list[Edge] = []
    frontier = list(depths)
    for step in range(1, min(depth, MAX_DEPTH) + 1):
        onward = frontier[: max(MAX_EXPANDED, len(seeds))]
        next_edges = neighbours(onward)
        pull: dict[int, float] = defaultdict(float)
        for edge in next_edges:
            for end in (edge.start, edge.end):
                if end not in depths:
                    pull[end] += edge.strength
        frontier = sorted(pull, key=lambda number: (-pull[number], number))
        frontier = frontier[: max(0, most - len(depths))]
        depths |= dict.fromkeys(frontier, step)
        edges += next_edges
        if not frontier:
            break
    kept = (edge for edge in edges if edge.start in depths and edge.end in depths)
    return GraphWalk(depths, tuple(distinct(kept)))


def relationships(
    numbers: Sequence[int], edges: Sequence[Edge], labels: Mapping[int, GraphLabel]
) -> dict[int, tuple[Relationship, ...]]:
    """For each of ``numbers`` what ``edges`` relate it to, strongest first; ``labels`` of all."""
    sides: dict[int, list[Relationship]] = {number: [] for number in numbers}
    for edge in edges:
        for one, other in ((edge.start, edge.end), (edge.end, edge.start)):
            if one in sides:
                to = labels[other].ref
                sides[one].append(Relationship(to, edge.relation, edge.strength))
    return {
        number: tuple(sorted(related, key=lambda item: (-item.strength, item.to, item.relation)))
        for number, related in sides.items()
    }


def distinct(edges: Iterable[Edge]) -> list[Edge]:
    """One edge a relation and pair, the strongest."""
    best: dict[tuple[int, int, str], Edge] = {}
    for edge in edges:
        key = edge[:3]
        known = best.get(key)
        if known is None or known.strength < edge.strength:
            best[key] = edge
    return sorted(best.values(), key=itemgetter(0, 1, 2))


def ties(
    named: Sequence[RecordName],
    members_of: Callable[[Collection[Hub]], Mapping[Hub, set[int]]],
    passing: Callable[[Collection[int]], set[int]],
) -> list[Tie]:
    """Edges to other records that pass through items that both name, from the records of ``named``.

    ``members_of`` has the records that name each item, one more than ``MAX_MEMBERS`` at most of
    each sort. Several shared items of one sort make one edge, stronger than each.
    """
    hubs: dict[Hub, set[int]] = {}
    # Two records with edges to the same visible record are already linked through it.
    targets = {target for *_, target in named if target is not None}
    seen = passing(targets)
    for number, key, project, target in named:
        if target in seen:
            continue
        scope = project if key.startswith("path:") and not key.startswith("path::") else ""
        if (key, scope) in hubs or len(hubs) < MAX_HUBS:
            hubs.setdefault((key, scope), set()).add(number)
    by_hub = members_of(hubs)
    small = {hub: members for hub, members in by_hub.items() if len(members) <= MAX_MEMBERS}
    within = passing(set().union(*small.values()))
    missing: dict[tuple[int, int, str], float] = {}
    for hub, everybody in small.items():
        members = everybody & within
        if len(members) < 2:
            continue
        relation, strength = SHARED[hub[0].partition(":")[0]]
        strength /= len(members) - 1
        asked = hubs[hub]
        for number in asked:
            for member in members:
                if number < member:
                    tie = (number, member, relation)
                elif number == member or member in asked:
                    continue  # two requested records are linked once
                else:
                    tie = (member, number, relation)
                missing[tie] = missing.get(tie, 1.0) * (1.0 - strength)
    return [(*tie, 1.0 - left) for tie, left in missing.items()]


def key_of_file(path: str, project: str) -> str:
    """The key that ``ingest/edges.py`` writes for a path in a text; "" for an ambiguous one."""
    path = path.removeprefix("./")
    if path.startswith(("/", "~")):
        return f"path::{path}"
    return f"path:{project.lower()}:{path}" if project else ""

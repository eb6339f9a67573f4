"""Edges between records that share a file, issue, page or symbol, derived on request.

Such edges are never stored: n records of one file would be n² edges. The strength of a shared item
is divided by the number of its records; with less damping common files outweigh explicit links
(docs/graph.md). An item of more than ``MAX_MEMBERS`` records links none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

MAX_MEMBERS: Final = 50
MAX_FILES: Final = 30
"""A record that touched more files than this is about none of them."""
MAX_HUBS: Final = 300
"""Most items that one step looks up; those of earlier records come first."""
SCANNED: Final = 2000
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

Named = tuple[int, str, str, int | None]
"""(record, the key of what it names, its project, the record that the key means, if any)."""


def ties(
    named: Sequence[Named],
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
    found = members_of(hubs)
    small = {hub: members for hub, members in found.items() if len(members) <= MAX_MEMBERS}
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

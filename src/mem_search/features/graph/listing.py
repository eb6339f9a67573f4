"""The listing of related records, a line for each with its relations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mem_search.model import Record, Ref
from mem_search.renderers.record_line import DisplayOptions, index_line, name_of
from mem_search.renderers.safe_text import cut

_RELATIONS_SHOWN = 2
_RELATION_LENGTH = 40


def render_related(
    centre: Record,
    related: Sequence[tuple[Record, int]],
    edges: Iterable[tuple[Ref, Ref, str]],
    display: DisplayOptions,
) -> str:
    """A heading for ``centre`` and the related records, best first, grouped by distance.

    ``related`` has (record, distance); ``edges`` (one end, the other, relation), strongest first.
    """
    if not related:
        return (
            f"No results found related to {name_of(centre, display)}\n\n"
            "Try: more depth, or no relation, or a search for its title"
        )
    numbers = {record.ref: record.number for record, _ in related} | {centre.ref: centre.number}
    depths = {record.ref: depth for record, depth in related} | {centre.ref: 0}
    ties: dict[Ref, list[str]] = {}
    for start, end, relation in edges:
        name = cut(relation, _RELATION_LENGTH)
        same = name.startswith("same_")
        for one, other in ((start, end), (end, start)):
            # Only the edges towards the centre; the other lines show the rest.
            if one in numbers and other in numbers and depths[other] == depths[one] - 1:
                named = f"#{numbers[other]}"
                if same:
                    phrase = f"{name.replace('_', ' ')} as {named}"
                else:
                    phrase = f"{name} {named}" if one == start else f"{named} {name} it"
                ties.setdefault(one, []).append(phrase)
    blocks = [f"Found {len(related)} record(s) related to {name_of(centre, display)}"]
    for depth in sorted({depth for _, depth in related}):
        steps = "1 step away" if depth == 1 else f"{depth} steps away"
        lines = [
            f"{index_line(record, display)}  <- {', '.join(ties[record.ref][:_RELATIONS_SHOWN])}"
            if record.ref in ties
            else index_line(record, display)
            for record, distance in related
            if distance == depth
        ]
        blocks.append("\n".join([f"### {steps}", *lines]))
    return "\n\n".join(blocks)

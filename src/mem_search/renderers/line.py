"""The one line by which a record is named in every listing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mem_search.model import Record, Ref
from mem_search.renderers.safe_text import cost, cut_to_cost
from mem_search.renderers.view import View

_PARTS = ("rank", "z", "bonus", "weight")


def explanation(scores: Mapping[str, float]) -> Iterator[str]:
    """``    why: keyword 4.2 = #1 1×(1.9+1) · vector 0.61 = #2 1×(1.2+0.5) · neighbours +0.3``.

    Nothing when the scores were not taken apart.
    """
    legs = list(dict.fromkeys(name.partition(".")[0] for name in scores if "." in name))
    if not legs:
        return
    parts = [_leg(name, scores) for name in legs]
    added = (item for item in told(scores) if item[0] not in (*legs, "fused"))
    parts += [f"{name} {value:+.3g}" for name, value in added]
    yield "    why: " + " · ".join(parts)


def told(scores: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """The scores without what they are made of."""
    return ((name, value) for name, value in scores.items() if "." not in name)


def _leg(name: str, scores: Mapping[str, float]) -> str:
    rank, z, bonus, weight = (scores.get(f"{name}.{part}") for part in _PARTS)
    raw = f"{scores[name]:.3g}" if name in scores else "unknown"
    place = "unranked" if rank is None else f"#{rank:.0f}"
    return f"{name} {raw} = {place} {weight or 0:.3g}×({z or 0:.3g}{bonus or 0:+.3g})"


_TITLE_COST = 120
"""Quarters of a token. With some 25 tokens of frame a line stays under 60 in any script."""

_LEAST_TITLE = 20
"""Of that a title keeps so much beside the longest marks."""


def name_of(record: Record, view: View, beside: str = "") -> str:
    """``🟣 Observation #5678 - Added login endpoint``, so long that ``beside`` fits as well."""
    kind = view.kinds(record.kind)
    title = cut_to_cost(kind.title(record), max(_LEAST_TITLE, _TITLE_COST - cost(beside)))
    return f"{kind.icon(record)} {kind.label} #{record.number} - {title}"


def index_line(record: Record, view: View, similar: Sequence[Ref] = ()) -> str:
    """``🟣 Observation #5678 - Added login endpoint (Nov 17, 5:45 PM)``, and its ``marks``."""
    said = marks(record, similar)
    return f"{name_of(record, view, said)} ({view.date(record.created_at)}){said}"


def marks(record: Record, similar: Sequence[Ref] = ()) -> str:
    """`` [superseded by #14]``, `` [supersedes #9; 3 similar: #7, …]``; empty where there is none.

    ``similar`` are the near-duplicates that are folded under the record.
    """
    said = []
    if record.superseded_by is not None:
        said.append(f"superseded by #{record.superseded_by.number}")
    if older := record.supersedes:
        said.append(f"supersedes {_told(older) if len(older) == 1 else _counted(older, '')}")
    if similar:
        said.append(_counted(similar, " similar"))
    return f" [{'; '.join(said)}]" if said else ""


def _counted(refs: Sequence[Ref], what: str) -> str:
    return f"{len(refs)}{what}: {_told(refs)}"


def _told(refs: Sequence[Ref]) -> str:
    return f"#{refs[0].number}{', …' if len(refs) > 1 else ''}"

"""Why a record stands where it does: the parts of its score in one line.

The names are those of ``search.fusion.explain``: ``vector.z`` is a part of the leg ``vector``,
a name without a point stands for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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

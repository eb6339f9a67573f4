"""Numbers with their nouns, and lists, in English: ``2 records``, ``a, b and c``."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str, plural: str = "") -> str:
    """``number`` and its noun, in the plural unless it is one."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def listed(names: Sequence[str]) -> str:
    """``a, b and c``; empty for none."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))

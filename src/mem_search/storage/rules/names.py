"""Names that edges point at: a commit is named by the beginning of its hash, too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

SHORTEST_HASH: Final = 7
LONGEST_HASH: Final = 64
_COMMIT: Final = "commit:"


def shortened(names: Iterable[str]) -> list[str]:
    """The shorter names of the commits among ``names``."""
    prefix = len(_COMMIT)
    return [
        name[: prefix + length]
        for name in names
        if name.startswith(_COMMIT)
        for length in range(SHORTEST_HASH, min(len(name) - prefix, LONGEST_HASH))
    ]

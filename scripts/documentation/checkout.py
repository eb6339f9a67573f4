"""The Markdown documents of this checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

_PLACES = ("*.md", "docs/**/*.md", "plugin/**/*.md")


def documents(root: Path) -> list[Path]:
    """Every Markdown document under ``root``, in a fixed order."""
    return sorted({file for place in _PLACES for file in root.glob(place)})

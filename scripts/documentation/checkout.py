"""The Markdown documents of this checkout, and the modules that they name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = "src/mem_search"
_MERMAID: Final = re.compile(r"^```mermaid\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NAMED: Final = re.compile(r"`((?:[\w-]+/)+(?:[\w-]+\.py)?|[\w-]+\.py)`")
_DRAWN: Final = re.compile(r"(?<![\w</])((?:\w+/)+(?:\w+\.py)?|\w+\.py)")
_PLACES: Final = ("*.md", "docs/**/*.md", "plugin/**/*.md")


def documents(root: Path) -> list[Path]:
    """Every Markdown document under ``root``, in a fixed order."""
    return sorted({file for place in _PLACES for file in root.glob(place)})


def unknown_modules(text: str, root: Path) -> list[str]:
    """The modules and packages that ``text`` names and the checkout at ``root`` does not have.

    In a drawing (mermaid) every name counts, elsewhere a path in backticks that begins with a
    package of ours, a folder of the checkout or nothing: ``wiring.py``. ``NAME`` stands for any.
    """
    package = root / PACKAGE
    drawn = [name for block in _MERMAID.findall(text) for name in _DRAWN.findall(block)]
    named = [name for name in _NAMED.findall(_MERMAID.sub("", text)) if _is_ours(name, root)]
    return [
        name
        for name in dict.fromkeys([*drawn, *named])
        if not (package / name).exists() and not (root / name).exists()
    ]


def _is_ours(name: str, root: Path) -> bool:
    first = name.split("/")[0]
    if "NAME" in name or not name.endswith(".py"):
        return False
    if first == "src":
        return name.startswith(f"{PACKAGE}/")
    return (root / PACKAGE / first).is_dir() or (root / first).is_dir()

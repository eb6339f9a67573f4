"""The Markdown documents of this checkout, as paths and as records to import.

Run as a program it prints one record a line for ``mem-search import jsonl -``: kind ``file``, the
first heading as the title, the project of the checkout's git history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mem_search.projects import identify

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCE: Final = "docs"

_PLACES = ("*.md", "docs/**/*.md", "plugin/**/*.md")
_HEADING = re.compile(r"^#+\s+(.+?)\s*$", re.MULTILINE)


def documents(root: Path) -> list[Path]:
    """Every Markdown document under ``root``, in a fixed order."""
    return sorted({file for place in _PLACES for file in root.glob(place)})


def as_records(root: Path) -> Iterator[dict[str, Any]]:
    """The documents in the exchange format (docs/guide.md)."""
    project = identify(root).name
    for file in documents(root):
        path = file.relative_to(root).as_posix()
        text = file.read_text("utf-8")
        heading = _HEADING.search(text)
        changed = int(file.stat().st_mtime * 1000)
        yield {
            "kind": "file",
            "source": SOURCE,
            "source_id": f"{project}/{path}",
            "title": heading[1] if heading else path,
            "text": text,
            "created_at": changed,  # the best that a checkout knows; else it would be "now"
            "updated_at": changed,
            "project": project,
            "metadata": {"path": path, "language": "markdown"},
        }


if __name__ == "__main__":
    for record in as_records(ROOT):
        print(json.dumps(record))

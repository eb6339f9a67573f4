"""The documents that tell a story: run their commands in order, and write their output again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from checkout import ROOT
from examples import SHOWN_MARK, Shell, examples, story_day
from person import move_in

STORIES: Final = ("docs/getting-started.md", "docs/cookbook.md", "README.md")
"""In the order in which they are told: one after the other, in one home."""


def told(shell: Shell, name: str) -> tuple[str, str]:
    """(the document ``name`` as it is, the same with what its commands print today).

    Raises RuntimeError for a command that fails.
    """
    text = (ROOT / name).read_text("utf-8")
    parts, last = [], 0
    shell.new_document()
    for each in examples(text):
        if each.elsewhere:
            continue
        code, printed = shell.ran(each.command)
        if code:
            raise RuntimeError(f"{name}: {each.command} ends with {code}:\n{printed}")
        shell.settle()
        if each.printed is None:
            continue
        start, end = each.place
        gap = "\n" if text.startswith("$ ", end) else ""
        parts += [text[last:start], f"{printed.strip()}\n{gap}" if printed.strip() else ""]
        last = end
    return text, "".join([*parts, text[last:]])


def written() -> Iterator[str]:
    """Write every story again; yields the names of those that changed."""
    today = datetime.now(UTC).date()
    with TemporaryDirectory() as folder:
        home = Path(folder) / "me"
        move_in(home)
        with Shell(home, os.environ) as shell:
            for name in STORIES:
                before, after = told(shell, name)
                if before != after:
                    day = story_day(before)
                    assert day is not None, f"{name} does not begin with {SHOWN_MARK}"
                    (ROOT / name).write_text(after.replace(f"{day}", f"{today}", 1), "utf-8")
                    yield name

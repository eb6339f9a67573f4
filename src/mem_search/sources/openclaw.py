"""The source `openclaw`: sessions of OpenClaw's agents become prompts, steps of work, summaries."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mem_search.sources.agent_work.pi_entries import PiEntries


class OpenClaw(PiEntries):
    """A session is a file ``agents/AGENT/sessions/….jsonl`` below ``~/.openclaw``."""

    name = "openclaw"
    label = "OpenClaw"
    usual, folder = ".openclaw", "agents"
    variables = ("OPENCLAW_STATE_DIR",)

    def files_to_keep(self, root: Path) -> Iterable[Path]:
        """OpenClaw deletes sessions where ``session.maintenance`` says so."""
        return [path for path, _ in self._below(root)]

    def recognises(self, path: Path) -> bool:
        place = path.parts[-4:]
        return path.suffix == ".jsonl" and place[0:1] == ("agents",) and place[2:3] == ("sessions",)

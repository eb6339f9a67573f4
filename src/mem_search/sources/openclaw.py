"""The source `openclaw`: sessions of OpenClaw's agents become prompts, steps of work, summaries."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mem_search.contracts import FileFormat, Machine
from mem_search.model import Location
from mem_search.sources.agent_work.pi_entries import PiEntries

NAME: Final = "openclaw"


class OpenClaw(PiEntries):
    """A session is a file ``agents/AGENT/sessions/….jsonl`` below ``~/.openclaw``."""

    name = NAME
    file_format = FileFormat((".jsonl",))

    def discover(self, machine: Machine) -> Iterable[Location]:
        given = machine.environ.get("OPENCLAW_STATE_DIR", "")
        root = (Path(given).expanduser() if given else machine.home / ".openclaw") / "agents"
        if root.is_dir():
            yield Location(NAME, str(root), label="OpenClaw sessions")

    def recognises(self, path: Path) -> bool:
        place = path.parts[-4:]
        return path.suffix == ".jsonl" and place[0:1] == ("agents",) and place[2:3] == ("sessions",)

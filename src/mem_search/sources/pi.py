"""The source `pi`: sessions of the coding agent pi become prompts, steps of work and summaries."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mem_search.contracts import Machine
from mem_search.model import Location
from mem_search.patterns import pattern
from mem_search.sources.agent_work.pi_entries import PiEntries

_FILE: Final = pattern(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d+Z_[\w-]+\.jsonl")


class Pi(PiEntries):
    """A session is a file below ``~/.pi/agent/sessions``, in the folder of its directory."""

    name = "pi"
    label = "pi"
    usual, folder = ".pi/agent", "sessions"
    variables = ("PI_CODING_AGENT_DIR",)

    def discover(self, machine: Machine) -> Iterable[Location]:
        given = machine.environ.get("PI_CODING_AGENT_SESSION_DIR", "")
        root = Path(given).expanduser()
        if not given:
            yield from super().discover(machine)
        elif root.is_dir():
            yield Location(self.name, str(root), label="pi sessions")

    def recognises(self, path: Path) -> bool:
        return _FILE.fullmatch(path.name) is not None

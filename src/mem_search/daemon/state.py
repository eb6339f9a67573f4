"""``worker.json``: the description that a running worker leaves in its home."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from mem_search.errors import StorageError


@dataclass(frozen=True, slots=True)
class WorkerState:
    """``started_at`` is RFC 3339 in UTC; ``instance_id`` is new with every start."""

    pid: int
    port: int
    url: str
    version: str
    started_at: str
    home: str
    instance_id: str


def read_state(file: Path) -> WorkerState | None:
    """The content of the file; None when it is missing or not in this format."""
    try:
        return WorkerState(**json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_state(file: Path, state: WorkerState) -> None:
    """Replace the file atomically, readable only by its owner. Raises StorageError."""
    name = ""
    try:
        handle, name = tempfile.mkstemp(prefix=".worker-", dir=file.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as part:
            json.dump(asdict(state), part, indent=1)
            part.write("\n")
        Path(name).replace(file)
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        raise StorageError(f"cannot write {file}: {error.strerror}") from error

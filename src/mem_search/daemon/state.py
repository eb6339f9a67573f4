"""``worker.json``: the description that a running worker leaves in its home."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from mem_search.daemon import elsewhere
from mem_search.errors import UNWRITABLE, StorageError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerState:
    """``started_at`` is RFC 3339 in UTC; ``instance_id`` is new with every start.

    ``process`` tells its process from a later one with the same pid. ``key`` proves who answers at
    the port (``access/proof``). ``socket`` is the path of its Unix socket; where that is empty,
    ``no_socket`` says why. A worker that starts has all of it, and answers a moment later. What an
    older version did not write is empty, so that its worker can still be ended.
    """

    pid: int
    port: int
    url: str
    version: str = ""
    started_at: str = ""
    home: str = ""
    instance_id: str = ""
    process: str = ""
    key: str = ""
    socket: str = ""
    no_socket: str = ""


def read_state(file: Path) -> WorkerState | None:
    """The content of the file; None when it is missing or not in this format."""
    try:
        text = elsewhere.read(str(file.parent))
        if not text and not file.is_file():  # a pipe would never end
            return None
        content = json.loads(text or file.read_text("utf-8"))
        # Fields that a newer version adds are not ours to read.
        names = [each.name for each in fields(WorkerState) if each.name in content]
        return WorkerState(**{name: content[name] for name in names})
    except (OSError, ValueError, TypeError):
        return None


def write_state(file: Path, state: WorkerState) -> None:
    """Replace the file atomically, readable only by its owner. Raises StorageError.

    Where its folder cannot be written for want of room, the text is ``elsewhere``.
    """
    text, name = json.dumps(asdict(state), indent=1) + "\n", ""
    try:
        handle, name = tempfile.mkstemp(prefix=".worker-", dir=file.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as part:
            part.write(text)
        Path(name).replace(file)
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        if error.errno not in UNWRITABLE:
            raise StorageError(f"cannot write {file}: {error.strerror}") from error
        try:
            place = elsewhere.write(str(file.parent), text)
        except OSError as last:
            raise StorageError(
                f"cannot write {file} ({error.strerror}), nor a file beside it ({last})"
            ) from error
        log.warning("cannot write %s (%s); it is %s", file, error.strerror, place)


def clear_state(file: Path) -> None:
    """Remove what a worker of this home wrote. Raises StorageError."""
    elsewhere.remove(str(file.parent))
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise StorageError(f"cannot remove {file}: {error.strerror}") from error

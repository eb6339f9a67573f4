"""Finding the transcripts of a location. Nothing is opened here and no link is followed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mem_search.errors import SourceError

SUFFIX: Final = ".jsonl"
_OBSERVERS = "observer-sessions"


@dataclass(slots=True)
class Found:
    """Transcripts by relative path, and why other paths are left; both in order."""

    files: dict[str, Path] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)


def transcripts(root: Path) -> Found:
    """What lies at ``root``, a folder or one file. Raises SourceError if it cannot be listed.

    In this order a session comes right before its subagents.
    """
    if root.is_file():
        if root.suffix != SUFFIX:
            raise SourceError(f"{root} is no transcript; transcripts are called *{SUFFIX}")
        return Found(files={root.name: root})
    if not root.is_dir():
        raise SourceError(f"no transcripts at {root}: there is no such file or folder")
    files: dict[str, Path] = {}
    left: dict[str, str] = {}

    def refuse(error: OSError) -> None:
        folder = Path(error.filename)
        if folder == root:
            raise SourceError(f"cannot list {root}: {error.strerror}") from error
        # One closed folder must not hide all the others.
        left[folder.relative_to(root).as_posix()] = f"cannot be listed: {error.strerror}"

    for folder, folders, names in os.walk(root, onerror=refuse):
        for name in [*folders, *(name for name in names if name.endswith(SUFFIX))]:
            path = Path(folder, name)
            relative = path.relative_to(root)
            if path.is_symlink():
                left[relative.as_posix()] = "a link; transcripts are read where they lie"
            elif name in folders:
                continue
            elif any(part.endswith(_OBSERVERS) for part in relative.parts[:-1]):
                left[relative.as_posix()] = "claude-mem watching another session"
            else:
                files[relative.as_posix()] = path
    return Found(files=dict(sorted(files.items())), left=dict(sorted(left.items())))


def session_of(path: Path) -> Path | None:
    """The transcript of the session that a subagent at ``path`` worked for, if there is one."""
    if path.parent.name != "subagents":
        return None
    parent = path.parent.parent.with_name(path.parent.parent.name + SUFFIX)
    return parent if parent.is_file() else None


def is_elsewhere(path: Path, session: str) -> bool:
    """Whether ``session`` has a transcript of its own beside ``path``.

    Lines of it in ``path`` are then copies, made when the session was resumed or forked.
    """
    if not session or path.stem == session or path.stem.startswith("agent-"):
        return False
    # A session id is a name here, never a path.
    return Path(session).name == session and path.with_name(session + SUFFIX).is_file()

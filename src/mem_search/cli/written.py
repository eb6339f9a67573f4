"""What the command line writes outside the home, remembered in ``written.json`` to be taken back.

Settings of agents are remembered by ``agents.installing``; a service is found by its place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from mem_search.errors import StorageError
from mem_search.regular_file import MAX_SETTINGS, read_regular_file
from mem_search.settings import home_of

FILE: Final = "written.json"
_SHELLS: Final = (
    ".bashrc", ".bash_completions/mem-search.sh", ".zshrc", ".zfunc/_mem-search",
    ".config/fish/completions/mem-search.fish",
)  # fmt: skip
"""What Typer's completion writes below a person's home, by shell."""


@dataclass(frozen=True, slots=True)
class Written:
    """``text`` is what we added to a file, all of one that we ``made``; of a link, its target."""

    file: str
    text: str
    made: bool = False
    link: bool = False


def remember(row: Written) -> None:
    """Note what was written. Raises StorageError."""
    home = home_of(os.environ)
    rows = [
        each
        for each in remembered(home)
        if each != row and not (row.made and each.file == row.file)
    ]
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(home / FILE, json.dumps([asdict(each) for each in (*rows, row)], indent=1) + "\n", 0o600)


def remembered(home: Path) -> list[Written]:
    """What was written, oldest first. Raises StorageError for a damaged list."""
    file = home / FILE
    try:
        return [Written(**row) for row in json.loads(file.read_text("utf-8"))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise StorageError(f"cannot read {file}: {error}; remove it, then try again") from error


@contextmanager
def remembering_completion() -> Iterator[None]:
    """Remember what the block adds to the files of shells."""
    person = Path(os.environ.get("HOME") or Path.home())
    files = [person / name for name in _SHELLS]
    before = [_text(file) for file in files]
    ours = {row.file: row.text for row in remembered(home_of(os.environ)) if row.made}
    try:
        yield
    finally:
        for file, old in zip(files, before, strict=True):
            new = _text(file)
            if new is None or new == old:
                continue
            if old is None or ours.get(str(file)) == old:
                remember(Written(str(file), new, made=True))
            elif new.strip() == old.strip():  # Typer adds a blank line each time
                _write(file.resolve(), old, file.stat().st_mode & 0o777)
            # A file of blank lines had nothing that the new text could stand behind.
            elif added := new.partition(old.strip())[2] if old.strip() else new:
                remember(Written(str(file), added))


def take_back(row: Written) -> str:
    """Remove what ``row`` names; returns what happened. Raises StorageError."""
    file = Path(row.file)
    if row.link:
        if not file.is_symlink() or str(file.readlink()) != row.text:
            return "left: it is not our link any more"
        return _removed(file)
    now = _text(file)
    if now is None:
        return "is gone already"
    if file.name == ".zshrc" and any(file.with_name(".zfunc").glob("_*")):
        return "left: other completions in ~/.zfunc need the lines"
    if row.made and now == row.text:
        return _removed(file)
    if row.text not in now:
        return "left: changed by hand since; look for mem-search in it"
    left = "" if now == row.text else "\n".join(now.rsplit(row.text, 1))
    _write(file.resolve(), left, file.stat().st_mode & 0o777)
    return "our lines are taken out"


def _removed(file: Path) -> str:
    try:
        file.unlink()
    except OSError as error:
        raise StorageError(f"cannot remove {file}: {error.strerror}") from error
    with suppress(OSError):  # something else is in it
        file.parent.rmdir()
    return "removed"


def _write(file: Path, text: str, mode: int) -> None:
    """Write the file whole or not at all. Raises StorageError."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        part.touch(0o600)
        part.write_text(text, "utf-8", "surrogateescape")
        part.chmod(mode)
        part.replace(file)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StorageError(f"cannot write {file}: {error.strerror}") from error


def _text(file: Path) -> str | None:
    """The text, with bytes that are no UTF-8 kept as they are; None without a readable file."""
    try:
        return read_regular_file(file, MAX_SETTINGS).decode("utf-8", "surrogateescape")
    except OSError:
        return None

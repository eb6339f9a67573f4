"""What a person's shell gets, and how it is taken back.

The command ``mem-search`` is put on PATH where the person agrees, else named. What the command
line writes outside the home is remembered in ``written.json``; settings of agents are by
``agents.installing``, and a service is found by its place.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote
from typing import Final

import typer

import mem_search
from mem_search.cli.output import note, say
from mem_search.errors import StorageError
from mem_search.regular_file import MAX_SETTINGS, read_regular_file, replace_file
from mem_search.settings import home_of

NAME: Final = "mem-search"
_SETTINGS: Final = ("MEM_SEARCH_HOME", "MEM_SEARCH_PORT")
_FILES: Final = {"bash": "~/.bashrc", "zsh": "~/.zshrc"}
"""What a new shell reads; fish keeps such settings itself."""


def installed() -> Path | None:
    """The command of this installation; None where it runs from a source folder on PYTHONPATH."""
    source = str(Path(mem_search.__file__).parents[1])
    if source in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        return None
    command = Path(sys.executable).with_name(NAME)
    return command if command.is_file() else None


def is_on_path(command: Path, environ: Mapping[str, str]) -> bool:
    """Whether a shell finds this very command by its name."""
    on_path = shutil.which(NAME, path=environ.get("PATH"))
    return on_path is not None and Path(on_path).resolve() == command.resolve()


def offer(*, yes: bool) -> None:
    """On a terminal ask to link the command into ``~/.local/bin``; never replaces a file."""
    command, link = installed(), _link(os.environ)
    if yes or not sys.stdin.isatty() or command is None or is_on_path(command, os.environ):
        return
    if link.exists() or link.is_symlink():
        return
    if not typer.confirm(f"\nPut the command {NAME} into {link.parent}?", default=True, err=True):
        return
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(command)
    except OSError as error:
        note(f"mem-search: cannot write {link}: {error.strerror}")
    else:
        remember(Written(str(link), str(command), link=True))
        say(f"{link} is a link to {command}; mem-search uninstall removes it\n")


def advice(environ: Mapping[str, str], port: int | None = None) -> Iterator[str]:
    """What to type so that ``mem-search`` is a command, in the person's shell."""
    shell = Path(environ.get("SHELL", "")).name
    shell = shell if shell in (*_FILES, "fish") else "bash"
    settings = {name: environ[name] for name in _SETTINGS if environ.get(name)}
    if port is not None:
        settings["MEM_SEARCH_PORT"] = str(port)
    lines = [
        f"set -Ux {name} {_quoted(value)}"
        if shell == "fish"
        else _kept(f"export {name}={quote(value)}", shell)
        for name, value in settings.items()
    ]
    command, link = installed(), _link(environ)
    if command is None:
        source = Path(mem_search.__file__).parents[1]
        words = f"env PYTHONPATH={quote(str(source))} {quote(sys.executable)} -m mem_search"
        alias = f"{NAME}={quote(words)}"
        lines.append(f"alias --save {alias}" if shell == "fish" else _kept(f"alias {alias}", shell))
    elif not is_on_path(command, environ):
        is_linked = link.is_symlink() and link.resolve() == command.resolve()
        if not is_linked:
            lines.append(f"ln -s {quote(str(command))} {quote(str(link))}")
            if not link.parent.is_dir():
                lines.insert(-1, f"mkdir -p {quote(str(link.parent))}")
        if str(link.parent) not in environ.get("PATH", "").split(os.pathsep):
            lines.append(
                "fish_add_path ~/.local/bin"
                if shell == "fish"
                else _kept('export PATH="$HOME/.local/bin:$PATH"', shell)
            )
    if lines:
        yield f"To have the command in every new {shell}:"
        yield ""
        yield from (f"  {line}" for line in lines)


def _link(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or Path.home()) / ".local" / "bin" / NAME


def _kept(line: str, shell: str) -> str:
    """The command that adds ``line`` to what each new shell reads."""
    return f"echo {quote(line)} >> {_FILES[shell]}"


def _quoted(value: str) -> str:
    """``value`` for fish, in whose quotes a backslash escapes."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


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
            return "kept: the link leads elsewhere now"
        return _removed(file)
    now = _text(file)
    if now is None:
        return "is already gone"
    if file.name == ".zshrc" and any(file.with_name(".zfunc").glob("_*")):
        return "kept: other completions in ~/.zfunc need the lines"
    if row.made and now == row.text:
        return _removed(file)
    if row.text not in now:
        return "kept: it was changed by hand; look for mem-search in it"
    left = "" if now == row.text else "\n".join(now.rsplit(row.text, 1))
    _write(file.resolve(), left, file.stat().st_mode & 0o777)
    return "the lines of mem-search were removed"


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
    try:
        replace_file(file, text.encode("utf-8", "surrogateescape"), mode)
    except OSError as error:
        raise StorageError(f"cannot write {file}: {error.strerror}") from error


def _text(file: Path) -> str | None:
    """The text, with bytes that are no UTF-8 kept as they are; None without a readable file."""
    try:
        return read_regular_file(file, MAX_SETTINGS).decode("utf-8", "surrogateescape")
    except OSError:
        return None

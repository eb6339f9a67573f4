"""The command ``mem-search`` for the shell: put on PATH where the person agrees, else named."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Final

import typer

import mem_search
from mem_search.cli.output import note, say
from mem_search.cli.written import Written, remember

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
    found = shutil.which(NAME, path=environ.get("PATH"))
    return found is not None and Path(found).resolve() == command.resolve()


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

"""Real repositories of git, and what hostile ones have in the place of files."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path


class Repository:
    """A real repository whose clock moves one minute per commit."""

    def __init__(self, path: Path, commits: int = 0) -> None:
        """``commits`` of 2 are "one", of a.txt and src/b.txt, and "two", of a.txt again."""
        self.path = path
        self.minute = commits
        shutil.copytree(_template(commits), path, symlinks=True)

    def run(self, *arguments: str) -> str:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_AUTHOR_NAME": "Ada Lovelace",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_COMMITTER_NAME": "Ada Lovelace",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
            "GIT_AUTHOR_DATE": f"2026-03-01T10:{self.minute:02}:00Z",
            "GIT_COMMITTER_DATE": f"2026-03-01T10:{self.minute:02}:00Z",
        }
        finished = subprocess.run(
            ["git", "-c", "commit.gpgsign=false", "-c", "maintenance.auto=false", *arguments],
            cwd=self.path,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return finished.stdout.strip()

    def commit(self, message: str, *files: str) -> str:
        self.minute += 1
        for file in files:
            target = self.path / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(f"{self.minute}")
        self.run("add", "--all")
        self.run("commit", "--allow-empty", "--allow-empty-message", "-m", message)
        return self.run("rev-parse", "HEAD")


@cache
def _template(commits: int) -> Path:
    """A repository to copy, which takes no process, where git takes three for each commit."""
    path = Path(tempfile.mkdtemp()) / "engine"
    atexit.register(shutil.rmtree, path.parent)
    if commits:
        made = Repository(path)
        for message, files in (("one", ("a.txt", "src/b.txt")), ("two", ("a.txt",)))[:commits]:
            made.commit(message, *files)
        return path
    subprocess.run(
        ["git", "init", "--quiet", "-b", "main", str(path)],
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
        check=True,
    )
    for sample in (path / ".git" / "hooks").iterdir():
        sample.unlink()
    return path


def _link(place: Path, target: str) -> None:
    place.symlink_to(target)


def _socket(place: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as opened:
        folder = os.open(place.parent, os.O_RDONLY)
        try:
            opened.bind(f"/proc/self/fd/{folder}/{place.name}")  # a path may have 107 bytes
        finally:
            os.close(folder)


def _huge(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(2**40)


ODD: Mapping[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "device without end": lambda place: _link(place, "/dev/zero"),
    "socket": _socket,
    "terabyte": _huge,
    "loop of links": lambda place: _link(place, place.name),
}
"""What somebody may put in the place of a file."""


def put(place: Path, odd: str) -> None:
    """Put something odd where a file or a folder is, or was."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    ODD[odd](place)

"""``scripts/quickstart`` on a fresh checkout, as a new user runs it.

The model and Chroma are replaced by their light members; the worker is a real process.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from patience import PATIENCE

ROOT = Path(__file__).parents[1]
PARTS = ("src", "scripts", "docs", "README.md", "CHANGELOG.md")

Quickstart = Callable[..., str]

pytestmark = pytest.mark.worker


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files of this checkout, without any history."""
    place = tmp_path / "shop"
    place.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, place / part, ignore=ignored)
        else:
            shutil.copy2(ROOT / part, place / part)
    return place


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Nothing but a path, an empty HOME, and the light members."""
    home = tmp_path / "home"
    home.mkdir()
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "MEM_SEARCH_PYTHON": sys.executable,
        "MEM_SEARCH_EMBEDDER": "hashing",
        "MEM_SEARCH_CHROMA_URL": "off",
    }


@pytest.fixture
def quickstart(checkout: Path, environ: dict[str, str], tmp_path: Path) -> Iterator[Quickstart]:
    """Run it with a home of its own on any free port; its whole output."""
    home = tmp_path / "memory"

    def run(*, port: int = 0) -> str:
        done = subprocess.run(
            [checkout / "scripts" / "quickstart", "--home", home, "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            env=environ,
            cwd=tmp_path,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    yield run
    stop = [sys.executable, "-m", "mem_search", "worker", "stop"]
    worker = {"MEM_SEARCH_HOME": str(home), "PYTHONPATH": str(checkout / "src")}
    subprocess.run(stop, env=environ | worker, timeout=PATIENCE, check=True, capture_output=True)


def commit(checkout: Path, environ: dict[str, str], message: str) -> None:
    git = ["git", "-C", str(checkout), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["add", "README.md"],
        ["commit", "-q", "-m", message],
    ):
        subprocess.run([*git, *arguments], env=environ, check=True, timeout=PATIENCE)


def test_a_checkout_with_one_commit_answers_and_again_reads_nothing_new(
    checkout: Path, environ: dict[str, str], quickstart: Quickstart
) -> None:
    commit(checkout, environ, "Begin with a search for everything")
    first = quickstart()
    assert f"git {checkout}: 1 new" in first
    assert "Begin with a search for everything" in first
    assert "File #" in first
    assert "worker stop" in first
    second = quickstart()
    assert "already running" in second
    assert second.count("nothing new") == 2


def test_an_archive_without_history_says_so_and_answers_on_a_taken_port(
    quickstart: Quickstart,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = quickstart(port=port)
    assert f"port {port} is taken" in said
    assert "taking a free port instead" in said
    assert "it has no history to read" in said
    assert "File #" in said


@pytest.mark.parametrize("arguments", [["--port"], ["--home", ""], ["--nonsense"]])
def test_arguments_that_cannot_be_used_end_it_before_anything_happens(
    arguments: list[str], environ: dict[str, str]
) -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "quickstart", *arguments],
        capture_output=True,
        env=environ,
        timeout=PATIENCE,
    )
    assert done.returncode == 2
    assert done.stderr
    assert not list(Path(environ["HOME"]).iterdir())

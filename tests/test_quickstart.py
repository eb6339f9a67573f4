"""``scripts/quickstart`` on a fresh checkout, as a new user runs it.

The model and Chroma are replaced by their light members; the worker is a real process.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mem_search.cli.quickstart import _locations
from patience import PATIENCE

ROOT = Path(__file__).parents[1]
PARTS = ("src", "scripts", "docs", "plugin", "README.md")

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
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.fixture
def quickstart(checkout: Path, environ: dict[str, str], tmp_path: Path) -> Iterator[Quickstart]:
    """Run it with a home of its own on any free port; its whole output.

    With ``answer`` it has a terminal, and somebody who types that.
    """
    home = tmp_path / "memory"

    def run(*more: str, port: int = 0, answer: str = "") -> str:
        leader, follower = pty.openpty() if answer else (0, subprocess.DEVNULL)
        process = subprocess.Popen(
            [checkout / "scripts" / "quickstart", "--home", home, "--port", str(port), *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=follower,
            encoding="utf-8",
            env=environ,
            cwd=tmp_path,
        )
        if answer:
            os.write(leader, answer.encode())
        with process:
            said, _ = process.communicate(timeout=PATIENCE)
        if answer:
            os.close(leader)
            os.close(follower)
        assert process.returncode == 0, said
        return said

    yield run
    mem(checkout, environ | {"MEM_SEARCH_HOME": str(home)}, "worker", "stop")


def mem(checkout: Path, environ: dict[str, str], *words: str) -> str:
    """The standard output of a command; a list that is empty has status 1."""
    return subprocess.run(
        [sys.executable, "-m", "mem_search", *words],
        env=environ | {"PYTHONPATH": str(checkout / "src")},
        timeout=PATIENCE, check=False, capture_output=True, text=True,
    ).stdout  # fmt: skip


def repository(place: Path, environ: dict[str, str], message: str) -> None:
    """A repository with one commit."""
    place.mkdir()
    git = ["git", "-C", str(place), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty-message"]):
        more = ["-m", message, "--allow-empty"] if arguments[0] == "commit" else []
        subprocess.run([*git, *arguments, *more], env=environ, check=True, timeout=PATIENCE)


def session(environ: dict[str, str], folder: Path, prompt: str) -> None:
    """A transcript of Claude Code that was written in ``folder``."""
    place = Path(environ["HOME"], ".claude", "projects", "-shop")
    place.mkdir(parents=True)
    line = {
        "type": "user", "uuid": "u1", "sessionId": "s1", "cwd": str(folder),
        "timestamp": "2026-03-03T10:00:00Z", "message": {"role": "user", "content": prompt},
    }  # fmt: skip
    (place / "s1.jsonl").write_text(json.dumps(line) + "\n", "utf-8")


def test_an_empty_machine_gets_a_sample_that_goes_without_a_trace(
    checkout: Path, environ: dict[str, str], quickstart: Quickstart, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = quickstart(port=port)
    assert f"port {port} is taken" in said
    assert "taking a free port instead" in said
    assert "nothing to read was found here" in said
    assert "4. A first question: a decision" in said
    asked, _, answer = said.partition('  mem-search "')[2].partition('"\n')
    assert asked.startswith("why ")
    assert "Observation #" in answer
    named = re.findall(r"^  mem-search \w+", said.partition("Three commands")[2], re.MULTILINE)
    assert named == ["  mem-search WORDS", "  mem-search view", "  mem-search add"]
    assert f"{sys.executable} -m mem_search" in said
    compiled = checkout / "src" / "mem_search" / "cli" / "__pycache__"
    assert list(compiled.glob("fast_path.*.pyc"))  # else each command would compile it again

    there = environ | {"MEM_SEARCH_HOME": str(tmp_path / "memory")}
    stats = json.loads(mem(checkout, there, "stats", "--json"))
    assert stats["sources"] == []
    for prefix in ("sour", "refre", "boil"):
        assert json.loads(mem(checkout, there, "suggest", prefix, "--json"))["total"] == 0
    mem(checkout, there, "forget", "--source", "sample", "--yes", "--no-wait")
    assert json.loads(mem(checkout, there, "stats", "--json"))["records"]["total"] == 0


def test_the_first_answer_is_the_persons_own_and_again_reads_nothing_new(
    checkout: Path, environ: dict[str, str], quickstart: Quickstart, tmp_path: Path
) -> None:
    shop = tmp_path / "work" / "shop"
    shop.parent.mkdir()
    repository(shop, environ, "Refresh tokens under a lock")
    session(environ, shop, "Make the harbour lamp survive a restart")
    declined = quickstart(answer="n\n")
    assert "claude-code  ~/.claude/projects  (1 file, 0." in declined
    assert f"git          {shop}" in declined
    assert "nothing of yours was read" in declined

    first = quickstart("--yes")
    assert f"2 of 2  git {shop}: 1 new" in first
    assert "1 of 2  claude-code" in first
    assert re.search(r"^  \d new records in \d+ s, \d\d in all$", first, re.MULTILINE)
    assert "mem-search forget --source sample" in first
    (asked,) = re.findall(r'^  mem-search "(.+)"', first, re.MULTILINE)
    assert asked == "the commit about Refresh tokens under a lock"
    answer = first.partition(asked)[2]
    assert "User Prompt" in answer or "Observation" in answer or "Commit" in answer
    second = quickstart()
    assert "already running" in second
    assert second.count("nothing new") == 2
    assert "A sample to try" not in second


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


def test_the_notes_for_agents_of_a_project_are_counted_without_its_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "harbour"
    project.mkdir()
    (project / "AGENTS.md").write_text("Light the lamp first.")
    (project / "chart.bin").write_bytes(bytes(1_000_000))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(project)
    sizes = {(source, path): size for source, path, size in _locations()}
    assert sizes["agent-memory", str(project)] == "  (1 file, 0.0 kB)"

"""``uninstall``: everything that was written outside the home goes, and nothing else."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from homes import Home
from mem_search.cli import shell as shells

COMPLETION = """
import sys
from typer import _completion_shared as shared
from mem_search.cli import app
shared._get_shell_name = lambda: sys.argv[1]
sys.exit(app.main(["--install-completion"]))
"""


def person(mem: Home) -> Path:
    return Path(mem.environ["HOME"])


def complete(mem: Home, shell: str) -> None:
    """``mem-search --install-completion`` in a shell of this name."""
    done = subprocess.run(
        [sys.executable, "-c", COMPLETION, shell],
        env=mem.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def files(place: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(place)): file.read_bytes()
        for file in place.rglob("*") if file.is_file() or file.is_symlink()
    }  # fmt: skip


@pytest.mark.parametrize(
    ("shell", "earlier"),
    [*((shell, b"# caf\xc3\xa9\nalias ll='ls -l'\n") for shell in ("bash", "zsh", "fish")),
     ("bash", b""), ("zsh", b"")],
)  # fmt: skip
def test_completion_is_taken_back_to_the_byte(mem: Home, shell: str, earlier: bytes) -> None:
    for name in (".bashrc", ".zshrc"):
        (person(mem) / name).write_bytes(earlier)
    before = files(person(mem))
    complete(mem, shell)
    assert files(person(mem)) != before
    complete(mem, shell)  # again: it is remembered once
    if shell != "fish":
        lines = f"our lines in {person(mem)}/.{shell}rc: would be removed"
        assert lines in mem.ok("uninstall", "--dry-run")
    said = mem.ok("uninstall")
    assert files(person(mem)) == before, said
    assert not (mem.path / shells.FILE).exists()


def test_what_the_framework_says_on_a_terminal_has_no_remains_of_colours(mem: Home) -> None:
    leader, follower = pty.openpty()
    subprocess.run(
        [sys.executable, "-c", COMPLETION, "bash"],
        env=mem.environ, stdout=follower, stderr=follower, check=True,
    )  # fmt: skip
    os.close(follower)
    said = os.read(leader, 65536).decode()
    os.close(leader)
    assert said.startswith("bash completion installed in"), said
    assert "[0m" not in said


def test_files_that_completion_made_go_and_later_lines_stay(mem: Home) -> None:
    complete(mem, "bash")
    with (person(mem) / ".bashrc").open("a") as file:
        file.write("export EDITOR=vi\n")
    mem.ok("uninstall")
    assert [*files(person(mem))] == [".bashrc"]
    assert (person(mem) / ".bashrc").read_text().strip() == "export EDITOR=vi"


def test_lines_that_other_completions_need_stay(mem: Home) -> None:
    complete(mem, "zsh")
    (person(mem) / ".zfunc" / "_other").write_text("#compdef other\n")
    assert f"{person(mem)}/.zshrc: kept: other completions" in mem.ok("uninstall")
    assert "fpath" in (person(mem) / ".zshrc").read_text()


def test_what_was_changed_by_hand_is_left_and_named(mem: Home) -> None:
    complete(mem, "fish")
    file = person(mem) / ".config" / "fish" / "completions" / "mem-search.fish"
    file.write_text("# mine\n")
    assert f"{file}: kept: it was changed by hand" in mem.ok("uninstall")
    assert file.read_text() == "# mine\n"


def test_the_command_on_path_goes_unless_it_is_of_another_program(
    mem: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "environment" / "mem-search"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")

    def offer() -> None:
        with monkeypatch.context() as patch:
            for name, value in mem.environ.items():
                patch.setenv(name, value)
            patch.delenv("PYTHONPATH")
            patch.setattr(sys, "executable", str(command.with_name("python")))
            patch.setattr(sys.stdin, "isatty", lambda: True)
            patch.setattr("typer.confirm", lambda *_, **__: True)
            shells.offer(yes=False)

    link = person(mem) / ".local" / "bin" / "mem-search"
    offer()
    assert link.resolve() == command
    assert f"{link}: removed" in mem.ok("uninstall")
    assert not link.is_symlink()
    offer()
    link.unlink()
    link.symlink_to("/opt/pipx/bin/mem-search")
    assert f"{link}: kept: the link leads elsewhere now" in mem.ok("uninstall")
    assert link.is_symlink()


@pytest.mark.worker
def test_everything_goes_and_the_records_only_when_asked(mem: Home) -> None:
    (person(mem) / ".claude").mkdir()
    before = files(person(mem))
    mem.ok("import", "jsonl", "-", given='{"kind": "note", "text": "The bridge opens."}\n')
    mem.ok("install", "claude-code")
    complete(mem, "bash")
    theirs = person(mem) / ".claude-mem"
    theirs.mkdir()
    settings = {"CLAUDE_MEM_WORKER_PORT": "37777"}
    (theirs / "settings.json").write_text(json.dumps(settings, indent=2) + "\n")
    (theirs / "settings.json.before-mem-search").write_text("{}\n")

    planned = mem.ok("uninstall", "--data", "--dry-run")
    for what in (
        "claude-code: settings",
        "claude-mem: the port",
        ".bashrc",
        "worker",
        "all records",
    ):
        assert what in planned
    assert mem.ok("worker", "status")
    asked = mem.run("uninstall", "--data")
    assert (asked.returncode, "add --yes" in asked.stderr) == (2, True)

    said = mem.ok("uninstall")
    assert "worker: stopped" in said
    assert f"your records stay in {mem.path}" in said
    (theirs / "settings.json").unlink()
    assert files(person(mem)) == before
    assert "The bridge" in mem.ok("search", "bridge")

    said = mem.ok("uninstall", "--data", "--yes")
    assert f"{mem.path}: deleted" in said
    assert "the program itself: " in said
    assert not mem.path.exists()


def test_a_home_with_files_of_others_is_not_deleted(mem: Home) -> None:
    done = mem.run("uninstall", "--data", "--yes", MEM_SEARCH_HOME=mem.environ["HOME"])
    assert done.returncode == 5
    assert "also holds files of others" in done.stderr
    assert person(mem).is_dir()


def test_agents_and_data_do_not_go_together(mem: Home) -> None:
    done = mem.run("uninstall", "codex", "--data", "--yes")
    assert (done.returncode, "--data" in done.stderr) == (2, True)

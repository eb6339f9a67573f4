"""What bash, zsh and fish get to complete: values that the store has, and nothing to evaluate."""

from __future__ import annotations

import io
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.completion import get_completion_script

from forked import SOURCE
from homes import Home
from mem_search.cli.app import main
from mem_search.cli.completion import joined
from mem_search.cli.fast_path import COMPLETING
from patience import PATIENCE

Completed = Callable[..., str]

HOSTILE = (
    "$(touch /tmp/x)",
    "`id`",
    'a"; id; "',
    "a b",
    "\x1b[31mred",
    "back\\slash",
    "a|b",
    "a>b",
)
STORED = [
    {"kind": "note", "source_id": "1", "title": "Tide: $(id) `x`\n\"y\"", "project": "harbour",
     "text": "water", "tags": ["tide", "sea:deep"]},
    {"kind": "note", "source_id": "2", "text": "wind", "project": "harvest"},
    {"kind": "note", "source_id": "3", "text": "mast", "project": "crew@ship"},
    *({"kind": "note", "source_id": f"h{n}", "text": "x", "project": name, "tags": [name]}
      for n, name in enumerate(HOSTILE)),
]  # fmt: skip


@pytest.fixture(scope="module")
def filled(home: Home) -> Home:
    home.ok("saved", "add", "tides", "water")
    home.ok("scope", "add", "port", "project:harbour")
    return home


@pytest.fixture
def completed(monkeypatch: pytest.MonkeyPatch) -> Completed:
    """What the shell's completion function is given behind ``mem-search WORDS``.

    ``words`` are those of the shell: bash divides ``note:1`` into three.
    """

    def complete(mem: Home, shell: str, *words: str) -> str:
        line = " ".join(("mem-search", *words))
        environ = {
            "bash": {"COMP_WORDS": "\n".join(line.split(" ")), "COMP_CWORD": str(len(words))},
            "zsh": {"_TYPER_COMPLETE_ARGS": line},
            "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        }[shell]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", said := io.StringIO())
            patch.setattr(sys, "stderr", io.StringIO())
            for name, value in (mem.environ | environ).items():
                patch.setenv(name, value)
            patch.setenv(COMPLETING, f"complete_{shell}")
            main([])
        return said.getvalue()

    return complete


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_values_of_the_store_are_completed(filled: Home, shell: str, completed: Completed) -> None:
    for words, expected in (
        (("search", "--project", "har"), ("harbour", "harvest")),
        (("--project", "harb"), ("harbour",)),
        (("wind", "--project", "har"), ("harbour", "harvest")),  # a question without a command
        (("unified", "--tag", "ti"), ("tide",)),
        (("unified", "--kind", "no"), ("notes",)),
        (("unified", "--format", "bib"), ("bibtex",)),
        (("search", "--scope", "p"), ("port",)),
        (("saved", "run", "t"), ("tides",)),
        (("get", "no"), ("note",)),
        (("wor",), ("worker",)),
    ):
        shown = completed(filled, shell, *words)
        for value in expected:
            assert value in shown, (words, shown)
    everything = completed(filled, shell, "search", "--project", "")
    refs = completed(filled, shell, "get", "")
    assert "Tide" in refs or shell == "bash"
    for sign in ("$", "`", ";", "\\s", "\x1b", "|", ">"):
        assert sign not in everything
        assert sign not in refs


def test_bash_gets_what_follows_its_break_of_a_word(filled: Home, completed: Completed) -> None:
    refs = completed(filled, "bash", "get", "note", ":").split()
    assert sorted(refs, key=int) == [str(n + 1) for n in range(len(STORED))]
    assert completed(filled, "bash", "get", "note", ":", "1").split()[0].startswith("1")
    for words, expected in (
        (("search", "--project", "=", "harb"), "harbour"),
        (("search", "--project", "="), "harbour"),
        (("search", "--tag", "sea", ":"), "deep"),
        (("search", "--tag", "=", "sea", ":", "d"), "deep"),
        (("search", "--tag", "'sea:d"), "sea:deep"),  # inside quotes it breaks nothing
        (("search", "--project", "crew", "@"), "ship"),
        (("search", "wind", ":", "x", "--project", "harb"), "harbour"),
    ):
        assert expected in completed(filled, "bash", *words).split(), words


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_get_the_option_in_front_of_its_value(
    filled: Home, shell: str, completed: Completed
) -> None:
    for words, expected in (
        (("search", "--project=har"), {"--project=harbour", "--project=harvest"}),
        (("search", "wind", "--tag=ti"), {"--tag=tide"}),
        (("unified", "--format=bib"), {"--format=bibtex"}),
    ):
        said = completed(filled, shell, *words)
        shown = said.partition("((")[2].partition("))")[0] if shell == "zsh" else said
        found = {line.split("\t")[0].split('":"')[0].strip('"') for line in shown.splitlines()}
        assert found == expected, said


@given(st.lists(st.text("a:=@-", min_size=1, max_size=4), max_size=6))
def test_no_sign_of_the_words_is_lost(words: list[str]) -> None:
    whole, kept = joined(["mem-search", "get", *words])
    assert "".join(whole) == "".join(["mem-search", "get", *words])
    assert whole[-1].startswith(kept)


def test_a_word_behind_a_blank_is_its_own() -> None:
    assert joined(["m", "get", "note", ":", ""]) == (["m", "get", "note:", ""], "")
    assert joined(["m", "get", "note", ":", "1", "note", ":"]) == (
        ["m", "get", "note:1", "note:"], "note:",
    )  # fmt: skip


def command(mem: Home, tmp_path: Path) -> dict[str, str]:
    """The environment of a shell that has ``mem-search`` on its path and its completion."""
    file = tmp_path / "bin" / "mem-search"
    file.parent.mkdir()
    file.write_text(f'#!/bin/sh\nexec {sys.executable} -m mem_search "$@"\n')
    file.chmod(0o700)
    person = tmp_path / "shells"
    person.mkdir()
    return mem.environ | {
        "HOME": str(person),
        "PATH": f"{file.parent}:{os.environ['PATH']}",
        "PYTHONPATH": SOURCE,
        "TERM": "dumb",
    }


def script(shell: str) -> str:
    """What ``--install-completion`` writes for a shell."""
    return get_completion_script(prog_name="mem-search", complete_var=COMPLETING, shell=shell)


def test_a_person_completes_a_ref_in_bash(filled: Home, tmp_path: Path) -> None:
    environ = command(filled, tmp_path)
    rc = Path(environ["HOME"]) / "rc"
    rc.write_text(f"{script('bash')}\nPS1='ready> '\n")
    pid, terminal = pty.fork()
    if pid == 0:
        argv = ["bash", "--noprofile", "--rcfile", str(rc), "-i"]
        os.execvpe("bash", argv, environ)
    try:
        wait_for("ready> ", terminal)
        os.write(terminal, b"mem-search unified --tag sea:\t")
        wait_for("--tag sea:deep", terminal)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


def wait_for(text: str, terminal: int) -> None:
    said, deadline = "", time.monotonic() + PATIENCE
    while text not in said:
        assert time.monotonic() < deadline, said
        if select.select([terminal], [], [], 1)[0]:
            said += os.read(terminal, 65536).decode(errors="replace")


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_a_person_completes_a_project_in_fish(filled: Home, tmp_path: Path) -> None:
    environ = command(filled, tmp_path)
    lines = (
        f"{script('fish')}\n"
        "complete -C 'mem-search search --project harb'\n"
        "complete -C 'mem-search search --project=harb'"
    )
    done = subprocess.run(
        ["fish", "-c", lines], env=environ, capture_output=True, text=True, check=True
    )
    found = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert found == ["harbour", "--project=harbour"], (done.stdout, done.stderr)


def test_without_a_worker_nothing_is_completed_and_none_is_started(
    mem: Home, completed: Completed
) -> None:
    assert completed(mem, "bash", "search", "--project", "h").strip() == ""
    assert not (mem.path / "worker.json").exists()

"""``open`` starts the right program with the right argument, whatever text is stored."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mem_search
from git_repositories import Repository
from homes import Home, quick
from mem_search.platform import IS_MACOS
from patience import PATIENCE

FZF = Path(__file__).parents[2] / "docs" / "reference" / "terminal.md"

HOSTILE = [
    {"kind": "note", "title": "option", "text": "x", "metadata": {"path": "--remote-debugging"}},
    {"kind": "note", "title": "outside", "source": "files", "text": "x",
     "metadata": {"path": "/etc/passwd"}},
    {"kind": "note", "title": "above", "source": "files", "text": "x",
     "metadata": {"path": "{vault}/../secret.txt"}},
    {"kind": "note", "title": "link", "source": "files", "text": "x",
     "metadata": {"path": "{vault}/link.txt"}},
    {"kind": "website", "title": "script", "text": "x", "url": "javascript:alert(1)"},
    {"kind": "website", "title": "file", "text": "x", "url": "file:///etc/passwd"},
    {"kind": "website", "title": "dash", "text": "x", "url": "--new-window=https://example.org"},
    {"kind": "website", "title": "space", "text": "x", "url": "https://example.org/ --gpu"},
    {"kind": "website", "title": "page", "text": "x", "url": "https://example.org/a?b=c&d=$(id)"},
    {"kind": "email", "title": "mail", "text": "x",
     "metadata": {"message_id": "<a&b=c;$(id)@example.org>"}},
    {"kind": "email", "title": "odd mail", "text": "x", "metadata": {"message_id": "-x y@z"}},
    {"kind": "observation", "title": "odd commit", "source": "git", "text": "x",
     "metadata": {"commit": "--output=/tmp/x"}},
    {"kind": "user_prompt", "title": "session", "text": "x", "source": "claude-code",
     "session": "11111111-2222-3333-4444-555555555555"},
    {"kind": "user_prompt", "title": "odd session", "text": "x", "source": "claude-code",
     "session": "--dangerously-skip-permissions"},
]  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    place = tmp_path_factory.mktemp("opening")
    home = quick(place, MEM_SEARCH_FOLLOW="0", EDITOR="vi")
    vault = place / "vault"
    (vault / "Daily").mkdir(parents=True)
    (vault / "Daily" / "Thursday.txt").write_text("We keep redis for the rate limiter.")
    (vault / "gone.txt").write_text("Redis is gone from here.")
    (place / "secret.txt").write_text("key")
    (place / "notes" / ".obsidian").mkdir(parents=True)
    (place / "notes" / "Über uns & mehr.md").write_text("Obsidian knows the harbour.")
    Repository(place / "harbour").commit("Drop support for Python 3.7", "a.txt")
    for folder in (vault, place / "notes"):
        home.ok("add", str(folder))
    home.ok("sync", "git", str(place / "harbour"))
    letters = place / "letters"
    (letters / "new").mkdir(parents=True)
    for folder, name in ((letters, "harbour.eml"), (letters / "new", "1700000000.M1.host")):
        (folder / name).write_text(
            f"Message-ID: <{name}@example.org>\nFrom: ada@example.org\n"
            f"Subject: The {name} letter\n\nThe harbour is deep.\n"
        )
    box = "From ada Mon Mar  2 09:00:00 2026\nMessage-ID: <box@example.org>\n"
    (letters / "all.mbox").write_text(f"{box}Subject: The box letter\n\nThe quay is high.\n")
    home.ok("sync", "mail", str(letters))
    (vault / "gone.txt").unlink()
    (vault / "link.txt").symlink_to(place / "secret.txt")
    lines = "\n".join(json.dumps({"source_id": f"h{n}", **row}) for n, row in enumerate(HOSTILE))
    home.ok("import", "jsonl", "-", given=lines.replace("{vault}", str(vault)))
    yield home
    home.end()


def ref(home: Home, title: str) -> str:
    found = json.loads(home.ok("search", title, "--json", "-n", "50"))["results"]
    return str(next(each["ref"] for each in found if each["title"] == title))


def opened(home: Home, title: str) -> str:
    return home.ok("open", "--print", ref(home, title)).strip()


def test_each_record_has_the_program_that_a_person_has_for_it(home: Home) -> None:
    place = home.path.parent
    assert opened(home, "Thursday").endswith(f"{place}/vault/Daily/Thursday.txt")
    address = opened(home, "Über uns & mehr")
    assert address.startswith("obsidian://open?path=%2F")
    assert address.endswith("%2Fnotes%2F%C3%9Cber%20uns%20%26%20mehr.md")
    assert re.fullmatch(
        rf"git -C {place}/harbour show --stat --patch [0-9a-f]{{40}}",
        opened(home, "Drop support for Python 3.7"),
    )
    assert opened(home, "page") == "https://example.org/a?b=c&d=$(id)"
    assert opened(home, "mail") == "mid:a%26b%3Dc%3B%24%28id%29@example.org"
    assert opened(home, "session") == "claude --resume 11111111-2222-3333-4444-555555555555"


@pytest.mark.skipif(IS_MACOS, reason="its mail program opens mid addresses")
def test_a_mail_with_a_file_of_its_own_is_opened_by_that_file(home: Home) -> None:
    letters = home.path.parent / "letters"
    assert opened(home, "The harbour.eml letter") == (letters / "harbour.eml").as_uri()
    in_maildir = letters / "new" / "1700000000.M1.host"
    assert opened(home, "The 1700000000.M1.host letter") == in_maildir.as_uri()
    assert opened(home, "The box letter") == "mid:box@example.org"


@pytest.mark.parametrize(
    "title",
    ["option", "script", "file", "dash", "space", "odd mail", "odd commit", "odd session"],
)
def test_stored_text_is_no_command_and_no_option(home: Home, title: str) -> None:
    assert re.fullmatch(r"http://127[.0-9]+:\d+/#/login/\S+/record/\S+", opened(home, title))


@pytest.mark.parametrize("title", ["outside", "above", "link"])
def test_a_path_outside_of_what_the_source_read_is_not_opened(home: Home, title: str) -> None:
    done = home.run("open", "--print", ref(home, title))
    assert done.returncode == 4
    assert "is in no folder that files reads" in done.stderr
    assert done.stdout == ""


def test_a_file_that_is_gone_is_named_with_the_way_to_its_text(home: Home) -> None:
    done = home.run("open", ref(home, "gone"))
    assert done.returncode == 4
    assert "is gone; its text is stored: mem-search get file:" in done.stderr


def test_the_editor_gets_its_own_options_and_the_path_as_one_argument(
    home: Home, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {seen}\n')
    editor.chmod(0o700)
    done = home.run("open", ref(home, "Thursday"), VISUAL="", EDITOR=f"{editor} --wait")
    assert done.returncode == 0, done.stderr
    assert seen.read_text().split("\n") == [
        "--wait", f"{home.path.parent}/vault/Daily/Thursday.txt", "",
    ]  # fmt: skip


def test_an_editor_that_is_none_is_told(home: Home) -> None:
    done = home.run("open", ref(home, "Thursday"), VISUAL="", EDITOR="no-such-editor")
    assert done.returncode == 4
    assert "there is no program no-such-editor" in done.stderr


STAND_IN = r"""
import os, re, shlex, subprocess, sys

def value(flag):
    return sys.argv[sys.argv.index(flag) + 1]

line = sys.stdin.read().splitlines()[0]
fields = line.split("\t")
assert value("--delimiter") == r"\t"

def filled(command):
    return re.sub(r"\{(\d+)\}", lambda found: shlex.quote(fields[int(found[1]) - 1]), command)

size = {"FZF_PREVIEW_COLUMNS": "60", "FZF_PREVIEW_LINES": "20"}
seen = subprocess.run(
    ["sh", "-c", filled(value("--preview"))], env=os.environ | size, capture_output=True, check=True
)
open(os.environ["PREVIEW"], "wb").write(seen.stdout)
become = re.fullmatch(r"enter:become\((.*)\)", value("--bind"))[1]
os.execvp("sh", ["sh", "-c", filled(become)])
"""


def test_the_recipe_for_fzf_lists_previews_and_opens(home: Home, tmp_path: Path) -> None:
    recipe = FZF.read_text("utf-8").partition("<!-- recipe: fzf -->")[2]
    script = recipe.partition("```bash\n")[2].partition("```")[0]
    programs = tmp_path / "bin"
    programs.mkdir()
    python = sys.executable
    bodies = {
        "mem-search": f'exec {python} -m mem_search "$@"',
        "fzf": f'exec {python} {tmp_path / "fzf.py"} "$@"',
        "edit": f'cat "$1" > {tmp_path / "edited"}',
    }
    (tmp_path / "fzf.py").write_text(STAND_IN)
    for name, body in bodies.items():
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o700)
    environ = home.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(mem_search.__file__).parents[1]),
        "PREVIEW": str(tmp_path / "preview"),
        "VISUAL": "edit",
        "NO_COLOR": "",
    }
    script = script.replace('"redis"', '"redis rate limiter"')
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    preview = (tmp_path / "preview").read_text()
    assert "\x1b[1mDaily › Thursday\x1b[0m" in preview
    assert "We keep redis for the rate limiter." in preview
    assert (tmp_path / "edited").read_text() == "We keep redis for the rate limiter."


def test_tsv_has_a_line_a_result_and_nothing_where_nothing_is_found(home: Home) -> None:
    rows = home.ok("search", "redis rate limiter", "--format", "tsv").splitlines()
    assert rows[0].split("\t")[:2] == [ref(home, "Thursday"), "Text"]
    none = home.run("search", "zzqqyyxx", "--format", "tsv")
    assert (none.returncode, none.stdout) == (1, "")


@pytest.mark.parametrize(
    "command",
    [["get", "1"], ["get", "1", "2"], ["get", "1", "--json"], ["timeline", "1", "--before", "2"],
     ["timeline", "redis"], ["related", "1"], ["stats"], ["stats", "--json"]],
)  # fmt: skip
def test_the_quick_path_prints_what_the_framework_prints(
    home: Home, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from mem_search.cli.app import main
    from mem_search.cli.fast_path import run

    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)
    quickly = run(command)
    first = capsys.readouterr().out
    assert quickly is not None
    assert main(command) == quickly
    second = capsys.readouterr().out
    if "--json" in command:
        first, second = (
            re.sub(r'("uptime_s"|"bytes"|"free"): ?[\d.]+', "", re.sub(r"\s", "", each))
            for each in (first, second)
        )
    assert first == second
    assert first


@pytest.mark.parametrize("command", [["get"], ["related", "1", "2"], ["stats", "x"], ["timeline"]])
def test_the_quick_path_leaves_usage_errors_to_the_framework(
    home: Home, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mem_search.cli.fast_path import run

    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)
    assert run(command) is None

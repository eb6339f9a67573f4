"""What is typed without a command, or with one that does not exist."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import typer

from mem_search.__main__ import main as program
from mem_search.cli import fast_path
from mem_search.cli.app import app, main
from mem_search.cli.commands import OVERVIEW, SECTIONS
from mem_search.cli.layout import width
from mem_search.cli.meant import COMMANDS, kinds
from mem_search.records import SEARCHED
from standin_worker import Standin, standing_in

MISTAKES = [
    ("find auth", "mem-search search auth"),
    ("grep refresh token", "mem-search search refresh token"),
    ("serch auth", "mem-search search auth"),
    ("unifed auth", "mem-search unified auth"),
    ("note tax", "mem-search notes tax"),
    ("email invoice", "mem-search emails invoice"),
    ("session auth", "mem-search sessions auth"),
    ("ls", "mem-search recent"),
    ("history", "mem-search recent"),
    ("yesterday", "mem-search day yesterday"),
    ("today", "mem-search day today"),
    ("show note:3", "mem-search get note:3"),
    ("rm note:3", "mem-search forget note:3"),
    ("delte note:3", "mem-search delete note:3"),
    ("save letter.pdf", "mem-search add letter.pdf"),
    ("update", "mem-search sync"),
    ("snyc", "mem-search sync"),
    ("start", "mem-search worker start"),
    ("stop", "mem-search worker stop"),
    ("restart", "mem-search worker restart"),
    ("status", "mem-search worker status"),
    ("logs", "mem-search worker logs"),
    ("serve", "mem-search worker start"),
    ("worker strat", "mem-search worker start"),
    ("autostart", "mem-search service install"),
    ("web", "mem-search view"),
    ("worker up", "run, start, stop, restart, status, logs"),
    ("token add", "create, list, revoke"),
    ("token refresh bug", "mem-search search 'token refresh bug'"),
    ("commands", "mem-search --help"),
    ("manual pause", "mem-search help pause"),
    ("version", "mem-search --version"),
    ("docter", "mem-search doctor"),
    ("repos", "mem-search projects"),
    ("-redis", "mem-search search -- -redis"),
    ("search auth -redis", "mem-search search auth -- -redis"),
    ("search auth --projct x", "--project"),
    ("auth --projct x", "--project"),
    ("--install-completion fish", "in fish, run: mem-search --install-completion"),
]


@pytest.mark.parametrize(("typed", "mends"), MISTAKES)
def test_a_mistake_is_told_with_what_mends_it(
    typed: str, mends: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed.split()) == 2
    out, err = capsys.readouterr()
    assert mends in " ".join(err.split()), err
    assert not out


def test_the_fast_path_knows_every_command() -> None:
    group = typer.main.get_command(app)
    listed = group.list_commands(typer.Context(group))  # type: ignore[attr-defined]
    known = [*COMMANDS[:4], *kinds(), *COMMANDS[4:]]
    assert listed == known, "COMMANDS of cli/meant.py has them in the order of cli/app.py"


def test_help_has_each_command_once_with_its_whole_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    placed = [name for _, names in SECTIONS for name in names]
    missing = {*COMMANDS, *SEARCHED}.symmetric_difference(placed)
    assert not missing, "SECTIONS of cli/commands.py has each under one heading"
    assert len(placed) == len({*placed})
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "..." not in shown.partition("Search:")[2]
    assert max(map(width, shown.split("\n"))) <= 80


def test_alone_it_shows_the_commands_of_every_day_on_one_screen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 2
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) < 24
    assert max(map(width, lines)) <= 80
    named = re.findall(r"^  mem-search ([a-z]+)", OVERVIEW, re.MULTILINE)
    assert len(named) > 8
    assert set(named) <= set(COMMANDS)


@pytest.mark.parametrize(
    "argv", [["auth"], ["auth", "tokens", "-n", "3"], ["how did we fix it?", "--project", "web"]]
)
def test_a_question_needs_no_framework(
    argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_SEARCH_HOME", str(tmp_path / "home"))
    with standing_in(tmp_path / "home", Searched):
        assert fast_path.run(argv) == 0


@pytest.mark.parametrize("typed", [typed for typed, _ in MISTAKES])
def test_a_mistake_is_left_to_the_framework(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_SEARCH_HOME", str(tmp_path / "home"))
    with standing_in(tmp_path / "home", Searched):
        assert fast_path.run(typed.split()) is None


class Searched(Standin):
    """Answers every search with the query string that it was given."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked = {name: value for name, [value] in parse_qs(parts.query).items() if name != "tz"}
        self.reply(f"{parts.path} {asked}".encode())


@pytest.mark.parametrize(
    ("argv", "asked"),
    [
        (["auth"], {"query": "auth"}),
        (["auth", "tokens", "-n", "3"], {"query": "auth tokens", "limit": "3"}),
        (["how did we fix it?"], {"query": "how did we fix it?"}),
        (["why", "do", "we", "lock", "-n", "3"], {"query": "why do we lock", "limit": "3"}),
        (["how did we fix it?", "--project", "web"],
         {"query": "how did we fix it?", "project": "web"}),
        (["--project", "web", "auth"], {"query": "auth", "project": "web"}),
        (["--kind=note", "auth"], {"query": "auth", "types": "note"}),
        (["kind:note", "auth"], {"query": "kind:note auth"}),
        (["--", "-redis"], {"query": "-redis"}),
    ],
)  # fmt: skip
def test_what_is_no_command_is_a_question(
    argv: list[str],
    asked: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MEM_SEARCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.argv", ["mem-search", *argv])
    with standing_in(tmp_path / "home", Searched), pytest.raises(SystemExit) as left:
        program()
    assert left.value.code == 0
    assert capsys.readouterr().out == f"/api/search {asked}\n"

"""The quick path parses what the framework parses, and leaves the rest to it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mem_search.cli import search
from mem_search.cli.app import main as framework
from mem_search.cli.fast_path import read_arguments, run, target_of
from mem_search.cli.search_options import (
    MIXED,
    OPTIONS,
    built_in,
    collect,
    flag_of,
    search_of,
)
from mem_search.daemon.connection import headers
from standin_worker import Standin, standing_in

UNIFIED = MIXED[0]
NOTES = search_of("notes")

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12)
plain = words.filter(lambda word: not word.startswith("-"))
options = st.sampled_from(OPTIONS).flatmap(
    lambda option: (
        st.just([option.flag])
        if option.fixed
        else st.one_of(
            plain.map(lambda value: [option.flag, value]),
            words.map(lambda value: [f"{option.flag}={value}"]),
        )
    )
)


# No deadline: the first call loads the framework.
@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(plain.map(lambda word: [word]), options), max_size=6))
def test_the_quick_path_reads_arguments_as_the_framework_does(parts: list[list[str]]) -> None:
    argv = [word for part in parts for word in part]
    understood: list[Any] = []

    def take(command: Any, values: dict[str, Any]) -> None:
        given = []
        for option in command.options:
            value = values[option.name]
            if option.fixed:
                given += [(option, option.fixed)] if value else []
            elif option.repeats:
                given += [(option, each) for each in value or ()]
            elif value is not None:
                given.append((option, value))
        understood.append(collect(list(values["words"] or ()), given))

    original = search.search_with
    search.search_with = take
    try:
        code = framework(["unified", *argv])
    finally:
        search.search_with = original
    quickly = read_arguments(UNIFIED, argv)
    assert code == 0
    assert quickly is not None
    assert sorted(quickly) == sorted(understood[0])


@pytest.mark.parametrize(
    "argv",
    [["auth", "--help"], ["--unknown", "x"], ["--limit"], ["--", "-x"], ["--json=1"], ["-n5"]],
)
def test_unusual_arguments_are_left_to_the_framework(argv: list[str]) -> None:
    assert read_arguments(UNIFIED, argv) is None


@pytest.mark.parametrize(
    ("argv", "pairs"),
    [
        (["day"], {"dateStart": "today", "dateEnd": "today"}),
        (["day", "last", "week"], {"dateStart": "last week", "dateEnd": "last week"}),
        (
            ["day", "yesterday", "--project", "web"],
            {"dateStart": "yesterday", "dateEnd": "yesterday", "project": "web"},
        ),
        (["recent", "-n", "3"], {"dateEnd": "now", "limit": "3"}),
        (["recent", "--until", "yesterday"], {"dateEnd": "yesterday"}),
        (["recent", "auth"], {"query": "auth", "dateEnd": "now"}),
    ],
)
def test_day_and_recent_are_searches_with_a_time(argv: list[str], pairs: dict[str, str]) -> None:
    command = built_in(argv[0])
    assert command is not None
    assert command.route == "/api/search/unified"
    assert dict(read_arguments(command, argv[1:]) or ()) == pairs


def test_a_kind_cannot_be_chosen_where_there_is_one() -> None:
    assert read_arguments(NOTES, ["x", "--kind", "note"]) is None
    assert read_arguments(UNIFIED, ["x", "--kind", "note"]) == [("query", "x"), ("types", "note")]


def test_every_option_is_found_again_by_its_parameter() -> None:
    for option in OPTIONS:
        assert option.fixed or flag_of(option.param) == option.flag
    assert flag_of("ref") == "ref"
    assert flag_of("fields/0") == "--field"


@given(st.lists(st.tuples(words, words), min_size=1, max_size=4))
def test_a_target_is_parsed_back_unchanged(pairs: list[tuple[str, str]]) -> None:
    target = target_of("/api/search", pairs)
    assert target.isascii()
    assert parse_qsl(urlsplit(target).query, keep_blank_values=True) == pairs


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":America/New_York", "America/New_York"),
        ("UTC", "UTC"),
        ("CET-1CEST", None),
        ("/etc/passwd", None),
        ("Ēurope/Berlin", None),
    ],
)
def test_only_names_of_zones_are_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, sent: str | None
) -> None:
    monkeypatch.delenv("MEM_SEARCH_TIMEZONE", raising=False)
    monkeypatch.setenv("TZ", name)
    assert headers(str(tmp_path)).get("X-Terminal-Timezone") == sent


@contextmanager
def worker(home: Path, status: int, body: str, **more: str) -> Iterator[list[str]]:
    """A server that passes for this home's worker; gives the request lines it saw."""
    seen: list[str] = []

    class Reply(Standin):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.reply(body.encode(), status, **more)

    with standing_in(home, Reply):
        yield seen


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEM_SEARCH_HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    return tmp_path


def test_a_listing_is_printed_as_it_comes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listing = 'Found 1 result(s) matching "auth":\n\n🟣 Observation #1 - Für alle (Nov 1)\n'
    with worker(home, 200, listing) as seen:
        assert run(["unified", "auth", "-n", "5"]) == 0
    assert capsys.readouterr().out == listing
    assert seen == ["/api/search/unified?query=auth&limit=5"]


def test_nothing_found_is_exit_1(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with worker(home, 200, 'No results found matching "x"\n'):
        assert run(["notes", "x"]) == 1
    with worker(home, 200, '{"results": [], "total": 0}'):
        assert run(["notes", "x", "--json"]) == 1


@pytest.mark.parametrize("status", [404, 422, 503])
def test_a_problem_is_left_to_the_framework(home: Path, status: int) -> None:
    with worker(home, status, "{}"):
        assert run(["notes", "x"]) is None


def test_an_answer_cut_short_is_not_printed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with worker(home, 200, "Found", **{"Content-Length": "500"}):
        assert run(["notes", "x"]) is None
    assert capsys.readouterr().out == ""


def test_a_state_file_without_its_lock_is_not_believed(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        (home / "worker.json").write_text(json.dumps({"url": url}, indent=1))
        assert run(["notes", "x"]) is None


HEAVY = {"aiohttp", "numpy", "chromadb", "onnxruntime", "rich", "tomllib"}


def imported(*argv: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "mem_search", *argv],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    return {line.partition(".")[0] for line in lines} | set(lines)


@pytest.mark.parametrize("argv", [["--help"], ["notes", "--help"]])
def test_help_loads_neither_kinds_nor_models(argv: list[str]) -> None:
    assert not imported(*argv) & {
        *HEAVY,
        "numpy",
        "pydantic",
        "mem_search.contracts",
        "mem_search.model",
        "mem_search.records.registry",
        "mem_search.text.dates",
    }


@pytest.mark.parametrize("argv", [["unified", "--help"], ["worker", "status"]])
def test_the_command_line_imports_nothing_heavy(home: Path, argv: list[str]) -> None:
    assert not imported(*argv) & HEAVY


def test_the_version_is_printed_without_the_framework() -> None:
    assert not imported("--version") & (HEAVY | {"typer", "pydantic"})


def test_a_plain_search_imports_hardly_anything(home: Path) -> None:
    with worker(home, 200, "Found 1 result(s):\n"):
        extra = imported("unified", "auth")
    assert not extra & (
        HEAVY
        | {"typer", "pydantic", "socket", "http", "json", "pathlib", "dataclasses", "re", "urllib"}
    )


@pytest.mark.parametrize(
    "argv", [["x", "--json", "--format", "full"], ["x", "--format=csv", "--json"]]
)
def test_an_option_without_a_value_counts_more_than_one_with(argv: list[str]) -> None:
    assert read_arguments(UNIFIED, argv) == [("query", "x"), ("format", "json")]


_SERVING = """
import os
import sys
import mem_search.daemon.run as daemon
from mem_search.cli import fast_path
from mem_search.errors import Conflict

def run(settings, *, echo):
    print(settings.home, echo, "typer" in sys.modules, os.environ["OPENBLAS_NUM_THREADS"])
    raise Conflict("already running")

daemon.run = run
print(fast_path.run(sys.argv[1:]))
"""


def test_the_worker_runs_without_the_framework(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SERVING, "worker", "run"]
    environ = {**os.environ, "MEM_SEARCH_HOME": str(tmp_path)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{tmp_path} True False 1", "5"]
    assert "Ctrl-C stops it" in done.stderr
    assert "already running" in done.stderr


def test_options_of_the_worker_are_left_to_the_framework() -> None:
    assert run(["worker", "run", "--port", "0"]) is None

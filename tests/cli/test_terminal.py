"""No text that was stored or typed acts on a terminal, in any command."""

from __future__ import annotations

import ast
import io
import json
import os
import pty
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import mem_search.cli
from homes import Home, quick
from mem_search.cli import fast_path
from mem_search.cli.app import app, main
from mem_search.cli.output import coloured
from mem_search.cli.search_options import MIXED
from mem_search.records import SEARCHED
from mem_search.records.registry import installed_kinds
from mem_search.text.control_characters import escaped, escaped_json, removed

EVIL = "\x1b]0;owned\x07\x1b[31mre\x9b2Jd\x7f\u202elive\u2066\u200b\x08\r\U000e0041"
HARMFUL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
    "|\r(?!\n)"
)
SOURCES = sorted(
    path
    for place in ("cli/**/*.py", "daemon/**/*.py", "features/*/cli.py")
    for path in Path(mem_search.cli.__file__).parents[1].glob(place)
)
"""Everything that runs in a terminal."""

ALLOWED = {
    "cli/output.py",  # the one place
    "daemon/logs.py",  # its formatter escapes
}
PRINTING = {"print", "sys.stdout", "sys.stderr", "typer.echo", "typer.secho", "typer.style"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_nothing_prints_around_the_one_place(path: Path) -> None:
    if f"{path.parent.name}/{path.name}" in ALLOWED:
        return
    tree = ast.parse(path.read_text("utf-8"))
    names = [
        ast.unparse(node.func if isinstance(node, ast.Call) else node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Call)
    ]
    asking = [
        name for name in names if name.endswith(("stdout.isatty", "stderr.isatty"))
    ]  # each is found twice
    found = [name for name in names if name in PRINTING]
    assert len(found) == len(asking) // 2, found


WHOLE_LINES = {
    "agents.py": "a command to copy, a table",
    "app.py": "the version",
    "fast_path.py": "the version",
    "opening.py": "an address or a command to copy, a record in colours",
    "output.py": "itself",
    "quickstart.py": "commands to copy",
    "records.py": "a rule between records",
    "search.py": "a file of a format",
    "completion.py": "completions, for a shell",
    "features/access/cli.py": "a token, the name of a share",
    "features/research/cli.py": "a document",
    "features/scopes/cli.py": "a filter",
    "features/viewer/cli.py": "an address",
    "features/webhooks/cli.py": "a secret",
}
"""Modules that print with ``write``, which lets the terminal break words, and what they print."""


def test_messages_are_printed_by_what_keeps_words_whole_on_a_terminal() -> None:
    found = {
        path.name if path.parent.name == "cli" else "/".join(path.parts[-3:])
        for path in SOURCES
        if path.parent.name == "cli" or path.name == "cli.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "write"
    }
    assert found == WHOLE_LINES.keys()


def test_text_is_cleaned_json_is_escaped_and_a_log_line_stays_one() -> None:
    assert not HARMFUL.search(removed(EVIL))
    assert removed("a\tb\r\nc\n") == "a\tb\r\nc\n"
    assert removed("👩‍💻 نمی‌خواهم") == "👩‍💻 نمی‌خواهم"  # joiners that the scripts need
    text = json.dumps({"x": EVIL}, ensure_ascii=False)
    assert not HARMFUL.search(escaped_json(text))
    assert json.loads(escaped_json(text)) == {"x": EVIL}
    assert escaped("one\r\n2026-11-22 INFO two\x1b[2J") == "one\\x0d\\n2026-11-22 INFO two\\x1b[2J"


def record(kind: str, number: int, **more: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "source_id": f"{kind}-{number}",
        "title": f"marlin {EVIL} title",
        "text": f"marlin {EVIL}\nsecond line \x00 of {EVIL}",
        "created_at": f"2025-11-{number + 1:02}T10:00:00Z",
        "project": f"web{EVIL}",
        "session": f"s{EVIL}",
        "tags": [f"tag{EVIL}"],
        "links": [{"to": f"https://example.org/{EVIL}", "relation": "cites"}],
        **more,
    }


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home whose every stored text is hostile."""
    home = quick(tmp_path_factory.mktemp("hostile"))
    lines = [
        record("observation", 1, metadata={"type": "decision", "concepts": [f"c{EVIL}"],
                                           "files_modified": [f"src/{EVIL}.py"]}),
        record("note", 2, metadata={"folder": f"in{EVIL}"}),
        record("user_prompt", 3),
        {"kind": f"nothing{EVIL}", "text": f"refused {EVIL}"},
    ]  # fmt: skip
    file = home.path.parent / f"in{EVIL}.jsonl".replace("/", "")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    home.run("import", "jsonl", str(file))
    home.ok("saved", "add", "fishes", "--every", "1h", "--", f"marlin {EVIL}")
    home.ok("scope", "add", "sea", f"tag:x{EVIL}")
    yield home
    home.end()


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command of the command line, as its words."""
    group = typer.main.get_command(app) if group is None else group
    context = typer.Context(group) if hasattr(group, "list_commands") else None
    if context is None:
        yield path
        return
    for name in group.list_commands(context):
        yield from commands(group.get_command(context, name), (*path, name))


QUERY = (f"marlin {EVIL}",)
ARGUMENTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "search": (QUERY, (*QUERY, "--format", "full"), (*QUERY, "--format", "json")),
    "get": (("observation:1",), ("observation:1", "--json"), (f"observation:9{EVIL}",)),
    "delete": ((f"note:99{EVIL}", "--yes"), ("observation:1",)),
    "timeline": (("marlin",), ("1", "--json"), ("1", "--format", "full"), QUERY),
    "related": (("observation:1",), ("observation:1", "--json")),
    "preview": (("observation:1",), (f"observation:9{EVIL}",)),
    "open": (("observation:1",), (f"observation:9{EVIL}",)),
    "cite": (("observation:1",), *(("note:2", "--style", each) for each in ("bibtex", "ris"))),
    "suggest": (("mar",), ("mar", "--json"), ("web",), (EVIL,)),
    "sync": ((f"no{EVIL}",), ("git", f"/nowhere/{EVIL}")),
    "unfollow": (("git", f"/nowhere/{EVIL}"),),
    "import": ((f"/nowhere/{EVIL}",), (f"x{EVIL}", "/etc/hostname")),
    "export": ((), ("--project", EVIL)),
    "archive add": ((EVIL,), ("papers", "--research", f"/nowhere/{EVIL}")),
    "archive index": ((EVIL,),),
    "archive list": ((), ("--json",)),
    "archive remove": ((EVIL,),),
    "archive citations": (("--about", EVIL), (f"report:9{EVIL}",), ("observation:1", "--json")),
    "archive check": (QUERY, (*QUERY, "--json"), (EVIL,)),
    "archive search": (QUERY, (*QUERY, "--json"), (EVIL, "--field", EVIL)),
    "graph export": (
        (),
        ("--format", "dot"),
        ("--format", "svg", "--around", "observation:1"),
        (EVIL, "--format", EVIL),
        ("--format", "html"),
        ("--project", EVIL),
    ),
    "cites": ((f"report:9{EVIL}",), ("observation:1", "--json")),
    "cited-by": ((f"report:9{EVIL}",), ("observation:1",)),
    "citation-report": ((), ("--json",), ("--archive", EVIL)),
    "add": ((f"/nowhere/{EVIL}",), (f"a note {EVIL}", "--title", EVIL)),
    "install": ((), (EVIL,), ("codex", "--dry-run")),
    "quickstart": ((f"--no{EVIL}",),),
    "uninstall": ((EVIL,), ("codex",)),
    "service install": ((EVIL,),),  # it would change the machine that tests run on
    "service uninstall": ((EVIL,),),
    "resume": (("observation:1",), (f"observation:9{EVIL}",)),
    "why": ((f"/nowhere/{EVIL}",),),
    "view": (("--link", f"marlin {EVIL}"), ("--json", "observation:1")),
    "context": (
        ("--project", "web"),
        ("--project", EVIL),
        ("--project", "web", "--json"),
        ("--costs",),
    ),
    "forget": ((f"note:99{EVIL}", "--yes"), ("--query", *QUERY), ("--path", EVIL)),
    "purge": ((),),
    "backup": ((f"/nowhere/{EVIL}",),),
    "mirror": ((f"/nowhere/{EVIL}",), (f"/nowhere/{EVIL}", "--stop")),
    "restore": ((f"/nowhere/{EVIL}",),),
    "stats": ((), ("--json",)),
    "analytics": ((), ("--json",), ("--since", EVIL)),
    "help": (("saved",), (EVIL,)),
    "learn": ((), ("--show", "--json")),
    "websearch": (QUERY, (EVIL, "--json")),
    "share add": ((EVIL, "--with", EVIL), ("sea", "--with", EVIL)),
    "share list": ((), ("--json",)),
    "share remove": ((EVIL,),),
    "projects": ((), ("--json",)),
    "ledger": ((), ("--json",), ("--item", EVIL)),
    "sources": ((), ("--json",), (EVIL,)),
    "jobs": ((), ("--json",), (f"none{EVIL}",)),
    "mcp": (),  # a protocol for programs, in JSON
    "doctor": ((), ("--json",)),
    "migrate": ((EVIL,), ("claude-mem", "--store", f"/nowhere/{EVIL}"), ("claude-mem", "--undo")),
    "reembed": (("--model", EVIL),),
    "compress": ((), ("--take-back",)),
    "index status": ((), ("--json",)),
    "index audit": ((),),
    "index rebuild": ((),),
    "worker run": (("--host", EVIL),),
    "worker start": (("--host", EVIL),),
    "worker stop": ((EVIL,),),
    "worker restart": (("--host", EVIL),),
    "worker status": ((), ("--json",)),
    "worker logs": ((),),
    "token create": ((EVIL,), ("--user", EVIL, "x")),
    "token list": ((), ("--json",)),
    "token revoke": ((EVIL,),),
    "user list": ((), ("--json",)),
    "user remove": ((EVIL, "--yes"), (EVIL,)),
    "research list": ((), ("--session", EVIL), ("--json",)),
    "research show": ((EVIL,),),
    "research replay": ((EVIL,),),
    "research export": ((EVIL,),),
    "research forget": ((EVIL, "--yes"), (EVIL,)),
    "saved add": ((EVIL, "x"),),
    "saved list": ((), ("--json",)),
    "saved run": (("fishes",), ("fishes", "--json"), (EVIL,)),
    "saved remove": ((EVIL,),),
    "saved inbox": (("--keep",), ("--json", "--keep")),
    "scope add": ((EVIL, "tag:x"), ("sea2", EVIL)),
    "scope list": ((), ("--json",)),
    "scope remove": ((EVIL,),),
    "webhook secret": ((),),
}
"""Arguments for each command: what it prints well, and what it refuses with the words in it."""

SEARCHES = (
    {command.name for command in MIXED}
    | {kind.plural for kind in installed_kinds()}
    | set(SEARCHED)
)


def cases() -> Iterator[tuple[str, ...]]:
    for words in commands():
        name = " ".join(words)
        rows = ARGUMENTS["search"] if name in SEARCHES else ARGUMENTS.get(name)
        assert rows is not None, f"add to ARGUMENTS how to run {name!r}, well and with EVIL"
        yield from ((*words, *row) for row in rows)
    yield (f"no-such{EVIL}",)
    yield ("stats", f"--no-such{EVIL}")


@pytest.fixture
def at_home(hostile: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """This process has the environment of ``hostile``, as a command that is typed there."""
    for name in os.environ.keys() - hostile.environ.keys():
        monkeypatch.delenv(name)
    for name, value in hostile.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(hostile.path.parent)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    return hostile


@pytest.mark.parametrize("argv", list(cases()), ids=ascii)
def test_no_command_prints_what_acts_on_a_terminal(
    argv: tuple[str, ...], at_home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    if argv[0] == "worker":  # a worker would become, or end, this process
        done = at_home.run(*argv)
        code, out, err = done.returncode, done.stdout, done.stderr
    else:
        found = fast_path.run([*argv])
        code = main([*argv]) if found is None else found
        out, err = capfd.readouterr()
    if argv[0] == "preview":  # its colours are for fzf, which is no terminal
        out = re.sub(r"\x1b\[[0-4]m", "", out)
    assert not HARMFUL.search(out), out
    assert not HARMFUL.search(err), err
    assert "Traceback" not in err
    if "--json" in argv and code == 0:
        assert json.loads(out) is not None


def test_on_a_terminal_only_our_own_colours_are_left(hostile: Home) -> None:
    for argv in (("unified", "marlin"), ("doctor",), ("suggest", "mar"), ("saved", "list")):
        leader, follower = pty.openpty()
        environ = {**hostile.environ, "TERM": "xterm"}
        environ.pop("NO_COLOR", None)
        pid = os.fork()
        if not pid:
            for stream in (0, 1, 2):
                os.dup2(follower, stream)
            os.execve(sys.executable, [sys.executable, "-m", "mem_search", *argv], environ)
        os.close(follower)
        shown = b""
        try:
            while piece := os.read(leader, 65536):
                shown += piece
        except OSError:
            pass  # the other end is closed
        os.close(leader)
        os.waitpid(pid, 0)
        text = re.sub(r"\x1b\[\d*m", "", shown.decode("utf-8").replace("\r\n", "\n"))
        assert text.strip()
        assert not HARMFUL.search(text), text


def test_a_text_that_looks_like_a_listing_is_coloured_after_it_was_cleaned() -> None:
    line = removed(f"🔵 Observation #1 - a {EVIL} title (today)")
    assert not HARMFUL.search(re.sub(r"\x1b\[\d*m", "", coloured(line)))

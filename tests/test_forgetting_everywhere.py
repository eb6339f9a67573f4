"""Every source and surface with a word of its own in each place: forgotten, none is in any byte.

What remains on purpose is listed in ``docs/contracts/forgetting.md``: it is named here, and
nothing else.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from homes import Home, quick
from patience import until
from postgres_server import address

pytestmark = pytest.mark.worker

WORDS = {
    "title": "zorblaxtitle", "body": "quuxlybody", "tag": "frobnitztag", "metadata": "vexelmeta",
    "id": "brimstedtid", "project": "xanthoproject", "asked": "wobbleasked",
    "saved": "plimsolsaved", "scope": "gorblescope", "upload": "snorkelupload",
    "session": "5e551077-dead-4bee-9f00-00a1b2c3d4e5", "prompt": "yttriumprompt",
    "file": "kumquatfile.py", "answer": "zylophanswer", "folder": "-gone-mulberryfolder",
    "cwd": "mulberryfolder", "captured": "captured-77f3-session", "thought": "grumblethought",
    "document": "pomelodocument",
}  # fmt: skip
"""Place → the word that only it has."""


@pytest.fixture(params=["file", "postgres"])
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Home]:
    settings = {"MEM_SEARCH_FOLLOW": "0", "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    if request.param == "postgres":
        settings |= {"MEM_SEARCH_STORE": address(), "MEM_SEARCH_STORE_OWNER": str(tmp_path)}
    made = quick(tmp_path, **settings)
    yield made
    made.end()


def tables(home: Home) -> dict[str, str]:
    """Table of the store → its rows as a text."""
    if server := home.environ.get("MEM_SEARCH_STORE"):
        with psycopg.connect(server) as store:
            owner = home.environ["MEM_SEARCH_STORE_OWNER"]
            store.execute("select set_config('mem_search.owner', %s, false)", (owner,))
            names = store.execute(
                "select schemaname || '.' || tablename from pg_tables"
                " where schemaname not in ('pg_catalog', 'information_schema')"
            ).fetchall()
            return {
                name: repr(store.execute(f"select t::text from {name} t").fetchall())
                for (name,) in names
            }
    with closing(sqlite3.connect(home.path / "mem-search.db")) as store:
        rows = store.execute("select name from sqlite_master where type = 'table'").fetchall()
        return {
            name: repr(store.execute(f'select * from "{name}"').fetchall())
            for (name,) in rows
            if name not in ("words_fts", "people_fts")  # no rows to read: terms are in the file
        }


def holding(home: Home) -> dict[str, list[str]]:
    """File of the home, or table of its store → which of the words are in it, or in its name."""
    said = {f"table {name}": text.lower().encode() for name, text in tables(home).items()}
    for file in sorted(home.path.rglob("*")):
        name = str(file.relative_to(home.path))
        content = file.read_bytes() if file.is_file() else b""
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        said[name] = content.lower() + name.lower().encode()
    found = {
        name: [place for place, word in WORDS.items() if word.encode() in text]
        for name, text in said.items()
    }
    return {name: held for name, held in found.items() if held}


def capture(home: Home, path: str, body: dict[str, object]) -> None:
    home.call("POST", path, body)


def fill(home: Home) -> Path:
    """Fill a home through its sources and surfaces; returns the folder of transcripts."""
    w = WORDS
    note = {
        "kind": "note", "source_id": w["id"], "title": f"The {w['title']}",
        "text": f"It says {w['body']} of the harbour.", "tags": [w["tag"]],
        "project": w["project"], "metadata": {"place": w["metadata"]},
    }  # fmt: skip
    home.ok("worker", "start")
    home.call("POST", "/api/records", note)
    upload = json.dumps({"kind": "note", "text": "An ordinary line about tides"}) + "\n"
    request = urllib.request.Request(
        f"{home.worker()['url']}/api/import/upload?source=jsonl&name={w['upload']}.jsonl",
        upload.encode(),
        {"Authorization": f"Bearer {(home.path / 'token').read_text().strip()}",
         "Content-Type": "application/x-ndjson"},
    )  # fmt: skip
    with urllib.request.urlopen(request) as reply:
        job = json.loads(reply.read())["job"]
    until(lambda: home.call("GET", f"/api/jobs/{job}")["state"] == "done")

    projects = home.path.parent / "claude" / "projects"
    folder = projects / w["folder"]
    folder.mkdir(parents=True)
    said = [
        ("user", f"Please mend the {w['prompt']} of the lamp"),
        ("assistant", [{"type": "tool_use", "id": "toolu_1", "name": "Edit",
                        "input": {"file_path": f"/gone/{w['cwd']}/{w['file']}"}}]),
        ("user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": w["answer"]}]),
        ("assistant", [{"type": "text", "text": f"The lamp burns again, {w['thought']} says."}]),
    ]  # fmt: skip
    lines = [
        {"type": kind, "uuid": f"u{place}", "sessionId": w["session"], "cwd": f"/gone/{w['cwd']}",
         "timestamp": f"2026-01-01T00:00:0{place}Z",
         "message": {"role": kind, "id": f"m{place}", "content": content}}
        for place, (kind, content) in enumerate(said)
    ]  # fmt: skip
    transcript = folder / f"{w['session']}.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    home.ok("sync", "claude-code", str(projects))
    documents = home.path.parent / "documents"
    documents.mkdir()
    (documents / f"{w['document']}.txt").write_text("The pier is long.")
    home.ok("sync", "files", str(documents))

    # A client of claude-mem, whose session has no transcript, and the costs of hooks.
    session = {
        "contentSessionId": w["captured"],
        "project": w["project"],
        "cwd": f"/gone/{w['cwd']}",
    }
    capture(home, "/api/sessions/init", {**session, "prompt": f"What is {w['asked']} to us?"})
    until(lambda: home.call("GET", f"/api/search?query={w['asked']}&format=json")["results"])
    hooks = home.path / "hooks"
    hooks.mkdir(exist_ok=True)
    for each in (w["session"], w["captured"], "another"):
        line = {"session": each, "agent": "claude-code", "event": "Stop", "at": 1, "tokens": 0,
                "ms": 1.0, "cpu_ms": 1.0, "answered": True, "searched": False}  # fmt: skip
        with (hooks / "costs.jsonl").open("a") as costs:
            costs.write(json.dumps(line) + "\n")

    # What quotes them.
    home.ok("unified", w["asked"], "harbour")
    home.ok("unified", "harbour", "--project", w["project"])
    home.ok("unified", w["body"])
    home.ok("saved", "add", w["saved"], f"{w['body']} {w['saved']}", "--inbox")
    home.ok("saved", "add", "mine", f"harbour project:{w['project']}")
    home.ok("scope", "add", w["scope"], f"project:{w['project']}")
    body = {"query": f"{w['title']} harbour", "mode": "deep_research", "full_content": True}
    home.call("POST", "/api/v1/search", body)
    waiting = {"query": f"{w['tag']} in the harbour", "background": True}
    search = home.call("POST", "/api/v1/search", waiting)["job_id"]
    until(lambda: home.call("GET", f"/api/v1/search/jobs/{search}")["status"] == "completed")
    return projects


@pytest.mark.parametrize("gone", [False, True])
def test_no_word_of_any_place_is_left_in_the_home(home: Home, gone: bool) -> None:
    projects = fill(home)
    stays = {"kind": "note", "text": "Another harbour stays", "created_at": "2098-01-01T00:00:00Z"}
    home.call("POST", "/api/records", stays)
    before = {word for held in holding(home).values() for word in held}
    assert before == set(WORDS)
    if gone:
        for file in [*projects.rglob("*.jsonl"), *(home.path.parent / "documents").iterdir()]:
            file.unlink()

    said = home.ok("forget", "--before", "2090-01-01", "--yes")
    assert "still in" not in said
    home.ok("worker", "stop")
    left = holding(home)
    if gone:
        assert left == {}
    else:
        # A location that is followed remembers how far its own files were read, by their names.
        assert {name.rpartition(".")[2].split()[-1] for name in left} <= {"db", "cursors"}, left
        remaining = {word for held in left.values() for word in held}
        assert remaining <= {"session", "folder", "cwd", "document"}, left
    home.ok("worker", "start")
    assert "Another harbour stays" in home.ok("unified", "another")
    costs = (home.path / "hooks" / "costs.jsonl").read_text()
    assert [json.loads(line)["session"] for line in costs.splitlines()] == ["another"]

"""Every source and surface with a word of its own in each place: forgotten, none is in any byte.

What remains on purpose is listed in ``docs/security.md``: it is named here, and nothing else.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from homes import Home, quick
from patience import until

pytestmark = pytest.mark.worker

WORDS = {
    "title": "zorblaxtitle", "body": "quuxlybody", "tag": "frobnitztag", "metadata": "vexelmeta",
    "id": "brimstedtid", "project": "xanthoproject", "query": "wobblequery",
    "saved": "plimsolsaved", "scope": "gorblescope", "upload": "snorkelupload",
    "session": "5e551077-dead-4bee-9f00-00a1b2c3d4e5", "prompt": "yttriumprompt",
    "file": "kumquatfile.py", "answer": "zylophanswer", "folder": "-gone-mulberryfolder",
    "cwd": "mulberryfolder", "captured": "captured-77f3-session", "thought": "grumblethought",
    "document": "pomelodocument",
}  # fmt: skip
"""Place → the word that only it has."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = quick(tmp_path, MEM_SEARCH_FOLLOW="0")
    yield made
    made.end()


def holding(home: Home) -> dict[str, list[str]]:
    """File of the home, or table of its store → which of the words are in it, or in its name."""
    found: dict[str, list[str]] = {}
    for file in sorted(home.path.rglob("*")):
        name = str(file.relative_to(home.path))
        content = file.read_bytes() if file.is_file() else b""
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        said = content.lower() + name.lower().encode()
        if held := [place for place, word in WORDS.items() if word.encode() in said]:
            found[name] = held
    with closing(sqlite3.connect(home.path / "mem-search.db")) as store:
        tables = store.execute("select name from sqlite_master where type = 'table'").fetchall()
        for (table,) in tables:
            if table == "words_fts":  # it has no rows to read: its terms are in the file
                continue
            text = repr(store.execute(f'select * from "{table}"').fetchall()).lower()
            if held := [place for place, word in WORDS.items() if word in text]:
                found[f"table {table}"] = held
    return found


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
        ("assistant", [{"type": "text", "text": f"The lamp burns again, {w['thought']}, I think."}]),
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
    capture(home, "/api/sessions/init", {**session, "prompt": f"What is {w['thought']} to us?"})
    until(lambda: home.call("GET", "/api/search?query=" + w["thought"] + "&format=json")["results"])
    hooks = home.path / "hooks"
    hooks.mkdir(exist_ok=True)
    for each in (w["session"], w["captured"], "another"):
        line = {"session": each, "agent": "claude-code", "event": "Stop", "at": 1, "tokens": 0,
                "ms": 1.0, "cpu_ms": 1.0, "answered": True, "searched": False}  # fmt: skip
        with (hooks / "costs.jsonl").open("a") as costs:
            costs.write(json.dumps(line) + "\n")

    # What quotes them.
    home.ok("unified", w["query"], "harbour")
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


def test_no_word_of_any_place_is_left_in_the_home(home: Home) -> None:
    home.environ["CLAUDE_CONFIG_DIR"] = str(home.path.parent / "claude")
    projects = fill(home)
    home.ok("import", "jsonl", "-", given='{"kind": "note", "text": "Another harbour stays"}\n')
    before = {word for held in holding(home).values() for word in held}
    assert before == set(WORDS)
    kept = home.call("GET", "/api/search?query=another&format=json")["results"][0]["ref"]

    everything = home.call("GET", "/api/search?query=*&format=json&limit=100")["results"]
    refs = [each["ref"] for each in everything if each["ref"] != kept]
    home.ok("forget", *refs, "--yes")
    home.ok("worker", "stop")
    left = holding(home)
    # A location that is followed remembers how far its own files were read, by their names.
    followed = {"mem-search.db", "table cursors"}
    assert set(left) <= followed, left
    remaining = {word for held in left.values() for word in held}
    assert remaining <= {"session", "folder", "cwd", "document"}, left

    # Once the files are gone and read again, nothing is left of their names either.
    for file in [*projects.rglob("*.jsonl"), *(home.path.parent / "documents").iterdir()]:
        file.unlink()
    home.ok("worker", "start")
    assert "Another harbour stays" in home.ok("unified", "another")

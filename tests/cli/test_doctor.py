"""What ``doctor`` finds in broken homes, and that the command it names repairs them."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chosen_store import in_a_file
from homes import Home
from mem_search.cli.doctor import index_protection, redacted_again, transcripts, unread_items
from mem_search.cli.local_checks import misspelt
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.migrations import migrate
from patience import PATIENCE, until

NOTE = json.dumps({"kind": "note", "text": "auth tokens expire"}) + "\n"
STORED = ({"kind": "note", "text": "tabs"},)


def finding(mem: Home, name: str) -> dict[str, str]:
    """What the doctor misses under this name; empty when it misses nothing there."""
    said = json.loads(mem.run("doctor", "--json").stdout)["findings"]
    missing = [each for each in said if each["name"] == name and each["state"] == "missing"]
    return missing[0] if missing else {}


def mend(mem: Home, command: str) -> None:
    """Run a line of the doctor's in a shell that has ``mem-search``."""
    known = f'mem-search() {{ "{sys.executable}" -P -m mem_search "$@"; }}\n'
    subprocess.run(
        ["/bin/bash", "-c", known + command], env=mem.environ, check=True, capture_output=True
    )


def new_store(mem: Home) -> Path:
    """A store as a worker leaves it, which none has to start for."""
    mem.path.mkdir(parents=True, exist_ok=True)
    file = mem.path / "mem-search.db"
    with closing(
        sqlite3.connect(file, isolation_level=None, factory=SqliteConnection)
    ) as connection:
        connection.execute("pragma journal_mode=wal")
        migrate(connection)
    return file


def foreign(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("create table invoices(id)")
        connection.commit()


def garbage(file: Path) -> None:
    file.write_bytes(b"not a database, but long enough" * 40)


@in_a_file("it is overwritten")
@pytest.mark.parametrize("broken", [foreign, garbage])
def test_a_store_that_is_not_ours_is_set_aside_by_the_named_command(
    mem: Home, broken: object
) -> None:
    mem.path.mkdir(parents=True, exist_ok=True)
    file = mem.path / "mem-search.db"
    assert callable(broken)
    broken(file)
    before = file.read_bytes()
    found = finding(mem, "database")
    mend(mem, found["fix"].partition("start anew: ")[2].partition("; mem-search sync")[0])
    assert (mem.path / "aside" / "mem-search.db").read_bytes() == before
    mem.ok("import", "jsonl", "-", given=NOTE)
    assert finding(mem, "database") == {}


@in_a_file("it is made by hand")
def test_a_store_of_a_newer_version_is_not_moved_but_the_program_updated(mem: Home) -> None:
    with closing(sqlite3.connect(new_store(mem))) as connection:
        connection.execute("insert into mem_search_migrations values('m999_later', 0)")
        connection.commit()
    found = finding(mem, "database")
    assert "newer mem-search" in found["detail"]
    assert found["fix"] == "update mem-search"


@in_a_file("another program holds it")
def test_a_store_that_another_program_holds_is_not_to_be_moved(mem: Home) -> None:
    with closing(sqlite3.connect(new_store(mem), isolation_level=None)) as connection:
        connection.execute("pragma journal_mode=delete")
        connection.execute("begin exclusive")
        found = finding(mem, "database")
    assert "locked" in found["detail"]
    assert "mv " not in found["fix"]


def test_unfollow_stops_reading_a_location_that_no_longer_exists(
    home: Home, tmp_path: Path
) -> None:
    file = tmp_path / "my notes.jsonl"
    file.write_text(NOTE)
    home.ok("sync", "jsonl", str(file))
    file.rename(tmp_path / "elsewhere")
    file.mkdir()
    assert home.run("sync", "jsonl", str(file)).returncode == 7
    found = finding(home, "source jsonl")
    mend(home, found["fix"].rpartition(": ")[2])
    assert finding(home, "source jsonl") == {}
    assert "auth tokens expire" in home.ok("notes", "expire", "--format", "full")
    again = home.run("unfollow", "jsonl", str(file))
    assert (again.returncode, "mem-search stats" in again.stderr) == (4, True)


def test_a_slip_in_a_path_leaves_nothing_for_the_doctor(home: Home) -> None:
    for argv in (("sync", "claude-mem", "/etc/hostname"), ("import", "jsonl", "/etc")):
        assert home.run(*argv).returncode == 7
    assert home.run("doctor").returncode == 0
    assert "/etc" not in home.ok("stats")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("timeline", "1", "--before", "99"), "--before: "),
        (("timeline", "1", "--after", "99"), "--after: "),
        (("cite", "1", "--style", "harvard"), "--style: "),
        (("export", "--kind", "poem"), "--kind: "),
        (("sync", "poems"), "SOURCE: 'poems'"),
        (("unified", "x", "--since", "2025-02-01", "--until", "2025-01-01"), "--until: "),
        (("worker", "start", "--port", "99999"), "65535"),
        (("get", "poem:1"), "no kind of record is called 'poem'; choose one of observation"),
    ],
)
def test_an_error_uses_the_words_of_the_command_line(
    home: Home, argv: tuple[str, ...], said: str
) -> None:
    done = home.run(*argv)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_settings_with_which_no_worker_starts_are_bad_input(mem: Home) -> None:
    assert mem.run("worker", "start", MEM_SEARCH_LOG_LEVEL="LOUD").returncode == 2
    assert mem.run("worker", "start", MEM_SEARCH_HOST="192.0.2.7").returncode == 6


def test_jobs_are_listed_in_words(home: Home) -> None:
    listed = home.ok("jobs")
    assert "1 new" in listed
    assert "{" not in listed


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look anywhere")
@pytest.mark.parametrize("argv", [("doctor",), ("unified", "x"), ("worker", "status")])
def test_a_home_one_may_not_look_into_gets_one_clear_line(mem: Home, argv: tuple[str, ...]) -> None:
    mem.path.mkdir(parents=True, exist_ok=True)
    mem.path.chmod(0)
    try:
        done = mem.run(*argv)
    finally:
        mem.path.chmod(0o700)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert "MEM_SEARCH_HOME" in done.stderr


def test_a_missing_model_is_reported_with_the_command_that_installs_it(mem: Home) -> None:
    """The endpoint is this machine's port 9, where nobody listens."""
    mem.environ["MEM_SEARCH_EMBEDDER"] = "openai:any@http://127.0.0.1:9"
    mem.environ.pop("MEM_SEARCH_CHROMA_URL", None)
    mem.ok("import", "jsonl", "-", given=NOTE)
    found = until(lambda: finding(mem, "embedding"))
    assert "http://127.0.0.1:9" in found["detail"]
    assert mem.run("doctor").returncode == 1
    assert "no new vectors: the embedding endpoint" in mem.ok("stats")
    audited = mem.run("index", "audit")
    assert audited.returncode == 3
    assert "no vector index without a working model" in audited.stderr
    mem.environ["MEM_SEARCH_EMBEDDER"] = "hashing"  # a model that works
    mem.ok("worker", "restart")
    assert not finding(mem, "embedding")


@in_a_file("Chroma starts beside it")
def test_a_worker_that_has_just_started_is_not_ill(mem: Home) -> None:
    mem.environ.pop("MEM_SEARCH_CHROMA_URL", None)
    mem.ok("import", "jsonl", "-", given=NOTE)
    assert "agree" in mem.ok("index", "audit") or mem.ok("index", "rebuild")  # they wait for it
    deadline = time.monotonic() + PATIENCE
    while json.loads(mem.ok("stats", "--json"))["index"]["state"] != "ok":
        assert time.monotonic() < deadline
        assert not finding(mem, "index")
    findings = {
        each["name"]: each for each in json.loads(mem.run("doctor", "--json").stdout)["findings"]
    }
    assert findings["index access"]["state"] == "ok"
    said = findings["index access"]["detail"]
    assert "only the worker can connect" in said or "docs/security.md" in said


def test_what_keeps_others_from_the_index_is_told_with_what_stood_in_the_way() -> None:
    def told(protection: str, refusal: str = "") -> list[str]:
        index = {"protection": protection, "refusal": refusal}
        return [each.detail for each in index_protection({"index": index})]

    assert told("namespace") == ["a network of its own: only the worker can connect"]
    assert told("address", "Operation not permitted") == [
        "a random address and port of this machine, without a password (no network of its own:"
        " Operation not permitted; see docs/security.md)"
    ]
    assert told("server") == ["a server of your own; its protection is yours"]
    assert told("none") == []


def test_a_time_zone_that_does_not_exist_is_refused_before_anything_starts(mem: Home) -> None:
    done = mem.run("unified", "auth", MEM_SEARCH_TIMEZONE="Europe/Berln")
    assert done.returncode == 2
    assert done.stderr.startswith("mem-search: timezone cannot be 'Europe/Berln': write an IANA")
    assert not (mem.path / "worker.json").exists()
    mem.path.mkdir(exist_ok=True)
    (mem.path / "config.toml").write_text('timezone = "Mars/X"')
    assert "timezone cannot be 'Mars/X'" in mem.run("worker", "run").stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize(
    "argv", [("unified", "tabs"), ("export",), ("stats",), ("doctor",), ("--version",)]
)
def test_a_full_disk_is_one_line_and_no_traceback(home: Home, argv: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mem_search", *argv],
            env=home.environ, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    said = "mem-search: cannot write to standard output: No space left on device\n"
    assert done.stderr == said


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("running", [("advice", "is being redacted again: 2 records had a secret")]),
        ("failed", [("missing", "was not redacted again: 2 records had a secret")]),
        (
            "done",
            [
                ("missing", "1 record could not be"),
                (
                    "ok",
                    "3 records and 4 other texts had a secret; citations were looked for in 5",
                ),
            ],
        ),
        ("set_aside", []),  # told as every such job is
    ],
)
def test_redacting_an_older_store_is_told(state: str, expected: list[tuple[str, str]]) -> None:
    job = {
        "id": "a1", "name": "redact", "state": state, "message": "2 records had a secret",
        "result": {"changed": 3, "texts": 4, "left": 1, "citations": 5},
    }  # fmt: skip
    found = list(redacted_again([{"id": "b2", "name": "sync", "state": "done"}, job]))
    assert [each.state for each in found] == [state for state, _ in expected]
    for each, (_, words) in zip(found, expected, strict=True):
        assert words in each.detail
    assert all("a1" in each.fix for each in found if state in ("running", "failed"))


@pytest.mark.parametrize(
    ("settings", "kept", "state", "says"),
    [
        (None, {"on": False}, "advice", "after 30 days, and no copy"),
        ('{"cleanupPeriodDays": 7}', {"on": False}, "advice", "after 7 days, and no copy"),
        ('{"cleanupPeriodDays": 99999}', {"on": False}, "", ""),
        ("{", {"on": True, "files": 3}, "ok", "kept: 3; Claude Code deletes its own after 30 days"),
        (None, {"on": True, "error": "transcripts are not kept: full"}, "missing", "not kept"),
    ],
)
def test_short_lived_transcripts_are_named_when_no_copy_is_kept(
    tmp_path: Path, settings: str | None, kept: dict[str, Any], state: str, says: str
) -> None:
    if settings is not None:
        (tmp_path / "settings.json").write_text(settings)
    stats = {
        "sources": [{"source": "claude-code"}],
        "transcripts": {"files": 0, "bytes": 0, "error": "", **kept},
    }
    found = list(transcripts(stats, {"CLAUDE_CONFIG_DIR": str(tmp_path)}))
    assert [each.state for each in found] == ([state] if state else [])
    assert all(says in each.detail for each in found)
    assert list(transcripts({**stats, "sources": []}, {})) == []


def test_sources_with_lines_that_were_not_read_are_listed() -> None:
    entry = {"source": "codex", "location": "/s", "item": "a.jsonl:7", "reason": "line 7 is odd"}
    assert list(unread_items([])) == []
    codex, qwen = unread_items([entry, {**entry, "source": "qwen"}, entry])
    assert (codex.name, codex.state) == ("source codex", "advice")
    assert codex.detail == "not read: 2, the newest /s a.jsonl:7: line 7 is odd"
    assert qwen.fix == "mem-search ledger --source qwen --outcome failed"


@pytest.mark.skipif(os.name != "posix", reason="a shell closes them")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("argv", [("unified", "tabs"), ("stats",), ("--version",), ("add", "-")])
def test_a_closed_stream_is_the_null_device(home: Home, argv: tuple[str, ...], closed: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "mem_search", *argv],
        env=home.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == (2 if argv == ("add", "-") else 0)
    assert "Traceback" not in done.stderr


def test_a_misspelt_variable_is_named_and_others_of_the_project_are_not() -> None:
    (said,) = misspelt({"MEM_SEARCH_READ_TOKN": "1", "MEM_SEARCH_PORT": "1", "PORTT": "1",
                        "MEM_SEARCH_IMAP_PASSWORD": "x", "MEM_SEARCH_URL": "x"})  # fmt: skip
    assert said.detail == (
        "nothing reads MEM_SEARCH_READ_TOKN; did you mean MEM_SEARCH_READ_TOKEN?"
    )

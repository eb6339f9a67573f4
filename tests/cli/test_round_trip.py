"""End to end: import, search, open, export, delete, and the message of each error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from chosen_store import SERVER, in_a_file
from homes import Home, quick
from source_samples import file_of
from standin_worker import Standin, standing_in

RECORDS = [
    {
        "kind": "note",
        "source_id": "n1",
        "title": "Token lifetime",
        "text": "Auth tokens expire after an hour.",
        "created_at": "2026-01-02T10:00:00Z",
        "project": "web",
        "tags": ["auth"],
    },
    {
        "kind": "email",
        "source_id": "e1",
        "title": "Slow login",
        "text": "The login page takes ten seconds since the auth change.",
        "created_at": "2026-01-03T10:00:00Z",
        "project": "web",
    },
    {
        "kind": "memory",
        "source_id": "m1",
        "text": "Prefers tabs over spaces.",
        "created_at": "2026-01-04T10:00:00Z",
    },
]


def fill(mem: Home) -> Home:
    lines = "".join(json.dumps(record) + "\n" for record in RECORDS)
    assert mem.ok("import", "jsonl", "-", given=lines) == "jsonl standard input: 3 new\n"
    return mem


@pytest.fixture
def filled(mem: Home) -> Home:
    """A home of one test, which may change it."""
    return fill(mem)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with one worker for all tests that only read."""
    home = quick(tmp_path_factory.mktemp("shared"))
    yield fill(home)
    home.end()


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with one worker for all tests that add to it."""
    home = quick(tmp_path_factory.mktemp("growing"))
    yield fill(home)
    home.end()


def results(mem: Home, *argv: str) -> list[str]:
    return [each["title"] for each in json.loads(mem.ok(*argv, "--json"))["results"]]


def test_imported_records_are_found(shared: Home) -> None:
    listing = shared.ok("unified", "auth")
    assert listing.startswith('Found 2 result(s) matching "auth":\n')
    assert "Note #1 - Token lifetime (" in listing
    assert "\x1b" not in listing
    assert results(shared, "unified", "auth") == ["Slow login", "Token lifetime"]
    assert results(shared, "emails", "auth") == ["Slow login"]
    assert results(shared, "search", "--tag", "auth") == ["Token lifetime"]
    assert results(shared, "unified", "--project", "web", "--until", "2026-01-02") == [
        "Token lifetime"
    ]
    assert results(
        shared, "unified", "--kind", "email", "--kind", "note", "--order", "date_asc"
    ) == [
        "Token lifetime",
        "Slow login",
    ]


def test_the_quick_path_and_the_framework_print_the_same(shared: Home) -> None:
    quick = shared.ok("unified", "auth")
    # The two dashes are left to the framework.
    assert shared.ok("unified", "--", "auth") == quick


def test_explain_prints_why_a_record_has_its_rank(shared: Home) -> None:
    assert "why:" not in shared.ok("search", "auth")
    assert "    why: keyword " in shared.ok("search", "auth", "--explain")
    found = json.loads(shared.ok("search", "auth", "--explain", "--json"))["results"]
    assert "keyword.weight" in found[0]["scores"]


def test_nothing_found_is_exit_1(shared: Home) -> None:
    done = shared.run("unified", "--project", "nowhere")
    assert done.returncode == 1
    assert done.stdout.startswith("No results found")


def test_records_are_opened_by_ref_and_by_number(shared: Home) -> None:
    whole = shared.ok("get", "note:1", "2")
    assert "Auth tokens expire after an hour." in whole
    assert "\n---\n" in whole
    assert "ten seconds" in whole
    assert shared.ok("get", "#1", "2") == whole
    lines = shared.ok("get", "1", "email:2", "--json").splitlines()
    assert [json.loads(line)["ref"] for line in lines] == ["note:1", "email:2"]


def test_existing_records_are_printed_beside_missing_ones(shared: Home) -> None:
    done = shared.run("get", "note:99", "note:1")
    assert done.returncode == 4
    assert "Auth tokens" in done.stdout
    assert "99" in done.stderr


def test_a_timeline_is_around_a_record_or_the_best_result(shared: Home) -> None:
    around = shared.ok("timeline", "email:2")
    assert "Slow login (10:00 AM)  <- anchor" in around
    assert "Token lifetime" in around
    assert shared.ok("timeline", "slow login") == around
    assert "Slow login" not in shared.ok("timeline", "1", "--after", "0")
    assert "Slow login" in shared.ok("timeline", "yesterday")  # a moment, also in words


def test_an_export_without_a_record_says_so_and_not_among_its_lines(shared: Home) -> None:
    done = shared.run("export", "--project", "nobody")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "no record is within these filters; nothing was exported\n"


def test_export_import_export_is_identical(shared: Home, tmp_path: Path) -> None:
    first = shared.ok("export")
    assert len(first.splitlines()) == 3
    other = shared.beside("second")
    try:
        file = tmp_path / "all.jsonl"
        file.write_text(first)
        assert other.ok("import", "jsonl", str(file)) == f"jsonl {file}: 3 new\n"
        assert other.ok("export") == first
        assert other.ok("export", "--kind", "memory").count("\n") == 1
    finally:
        other.end()


def test_a_deleted_record_does_not_come_back(filled: Home) -> None:
    unasked = filled.run("delete", "note:1")
    assert unasked.returncode == 2
    assert "--yes" in unasked.stderr
    first, second, *_ = filled.ok("delete", "note:1", "--yes").splitlines()
    assert "removed records 1, passages 1, vectors 1" in first
    of_a_file = "the database, its log and the vector index are written anew"
    assert second.startswith(f"  done: {'its rows' if SERVER else of_a_file}")
    assert first in filled.ok("forget", "--status")
    assert filled.run("forget", "--project", "nowhere", "--yes").returncode == 1
    assert filled.run("forget", "note:2", "--project", "web", "--yes").returncode == 2
    assert filled.run("get", "note:1").returncode == 4
    filled.ok("import", "jsonl", "-", given=json.dumps(RECORDS[0]) + "\n")
    assert results(filled, "unified", "auth") == ["Slow login"]


def test_a_line_that_is_no_record_is_named_in_the_ledger(growing: Home, tmp_path: Path) -> None:
    growing.run("import", "jsonl", "-", given=json.dumps(RECORDS[0]) + "\n{broken\n")
    assert "failed" in growing.ok("ledger", "--item", "line 2")
    file = tmp_path / "bare.jsonl"
    file.write_text(json.dumps(RECORDS[0]) + '\n{"kind": "note"}\n', "utf-8")
    told = growing.run("import", "jsonl", str(file)).stderr
    assert "1 record could not be imported; line 2: text: field required; see: mem-search" in told
    (named,) = (
        line for line in growing.ok("ledger", "--item", file.name).splitlines() if "failed" in line
    )
    assert named.endswith(f"{file} line 2: text: field required")
    assert growing.run("ledger", "--item", "nothing like it").returncode == 1


def test_a_file_is_read_by_the_source_that_its_name_or_an_option_names(
    growing: Home, tmp_path: Path
) -> None:
    transcript = file_of("claude-code", tmp_path)
    said = "claude-code standard input: 3 new\n"
    assert (
        growing.ok("import", "--source", "claude-code", "-", given=transcript.read_text()) == said
    )
    store = file_of("claude-mem", tmp_path)
    assert growing.ok("import", str(store)) == f"claude-mem {store}: 3 new\n"
    for argv, word in (
        (["-"], "SOURCE: neither name nor type of the file"),
        (["git", "-"], "git does not read single files; those that do are jsonl, claude-mem"),
        (["jsonl", "notes.jsonl", "--source", "git"], "one source and one file"),
        (["jsonl", "a.jsonl", "b.jsonl"], "one source and one file"),
    ):
        done = growing.run("import", *argv, given="x")
        assert (done.returncode, done.stdout) == (2, "")
        assert word in done.stderr


def test_sync_reads_a_location_and_prints_the_counts(growing: Home, tmp_path: Path) -> None:
    file = tmp_path / "more.jsonl"
    file.write_text(json.dumps({"kind": "report", "text": "A report on auth."}) + "\n")
    assert growing.ok("sync", "jsonl", str(file)) == f"jsonl {file}: 1 new\n"
    assert growing.ok("sync", "jsonl", str(file)) == f"jsonl {file}: nothing new\n"
    assert "sync" in growing.ok("jobs")


def test_stats_and_index_say_how_things_stand(shared: Home) -> None:
    assert shared.ok("stats").startswith("3 records\n")
    assert json.loads(shared.ok("stats", "--json"))["records"]["total"] == 3
    assert json.loads(shared.ok("index", "status", "--json"))["passages"] >= 3


@pytest.mark.parametrize(
    ("argv", "code", "word"),
    [
        (["unified", "x", "--limit", "500"], 2, "--limit"),
        (["unified", "x", "--limit", "many"], 2, "--limit"),
        (["unified", "x", "--since", "the day after never"], 2, "--since"),
        (["unified", "x", "--order", "size"], 2, "--order"),
        (["unified", "x", "--format", "yaml"], 2, "csv, markdown, bibtex"),
        (["unified", "x", "--kind", "poem"], 2, "--kind"),
        (["unified"], 2, "query"),
        (["unified", "x", "--unknown"], 2, "--unknown"),
        (["get", "poem:1"], 2, "poem"),
        (["get", "424242"], 4, "424242"),
        (["get", "x", "--format", "yaml"], 2, "--format"),
        (["import", "jsonl", "/nowhere/x.jsonl"], 2, "/nowhere/x.jsonl"),
        (["import", "poems", "/etc/hostname"], 2, "poems"),
        (["import", "poems", "/nowhere/x.jsonl"], 2, "SOURCE: 'poems' is not a source"),
        (["sync", "claude-mem", "/etc/hostname"], 7, "/etc/hostname"),
        (["jobs", "nonsense"], 4, "nonsense"),
    ],
)
def test_bad_input_gets_one_clear_line(shared: Home, argv: list[str], code: int, word: str) -> None:
    done = shared.run(*argv)
    assert done.returncode == code, done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_closed_pipe_is_no_error(shared: Home) -> None:
    for argv in (["unified", "auth"], ["export"], ["stats"]):
        process = shared.popen(*argv)
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        process.stderr.close()
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


class Long(Standin):
    """Answers with more than a reader wants."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(10_000_000))
        self.end_headers()
        with suppress(OSError):  # nobody reads to the end
            self.wfile.write(b"x" * 10_000_000)


def test_who_stops_reading_a_long_reply_is_not_told_that_the_worker_ended(mem: Home) -> None:
    with standing_in(mem.path, Long):
        (mem.path / "token").write_text("t")
        process = mem.popen("graph", "export", "--format", "json")
        assert process.stdout is not None
        assert process.stdout.read(10) == "x" * 10
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        process.stderr.close()
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


@in_a_file("it is overwritten")
def test_doctor_finds_a_healthy_home_and_a_sick_one(filled: Home) -> None:
    healthy = filled.run("doctor")
    assert healthy.returncode == 0, healthy.stdout
    assert "ok    worker: pid " in healthy.stdout
    filled.ok("worker", "stop")
    (filled.path / "mem-search.db").write_bytes(b"not a database, but long enough" * 40)
    sick = filled.run("doctor", "--json")
    assert sick.returncode == 1
    (finding,) = [
        each for each in json.loads(sick.stdout)["findings"] if each["state"] == "missing"
    ]
    assert finding["name"] == "database"
    assert finding["fix"]


@pytest.mark.worker
def test_the_product_as_it_comes_searches_by_meaning(whole: Home) -> None:
    lines = "".join(json.dumps(record) + "\n" for record in RECORDS)
    whole.ok("import", "jsonl", "-", given=lines)
    for _ in range(60):
        if json.loads(whole.ok("stats", "--json"))["embedding_coverage"] == 1:
            break
    assert results(whole, "search", "indentation habits", "--mode", "vector")[0].startswith(
        "Prefers tabs"
    )
    assert whole.ok("index", "audit") == "index and store agree\n"
    whole.ok("worker", "stop")


def test_related_records_are_listed(growing: Home) -> None:
    line = {"kind": "note", "source_id": "n2", "text": "As [[Token lifetime]] says."}
    growing.ok("import", "jsonl", "-", given=json.dumps(line))
    (said,) = json.loads(growing.ok("notes", "says", "--json"))["results"]
    listing = growing.ok("related", str(said["number"]))
    assert listing.startswith("Found 1 record(s) related to")
    assert "Note #1 - Token lifetime (" in listing
    assert f"<- #{said['number']} mentions it" in listing
    body = json.loads(growing.ok("related", "note:1", "--depth", "1", "--json"))
    assert [node["id"] for node in body["nodes"]] == ["note:1", said["ref"]]
    alone = growing.run("related", "email:2")
    assert (alone.returncode, alone.stdout[:27]) == (1, "No results found related to")
    too_deep = growing.run("related", "note:1", "--depth", "9")
    assert too_deep.returncode == 2
    assert "depth: " in too_deep.stderr
    assert growing.run("related", "note:99").returncode == 4

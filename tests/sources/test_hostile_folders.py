"""Folders that somebody wrote to stop whoever reads them: the rest is read, and the reason told."""

from __future__ import annotations

import json
import os
import subprocess
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from mem_search.errors import SourceError
from mem_search.extractors.extraction import Extractions
from mem_search.model import Batch, LedgerEntry, Location
from mem_search.sources import by_name, exclusions, names_at
from mem_search.sources.files import Files, _look_at_all
from mem_search.sources.files.folder import walk
from mem_search.sources.mail import bodies
from mem_search.sources.mail.message import read_message

TERABYTE = 2**40
PROMPT = {
    "type": "user", "uuid": "u1", "sessionId": "s1", "cwd": "/gone",
    "timestamp": "2026-01-01T00:00:00Z",
    "message": {"role": "user", "content": "Fix the lamp"},
}  # fmt: skip


def read(source: str, path: Path) -> tuple[list[str], dict[str, LedgerEntry]]:
    """The texts, and the ledger by item."""
    batches: list[Batch] = list(by_name(source).read(Location(source, str(path)), {}))
    return (
        [draft.text for batch in batches for draft in batch.drafts],
        {entry.item: entry for batch in batches for entry in batch.ledger},
    )


def sparse(path: Path, size: int = TERABYTE) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def hostile(folder: Path, name: str) -> None:
    """Everything that is no ordinary file, under names that readers look for."""
    os.mkfifo(folder / name.format("pipe"))
    (folder / name.format("loop")).symlink_to(name.format("loop"))
    (folder / name.format("dead")).symlink_to("nowhere")
    (folder / name.format("zero")).symlink_to("/dev/zero")
    (folder / name.format("away")).symlink_to("/proc/self/environ")
    (folder / "around").symlink_to(".")
    (folder / name.format("odd\nline\x1b[31m")).mkdir()
    os.mkfifo(os.fsencode(folder) + b"/" + name.format("x").encode() + b"\xff")


def test_documents_among_traps_are_read(tmp_path: Path) -> None:
    hostile(tmp_path, "{}.md")
    sparse(tmp_path / "huge.md")
    (tmp_path / "good.md").write_text("The harbour has a lamp.")
    texts, ledger = read("files", tmp_path)
    assert texts == ["The harbour has a lamp."]
    assert ledger["pipe.md"].reason == "it is not a regular file"
    assert "larger than 100 MB" in ledger["huge.md"].reason
    assert "leaves the folder" in ledger["zero.md"].reason
    assert "leads nowhere" in ledger["loop.md"].reason
    assert {
        "pipe.md",
        "loop.md",
        "dead.md",
        "zero.md",
        "away.md",
        "around",
        "good.md",
    } <= ledger.keys()


@pytest.mark.parametrize(
    ("source", "name", "content"),
    [
        ("claude-code", "{}.jsonl", json.dumps(PROMPT) + "\n"),
        ("codex", "rollout-{}.jsonl", ""),
        (
            "mail",
            "{}.eml",
            "From: a@x.org\nSubject: Lamp\nDate: 1 Jan 2026 10:00:00 +0000\n\nLit\n",
        ),
        (
            "bookmarks",
            "{}.html",
            "<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><DT><A HREF='x'>y</A></DL>",
        ),
        ("slack", "general/{}.json", ""),
    ],
)
def test_other_sources_among_traps_read_what_is_theirs(
    tmp_path: Path, source: str, name: str, content: str
) -> None:
    (tmp_path / "general").mkdir()
    hostile(tmp_path, name)
    sparse(tmp_path / name.format("2026-01-01"))
    if content:
        (tmp_path / name.format("2026-01-02")).write_text(content)
    texts, ledger = read(source, tmp_path)
    assert (source in ("codex", "slack", "bookmarks")) or texts, ledger
    assert source in ("slack", "bookmarks") or any(
        "has more than" in entry.reason for entry in ledger.values()
    ), ledger
    assert "files" in names_at(tmp_path)


def test_a_file_that_became_a_pipe_after_it_was_listed_is_named(tmp_path: Path) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / name).write_text(f"{name} words")
    listed = list(walk(tmp_path))
    (tmp_path / "a.md").unlink()
    os.mkfifo(tmp_path / "a.md")
    (tmp_path / "b.md").unlink()
    (tmp_path / "b.md").symlink_to("/etc/passwd")
    with_links = _look_at_all(Files(), Location("files", str(tmp_path)), {}, listed, Extractions(1))
    looked = {seen.item: found for seen, found in with_links}
    assert "is a pipe" in looked["a.md"].error
    assert "is a link" in looked["b.md"].error
    assert looked["c.md"].read is not None


def test_a_folder_with_too_many_entries_is_named_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exclusions, "MAX_ENTRIES", 50)
    (tmp_path / "many").mkdir()
    for number in range(60):
        (tmp_path / "many" / f"{number}.md").write_text("x")
    (tmp_path / "good.md").write_text("The harbour has a lamp.")
    texts, ledger = read("files", tmp_path)
    assert texts == ["The harbour has a lamp."]
    assert "has more than 50 entries" in ledger["many/"].reason
    _, ledger = read("codex", tmp_path)
    assert any("has more than 50 entries" in entry.reason for entry in ledger.values())


def test_folders_in_folders_without_end_are_cut_off(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("The harbour has a lamp.")
    before = os.open(".", os.O_RDONLY)
    os.chdir(tmp_path)
    try:
        for _ in range(1_200):
            os.mkdir("d")  # noqa: PTH102
            os.chdir("d")
    finally:
        os.fchdir(before)
        os.close(before)
    try:
        for source in ("files", "codex", "mail"):
            texts, ledger = read(source, tmp_path)
            assert (source != "files") or texts == ["The harbour has a lamp."]
            reasons = [entry.reason for entry in ledger.values()]
            assert any("deeper than 100 folders" in reason for reason in reasons), reasons
    finally:  # pytest itself removes no folders so deep
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("*a*a*a*a*a*a*b\n", "line 1 makes it take too long"),
        ("ok\n**/a/**/a/**/a/**/a/**/a/**/b\n", "line 2 makes it take too long"),
        ("**/a*a*a*/**/a*a*a*/**/zzz\n", "line 1 makes it take too long"),
        ("*.min.*x\n" * 900, "makes it take too long"),
        ("x\n" * 2_000, "more than 1,000 lines"),
        ("x" * 300_000, "has more than 262,144 bytes"),
    ],
)
def test_an_ignore_file_that_would_take_for_ever_excludes_its_folder(
    tmp_path: Path, rules: str, reason: str
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / exclusions.IGNORE_FILE).write_text(rules)
    (tmp_path / "sub" / ("a" * 250)).write_text("words")
    (tmp_path / "good.md").write_text("The harbour has a lamp.")
    texts, ledger = read("files", tmp_path)
    assert texts == ["The harbour has a lamp."]
    assert reason in ledger["sub/"].reason


def test_the_slowest_ignore_file_that_is_taken_is_quick(tmp_path: Path) -> None:
    (tmp_path / exclusions.IGNORE_FILE).write_text("*a*b\n**/a/**/a/**/a/**/b\n**/x/**/*a.a*\n")
    excluded = exclusions.Exclusions(tmp_path)
    used = time.process_time()
    assert not excluded.why("a" * 255)
    assert not excluded.why("/".join(["a" * 250] * 16))
    assert not excluded.why("a/" * 100)
    assert time.process_time() - used < 5  # of a path of 4,000 characters: 45 s


def test_an_ignore_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / exclusions.IGNORE_FILE)
    (tmp_path / "a.md").write_text("words")
    _, ledger = read("files", tmp_path)
    assert "is a pipe" in ledger["."].reason


def test_a_transcript_that_grows_while_it_is_read_does_not_hold_the_reader(tmp_path: Path) -> None:
    def lines(first: int) -> str:
        numbers = range(first, first + 250)
        return "".join(json.dumps({**PROMPT, "uuid": f"u{n}"}) + "\n" for n in numbers)

    path = tmp_path / "s1.jsonl"
    path.write_text(lines(0))
    taken = batches = 0
    for batch in by_name("claude-code").read(Location("claude-code", str(tmp_path)), {}):
        taken, batches = taken + len(batch.drafts), batches + 1
        assert batches < 5
        with path.open("a") as file:
            file.write(lines(batches * 250))
    assert 250 <= taken < 260  # and what the session was about


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")
def test_a_single_transcript_of_another_user_is_refused_and_a_folder_is_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text(json.dumps(PROMPT) + "\n")
    path.chmod(0o644)
    os.chown(path, 65534, 65534)
    texts, ledger = read("claude-code", path)
    assert texts == []
    assert "belongs to another user (uid 65534)" in ledger["s1.jsonl"].reason
    assert "mem-search import claude-code - <" in ledger["s1.jsonl"].reason
    assert read("claude-code", tmp_path)[0] != []


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 5_000, "parts"),
        (b"a:\n" * 200_000 + b"\nx", "header lines"),
        (b"From: a@x.org\n\n" + b"\n" * 2_000_000, "lines"),
        (b"Content-Type: message/rfc822\n\n" * 3_000, "nested|parts"),
    ],
)
def test_a_message_of_far_too_many_pieces_is_refused(message: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_message(message)


@pytest.mark.parametrize(
    ("source", "name", "shape"),
    [
        ("jsonl", "a.jsonl", "{}\n"),
        ("claude-code", "s1.jsonl", "{}\n"),
        ("gemini", "chats/session-1.json", '{{"messages": {}}}'),
        ("claude-ai", "conversations.json", '[{{"chat_messages": {}}}]'),
        ("bookmarks", "Bookmarks", '{{"roots": {{"a": {{"children": {}}}}}}}'),
    ],
)
def test_millions_of_empty_values_are_not_made(
    tmp_path: Path, source: str, name: str, shape: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(shape.format(f"[{'[],' * 3_500_000}[]]"))
    tracemalloc.start()
    try:
        _, ledger = read(source, path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert any("more than 3,000,000 values" in entry.reason for entry in ledger.values()), ledger
    assert peak < 150 * 2**20  # and ten times as much with its values


AGENTS = {
    "codex": "rollout-{}.jsonl",
    "copilot": "session-state/{}/events.jsonl",
    "gemini": "chats/session-{}.json",
    "openclaw": "agents/a/sessions/{}.jsonl",
    "pi": "2026-01-01T00-00-00-000Z_{}.jsonl",
    "qwen": "chats/{}.jsonl",
    "aider": "{}/.aider.chat.history.md",
    "amp": "threads/T-{}.json",
    "cline": "sessions/{}/{}.messages.json",
    "continue": "sessions/42fcc73f-fa09-457b-85f3-b5f385d95274.json",
    "copilot-chat": "chatSessions/{}.jsonl",
    "droid": "sessions/{}/42fcc73f-fa09-457b-85f3-b5f385d95274.jsonl",
    "roo-code": "rooveterinaryinc.roo-cline/tasks/{}/ui_messages.json",
}


def _pipe(place: Path) -> None:
    os.mkfifo(place)


def _device(place: Path) -> None:
    place.symlink_to("/dev/zero")


def _long(place: Path) -> None:
    place.write_text('{"type": "' + "x" * 40_000_000 + '"}\n')


def _deep(place: Path) -> None:
    place.write_text("[" * 200_000 + "]" * 200_000 + "\n" + '{"a":' * 200_000 + "\n")


@pytest.mark.parametrize("put", [_pipe, _device, _long, _deep])
@pytest.mark.parametrize("source", AGENTS)
def test_an_odd_session_of_an_agent_is_named_in_the_ledger(
    tmp_path: Path, source: str, put: Callable[[Path], None]
) -> None:
    place = tmp_path / AGENTS[source].format("odd", "odd")
    place.parent.mkdir(parents=True, exist_ok=True)
    put(place)
    _, ledger = read(source, tmp_path)
    is_one = source == "gemini" or place.suffix != ".jsonl"
    lines = 2 if put is _deep and not is_one else 1
    assert len(ledger) == lines  # the file, or each of its lines
    for entry in ledger.values():
        assert entry.item.startswith(str(place.relative_to(tmp_path)))
        assert entry.outcome in ("failed", "left")
        assert entry.reason
    _, ledger = read(source, place)
    assert len(ledger) == lines
    for entry in ledger.values():
        assert "Not a directory" not in entry.reason
        kinds = {_pipe: "is a pipe", _device: "is a link"}
        assert kinds.get(put, "") in entry.reason


@pytest.mark.parametrize("name", ["opencode.db", "opencode-x.db"])
def test_a_database_of_opencode_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    for put in (_pipe, _device, _deep):
        put(tmp_path / name)
        with pytest.raises(SourceError, match=name):
            read("opencode", tmp_path / name)
        (tmp_path / name).unlink()


@pytest.mark.parametrize("which", ["", "sub"])
def test_a_folder_that_became_a_link_while_it_was_read_leads_nowhere(
    tmp_path: Path, which: str
) -> None:
    watched, outside = tmp_path / "watched", tmp_path / "outside"
    for folder in (watched / "sub", outside / "sub"):
        folder.mkdir(parents=True)
        (folder / "a.md").write_text("The harbour has a lamp.")
    (outside / "a.md").write_text("of outside")
    listed, inside = list(walk(watched)), os.path.realpath(watched)
    (watched / which).rename(tmp_path / "before")
    (watched / which).symlink_to(outside)
    looks = _look_at_all(
        Files(), Location("files", str(watched)), {}, listed, Extractions(1), inside
    )
    for seen, found in looks:
        assert found.read is None, seen
        assert "out of the folder" in found.error


def test_a_message_of_a_million_tags_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "MAX_TAGS", 1_000)
    head = "From: a@x.org\nDate: 1 Jan 2026 10:00:00 +0000\nContent-Type: text/html\n"
    for name, tags in (("many", 1_001), ("few", 900)):
        text = f"Message-ID: <{name}@x>\nSubject: {name}\n{head}\n" + "<div>" * tags + "Lit\n"
        (tmp_path / f"{name}.eml").write_text(text)
    texts, ledger = read("mail", tmp_path)
    assert len(texts) == 1
    assert "more than 1,000 tags" in ledger["many.eml"].reason

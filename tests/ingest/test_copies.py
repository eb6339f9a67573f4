"""Other files of the home that hold what was forgotten are named, and nothing else is."""

from __future__ import annotations

import gzip
import os
import zipfile
from pathlib import Path

import pytest

from mem_search.features.forgetting.service import _discarded
from mem_search.ingest.copies import find_copies, holds, recheck_copies
from mem_search.model.forgetting import Copies, Traces
from mem_search.settings import is_shared

WORDS = Traces(frozenset({"zylophantic", "worker"}), frozenset({"note:7"}))


def put(home: Path, name: str, content: str | bytes) -> Path:
    file = home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def packed(file: Path, text: str, method: int = zipfile.ZIP_DEFLATED) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("mem-search.db", text)
    return file


def test_exports_backups_and_logs_that_hold_it_are_named(tmp_path: Path) -> None:
    put(tmp_path, "all.jsonl", '{"text": "the Zylophantic harbour"}')
    put(tmp_path, "other.jsonl", '{"text": "a harbour"}')
    packed(tmp_path / "backups" / "one.zip", "x " * 90_000 + "zylophantic")
    packed(tmp_path / "backups" / "two.zip", "x " * 90_000)
    put(tmp_path, "before-restore-1/mem-search.db", b"\0\1\2zylophantic plans\xff")
    put(tmp_path, "logs/worker.log", "cannot read zylophantic.md")
    put(tmp_path, "logs/worker.log.1", "the worker has stopped")
    put(tmp_path, "notes.txt", "see local:note:7")
    for rewritten_or_foreign in ("mem-search.db", "chroma/data/x", "users/ada/mem-search.db"):
        put(tmp_path, rewritten_or_foreign, "zylophantic")
    (tmp_path / "link").symlink_to("mem-search.db")
    os.mkfifo(tmp_path / "pipe")
    assert find_copies(tmp_path, WORDS) == Copies(
        8,
        (
            "all.jsonl", "notes.txt", "backups/one.zip", "before-restore-1/mem-search.db",
            "logs/worker.log",
        ),
    )  # fmt: skip


def test_a_name_that_gives_it_away_is_not_shown(tmp_path: Path) -> None:
    put(tmp_path, "exports/zylophantic.txt", "nothing else")
    assert find_copies(tmp_path, WORDS).still_in == ("exports/…",)


def test_a_word_on_the_border_of_two_pieces_is_found(tmp_path: Path) -> None:
    for before in range(65_520, 65_540):
        assert holds(put(tmp_path, "long", "x " * (before // 2) + "zylophantic end"), WORDS)


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    file = packed(tmp_path / "cut.zip", os.urandom(9000).hex())
    content = bytearray(file.read_bytes())
    content[2000:2010] = b"0123456789"
    file.write_bytes(content)
    assert find_copies(tmp_path, WORDS) == Copies(0, (), ("cut.zip",))
    assert holds(tmp_path / "missing", WORDS) is False


def test_an_encrypted_file_cannot_be_read_and_is_told(tmp_path: Path) -> None:
    file = packed(tmp_path / "locked.zip", "zylophantic")
    content = bytearray(file.read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + flags] |= 1
    file.write_bytes(content)
    assert find_copies(tmp_path, WORDS) == Copies(0, (), ("locked.zip",))


def test_in_a_home_directory_only_our_files_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert is_shared(tmp_path)
    put(tmp_path, "letter.txt", "zylophantic")
    put(tmp_path, "spool/1/upload.jsonl", "zylophantic")
    assert find_copies(tmp_path, WORDS) == Copies(1, ("spool/1/upload.jsonl",))


def test_a_receipt_names_a_file_as_holding_words_only_while_it_does(tmp_path: Path) -> None:
    for name in ("gone", "changed", "kept", "before-zylophantic"):
        put(tmp_path, name, "the zylophantic harbour")
    log = put(tmp_path, "logs/worker.log", "cannot read zylophantic.md\n")
    seen = find_copies(tmp_path, WORDS)
    assert recheck_copies(tmp_path, seen) == seen
    (tmp_path / "gone").unlink()
    put(tmp_path, "changed", "a harbour")
    with log.open("a") as growing:
        growing.write("another line\n")
    now = recheck_copies(tmp_path, seen)
    assert set(now.still_in) == {"kept", "logs/worker.log", "…"}
    assert (now.gone, now.changed) == (("gone",), ("changed",))
    assert recheck_copies(tmp_path, now).still_in == now.still_in
    log.rename(log.with_name("worker.log.1"))
    put(tmp_path, "logs/worker.log", "a new log")
    (tmp_path / "before-zylophantic").unlink()
    later = recheck_copies(tmp_path, seen)
    assert (later.still_in, later.changed) == (("kept",), ("changed", "logs/worker.log"))
    assert set(later.gone) == {"gone", "…"}


def test_a_log_that_was_emptied_has_changed(tmp_path: Path) -> None:
    log = put(tmp_path, "logs/worker.log", "cannot read zylophantic.md")
    seen = find_copies(tmp_path, WORDS)
    os.truncate(log, 4)
    assert recheck_copies(tmp_path, seen).changed == ("logs/worker.log",)


def test_years_and_our_own_words_give_nothing_away(tmp_path: Path) -> None:
    put(tmp_path, "logs/worker.log", "2026-01-01T00:00:00Z INFO mem_search: at 37733, pid 9451")
    put(tmp_path, "notes", "in 2026 at 37733")
    put(tmp_path, "hooks/costs.jsonl", '{"session": "a", "agent": "zylophantic"}')
    traces = Traces(frozenset({"2026", "37733", "9451", "mem", "pid"}), frozenset())
    assert find_copies(tmp_path, traces).still_in == ()
    put(tmp_path, "phones", "call 5550199000")
    named = Traces(frozenset({"5550199000"}), frozenset())
    assert find_copies(tmp_path, named).still_in == ("phones",)


def test_packed_files_are_read_and_a_cut_one_is_told(tmp_path: Path) -> None:
    put(tmp_path, "one.gz", gzip.compress(b"x " * 90_000 + b"zylophantic"))
    put(tmp_path, "two.gz", gzip.compress(os.urandom(9000))[:-100])
    assert find_copies(tmp_path, WORDS) == Copies(1, ("one.gz",), ("two.gz",))


def test_a_store_that_was_moved_to_a_server_is_looked_through(tmp_path: Path) -> None:
    put(tmp_path, "mem-search.db", "zylophantic")
    assert find_copies(tmp_path, WORDS).still_in == ()
    assert find_copies(tmp_path, WORDS, in_file=False).still_in == ("mem-search.db",)


def test_ended_uploads_that_may_hold_what_was_forgotten_are_removed(tmp_path: Path) -> None:
    goes = {
        "1/Zylophantic.md": b"by its name",
        "2/MyZylophanticPlans2.md": b"by a part of its name",
        "3/in.jsonl": b"a zylophantic line",
        "4/scan.pdf": b"%PDF-1.7 packed",
        "5/base.db": b"SQLite format 3\0 packed",
        "6/harbour.md": b"by its whole name",
    }
    stays = {"7/other.md": b"an ordinary line", "8/other.gz": gzip.compress(b"an ordinary line")}
    for name, content in (goes | stays).items():
        put(tmp_path, name, content)
    packed(tmp_path / "9" / "other.zip", "an ordinary line")
    packed(tmp_path / "10" / "in.docx", "a zylophantic line")
    names = [*goes, *stays, "9/other.zip", "10/in.docx", "11/gone.md"]
    assert _discarded(tmp_path, names, Traces(frozenset(), frozenset())) == 0
    traces = Traces(WORDS.words, WORDS.refs, frozenset({"harbour.md"}))
    assert _discarded(tmp_path, names, traces) == len(goes) + 1
    assert {each.name for each in tmp_path.iterdir()} == {"7", "8", "9"}


def test_a_word_of_six_letters_is_known_in_a_longer_one_and_a_shorter_one_only_as_a_whole() -> None:
    traces = Traces(frozenset({"report", "lamp"}), frozenset())
    assert traces.has_word("cannot read /x/MyReport.pdf2")
    assert traces.has_word("cannot read /x/my-lamp.pdf")
    assert not traces.has_word("cannot read /x/MyLamp.pdf")

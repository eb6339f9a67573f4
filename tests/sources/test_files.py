"""The source ``files``: what is read, what is left out, and what a change does."""

import json
import os
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mem_search.errors import SourceError
from mem_search.extractors import ocr
from mem_search.extractors.extraction import Extraction, Extractions
from mem_search.extractors.refusal import Refused
from mem_search.model import Batch, Location
from mem_search.model.ingest import Extracted
from mem_search.sources.files import Files, _look_at_all, left_to
from mem_search.sources.files.folder import MAX_BYTES, walk
from ocr_programs import install_nothing, install_tesseract
from patience import PATIENCE
from scanned_pages import scanned


def read(path: Path, cursor: Any = None) -> tuple[list[Batch], Any]:
    batches = list(Files().read(Location("files", str(path)), cursor or {}))
    return batches, json.loads(json.dumps(batches[-1].cursor)) if batches else cursor


def ledger(batches: list[Batch]) -> dict[str, tuple[str, str]]:
    entries = [entry for batch in batches for entry in batch.ledger]
    return {entry.item: (entry.outcome, entry.reason) for entry in entries}


def titles(batches: list[Batch]) -> list[str]:
    return [draft.title for batch in batches for draft in batch.drafts]


def test_what_is_hidden_excluded_or_outside_is_left_with_its_reason(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("outside")
    for name in ("lamp.txt", ".hidden", "draft.tmp", "sub/keep.tmp", "mail.eml"):
        (folder / name).write_text("words")
    (folder / ".memsearchignore").write_text("*.tmp\n")
    (folder / "sub/.memsearchignore").write_text("!keep.tmp\n")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    batches, _ = read(folder)
    assert titles(batches) == ["lamp", "keep"]
    said = ledger(batches)
    assert "hidden" in said[".hidden"][1]
    assert said["draft.tmp"] == ("left", "it is excluded by .memsearchignore")
    assert "leaves the folder" in said["link.txt"][1]
    assert "mail.eml" not in said
    assert said["files of the source mail"] == (
        "left", f"1 file for it: mem-search sync mail {folder}",
    )  # fmt: skip


def test_what_other_sources_read_is_counted_in_one_entry(tmp_path: Path) -> None:
    for name in ("a.eml", "b.eml", "lamp.txt"):
        (tmp_path / name).write_text("words")
    entry = "files of the source mail"
    batches, cursor = read(tmp_path)
    assert ledger(batches)[entry][1].startswith("2 files")
    assert left_to(str(tmp_path), cursor, str(tmp_path / "a.eml")) == "mail"
    assert left_to(str(tmp_path), cursor, str(tmp_path / "lamp.txt")) == ""
    (tmp_path / "c.eml").write_text("words")
    (tmp_path / "a.eml").unlink()
    batches, cursor = read(tmp_path, cursor)
    assert ledger(batches)[entry][1].startswith("2 files")
    for name in ("b.eml", "c.eml"):
        (tmp_path / name).unlink()
    batches, cursor = read(tmp_path, cursor)
    assert [*ledger(batches)] == []
    assert entry in [item for batch in batches for item in batch.outdated]


def test_only_what_changed_is_read_again_and_what_is_gone_is_deleted(tmp_path: Path) -> None:
    lamp, pier = tmp_path / "lamp.txt", tmp_path / "pier.txt"
    lamp.write_text("It burns.")
    pier.write_text("It is long.")
    _, cursor = read(tmp_path)
    assert read(tmp_path, cursor)[0] == []
    os.utime(lamp, ns=(1, 1))  # another time, the same content
    batches, cursor = read(tmp_path, cursor)
    assert titles(batches) == []
    lamp.write_text("It is out.")
    pier.unlink()
    batches, cursor = read(tmp_path, cursor)
    assert titles(batches) == ["lamp"]
    assert [each for batch in batches for each in batch.deletions] == [str(pier)]
    lamp.write_bytes(b"\0\1\2")
    batches, cursor = read(tmp_path, cursor)
    assert [each for batch in batches for each in batch.deletions] == [str(lamp)]
    assert ledger(batches)["lamp.txt"][0] == "failed"


def test_a_pipe_is_refused_at_once_and_the_next_file_is_read(tmp_path: Path) -> None:
    pipe, lamp = tmp_path / "pipe.txt", tmp_path / "lamp.txt"
    os.mkfifo(pipe)  # opening it waits for ever
    lamp.write_text("It burns.")
    extraction = Extraction(seconds=1)
    try:
        assert extraction.read(pipe, "pipe.txt") == Refused(
            "it cannot be opened: is a pipe (FIFO), not a file"
        )
        found = extraction.read(lamp, "lamp.txt")
    finally:
        extraction.close()
    assert not isinstance(found, Refused)
    assert found.text == "It burns."


def test_a_picture_is_read_as_soon_as_ocr_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    install_nothing(tmp_path / "bin", monkeypatch)
    picture = tmp_path / "docs" / "lamp.gif"
    picture.parent.mkdir()
    picture.write_bytes(b"GIF89a IEND\xaeB`\x82")
    batches, cursor = read(picture.parent)
    assert ledger(batches)["lamp.gif"][0] == "left"
    assert "mem-search[ocr]" in ledger(batches)["lamp.gif"][1]
    assert read(picture.parent, cursor)[0] == []
    install_tesseract(tmp_path / "bin", monkeypatch)
    batches, cursor = read(picture.parent, cursor)
    assert [draft.text for batch in batches for draft in batch.drafts] == [
        "The lamp burns.\nSoftly."
    ]
    assert ledger(batches)["lamp.gif"] == (
        "taken", "its text recognised by tesseract (eng, deu) with confidence 0.8",
    )  # fmt: skip
    assert read(picture.parent, cursor)[0] == []


def test_pages_that_wait_for_ocr_are_read_later_and_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    install_nothing(tmp_path / "bin", monkeypatch)
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "mixed.pdf").write_bytes(scanned(2, texts={0: "The fog horn of the north pier"}))
    batches, cursor = read(folder)
    waits = f"page 2 is a picture and not read; {ocr.ADVICE}"
    assert ledger(batches)["mixed.pdf"] == ("taken", waits)
    assert read(folder, cursor)[0] == []
    install_tesseract(tmp_path / "bin", monkeypatch)

    # A reader that fails now takes nothing away of what was read before.
    with monkeypatch.context() as patch:
        patch.setattr(Extractions, "read", lambda *_, **__: Refused("it needs too much"))
        batches, failed = read(folder, cursor)
    assert ledger(batches)["mixed.pdf"][0] == "taken"
    assert "now it is not: it needs too much" in ledger(batches)["mixed.pdf"][1]
    assert [each for batch in batches for each in (*batch.drafts, *batch.deletions)] == []
    assert read(folder, failed)[0] == []

    batches, cursor = read(folder, cursor)
    (draft,) = [draft for batch in batches for draft in batch.drafts]
    assert draft.text == "The fog horn of the north pier\fThe lamp burns.\nSoftly."
    assert "unread" not in draft.metadata
    assert read(folder, cursor)[0] == []


class Together(Extractions):
    """Two at once; each reading ends only when another one has begun."""

    def __init__(self) -> None:
        super().__init__(2)
        self.barrier = threading.Barrier(2, timeout=PATIENCE)

    def read(self, path: Path, name: str, *, links: bool = False) -> Extracted | Refused:
        self.barrier.wait()
        return super().read(path, name, links=links)


def test_several_files_are_read_at_once_and_come_in_their_order(tmp_path: Path) -> None:
    for n in range(12):
        (tmp_path / f"{n:02}.txt").write_text(f"text {n}" if n != 4 else "\0\1")
    location = Location("files", str(tmp_path))
    looked = [*_look_at_all(Files(), location, {}, [*walk(tmp_path)], Together())]
    assert [each.item for each, _ in looked] == [f"{n:02}.txt" for n in range(12)]
    for n, (_, seen) in enumerate(looked):
        assert isinstance(seen.read, Refused) if n == 4 else seen.read.text == f"text {n}"


def test_a_reading_that_is_abandoned_ends_its_processes(tmp_path: Path) -> None:
    for n in range(6):
        (tmp_path / f"{n}.txt").write_text("words")
    os.mkfifo(tmp_path / "wait.pdf")
    extractions = Extractions(2)
    looked = _look_at_all(
        Files(), Location("files", str(tmp_path)), {}, [*walk(tmp_path)], extractions
    )
    with closing(looked):
        next(looked)
    assert not any(each._process.is_running for each in extractions._all)
    with pytest.raises(SourceError, match="ended"):  # nor does a late thread start another
        extractions.read(tmp_path / "0.txt", "0.txt")
    assert not [each for each in threading.enumerate() if each.name.startswith("read-files")]


def test_a_file_too_large_for_this_source_is_left_to_the_one_that_reads_it(tmp_path: Path) -> None:
    with (tmp_path / "many.mbox").open("wb") as box:
        box.write(b"From a@x Tue Mar 14 10:12:00 2023\nFrom: a@x\nSubject: Heron\n\nwords\n")
        box.truncate(MAX_BYTES + 1)
    batches, _ = read(tmp_path)
    assert ledger(batches) == {
        "files of the source mail": ("left", f"1 file for it: mem-search sync mail {tmp_path}")
    }

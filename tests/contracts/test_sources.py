"""The contract of every source, each on a small sample of its input."""

import json
import os
import re
import shutil
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from documented_source import documented_source
from mem_search.contracts import Machine, Source
from mem_search.errors import InputError, SourceError
from mem_search.model import Batch, Draft, Location
from mem_search.records.registry import installed_kinds
from mem_search.sources import built_in, by_name, for_file, names_at
from mem_search.sources.exclusions import NO_TEXT
from patience import PATIENCE
from source_samples import SAMPLES, file_of

END = Draft("note", "test", "end", "The reading has ended.")


def read(source: Source, path: Path, cursor: Mapping[str, Any] | None = None) -> list[Batch]:
    return list(source.read(Location(source.name, str(path)), cursor or {}))


def drafts_of(batches: list[Batch]) -> list[Draft]:
    return [draft for batch in batches for draft in batch.drafts]


def snapshot(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return {str(file): file.read_bytes() for file in files if file.is_file()}


def test_names_are_unique_and_lead_to_their_source() -> None:
    assert len({source.name for source in built_in()}) == len(built_in())
    assert all(by_name(source.name) is source for source in built_in())
    without = {source.name for source in built_in()} - {*SAMPLES, *OF_SERVERS}
    assert not without, "add a function that makes one to SAMPLES of tests/source_samples.py"
    with pytest.raises(
        InputError, match="jsonl, claude-mem, claude-code, git, mail, files, bookmarks"
    ):
        by_name("telepathy")


def test_the_name_or_type_of_a_file_selects_its_source() -> None:
    def name(*said: str) -> str:
        return for_file(*said)[0].name

    assert name("notes.jsonl") == name("Notes.JSONL") == name("old/notes.jsonl.gz") == "jsonl"
    assert name("claude-mem.db") == "claude-mem"
    assert name("claude-mem.db", "", "application/x-ndjson") == "jsonl"
    assert name("", "claude-code", "text/plain") == "claude-code"
    for said, why in (
        (("notes.xyz",), "neither name nor type of notes.xyz tells .* jsonl, claude-mem"),
        (("x.jsonl", "git"), "git does not read single files; .* jsonl, claude-mem, claude-code"),
        (("x.jsonl", "poems"), "'poems' is not a source; those that do are jsonl, claude-mem"),
    ):
        with pytest.raises(InputError, match=why) as refused:
            for_file(*said)
        assert refused.value.field == "source"


OF_SERVERS = ("notion",)
"""Sources without a place on this machine; their suites have a server that stands in."""


@pytest.mark.parametrize(
    "source",
    [each for each in (*built_in(), documented_source()) if each.name not in OF_SERVERS],
    ids=lambda source: source.name,
)
class TestSource:
    def test_has_a_name_in_kebab_case(self, source: Source) -> None:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", source.name)
        assert source.follows in (True, False)

    def test_finds_nothing_on_an_empty_machine(self, source: Source, tmp_path: Path) -> None:
        assert list(source.discover(Machine(tmp_path, tmp_path, {}))) == []
        gone = tmp_path / "gone"
        assert list(source.discover(Machine(gone, gone, {}))) == []

    def test_says_that_a_missing_location_cannot_be_read(
        self, source: Source, tmp_path: Path
    ) -> None:
        with pytest.raises(SourceError, match="gone"):
            read(source, tmp_path / "gone")

    def test_gives_drafts_that_its_kinds_accept(self, source: Source, tmp_path: Path) -> None:
        drafts = drafts_of(read(source, SAMPLES[source.name](tmp_path)))
        assert drafts
        for draft in drafts:
            assert draft.source == source.name
            assert draft.source_id
            assert installed_kinds().get(draft.kind).compose(draft).text
        assert len({draft.source_id for draft in drafts}) == len(drafts)

    def test_gives_the_same_again_for_the_same(self, source: Source, tmp_path: Path) -> None:
        path = SAMPLES[source.name](tmp_path)
        assert drafts_of(read(source, path)) == drafts_of(read(source, path))

    def test_every_batch_has_a_cursor_to_continue_from(
        self, source: Source, tmp_path: Path
    ) -> None:
        path = SAMPLES[source.name](tmp_path)
        batches = read(source, path)
        for position, batch in enumerate(batches, 1):
            assert batch.cursor
            assert 0 <= batch.done <= batch.total
            assert len(batch.drafts) < 1000
            # A cursor goes through JSON in the database.
            cursor = json.loads(json.dumps(batch.cursor))
            again = {draft.source_id for draft in drafts_of(read(source, path, cursor))}
            later = {draft.source_id for draft in drafts_of(batches[position:])}
            assert again == later

    def test_keeps_a_ledger_of_what_it_took(self, source: Source, tmp_path: Path) -> None:
        batches = read(source, SAMPLES[source.name](tmp_path))
        taken = [entry for batch in batches for entry in batch.ledger if entry.outcome == "taken"]
        counted_later = sum(len(batch.drafts) for batch in batches if batch.item)
        assert sum(entry.records for entry in taken) + counted_later == len(drafts_of(batches))
        assert all(len(batch.places) in (0, len(batch.drafts)) for batch in batches)

    def test_opens_no_pipe_in_a_folder(self, source: Source, tmp_path: Path) -> None:
        sample = SAMPLES[source.name](tmp_path)
        folder = sample if sample.is_dir() else sample.parent
        pipes = tmp_path / "pipes"
        for file in sorted(folder.rglob("*")):
            place = pipes / file.relative_to(folder)
            if file.is_file() and "/.git/" not in place.as_posix():
                place.parent.mkdir(parents=True, exist_ok=True)
                os.mkfifo(place)
        assert any(pipes.rglob("*")) or source.name == "git"
        pipes.mkdir(exist_ok=True)
        found: list[Draft] = []

        def look() -> None:
            assert source.name not in names_at(pipes) or source.name == "files"
            with suppress(SourceError):
                found.extend(drafts_of(read(source, pipes)))
            found.append(END)

        looking = threading.Thread(target=look, daemon=True)  # opening a pipe waits for ever
        looking.start()
        looking.join(PATIENCE)
        assert found == [END]

    def test_a_name_that_is_no_text_stops_nothing(self, source: Source, tmp_path: Path) -> None:
        sample = SAMPLES[source.name](tmp_path)
        folder = sample if sample.is_dir() else sample.parent
        named = tmp_path / "named"
        try:
            (named / "caf\udce9").mkdir(parents=True)
        except OSError:
            pytest.skip("names are text here")
        (named / "whole.txt").write_text("The others are read.")
        for file in sorted(folder.rglob("*")):
            place = named / file.relative_to(folder)
            if file.is_file() and named not in file.parents and "/.git/" not in place.as_posix():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place.with_stem(f"{place.stem}\udce9"))
        batches: list[Batch] = []
        with suppress(SourceError):  # there is nothing that it knows
            batches = read(source, named)
        said = json.dumps([asdict(each) for each in batches], ensure_ascii=False, default=str)
        assert said.encode()
        if source.name == "files":
            assert [each.text for each in drafts_of(batches)] == ["The others are read."]
            reasons = {each.item: each.reason for batch in batches for each in batch.ledger}
            assert reasons["caf\\xe9"] == NO_TEXT

    def test_never_writes_to_what_it_reads(self, source: Source, tmp_path: Path) -> None:
        path = SAMPLES[source.name](tmp_path)
        before = snapshot(path)
        read(source, path)
        assert snapshot(path) == before

    def test_reads_an_uploaded_file_under_the_name_that_it_was_sent_with(
        self, source: Source, tmp_path: Path
    ) -> None:
        if source.file_format is None:
            with pytest.raises(InputError, match="does not read single files"):
                for_file("x", source.name)
            return
        assert source.file_format.suffixes
        data = file_of(source.name, tmp_path).read_bytes()
        ids = set()
        for folder in ("first", "second"):  # another folder each time, as in the spool
            path = tmp_path / folder / f"sent{source.file_format.suffixes[0]}"
            path.parent.mkdir()
            path.write_bytes(data)
            sent = Location(source.name, str(path), upload="sent by Ada")
            batches = list(source.read(sent, {}))
            assert drafts_of(batches)
            ids.add(tuple(draft.source_id for draft in drafts_of(batches)))
            assert str(tmp_path) not in str([batch.ledger for batch in batches])
        assert len(ids) == 1

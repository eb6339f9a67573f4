"""Archives that others made are listed only as far as they can be listed cheaply."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from mem_search.ingest.copies import holds
from mem_search.model import Location
from mem_search.model.forgetting import Traces
from mem_search.sources import by_name, for_path
from mem_search.zip_files import MAX_NAMES, Archive, TooManyNames, open_zip

ENTRY = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)


def listing(
    names: int, *, said: int | None = None, name: bytes = b"n", zip64: bool = False
) -> bytes:
    """An archive that is nothing but its list, which says that it has so many names."""
    start = b"PK\x03\x04" + bytes(26)
    entry = ENTRY[:28] + struct.pack("<H", len(name)) + ENTRY[30:] + name
    size, said = names * len(entry), names if said is None else said
    end64 = b""
    if zip64:
        where = len(start) + size
        end64 = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, said, said, size, 30)
        end64 += struct.pack("<4sIQI", b"PK\x06\x07", 0, where, 1)
        end = (0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
    else:
        end = (said & 0xFFFF, said & 0xFFFF, size, 30)
    return start + entry * names + end64 + struct.pack("<4s2H2H2IH", b"PK\x05\x06", 0, 0, *end, 0)


@pytest.mark.parametrize("look", [open_zip, Archive])
@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (listing(1_000_000), r"list of the files in it has 45 MB; at most 16 MB are read"),
        (listing(1_000_000, said=1), "at most 16 MB are read"),
        (listing(1_000_000, zip64=True), "at most 16 MB are read"),
        (listing(200_000), "it lists 200,000 files; at most 100,000 are read"),
        (listing(300_000, name=b""), "it lists 300,000 files"),
        (listing(200_000, said=0, zip64=True), "it lists 200,000 files"),
        (listing(3, name=b"n" * 2000), "a name in it is longer than 1,024 characters"),
    ],
)
def test_an_archive_with_far_too_many_names_is_refused_before_they_are_listed(
    archive: bytes, reason: str, look: Callable[[IO[bytes]], object]
) -> None:
    file = io.BytesIO(archive)
    tracemalloc.start()
    try:
        with pytest.raises(TooManyNames, match=reason):
            look(file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * 2**20  # what is listed is read in one piece


def test_an_archive_within_the_limits_is_read_as_ever() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "words " * 1000)
        archive.comment = b"PK\x01\x02 " * 10
    with open_zip(file) as archive:
        assert archive.namelist() == ["a.txt"]
        assert archive.read("a.txt") == b"words " * 1000
    assert MAX_NAMES >= 65_535  # every archive of the first format


def slack_export(entries: int) -> bytes:
    """A Slack export of one day, which it lists again and again."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in ("users.json", "channels.json", "pier/2026-01-01.json"):
            archive.writestr(name, "[]")
    whole = data.getvalue()
    listed_at = whole.index(b"PK\x01\x02")
    listed = whole[listed_at : whole.index(b"PK\x05\x06")]
    listed += listed[listed.rindex(b"PK\x01\x02") :] * (entries - 3)  # the last day, ever again
    end = struct.pack("<4s2H2H2IH", b"PK\x05\x06", 0, 0, 0, 0, len(listed), listed_at, 0)
    return whole[:listed_at] + listed + end


def _counted(path: Path) -> None:
    with path.open("rb") as file:
        Archive(file)


@pytest.mark.filterwarnings("ignore:Overlapped entries:UserWarning")  # from Python 3.14 on
def test_the_worker_never_has_all_names_of_an_archive_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(slack_export(10_000))
    assert for_path(path) == "slack"  # everything is imported
    few = tmp_path / "few.zip"
    few.write_bytes(slack_export(3))
    list(by_name("slack").read(Location("slack", str(few)), {}))
    reads: dict[str, Callable[[], object]] = {
        "count": lambda: _counted(path),
        "recognise": lambda: for_path(path),
        "read": lambda: next(iter(by_name("slack").read(Location("slack", str(path)), {}))),
        "look through": lambda: holds(path, Traces(frozenset({"zebra"}), frozenset())),
    }
    peaks = {}
    for what, read in reads.items():
        tracemalloc.start()
        try:
            read()
            peaks[what] = tracemalloc.get_traced_memory()[1] / 2**20
        finally:
            tracemalloc.stop()
    assert max(peaks.values()) < 4, peaks  # its names as objects take 6


@pytest.mark.parametrize(("before", "comment"), [(b"", b""), (b"#!/bin/sh\n" * 9, b"a comment")])
def test_an_archive_in_pieces_has_the_files_of_the_whole(before: bytes, comment: bytes) -> None:
    file = io.BytesIO()
    file.write(before)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("folder")
        for number in range(5_000):  # more than one piece of the list
            archive.writestr(f"folder/{number:05}-ü.txt", f"words {number}")
        with archive.open("large.txt", "w", force_zip64=True) as large:
            large.write(b"x" * 200_000)
        archive.comment = comment
    found = {each.name: each for each in Archive(file).members()}
    with zipfile.ZipFile(file) as archive:
        assert list(found) == [info.filename for info in archive.infolist() if not info.is_dir()]
    for name in ("folder/00000-ü.txt", "folder/04999-ü.txt"):
        with found[name].content() as content:
            assert content.read().decode() == f"words {int(name[7:12])}"
    with found["large.txt"].content() as content:
        assert content.read() == b"x" * found["large.txt"].size == b"x" * 200_000


@pytest.mark.parametrize("cut", [1, 22, 60, 200])
def test_a_list_that_is_damaged_is_an_ordinary_error(cut: int) -> None:
    whole = listing(5)
    for broken in (whole[:-cut], whole[: -22 - cut] + whole[-22:], whole[:30] + whole[31:]):
        with pytest.raises(zipfile.BadZipFile):
            list(Archive(io.BytesIO(broken)).members())


def test_two_members_that_are_open_at_once_do_not_disturb_each_other() -> None:
    file = io.BytesIO()
    texts = {f"{name}.txt": name.encode() * 100_000 for name in "ab"}
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    one, other = Archive(file).members()
    with one.content() as first, other.content() as second:
        got = [(first.read(1000), second.read(1000)) for _ in range(100)]
    assert b"".join(each for each, _ in got) == texts["a.txt"]
    assert b"".join(each for _, each in got) == texts["b.txt"]


def test_what_is_no_archive_is_an_ordinary_error() -> None:
    with pytest.raises(zipfile.BadZipFile):
        open_zip(io.BytesIO(b"PK\x03\x04 and no more"))

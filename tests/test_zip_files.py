"""Archives that others made are listed only as far as they can be listed cheaply."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import IO

import pytest

from mem_search.zip_files import MAX_NAMES, TooManyNames, check_names, open_zip

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


@pytest.mark.parametrize("look", [open_zip, check_names])
@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (listing(1_000_000), r"list of the files in it has 45 MB, and 16 MB are read"),
        (listing(1_000_000, said=1), "and 16 MB are read"),
        (listing(1_000_000, zip64=True), "and 16 MB are read"),
        (listing(200_000), "it lists 200,000 files, and 100,000 are read"),
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


def test_a_look_at_the_names_makes_nothing_of_them() -> None:
    file = io.BytesIO(listing(MAX_NAMES, name=b"folder/of/documents/name" * 2))
    tracemalloc.start()
    try:
        check_names(file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12 * 2**20  # the list itself has 9 MB; its names as objects take 60


def test_what_is_no_archive_is_an_ordinary_error() -> None:
    with pytest.raises(zipfile.BadZipFile):
        open_zip(io.BytesIO(b"PK\x03\x04 and no more"))

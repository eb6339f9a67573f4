"""Files that other programs name are opened only as regular files."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from mem_search.platform import IS_LINUX
from mem_search.regular_file import (
    FileTooLarge,
    ForeignOwner,
    NotARegularFile,
    open_regular_file,
    path_of,
    read_regular_file,
    replace_file,
)


def test_a_file_is_read_whole_up_to_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"1234")
    assert read_regular_file(file, 4) == b"1234"
    with pytest.raises(FileTooLarge, match="more than 3 bytes"):
        read_regular_file(file, 3)


def test_what_is_no_file_is_refused_by_its_kind(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "to-pipe").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for name, kind in (
            ("pipe", "a pipe"), ("to-pipe", "a pipe"), ("folder", "a folder"),
            ("zero", "a device"), ("socket", "a socket"),
        ):  # fmt: skip
            with pytest.raises(NotARegularFile, match=f"is {kind}"):
                open_regular_file(tmp_path / name)


def test_a_link_is_followed_only_where_the_reader_follows_links(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    assert read_regular_file(tmp_path / "link", 10) == b"text"
    with pytest.raises(NotARegularFile, match="is a link"):
        read_regular_file(tmp_path / "link", 10, follow=False)


def test_a_file_that_is_not_there_is_an_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_regular_file(tmp_path / "none")


def test_a_file_without_a_size_is_read_up_to_the_limit() -> None:
    if not IS_LINUX:
        pytest.skip("no /proc here")
    with pytest.raises(FileTooLarge):
        read_regular_file("/proc/self/status", 10)


def test_what_is_added_after_opening_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"one\n")
    with open_regular_file(file) as opened:
        with file.open("ab") as writer:
            writer.write(b"two\n" * 100_000)
        assert opened.read() == b"one\n"
        assert opened.seek(0, os.SEEK_END) == 4
        assert opened.seek(-2, os.SEEK_END) == 2
        assert list(opened) == [b"e\n"]


def test_a_file_that_is_larger_than_its_kind_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(FileTooLarge, match="more than 1,000 bytes"):
        open_regular_file(tmp_path / "sparse", max_bytes=1_000)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")
def test_a_file_of_another_user_is_refused_where_it_has_to_be_our_own(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"text")
    with open_regular_file(file, own=True) as opened:
        assert opened.read() == b"text"
    os.chown(file, 65534, 65534)
    assert read_regular_file(file, 10) == b"text"
    with pytest.raises(ForeignOwner, match="belongs to another user"):
        open_regular_file(file, own=True)


def test_an_open_file_has_a_path_that_leads_to_it_whatever_takes_its_place(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"text")
    with open_regular_file(file) as opened:
        place = path_of(opened, file)
        if place == file:
            pytest.skip("no /proc here")
        file.unlink()
        os.mkfifo(file)
        assert place.read_bytes() == b"text"


def test_a_file_of_ours_is_replaced_whole_with_its_rights(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o644)
    replace_file(file, b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o600
    replace_file(file, b"newer", 0o640, survives_power_cut=False)
    assert file.read_bytes() == b"newer"
    assert file.stat().st_mode & 0o777 == 0o640
    assert [*tmp_path.iterdir()] == [file]


def test_what_cannot_be_replaced_stays_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    with pytest.raises(OSError):
        replace_file(folder, b"new")
    assert [*tmp_path.iterdir()] == [folder]
    assert [*folder.iterdir()] == [folder / "inner"]

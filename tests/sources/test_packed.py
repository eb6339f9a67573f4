"""Archives are folders, within limits."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

import export_samples
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.sources import by_name, for_path, names_at
from mem_search.sources.packed import unpacker
from mem_search.sources.packed.unpacker import Refusal, unpack


def read(path: Path) -> tuple[list[Draft], list[LedgerEntry]]:
    batches = list(by_name("packed").read(Location("packed", str(path)), {}))
    drafts = [draft for batch in batches for draft in batch.drafts]
    return drafts, [entry for batch in batches for entry in batch.ledger]


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def unpacked(path: Path, folder: Path) -> unpacker.Unpacked:
    folder.mkdir()
    return unpack(path, path.name, folder)


def test_an_archive_in_an_archive_is_a_folder_in_a_folder(tmp_path: Path) -> None:
    path = export_samples.packed(tmp_path)
    drafts, _ = read(path)
    assert {draft.source_id: draft.text for draft in drafts} == {
        f"{path}/lamp.txt": "The lamp burns.",
        f"{path}/old/more.zip/notes/pier.md": "# Pier\n\nIt is of oak.",
    }
    lamp = next(draft for draft in drafts if draft.source_id.endswith("lamp.txt"))
    assert (lamp.created_at, lamp.metadata["path"]) == (1_600_000_000_000, lamp.source_id)


@pytest.mark.parametrize("at", [0, 499_162_500], ids=["no time", "npm"])
def test_a_time_that_is_that_of_no_file_is_not_believed(at: int, tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("lamp.txt")
        member.size, member.mtime = 1, at
        archive.addfile(member, io.BytesIO(b"x"))
    os.utime(path, (1_600_000_000, 1_600_000_000))
    (draft,), _ = read(path)
    assert draft.created_at == 1_600_000_000_000


@pytest.mark.parametrize("module", [gzip, bz2, lzma], ids=["gz", "bz2", "xz"])
def test_a_compressed_file_is_read_under_its_own_name(module, tmp_path: Path) -> None:

    suffix = {gzip: "gz", bz2: "bz2", lzma: "xz"}[module]
    path = tmp_path / f"lamp.txt.{suffix}"
    path.write_bytes(module.compress(b"The lamp burns."))
    (draft,), _ = read(path)
    assert (draft.source_id, draft.text) == (f"{path}/lamp.txt", "The lamp burns.")


def test_an_export_in_an_archive_is_read_by_its_source(tmp_path: Path) -> None:
    inner = zipped(
        tmp_path / "inner.zip", {"Keep/a.json": export_samples.keep(tmp_path).read_bytes()}
    )
    path = zipped(tmp_path / "takeout.zip", {
        "Takeout/My Clippings.txt": export_samples.CLIPPINGS.encode(),
        "Takeout/contacts.vcf": export_samples.CONTACTS.encode(),
        "Takeout/inner.zip": inner.read_bytes(),
    })  # fmt: skip
    drafts, _ = read(path)
    assert sorted({draft.source for draft in drafts}) == ["clippings", "contacts", "keep"]


def test_an_export_that_has_a_source_is_left_to_it(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "a.zip", {"conversations.json": b'[{"uuid": "u", "chat_messages": []}]'}
    )
    assert for_path(path) == "claude-ai"
    assert "packed" not in names_at(path)


def test_nothing_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {
        "../out.txt": b"x", "/abs.txt": b"x", "a/../../out.txt": b"x", "..\\out.txt": b"x",
        "C:\\out.txt": b"x", "n" * 300: b"x", "whole.txt": b"The lamp burns.",
    })  # fmt: skip
    folder = tmp_path / "inside" / "folder"
    folder.parent.mkdir()
    found = unpacked(path, folder)
    assert [each.name for each in folder.rglob("*")] == ["whole.txt"]
    assert (found.files, len(found.left)) == (1, 6)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.zip", "inside"]


def test_links_and_devices_are_named_and_left(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind in (("soft", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE),
                           ("pipe", tarfile.FIFOTYPE), ("disk", tarfile.BLKTYPE)):  # fmt: skip
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        member = tarfile.TarInfo("soft/lamp.txt")
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    found = unpacked(path, tmp_path / "out")
    assert sorted(name for name, _ in found.left) == ["disk", "hard", "pipe", "soft"]
    assert (tmp_path / "out" / "soft" / "lamp.txt").read_text() == "x"


def test_a_link_in_a_zip_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    assert unpacked(path, tmp_path / "out").left == [
        ("link", "it is a link, and links are not unpacked")
    ]


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacker, "_RATIO_FROM", 2**20)
    path = zipped(tmp_path / "a.zip", {"zeros": bytes(50 * 2**20)})
    with pytest.raises(Refusal, match=r"an archive bomb.*; if you trust it, unpack it"):
        unpacked(path, tmp_path / "out")


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacker, "MAX_FILES", 3)
    path = zipped(tmp_path / "a.zip", {f"{number}.txt": b"x" for number in range(5)})
    with pytest.raises(Refusal, match="more than 3 files"):
        unpacked(path, tmp_path / "out")


def test_archives_that_hold_themselves_end(tmp_path: Path) -> None:
    data = b"The lamp burns."
    name = "lamp.txt"
    for _ in range(6):
        data = zipped(tmp_path / "part.zip", {name: data}).read_bytes()
        name = "part.zip"
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    _, ledger = read(path)
    assert any("deeper than 3 archives" in each.reason for each in ledger)


def test_what_comes_before_the_damage_is_read_and_the_damage_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("one.txt", "two.txt"):
            member = tarfile.TarInfo(name)
            member.size = 2000
            archive.addfile(member, io.BytesIO(b"lamp " * 400))
    path.write_bytes(path.read_bytes()[:3700])
    drafts, ledger = read(path)
    assert [Path(draft.source_id).name for draft in drafts] == ["one.txt"]
    assert any("damaged" in each.reason for each in ledger)


def test_a_member_with_a_password_is_named(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"a.txt": b"x"})
    data = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + place] |= 1
    path.write_bytes(data)
    _, ledger = read(path)
    assert ("a.zip:a.txt", "it is encrypted with a password; unpack it yourself") in {
        (each.item, each.reason) for each in ledger
    }


def test_names_of_old_archives_are_in_the_charset_of_their_country(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"X" * 14 + ".txt": b"x"})
    old = "Договор_аренды".encode("cp866")
    path.write_bytes(path.read_bytes().replace(b"X" * 14, old))
    unpacked(path, tmp_path / "out")
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["Договор_аренды.txt"]


def test_seven_zip_is_read_with_its_package(tmp_path: Path) -> None:
    py7zr = pytest.importorskip("py7zr")
    path = tmp_path / "a.7z"
    with py7zr.SevenZipFile(path, "w") as archive:
        archive.writestr("The lamp burns.", "notes/lamp.txt")
    (draft,), _ = read(path)
    assert (draft.source_id, draft.text) == (f"{path}/notes/lamp.txt", "The lamp burns.")


def test_seven_zip_that_hides_its_names_behind_a_password_says_so(tmp_path: Path) -> None:
    py7zr = pytest.importorskip("py7zr")
    path = tmp_path / "a.7z"
    with py7zr.SevenZipFile(path, "w", password="lamp", header_encryption=True) as archive:
        archive.writestr("The lamp burns.", "notes/lamp.txt")
    with pytest.raises(Refusal, match="encrypted with a password"):
        unpacked(path, tmp_path / "out")


def test_seven_zip_without_its_package_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "py7zr", None)
    path = tmp_path / "a.7z"
    path.write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(100))
    with pytest.raises(Refusal, match=r"mem-search\[sevenzip\]"):
        unpacked(path, tmp_path / "out")

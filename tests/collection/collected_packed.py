"""Archives: bombs, odd names, archives in archives, other packers."""

# ruff: noqa: E501  a case is a row

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile

from cases import Case, case, zipped

from office_files import docx, paragraph


def tar(
    *members: tuple[str, bytes],
    mode: str = "w",
    form: int = tarfile.GNU_FORMAT,
    kind: bytes = tarfile.REGTYPE,
) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd" if kind != tarfile.REGTYPE else ""
            member.size = len(content) if kind == tarfile.REGTYPE else 0
            archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


def twice(name: str, first: str, second: str) -> bytes:
    """A ZIP whose two members have one name; the second is renamed in its bytes."""
    other = name[:-1] + "?"
    return zipped({name: first, other: second}).replace(other.encode(), name.encode())


def raw_name(name: bytes, text: str) -> bytes:
    stand_in = "x" * len(name)
    return zipped({stand_in: text}).replace(stand_in.encode(), name)


def locked(data: bytes) -> bytes:
    """With the flag of a password on each member."""
    at = 0
    out = bytearray(data)
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        while (at := data.find(mark, at)) >= 0:
            out[at + place] |= 1
            at += 4
        at = 0
    return bytes(out)


LONG = "a" * 120 + "/" + "b" * 130 + "/note.txt"
BOMB = zipped({"bomb.txt": b"0" * 30_000_000, "note.txt": "Beside Avocet"})

PACKED: tuple[Case, ...] = (
    case("a.zip", "folders with documents", zipped({"x/plan.docx": docx(paragraph("Packed Bittern")), "x/y/n.md": "# Noted Crake"}), "Packed Bittern", "Noted Crake"),
    case("a.zip", "archive in an archive", zipped({"in.zip": zipped({"deep.zip": zipped({"n.txt": "Deep Dunlin"})})}), "Deep Dunlin"),
    case("a.zip", "absolute paths and paths that lead out", zipped({"/etc/n.txt": "Absolute Eider", "../../up.txt": "Out Fulmar", "C:\\x\\w.txt": "Windows Gadwall", "in.txt": "Kept Hobby"}), "Kept Hobby", said=("/etc/n.txt", "up.txt", "w.txt")),
    case("a.zip", "two members of one name", twice("note.txt", "First Jackdaw", "Second Kestrel"), "First Jackdaw", "Second Kestrel"),
    case("a.zip", "name in code page 437", raw_name(b"Geb\x81hr.txt", "Named Linnet"), "Named Linnet", "Gebühr"),
    case("a.zip", "name in UTF-8 without its flag", raw_name("Gebühr.txt".encode(), "Named Merlin"), "Named Merlin", "Gebühr"),
    case("a.zip", "members with a password", locked(zipped({"n.txt": "Locked Nuthatch"})), said=("password",)),
    case("a.zip", "bomb beside a note", BOMB, "Beside Avocet", said=("bomb.txt",)),
    case("a.zip", "cut off", zipped({"n.txt": "Lost " * 500})[:80], said=("damaged",)),
    case("a.zip", "hidden files of a Mac", zipped({"__MACOSX/._n.txt": b"\0\5\x16\7", ".DS_Store": b"\0\0\0\1Bud1", "n.txt": "Mac Osprey"}), "Mac Osprey", said=("__MACOSX", ".DS_Store")),
    case("a.zip", "empty", zipped({}), said=("",)),
    case("a.tar", "long names", tar((LONG, b"Long Plover")), "Long Plover"),
    case("b.tar", "long names of POSIX", tar((LONG, b"Long Quail"), form=tarfile.PAX_FORMAT), "Long Quail"),
    case("c.tar", "links and devices", tar(("link", b""), kind=tarfile.SYMTYPE), said=("link",)),
    case("d.tar.gz", "mail in it", tar(("box/a.eml", b"From: a@x\nSubject: Packed Redshank\nMessage-ID: <p@x>\n\nText Sanderling\n"), mode="w:gz"), "Packed Redshank", "Text Sanderling", kind="tgz"),
    case("e.txt.gz", "one text", gzip.compress(b"Zipped Tern"), "Zipped Tern", kind="gz"),
    case("f.txt.bz2", "one text", bz2.compress(b"Zipped Urial"), "Zipped Urial", kind="bz2"),
    case("g.txt.xz", "one text", lzma.compress(b"Zipped Veery"), "Zipped Veery", kind="xz"),
    case("h.txt.gz", "cut off", gzip.compress(b"Zipped Wren " * 5000)[:60], said=("damaged",), kind="gz"),
    case("i.rar", "of another packer", b"Rar!\x1a\x07\x00" + bytes(60), said=("RAR",)),
    case("j.zip", "method that is not known", zipped({"n.txt": "Lost " * 50}).replace(b"\x14\0\0\0\x08\0", b"\x14\0\0\0\x09\0"), said=("method is not supported; unpack it yourself",)),
    case("k.asc", "encrypted by PGP", "-----BEGIN PGP MESSAGE-----\n\nhQEMA1\n-----END PGP MESSAGE-----\n", said=("encrypted (PGP)",)),
)  # fmt: skip

"""Why a file is not read, in words that tell a person what to do."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zipfile import BadZipFile, is_zipfile

from mem_search.text.charsets import sniffed
from mem_search.text.counted import listed
from mem_search.zip_files import TooManyNames, open_zip

OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The container of old Office files, of Outlook messages and of encrypted new Office files."""

_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_LOOKED_AT: Final = 4 * 2**20

_IN_TEXTS: Final = b"\t\n\v\f\r\b\x1b\x1c\x1d\x1e\x1f"
"""Ends of lines and pages, separators, and what a terminal gets."""

_MAX_SPANS: Final = 8
"""Runs of pages that a sentence lists."""

_FORMATS: Final = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x04\x22\x4d\x18", "an LZ4 archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
)
_SIGNED: Final = {
    ".pdf": "a PDF",
    ".docx": "a Word document",
    ".pptx": "a presentation",
    ".xlsx": "a workbook",
    ".odt": "an OpenDocument file",
    ".epub": "an e-book",
}


ENCRYPTED: Final = {
    b"-----BEGIN PGP MESSAGE-----": "PGP",
    b"-----BEGIN AGE ENCRYPTED FILE-----": "age",
    b"age-encryption.org/": "age",
    b"$ANSIBLE_VAULT;": "Ansible Vault",
    b"Salted__": "OpenSSL",
    b"U2FsdGVkX1": "OpenSSL",
}
"""How encrypted files begin, also those that are letters alone."""


class Unreadable(Exception):
    """A file has no text that can be had; ``reason`` is for the ledger.

    ``empty``: nothing is wrong with the file, there is only nothing in it.
    """

    def __init__(self, reason: str, *, empty: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.empty = empty


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a file gave no text; ``empty`` when nothing is wrong with it.

    ``lacks`` is what must be installed to read it, as in ``Extracted``. ``gave_up``: it took too
    much time or memory, or ended its process; with less to do, some of it may be read.
    """

    reason: str
    empty: bool = False
    lacks: str = ""
    gave_up: bool = False


def pages_said(pages: Iterable[int], noun: str = "page") -> str:
    """``page 2 is``, ``pages 2 and 4 to 9 are``: of pages that are counted from 0."""
    spans: list[tuple[int, int]] = []
    for page in pages:
        number = page + 1
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    said = [f"{first}" if first == last else f"{first} and {last}" if last == first + 1
            else f"{first} to {last}" for first, last in spans[:_MAX_SPANS]]  # fmt: skip
    if len(spans) > _MAX_SPANS:
        said.append("others")
    is_one = len(spans) == 1 and spans[0][0] == spans[0][1]
    return f"{noun} {listed(said)} is" if is_one else f"{noun}s {listed(said)} are"


def is_binary_format(head: bytes) -> bool:
    """Whether the first bytes are those of a known format that is no text."""
    return any(head.startswith(magic) for magic, _ in _FORMATS if not magic.isalpha())


def is_text(head: bytes) -> bool:
    """Whether bytes of a charset of single bytes, or UTF-8, are text: it has hardly any control
    characters. Programs that fail leave single zeros in their tables and logs."""
    control = sum(byte < 32 and byte not in _IN_TEXTS for byte in head)
    return control * 50 <= len(head)


def binary_reason(head: bytes, suffix: str) -> str:
    """Why a file that begins so cannot be read, whatever its name; empty where that is open."""
    if suffix == ".zip":
        return reason_for(head, Path(), suffix)
    if head.startswith((b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff", b"%PDF-", OLE)):
        return ""
    if is_binary_format(head) or not is_text(sniffed(head)):
        return reason_for(head, Path(), suffix)
    return ""


def _package_of(path: Path) -> str:
    """What a ZIP that is a document says that it is: by the OPC, or by its ``mimetype``."""
    try:
        with path.open("rb") as file, open_zip(file) as archive:
            names = set(archive.namelist())
            if "mimetype" in names:
                said = archive.open("mimetype").read(200).decode("ascii", "replace").strip()
                return f"a document ({said})"
            return "a document" if "[Content_Types].xml" in names else ""
    except (OSError, BadZipFile, RuntimeError, NotImplementedError, TooManyNames, zlib.error):
        return ""


def reason_for(head: bytes, path: Path, suffix: str) -> str:
    """Why no reader takes a file with these first bytes."""
    if head.startswith(OLE):
        with path.open("rb") as file:
            if _ENCRYPTED in file.read(_LOOKED_AT):
                return "it is encrypted with a password; save it without one"
        if suffix == ".msg":
            return "it is an Outlook message; the source files does not read e-mail"
        return "it is an Office file of an unknown kind; save it as .docx, .xlsx, .pptx or .pdf"
    if by := next((by for begins, by in ENCRYPTED.items() if head.startswith(begins)), ""):
        return f"it is encrypted ({by}) and cannot be read here; save it decrypted and add that"
    if suffix in (".p7m", ".p7z"):
        return (
            "it is a signed or encrypted envelope (CMS) around a file; take that out and add it:"
            " openssl cms -verify -noverify -inform DER -in THIS -out FILE"
        )
    kind = next((what for magic, what in _FORMATS if head.startswith(magic)), "")
    if expected := _SIGNED.get(suffix):
        if kind == "a ZIP archive" and suffix != ".pdf" and not is_zipfile(path):
            return f"it is not {expected}: it is damaged or cut off"
        other = kind or ("text" if is_text(sniffed(head)) else "something else")
        return f"its name says that it is {expected}, but it is {other}; name it as what it is"
    if kind == "a ZIP archive" and suffix != ".zip" and (what := _package_of(path)):
        return (
            f"it is {what} of another program; export it there as PDF, text or HTML, and add that"
        )
    if kind.endswith("archive"):
        return f"it is {kind}, which is not looked into; unpack it and add its folder"
    what = f"it is {kind}, which" if kind else "it is of a binary kind that"
    return f"{what} no reader reads; to add what it says, save that as text, HTML or PDF"

"""Unpacks an archive into a folder, within limits; ``unpacking_process`` runs it.

Whatever an archive says, only plain files are written, and only below the folder: no links, no
devices, no path that leads out. An archive in it is unpacked where it lies, as a folder of its
name.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import stat
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Final, cast

from mem_search.install_command import install_command
from mem_search.patterns import pattern
from mem_search.text import charsets
from mem_search.zip_files import DAMAGED_ZIP, open_zip

MAX_FILES: Final = 50_000
"""Files of one archive, with those in archives in it."""

MAX_UNPACKED: Final = 4 * 2**30
"""Bytes of all of them together, which lie on the disk while they are read."""

_FIRST_TIME: Final = 631_152_000
"""1990. Programs that write no times, or the same for all, write 1970, 1980 or 1985."""
MAX_RATIO: Final = 300
"""So many times its size an archive may unpack to; honest ones of text come to a tenth of it."""

_RATIO_FROM: Final = 256 * 2**20
MAX_DEPTH: Final = 3
"""Archives in archives: Notion sends a ZIP in a ZIP."""

_WESTERN: Final = pattern(
    r"[ -~]*(?:[{0}]{{1,2}}[ -~]+)*[{0}]{{0,2}}".format("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜáíóúñÑß")
)
"""A name in the charset of DOS that ZIP has without a flag: single letters among those of ASCII."""

_MAX_NAME_BYTES: Final = 240
_MAX_PATH_CHARS: Final = 1000
_MAX_REASONS: Final = 100
_FREE_SHARE: Final = 2
"""The disk keeps as many bytes free as the archive takes."""

SUFFIXES: Final = (
    ".zip", ".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".gz", ".bz2", ".xz", ".7z", ".jex",
    ".kmz", ".textpack",
)  # fmt: skip
_MAGIC: Final = ((b"PK\x03\x04", "zip"), (b"PK\x05\x06", "zip"), (b"7z\xbc\xaf\x27\x1c", "7z"),
                 (b"\x1f\x8b", "gz"), (b"BZh", "bz2"), (b"\xfd7zXZ\0", "xz"))  # fmt: skip
_TAR_AT: Final = 257
_DAMAGED: Final = (*DAMAGED_ZIP, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError)


class Refusal(Exception):
    """The archive, or a file in it, is not unpacked; the message says why, and what helps."""


@dataclass(slots=True)
class Unpacked:
    """What came of it: files written, and (name, reason) of what was not, up to a bound."""

    files: int = 0
    size: int = 0
    left: list[tuple[str, str]] = field(default_factory=list)
    more: int = 0
    stated: int = 0
    """Files that the archives list, a second count."""

    def leave(self, name: str, reason: str) -> None:
        if len(self.left) < _MAX_REASONS:
            self.left.append((name, reason))
        else:
            self.more += 1


def kind_of(head: bytes, name: str) -> str:
    """``zip``, ``tar``, ``7z``, ``gz``, ``bz2``, ``xz``, or "" for no archive, by its content."""
    if head[_TAR_AT : _TAR_AT + 5] == b"ustar":
        return "tar"
    if PurePosixPath(name).suffix.lower() == ".tar":
        return "tar"
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), "")


def unpack(path: Path, name: str, folder: Path) -> Unpacked:
    """Unpack the archive at ``path``, which people call ``name``. Raises Refusal, OSError."""
    size, at = path.stat().st_size, path.stat().st_mtime
    most = min(MAX_UNPACKED, shutil.disk_usage(folder).free // _FREE_SHARE)
    work = _Unpacking(folder, most, max(_RATIO_FROM, size * MAX_RATIO), at)
    work.archive(path, name, folder, 1)
    return work.output


class _Unpacking:
    def __init__(self, root: Path, most: int, bomb: int, at: float) -> None:
        self._root, self._most, self._bomb, self._at = root, most, bomb, at
        self.output = Unpacked()

    def archive(self, path: Path, name: str, folder: Path, depth: int) -> None:
        with path.open("rb") as file:
            kind = kind_of(file.read(512), name)
        before = self.output.files
        try:
            for inner, inner_name in self._members(path, kind, name, folder):
                if inner.suffix.lower() in SUFFIXES:
                    self._inner(inner, inner_name, depth)
        except _DAMAGED as error:
            why = f"it is damaged or cut off: {error}"
            if self.output.files == before:
                raise Refusal(why) from None
            self.output.leave("", f"{why}; what came before it is read")

    def _inner(self, inner: Path, name: str, depth: int) -> None:
        """Unpack an archive in place of itself, unless a source of its own may read it."""
        if depth >= MAX_DEPTH:
            self.output.leave(name, f"it lies deeper than {MAX_DEPTH} archives; unpack it yourself")
            inner.unlink()
            return
        place = inner.with_name(f"{inner.name}.packed")
        inner.rename(place)
        try:
            with place.open("rb") as file:
                if not kind_of(file.read(512), name):
                    place.rename(inner)
                    return
            inner.mkdir()
            self.archive(place, name, inner, depth + 1)
        except Refusal as error:
            self.output.leave(name, str(error))
        finally:
            place.unlink(missing_ok=True)

    def _members(
        self, path: Path, kind: str, name: str, folder: Path
    ) -> Iterator[tuple[Path, str]]:
        match kind:
            case "zip":
                return self._zip(path, folder)
            case "tar":
                return self._tar(path, folder)
            case "7z":
                return self._seven_zip(path, folder)
            case "gz" | "bz2" | "xz":
                return self._single(path, kind, name, folder)
            case _:
                raise Refusal("it is not a known kind of archive, or it is damaged")

    def _zip(self, path: Path, folder: Path) -> Iterator[tuple[Path, str]]:
        with path.open("rb") as file, open_zip(file) as archive:
            for info in archive.infolist():
                if info.is_dir():
                    continue
                name = _zip_name(info)
                if info.flag_bits & 1:
                    why = "it is encrypted with a password; unpack it yourself"
                    self._leave(name, why)
                elif stat.S_ISLNK(info.external_attr >> 16):
                    self._leave(name, "it is a link, and links are not unpacked")
                else:
                    yield from self._written(folder, name, partial(archive.open, info),
                                             _time_of(info))  # fmt: skip

    def _tar(self, path: Path, folder: Path) -> Iterator[tuple[Path, str]]:
        with tarfile.open(path, "r:*", errors="surrogateescape") as archive:
            for member in archive:
                archive.members.clear()  # type: ignore[attr-defined]  # it keeps all of them otherwise
                name = charsets.decoded(member.name.encode("utf-8", "surrogateescape"))
                if member.isfile():
                    content = partial(_extracted, archive, member)
                    yield from self._written(folder, name, content, member.mtime)
                elif not member.isdir():
                    what = "a link" if member.issym() or member.islnk() else "no plain file"
                    self._leave(name, f"it is {what}, which is not unpacked")

    def _single(self, path: Path, kind: str, name: str, folder: Path) -> Iterator[tuple[Path, str]]:
        """One compressed file; a tar archive in it is unpacked from the stream."""
        with _stream(path, kind) as stream:
            is_tar = kind_of(stream.read(512), "") == "tar"
        if is_tar:
            yield from self._tar(path, folder)
            return
        inner = PurePosixPath(name).stem or "content"
        yield from self._written(folder, inner, lambda: _stream(path, kind), path.stat().st_mtime)

    def _seven_zip(self, path: Path, folder: Path) -> Iterator[tuple[Path, str]]:
        try:
            import py7zr
        except ImportError:
            step = install_command("mem-search[sevenzip]")
            raise Refusal(
                f"it is a 7z archive, which needs a package: {step}; then: mem-search sync --again"
            ) from None
        inside = folder / ".7z"
        try:
            with py7zr.SevenZipFile(path, "r") as archive:
                if archive.needs_password():
                    raise Refusal("it is encrypted with a password; unpack it yourself")
                infos = [each for each in archive.list() if not each.is_directory]
                self._check(len(infos), sum(each.uncompressed for each in infos))
                safe = [each.filename for each in infos if _parts(each.filename)]
                for each in infos:
                    if not _parts(each.filename):
                        self._leave(each.filename, "its path leaves the archive")
                archive.extract(inside, targets=safe)
        except py7zr.exceptions.PasswordRequired:  # of one that hides its names, too
            raise Refusal("it is encrypted with a password; unpack it yourself") from None
        except py7zr.exceptions.ArchiveError as error:
            raise Refusal(f"it is damaged or of an unknown kind: {error}") from None
        for name in safe:
            source = inside / name
            if stat.S_ISREG(source.lstat().st_mode):
                at = source.lstat().st_mtime
                yield from self._written(folder, name, partial(source.open, "rb"), at)
            else:
                self._leave(name, "it is a link, and links are not unpacked")
        shutil.rmtree(inside, ignore_errors=True)

    def _leave(self, name: str, reason: str) -> None:
        self.output.stated += 1
        self.output.leave(name, reason)

    def _check(self, files: int, size: int) -> None:
        if self.output.files + files > MAX_FILES:
            raise Refusal(f"it holds more than {MAX_FILES:,} files; unpack it and add its folder")
        if self.output.size + size > self._bomb:
            raise Refusal(
                f"it unpacks to more than {MAX_RATIO} times its size (an archive bomb); if you"
                " trust it, unpack it and add its folder"
            )
        if self.output.size + size > self._most:
            raise Refusal(
                f"it unpacks to more than {self._most / 2**30:.1f} GB; unpack it and add its folder"
            )

    def _written(
        self, folder: Path, name: str, content: Callable[[], IO[bytes]], at: float
    ) -> Iterator[tuple[Path, str]]:
        """The file, if it is written: below the folder, and not in place of another one."""
        self.output.stated += 1
        parts = _parts(name)
        if not parts:
            self.output.leave(name, "its path leaves the archive, or cannot be a path here")
            return
        target = folder.joinpath(*parts)
        self._check(1, 0)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            for number in range(2, 100):
                if not os.path.lexists(target):
                    break
                target = target.with_name(f"{target.stem} ({number}){target.suffix}")
            with content() as stream, target.open("xb") as file:
                while piece := stream.read(2**18):
                    self._check(0, len(piece))
                    self.output.size += len(piece)
                    file.write(piece)
        except (FileExistsError, NotADirectoryError):
            self.output.leave(name, "another file of the archive has its place")
            return
        except RuntimeError as error:  # of zipfile: a password, a method that is not known
            target.unlink(missing_ok=True)
            self.output.leave(name, f"{error}; unpack it yourself")
            return
        except _DAMAGED as error:
            target.unlink(missing_ok=True)
            self.output.leave(name, f"it is damaged: {error}")
            return
        self.output.files += 1
        with suppress(OSError, OverflowError, ValueError):
            at = at if at >= _FIRST_TIME else self._at
            os.utime(target, (at, at))
        yield target, name


def _parts(name: str) -> list[str]:
    """The folders and the name, none where the path leads out of the archive or is no path."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    is_out = name.startswith(("/", "\\")) or ".." in parts or (parts and parts[0].endswith(":"))
    is_bad = len(name) > _MAX_PATH_CHARS or any(
        "\0" in part or len(part.encode("utf-8", "replace")) > _MAX_NAME_BYTES for part in parts
    )
    return [] if is_out or is_bad else parts


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Its name, of which ``zipfile`` takes what is no UTF-8 for the letters of DOS."""
    if info.flag_bits & 0x800 or info.filename.isascii():
        return info.filename
    try:
        written = info.filename.encode("cp437")
        others = sum(byte > 127 for byte in written)
        is_western = others * 3 <= len(written) and _WESTERN.fullmatch(info.filename)
        if is_western and not _is_utf8(written):
            return info.filename
        return charsets.decoded(written)
    except UnicodeEncodeError:
        return info.filename


def _time_of(info: zipfile.ZipInfo) -> float:
    try:
        return time.mktime((*info.date_time, 0, 0, -1))
    except (ValueError, OverflowError):
        return 0.0


def _extracted(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    stream = archive.extractfile(member)
    assert stream is not None  # it is a plain file
    return stream


def _stream(path: Path, kind: str) -> IO[bytes]:
    if kind == "gz":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if kind == "bz2":
        return bz2.open(path, "rb")
    return lzma.open(path, "rb")

"""The file of ``mem-search backup``: a zip of the stores of a home with a manifest.

``manifest.json`` names each member with its size and SHA-256. A reader believes nothing else: a
file with other members, other sizes or other sums is refused before anything of it is used.
Names of members come from a short list, so that none can lead out of a folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Final

from mem_search.errors import InputError, StorageError
from mem_search.patterns import pattern
from mem_search.regular_file import open_regular_file
from mem_search.zip_files import open_zip

FORMAT: Final = 1
DATABASE: Final = "mem-search.db"
PREFIX: Final = ".backup-"
"""Of the folder in a home in which a backup is made."""

UPGRADE_COPIES: Final = "before-upgrade-*.db"
"""What a store was before an upgrade, in its home; forgetting deletes them."""

MANIFEST: Final = "manifest.json"
_MEMBER: Final = pattern(
    r"(users/[a-z0-9][a-z0-9_-]{0,31}/)?(mem-search\.db|webhook\.secret|redaction\.key)|config\.toml",
    re.ASCII,
)
_MAX_MANIFEST_BYTES: Final = 1 << 24
_PIECE: Final = 1 << 20
_LEVEL: Final = 1
"""Of compression: text shrinks to half at disk speed, and vectors shrink at no level."""

_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError, TypeError,
                   NotImplementedError, RuntimeError)  # fmt: skip
"""What reading a cut or changed zip raises, by the place of the damage."""


Progress = Callable[[int, int], None]
"""(bytes done, bytes in all)."""
Step = Callable[[int], None]
"""So many bytes more are done."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file: ``size`` in bytes, ``sha256`` in hex."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds. ``records`` counts all stores, ``vectors`` tells whether it has them."""

    created_at: str
    version: str
    records: int
    vectors: bool
    members: tuple[Member, ...]


def check_room(folder: Path, needed: int) -> None:
    """Raises StorageError where ``needed`` bytes do not fit."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StorageError(
            f"this needs {needed / 2**20:.0f} MB in {folder}, and {free / 2**20:.0f} MB are free;"
            " free some space"
        )


def sweep(home: Path) -> None:
    """Delete what a worker left that was killed while it made a backup."""
    for folder in home.glob(f"{PREFIX}*"):
        shutil.rmtree(folder, ignore_errors=True)


def write(
    target: Path,
    parts: Iterable[tuple[str, Path]],
    *,
    version: str,
    records: int,
    vectors: bool,
    cancelled: Callable[[], bool] = lambda: False,
) -> None:
    """Write ``parts`` (name, file) to the new file ``target``, which only its owner may read.

    Returns early when ``cancelled`` says so. Raises OSError.
    """
    members = []
    with (
        os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive,
    ):
        for name, part in parts:
            info = zipfile.ZipInfo(name, time.gmtime()[:6])
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            with part.open("rb") as source, archive.open(info, "w", force_zip64=True) as sink:
                size, digest = _copy(source, sink, lambda _: None, cancelled=cancelled)
            members.append(Member(name, size, digest))
        about = {
            "format": FORMAT,
            "program": "mem-search",
            "version": version,
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "records": records,
            "vectors": vectors,
            "members": [asdict(member) for member in members],
        }
        archive.writestr(MANIFEST, json.dumps(about, indent=1) + "\n")


def read(file: Path, progress: Progress = lambda *_: None) -> Manifest:
    """The manifest of a backup whose every byte was compared with its sum.

    Raises InputError that names ``FILE`` for what is no whole backup of ours.
    """
    return _each(
        file, lambda member, source, step: _copy(source, None, step, member.size), progress
    )


def extract(file: Path, folder: Path, progress: Progress = lambda *_: None) -> Manifest:
    """Write the members below ``folder``, checked on their way. Raises as ``read``, OSError."""

    def member_to_file(member: Member, source: IO[bytes], step: Step) -> tuple[int, str]:
        target = folder / member.name
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as sink:
            copied = _copy(source, sink, step, member.size)
            sink.flush()
            os.fsync(sink.fileno())
        return copied

    return _each(file, member_to_file, progress)


def _each(
    file: Path,
    take: Callable[[Member, IO[bytes], Step], tuple[int, str]],
    progress: Progress,
) -> Manifest:
    try:
        with open_regular_file(file) as opened, open_zip(opened) as archive:
            manifest = _manifest(archive)
            names = sorted(archive.namelist())
            if names != sorted([MANIFEST, *(member.name for member in manifest.members)]):
                raise ValueError("it holds other files than its manifest names")
            total, done = sum(member.size for member in manifest.members), 0

            def step(size: int) -> None:
                nonlocal done
                done += size
                progress(done, total)

            for member in manifest.members:
                with archive.open(member.name) as source:
                    if take(member, source, step) != (member.size, member.sha256):
                        raise ValueError(f"{member.name} is not what was backed up")
    except _DAMAGED as error:
        raise InputError(
            f"{file} is not a whole backup: {error}; nothing was changed", field="FILE"
        ) from error
    except OSError as error:
        if error.filename and Path(error.filename) != file:
            raise  # a place that cannot be written
        raise InputError(f"cannot read {file}: {error.strerror}", field="FILE") from error
    return manifest


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    if archive.getinfo(MANIFEST).file_size > _MAX_MANIFEST_BYTES:
        raise ValueError("its manifest is too large")
    about = json.loads(archive.read(MANIFEST))
    if about["program"] != "mem-search" or about["format"] > FORMAT:
        raise ValueError(f"mem-search {about['version']} wrote it; update mem-search")
    members = tuple(
        Member(str(each["name"]), int(each["size"]), str(each["sha256"]))
        for each in about["members"]
    )
    if strange := [member.name for member in members if not _MEMBER.fullmatch(member.name)]:
        raise ValueError(f"{strange[0]!r} is not a file of a home")
    if len({member.name for member in members}) != len(members):
        raise ValueError("it names a file twice")
    datetime.fromisoformat(str(about["created_at"]))
    return Manifest(
        str(about["created_at"]), str(about["version"]), int(about["records"]),
        bool(about["vectors"]), members,
    )  # fmt: skip


def _copy(
    source: IO[bytes],
    sink: IO[bytes] | None,
    step: Step,
    most: int | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> tuple[int, str]:
    """(bytes, SHA-256) of what was copied; ends soon after ``most`` bytes."""
    digest, size = hashlib.sha256(), 0
    while (piece := source.read(_PIECE)) and not cancelled():
        size += len(piece)
        if most is not None and size > most:
            break  # the manifest said less: a bomb, or damage
        digest.update(piece)
        if sink is not None:
            sink.write(piece)
        step(len(piece))
    return size, digest.hexdigest()

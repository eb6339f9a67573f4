"""``GET /api/v1/backup``: the stores of the owner and of all users as one file."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Final

from aiohttp import web
from pydantic import Field

import mem_search
from mem_search.errors import StorageError
from mem_search.http.core.parameters import Parameters
from mem_search.http.core.replies import sent_file
from mem_search.http.core.routing import Call, Route
from mem_search.http.core.user_runtimes import homes
from mem_search.patterns import pattern
from mem_search.settings import Settings
from mem_search.storage import archive

ZIP: Final = "application/zip"
_SECRET_SETTING: Final = pattern(r"(?m)^\s*(chroma_token|token|\w+_key)\s*=.*\n?")


class BackupParameters(Parameters):
    """What a backup holds."""

    vectors: bool = Field(
        default=True, description="With the vectors; without them a restored store embeds again"
    )


async def backup(call: Call) -> web.StreamResponse:
    """Copy every store as of one moment each, check the room first, then send the file."""
    settings, vectors = call.lifecycle.settings, call.parameters(BackupParameters).vectors
    call.runtime  # noqa: B018 - raises while there is none
    await asyncio.to_thread(_check_room, settings)
    folder = Path(
        await asyncio.to_thread(tempfile.mkdtemp, prefix=archive.PREFIX, dir=settings.home)
    )
    try:
        file = await _archive(call, folder, vectors)
        headers = {
            "Content-Type": ZIP,
            "Content-Disposition": 'attachment; filename="mem-search-backup.zip"',
        }
        with await asyncio.to_thread(file.open, "rb") as source:
            return await sent_file(call.request, source, headers)
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))


async def _archive(call: Call, folder: Path, vectors: bool) -> Path:
    lifecycle, home = call.lifecycle, call.lifecycle.settings.home
    parts = _files(home, folder, "")
    records = await lifecycle.runtime.store.copy(folder / "owner.db", vectors=vectors)
    parts.append((archive.DATABASE, folder / "owner.db"))
    for user, place in await asyncio.to_thread(lambda: list(homes(home))):
        copied = folder / f"user-{user}.db"
        async with lifecycle.users.lease(user) as runtime:
            records += await runtime.store.copy(copied, vectors=vectors)
        parts += [
            *_files(place, folder, f"users/{user}/"),
            (f"users/{user}/{archive.DATABASE}", copied),
        ]
    file, stop = folder / "backup.zip", threading.Event()
    writing = asyncio.create_task(
        asyncio.to_thread(
            archive.write, file, parts, version=mem_search.__version__, records=records,
            vectors=vectors, cancelled=stop.is_set,
        )
    )  # fmt: skip
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([writing])
        raise
    except OSError as error:
        raise StorageError(f"cannot write the backup: {error.strerror}") from error
    return file


def _files(home: Path, folder: Path, prefix: str) -> list[tuple[str, Path]]:
    """The small files of a home beside its store. Settings go without the secrets in them."""
    names = ("webhook.secret", "redaction.key")
    parts = [(f"{prefix}{name}", home / name) for name in names if (home / name).is_file()]
    if not prefix and (config := home / "config.toml").is_file():
        without = folder / "config.toml"
        without.write_text(_SECRET_SETTING.sub("", config.read_text("utf-8")), "utf-8")
        parts.append(("config.toml", without))
    return parts


def _check_room(settings: Settings) -> None:
    places = [settings.home, *(place for _, place in homes(settings.home))]
    stores = sum(
        file.stat().st_size for place in places for file in place.glob(f"{archive.DATABASE}*")
    )
    archive.check_room(settings.home, 2 * stores + (16 << 20))  # the copies, then the archive


# fmt: off
ROUTES = (
    Route("GET", "/api/v1/backup", backup, "Download everything that is stored, of all users, as one file", "import", BackupParameters, write=True, only="home", content_type=ZIP, errors=(409,)),
)

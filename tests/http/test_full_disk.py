"""A full disk while a document is sent or stored: work stops, names it, and goes on later."""

from __future__ import annotations

import asyncio
import io
import zipfile
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiohttp import FormData
from http_worker import AUTHORIZED, Client, lifecycle_of

from chosen_store import in_a_file
from mem_search.errors import StorageError
from mem_search.model import Location
from mem_search.settings import Settings
from patience import PATIENCE
from small_disk import room_for

LARGE = 3 << 20
"""Bytes; more than the store of a test has."""


async def send(client: Client, data: bytes, name: str) -> tuple[int, dict[str, Any]]:
    form = FormData()
    form.add_field("file", io.BytesIO(data), filename=name)
    reply = await client.post("/documents/upload", data=form, headers=AUTHORIZED)
    return reply.status, await reply.json()


async def ended(client: Client, job: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while True:
            state = await (await client.get(f"/api/jobs/{job}", headers=AUTHORIZED)).json()
            if state["state"] not in ("queued", "running"):
                return dict(state)
            await asyncio.sleep(0.02)


async def found(client: Client, words: str) -> int:
    path = f"/api/search?query={words}&mode=keyword&format=json"
    return int((await (await client.get(path, headers=AUTHORIZED)).json())["total"])


def odt(lines: int) -> bytes:
    """A document of few bytes that unpacks to many."""
    said = "".join(f"<text:p>lighthouse {n} burns oil</text:p>" for n in range(lines))
    content = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text>'
        f"{said}</office:text></office:body></office:document-content>"
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        package.writestr("content.xml", content)
    return file.getvalue()


async def test_an_upload_that_does_not_fit_is_refused_whole(
    empty: Client, settings: Settings
) -> None:
    data = b"lighthouse " * (LARGE // 11)
    with room_for(1 << 20):
        status, problem = await send(empty, data, "long.txt")
    assert (status, problem["code"]) == (503, "storage_unavailable")
    assert "free some space, then send it again" in problem["detail"]
    assert not [*settings.spool_dir.iterdir()]
    assert not await found(empty, "lighthouse")
    status, job = await send(empty, b"lighthouse", "short.txt")
    assert status == 202
    assert (await ended(empty, job["job"]))["state"] == "done"
    assert await found(empty, "lighthouse") == 1


@in_a_file("its size is limited")
async def test_a_document_whose_text_does_not_fit_is_not_stored_in_part(
    empty: Client, settings: Settings
) -> None:
    data = odt(60_000)
    assert len(data) < 1 << 20
    database = settings.database
    size = max(file.stat().st_size for file in database.parent.glob(f"{database.name}*"))
    with room_for(max(size + (64 << 10), len(data) + 4096)):
        status, job = await send(empty, data, "long.odt")
        assert status == 202
        state = await ended(empty, job["job"])
    assert state["state"] == "failed"
    assert "the disk is full" in state["message"]
    assert "no transaction was stored in part" in state["message"]
    assert not await found(empty, "lighthouse")
    reply = await empty.post(f"/api/jobs/{job['job']}/retry", headers=AUTHORIZED)
    assert reply.status in (200, 202), await reply.text()
    assert (await ended(empty, job["job"]))["state"] == "done"
    assert await found(empty, "lighthouse") == 1


async def test_a_mail_whose_attachment_cannot_be_unpacked_is_read_when_there_is_room(
    empty: Client, tmp_path: Path
) -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "ann@example.org", "The lighthouse"
    message.set_content("Its plan is attached.")
    text = odt(1) + bytes(LARGE)  # ZIP files may have anything behind them
    message.add_attachment(text, "application", "vnd.oasis.opendocument.text", filename="plan.odt")
    folder = tmp_path / "mail"
    folder.mkdir()
    (folder / "1.eml").write_bytes(message.as_bytes())
    reader = lifecycle_of(empty).runtime.ingest.reader
    with room_for(2 << 20), pytest.raises(StorageError, match="free some space there"):
        await reader.read(Location("mail", str(folder)))
    assert not await found(empty, "lighthouse")
    taken = await reader.read(Location("mail", str(folder)))
    assert (taken.new, taken.failed) == (2, 0)
    assert await found(empty, "lighthouse") == 2

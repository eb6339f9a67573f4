"""Forgetting by path: what came from a file, a folder, a mailbox or a repository is selected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.model import Filters, Location
from mem_search.sources import by_name
from source_samples import SAMPLES, mail

# ``mbox`` is the source of docs/extending.md, which is not installed here.
READ = sorted({*SAMPLES} - {"mbox"})


async def forget(client: Client, **body: Any) -> Any:
    reply = await client.post("/api/forget", json=body, headers=AUTHORIZED)
    assert reply.status == 200, await reply.text()
    return await reply.json()


async def read(client: Client, source: str, path: Path) -> None:
    reader = lifecycle_of(client).runtime.ingest.reader
    await reader.read(by_name(source).locate(str(path)))


async def refs(client: Client) -> set[str]:
    records = await lifecycle_of(client).runtime.store.records.newest(Filters(), 500)
    return {str(record.ref) for record in records}


async def remember(client: Client) -> set[str]:
    """A note that came from no path."""
    body = {"text": "The tide turns at noon."}
    reply = await client.post("/api/memory/save", json=body, headers=AUTHORIZED)
    assert reply.status == 200, await reply.text()
    return await refs(client)


@pytest.mark.parametrize("source", READ)
async def test_all_that_came_from_a_place_goes_and_nothing_else(
    empty: Client, tmp_path: Path, source: str
) -> None:
    kept = await remember(empty)
    (folder := tmp_path / "below").mkdir()
    place = SAMPLES[source](folder)
    await read(empty, source, place)
    stored = await refs(empty) - kept
    assert stored
    for path in (folder, place):
        shown = await forget(empty, path=str(path), count_only=True)
        assert (shown["count"], shown["unread"]) == (len(stored), [])
    await forget(empty, path=str(place), expected=len(stored))
    assert await refs(empty) == kept


async def test_a_mailbox_of_a_folder_is_selected_without_its_neighbours(
    empty: Client, tmp_path: Path
) -> None:
    folder = mail(tmp_path)
    (folder / "letter.eml").write_text(
        "From: Ada <ada@example.org>\nSubject: Chart\nMessage-ID: <9@harbour>\n"
        'Content-Type: multipart/mixed; boundary="b"\n\n--b\n\nSee the chart.\n--b\n'
        'Content-Type: text/plain\nContent-Disposition: attachment; filename="chart.txt"\n\n'
        "Depths of the harbour.\n--b--\n"
    )
    await read(empty, "mail", folder)
    whole = await refs(empty)
    of_box = await forget(empty, path=str(folder / "letters.mbox"), count_only=True)
    assert {each["title"] for each in of_box["records"]} == {"The lamp", "The pier — longer"}
    of_letter = await forget(empty, path=str(folder / "letter.eml"), count_only=True)
    assert {each["title"] for each in of_letter["records"]} == {"Chart", "chart.txt"}
    await forget(empty, path=str(folder / "letters.mbox"))
    assert len(await refs(empty)) == len(whole) - 2


async def test_other_filters_narrow_what_came_from_a_path(empty: Client, tmp_path: Path) -> None:
    await read(empty, "mail", mail(tmp_path))
    asked = {"path": str(tmp_path / "mail"), "count_only": True}
    assert (await forget(empty, **asked))["count"] == 3
    assert (await forget(empty, **asked, query="pier"))["count"] == 1
    assert (await forget(empty, **asked, source="files"))["count"] == 0


async def test_a_place_that_is_gone_is_named(empty: Client, tmp_path: Path) -> None:
    folder = mail(tmp_path)
    await read(empty, "mail", folder)
    folder.rename(tmp_path / "elsewhere")
    shown = await forget(empty, path=str(folder), count_only=True)
    assert shown["count"] == 0
    (unread,) = shown["unread"]
    assert str(folder) in unread
    assert "cannot read" in unread


async def test_a_transcript_that_its_agent_has_deleted_is_selected_by_its_copy(
    empty: Client, tmp_path: Path
) -> None:
    folder = SAMPLES["claude-code"](tmp_path)
    await read(empty, "claude-code", folder)
    stored = await refs(empty)
    (file,) = folder.rglob("*.jsonl")
    file.unlink()
    for path in (file, file.parent, folder):
        shown = await forget(empty, path=str(path), count_only=True)
        assert (shown["count"], shown["unread"]) == (len(stored), []), path
    await forget(empty, path=str(folder))
    assert await refs(empty) == set()


async def test_a_location_is_read_for_nothing_but_its_identities(
    empty: Client, tmp_path: Path
) -> None:
    folder = mail(tmp_path)
    await read(empty, "mail", folder)
    store = lifecycle_of(empty).runtime.store
    before = await store.ingest.cursor(Location("mail", str(folder)))
    (folder / "new.eml").write_text("Subject: New\nMessage-ID: <n@harbour>\n\nNew words.\n")
    await forget(empty, path=str(folder), count_only=True)
    assert await store.ingest.cursor(Location("mail", str(folder))) == before
    assert len(await refs(empty)) == 3

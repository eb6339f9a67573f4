"""The source that docs/extending.md shows, installed as a package and used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from http_worker import AUTHORIZED, Client, ended

from documented_source import documented_code
from mem_search import sources
from source_samples import mbox


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    info = tmp_path / "mail_source-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mail-source\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mem_search.sources]\nmbox = mail_source:Mbox\n")
    (tmp_path / "mail_source.py").write_text(documented_code("The source ``mbox``"), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    sources.third_party.cache_clear()
    yield
    sys.modules.pop("mail_source", None)
    sources.third_party.cache_clear()


async def test_an_installed_source_takes_uploads_and_its_records_are_found(
    package: None, empty: Client, tmp_path: Path
) -> None:
    headers = {**AUTHORIZED, "Content-Type": "application/mbox"}
    data = mbox(tmp_path).read_bytes().replace(b"Message-ID: <1@harbour>\n", b"")
    # The source mail takes this type, too, so the request names the one that is meant.
    params = {"source": "mbox"}
    reply = await empty.post("/api/import/upload", data=data, headers=headers, params=params)
    assert reply.status == 202, await reply.text()
    state = await ended(empty, (await reply.json())["job"])
    assert state["state"] == "done", state
    (location,) = state["result"]["locations"]
    assert (location["source"], location["new"], location["failed"]) == ("mbox", 1, 1)
    ledger = await (await empty.get("/api/ledger?source=mbox&item=message+1")).json()
    assert [entry["reason"] for entry in ledger["entries"]] == ["the message has no Message-ID"]
    found = await (await empty.get("/api/search?query=lengthen&format=json")).json()
    assert [result["title"] for result in found["results"]] == ["The pier — longer"]

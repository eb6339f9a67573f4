"""Jobs, imports and exports over HTTP."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from http_worker import AUTHORIZED, RECORDS, Client, Get, ended, lifecycle_of
from people import OWNER, bring_in, join

from mem_search.errors import ModelUnavailable
from mem_search.ingest.spool import KEEP_SECONDS, keep_swept, sweep
from mem_search.settings import Settings
from mem_search.sources import built_in
from patience import comes_true
from source_samples import file_of

NDJSON = {**AUTHORIZED, "Content-Type": "application/x-ndjson"}


def lines_of(records: tuple[dict[str, Any], ...]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


async def test_an_uploaded_file_is_stored_by_a_job(empty: Client) -> None:
    reply = await empty.post("/api/import/jsonl", data=lines_of(RECORDS), headers=NDJSON)
    assert reply.status == 202
    job = (await reply.json())["job"]
    assert reply.headers["Location"] == f"/api/jobs/{job}"
    state = await ended(empty, job)
    assert (state["state"], state["result"]["locations"][0]["new"]) == ("done", len(RECORDS))
    assert state["ended_at"].endswith("Z")
    stats = await (await empty.get("/api/stats")).json()
    assert stats["records"]["total"] == len(RECORDS)
    listed = await (await empty.get("/api/jobs", headers=AUTHORIZED)).json()
    assert [known["id"] for known in listed["jobs"]] == [job]


async def test_jobs_say_how_far_embedding_is(
    empty: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listed() -> dict[str, Any]:
        return await (await empty.get("/api/jobs", headers=AUTHORIZED)).json()

    def fails(texts: object) -> None:
        raise ModelUnavailable("the model is away")

    indexer = lifecycle_of(empty).runtime.ingest.indexer
    assert "embedding" not in await listed()
    with monkeypatch.context() as patch:
        patch.setattr(indexer._embedder, "embed", fails)
        reply = await empty.post("/api/import/jsonl", data=lines_of(RECORDS), headers=NDJSON)
        await ended(empty, (await reply.json())["job"])
        while "error" not in (found := (await listed())["embedding"]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert (found["done"], found["error"]) == (0, "the model is away")
        assert found["total"] >= len(RECORDS)
    indexer.wake()
    while "embedding" in await listed():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_what_was_forgotten_is_stored_again_only_on_request(
    empty: Client, tmp_path: Path
) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(lines_of(RECORDS[:2]))

    async def taken(path: str, **sent: Any) -> dict[str, Any]:
        reply = await empty.post(path, headers=sent.pop("headers", AUTHORIZED), **sent)
        (read,) = (await ended(empty, (await reply.json())["job"]))["result"]["locations"]
        return {name: read[name] for name in ("new", "forgotten")}

    uploaded = {"path": "/api/import/upload", "data": file.read_bytes(), "headers": NDJSON}
    by_path = {"source": "jsonl", "path": str(file)}
    assert await taken(**uploaded) == {"new": 2, "forgotten": 0}
    for again in (
        {**uploaded, "params": {"source": "jsonl", "even_forgotten": "true"}},
        {"path": "/api/import", "json": {**by_path, "even_forgotten": True}},
    ):
        await empty.post("/api/forget", json={"before": "2999-01-01"}, headers=AUTHORIZED)
        assert await taken(**uploaded) == {"new": 0, "forgotten": 2}
        assert await taken("/api/import", json=by_path) == {"new": 0, "forgotten": 2}
        assert await taken(**again) == {"new": 2, "forgotten": 0}


async def test_only_uploads_that_hold_what_was_forgotten_go_with_it(empty: Client) -> None:
    note = {"kind": "note", "text": "the zylophantic harbour"}
    await bring_in(empty, OWNER, note, {"kind": "note", "text": "a garden"})
    for text in (b"no database: zylophantic", b"no database: a garden"):
        reply = await empty.post(
            "/api/import/upload", data=text, headers=AUTHORIZED, params={"source": "claude-mem"}
        )
        assert (await ended(empty, (await reply.json())["job"]))["state"] == "failed"
    spool = lifecycle_of(empty).runtime.settings.spool_dir
    assert len(list(spool.iterdir())) == 2
    reply = await empty.post("/api/forget", json={"query": "zylophantic"}, headers=AUTHORIZED)
    assert (await reply.json())["receipt"]["removed"]["uploads"] == 1
    (left,) = (file for file in spool.rglob("*") if file.is_file())
    assert left.read_bytes().endswith(b"a garden")


async def test_an_import_reads_a_file_of_the_machine(empty: Client, tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(lines_of(RECORDS[:2]) + b"{broken\n")
    body = {"source": "jsonl", "path": str(file)}
    reply = await empty.post("/api/import", json=body, headers=AUTHORIZED)
    state = await ended(empty, (await reply.json())["job"])
    assert state["result"]["locations"][0]["new"] == 2
    ledger = await (await empty.get("/api/ledger?source=jsonl&item=line+3")).json()
    assert [entry["outcome"] for entry in ledger["entries"]] == ["failed"]


async def test_kinds_that_number_their_records_alike_are_all_kept(empty: Client) -> None:
    kinds = ("observation", "session_summary", "user_prompt")
    alike = tuple({"kind": k, "source_id": "5", "text": f"a quiet {k}"} for k in kinds)
    for outcome in ("new", "unchanged"):
        reply = await empty.post("/api/import/jsonl", data=lines_of(alike), headers=NDJSON)
        state = await ended(empty, (await reply.json())["job"])
        assert state["result"]["locations"][0][outcome] == len(kinds)
    found = await (await empty.get("/api/search/unified?query=quiet&format=json")).json()
    assert found["counts_by_type"] == dict.fromkeys(kinds, 1)
    exported = await (await empty.get("/api/export", headers=AUTHORIZED)).text()
    assert [json.loads(line)["source_id"] for line in exported.splitlines()] == [
        "5",
        "5#session_summary",
        "5#user_prompt",
    ]


async def test_import_and_sync_say_what_is_wrong_with_a_place(
    empty: Client, tmp_path: Path
) -> None:
    for path, body, field in (
        ("/api/import", {"path": "relative.jsonl"}, "path"),
        ("/api/import", {"path": str(tmp_path / "absent")}, "path"),
        ("/api/import", {"path": "/\0"}, "path"),
        ("/api/import", {"path": "/" + "x" * 5000}, "path"),
        ("/api/import", {"path": str(tmp_path), "source": "unicorn"}, "source"),
        ("/api/sync", {"source": "unicorn"}, "source"),
        ("/api/sync", {"path": "relative"}, "path"),
        ("/api/sync", {"cwd": "here"}, "cwd"),
    ):
        reply = await empty.post(path, json=body, headers=AUTHORIZED)
        assert (reply.status, (await reply.json())["field"]) == (422, field), body


@pytest.mark.parametrize("path", ["/api/import/jsonl", "/api/import/upload", "/documents/mail"])
async def test_a_compressed_stream_is_refused_because_it_may_be_cut_off(
    empty: Client, settings: Settings, path: str
) -> None:
    headers = {**AUTHORIZED, "Content-Encoding": "gzip", "Content-Type": "application/x-ndjson"}
    if path == "/documents/mail":
        headers["Content-Type"] = "message/rfc822"
    torn = gzip.compress(lines_of(RECORDS))[:-9]
    reply = await empty.post(path, data=torn, headers=headers)
    told = await reply.json()
    assert (reply.status, told["field"]) == (415, "body"), told
    assert "without Content-Encoding" in told["detail"]
    assert not [*settings.spool_dir.glob("*")]


async def test_a_user_sees_the_name_of_an_upload_and_never_where_it_lay(
    empty: Client, settings: Settings
) -> None:
    ada = await join(empty, "ada")
    headers = {**ada.headers, "Content-Type": "application/x-ndjson"}
    said, places = [], []
    for name, data in (
        ("?name=tides%20%C3%BC.jsonl", lines_of(RECORDS[:1]) + b"{broken\n"),
        ("?name=torn.jsonl.gz", gzip.compress(lines_of(RECORDS))[:-9]),
        ("", b"{broken\n"),
    ):
        reply = await empty.post(f"/api/import/jsonl{name}", data=data, headers=headers)
        assert reply.status == 202, await reply.text()
        state = await ended(empty, (await reply.json())["job"], ada.headers)
        places.append(state["params"]["path"])
        said.append((state["state"], state["message"]))
    assert places[:2] == ["tides ü.jsonl", "torn.jsonl.gz"]
    assert re.fullmatch(r"[0-9a-f]{32}\.jsonl", places[2])
    assert [state for state, _ in said] == ["done", "failed", "done"]
    assert said[1][1].startswith("cannot read torn.jsonl.gz: ")
    told = [await (await empty.get(path, headers=ada.headers)).json() for path in
            ("/api/jobs", "/api/ledger")]  # fmt: skip
    (done,) = [job for job in told[0]["jobs"] if job["params"]["path"] == places[0]]
    assert done["result"]["locations"][0]["path"] == places[0]
    assert {entry["location"] for entry in told[1]["entries"]} <= set(places)
    stats = await (await empty.get("/api/stats", headers=ada.headers)).json()
    assert {known["path"] for known in stats["sources"]} <= set(places)
    assert str(settings.home) not in json.dumps([told, stats["sources"]])


@pytest.mark.parametrize(
    "source", [source.name for source in built_in() if source.file_format is not None]
)
async def test_a_user_uploads_a_file_of_any_source_that_reads_files(
    empty: Client, settings: Settings, tmp_path: Path, source: str
) -> None:
    ada = await join(empty, "ada")
    file = file_of(source, tmp_path)
    counts = []
    for _ in range(2):
        reply = await empty.post(
            "/api/import/upload",
            data=file.read_bytes(),
            headers=ada.headers,
            params={"source": source, "name": file.name},
        )
        assert reply.status == 202, await reply.text()
        state = await ended(empty, (await reply.json())["job"], ada.headers)
        assert (state["state"], state["params"]["path"]) == ("done", file.name)
        (location,) = state["result"]["locations"]
        counts.append((location["new"], location["unchanged"], location["failed"]))
    (new, *_), second = counts
    assert new
    # A source that knows the content of the file does not read it again.
    assert second in ((0, new, 0), (0, 0, 0))
    ledger = await (await empty.get("/api/ledger", headers=ada.headers)).text()
    assert "spool" not in ledger
    spool = settings.home / "users" / "ada" / "spool"
    assert list(spool.iterdir()) == []


async def test_the_type_or_name_of_an_upload_selects_its_source_or_the_request_names_it(
    empty: Client, tmp_path: Path
) -> None:
    data = lines_of(RECORDS[:1])
    for headers, params in ((NDJSON, {}), (AUTHORIZED, {"name": "x.jsonl"})):
        reply = await empty.post("/api/import/upload", data=data, headers=headers, params=params)
        state = await ended(empty, (await reply.json())["job"])
        assert (state["params"]["source"], state["state"]) == ("jsonl", "done")
    file = tmp_path / "some.jsonl"
    file.write_bytes(data)
    reply = await empty.post("/api/import", json={"path": str(file)}, headers=AUTHORIZED)
    state = await ended(empty, (await reply.json())["job"])
    assert state["params"] == {"source": "jsonl", "path": str(file)}
    for said in ({}, {"name": "x.unheard"}, {"source": "git"}, {"source": "unicorn"}):
        reply = await empty.post("/api/import/upload", data=data, headers=AUTHORIZED, params=said)
        problem = await reply.json()
        assert (reply.status, problem["field"]) == (422, "source"), said
        assert "jsonl, claude-mem, claude-code" in problem["detail"]
    form = {**AUTHORIZED, "Content-Type": "multipart/form-data; boundary=x"}
    reply = await empty.post(
        "/api/import/upload", data=b"--x--", headers=form, params={"source": "jsonl"}
    )
    assert reply.status == 415
    assert not list(lifecycle_of(empty).settings.spool_dir.glob("*"))


async def test_the_name_of_an_upload_is_no_path(empty: Client) -> None:
    for name in ("../x.jsonl", "a\nb", "x" * 256):
        reply = await empty.post(
            "/api/import/jsonl", data=b"{}\n", headers=NDJSON, params={"name": name}
        )
        assert (reply.status, (await reply.json())["field"]) == (422, "name"), name


async def test_an_upload_needs_its_type_and_a_body(empty: Client) -> None:
    wrong = await empty.post("/api/import/jsonl", data=b"{}\n", headers=AUTHORIZED)
    assert wrong.status == 415
    nothing = await empty.post("/api/import/jsonl", headers=NDJSON)
    assert nothing.status == 422
    assert not list(lifecycle_of(empty).settings.spool_dir.glob("*"))


async def test_an_upload_that_breaks_off_leaves_nothing(
    empty: Client, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", empty.port)
    head = (
        f"POST /api/import/jsonl HTTP/1.1\r\nHost: 127.0.0.1:{empty.port}\r\n"
        f"Authorization: {AUTHORIZED['Authorization']}\r\n"
        "Content-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n{}"
    )
    writer.write(head.encode())
    await writer.drain()
    spool = lifecycle_of(empty).settings.spool_dir
    await comes_true(lambda: any(spool.glob("*.part")))
    writer.close()
    await writer.wait_closed()
    await comes_true(lambda: not any(spool.glob("*")))
    jobs = await (await empty.get("/api/jobs", headers=AUTHORIZED)).json()
    assert jobs == {"jobs": []}
    assert "Traceback" not in caplog.text


async def test_an_export_imported_and_exported_again_is_the_same(
    client: Client, tmp_path: Path
) -> None:
    first = await client.get("/api/export", headers=AUTHORIZED)
    assert first.content_type == "application/x-ndjson"
    exported = await first.read()
    assert exported.count(b"\n") == len(RECORDS)
    again = await client.post("/api/import/jsonl", data=exported, headers=NDJSON)
    state = await ended(client, (await again.json())["job"])
    assert (state["state"], state["result"]["locations"][0]["new"]) == ("done", 0)
    assert await (await client.get("/api/export", headers=AUTHORIZED)).read() == exported


async def test_an_export_can_be_narrowed(client: Client) -> None:
    query = "kinds=observations&project=web&until=2025-11-17"
    reply = await client.get(f"/api/export?{query}", headers=AUTHORIZED)
    lines = (await reply.text()).splitlines()
    assert [json.loads(line)["source_id"] for line in lines] == ["o1"]


async def test_a_job_that_ended_cannot_be_stopped(client: Client) -> None:
    reply = await client.post("/api/index/audit", headers=AUTHORIZED)
    job = (await reply.json())["job"]
    assert reply.status == 202
    await ended(client, job)
    stopped = await client.post(f"/api/jobs/{job}/cancel", headers=AUTHORIZED)
    assert (stopped.status, (await stopped.json())["code"]) == (409, "conflict")


async def test_uploads_are_swept_again_and_again(tmp_path: Path) -> None:
    async def waiting() -> set[str]:
        return {"b/notes.jsonl"}

    task = asyncio.create_task(keep_swept(tmp_path, waiting, pause=0.01))
    try:
        for _ in range(2):
            for name in ("a", "b"):
                (tmp_path / name).write_text("x")
                os.utime(tmp_path / name, (1, 1))
            await comes_true(lambda: not (tmp_path / "a").exists())
        assert (tmp_path / "b").exists()
    finally:
        task.cancel()


def test_old_uploads_are_swept_and_new_ones_stay(tmp_path: Path) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    for file in (old, new):
        file.write_text("")
    folder = tmp_path / "0123"
    folder.mkdir()
    (folder / "old.db").write_text("")
    before = new.stat().st_mtime - KEEP_SECONDS - 60
    for upload in (old, folder):
        os.utime(upload, (before, before))
    assert sweep(tmp_path) == 2
    assert [file.name for file in tmp_path.iterdir()] == ["new.jsonl"]


async def test_projects_and_stats_count_what_is_stored(get: Get) -> None:
    projects = (await get("/api/projects"))["projects"]
    assert [(p["name"], p["records"]) for p in projects] == [("api", 1), ("web", 4), ("ui", 25)]
    stats = await get("/api/stats")
    told = (await get("/api/v2/search/stats"))["data"]
    assert stats["last_indexed"] == told["last_indexed"]
    assert stats["records"]["observation"] == 28
    assert 0 <= stats["embedding_coverage"] <= 1
    assert stats["index"]["state"] == "off"
    assert stats["embedder"]["name"] == "hashing"
    assert stats["sources"][0]["source"] == "jsonl"
    assert stats["ledger"]["jsonl"]["taken"] == 1
    assert stats["worker"]["port"] > 0

"""Archives of research over HTTP: reading them, and who cites what in which words."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from http_worker import Client, Get
from people import OWNER

from patience import PATIENCE

HEADERS = OWNER.headers
REPORT = """# Rents

Rents rose by 4 %. [1] Wages [did not](https://a.org/wages).

[1] https://m.a.org/rents?utm_source=x - Rents
"""


async def index(client: Client, **body: Any) -> dict[str, Any]:
    reply = await client.post(
        "/api/archive/index", json={"name": "housing", **body}, headers=HEADERS
    )
    assert reply.status == 202, await reply.text()
    job: dict[str, Any] = {"state": "queued"}
    async with asyncio.timeout(PATIENCE):
        while job["state"] in ("queued", "running"):
            await asyncio.sleep(0.02)
            job = await (await client.get(reply.headers["Location"], headers=HEADERS)).json()
    assert job["state"] == "done", job["message"]
    return dict(job["result"])


async def archives(client: Client) -> list[dict[str, Any]]:
    reply = await client.get("/api/archives", headers=HEADERS)
    return list((await reply.json())["archives"])


@pytest.fixture
async def folders(client: Client, tmp_path: Path) -> dict[str, str]:
    for name, file, text in (
        ("research", "rents.md", REPORT),
        ("pages", "rents.md", "URL: https://www.a.org/rents\n\n# Rents of 2024\n\nUp."),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(text)
    return {"researchPath": str(tmp_path / "research"), "urlContentPath": str(tmp_path / "pages")}


async def test_an_archive_is_read_and_says_who_cites_what(
    client: Client, get: Get, folders: dict[str, str]
) -> None:
    run = await index(client, **folders, schedule="0 4 * * *")
    assert (run["new"], run["files"], run["cited_pages"], run["cited_pages_stored"]) == (2, 2, 2, 1)
    (archive,) = await archives(client)
    assert {key: archive[key] for key in folders} == folders
    assert archive["next_at"] > archive["indexed_at"]
    (report,) = (await get("/api/search/reports?query=rents&format=json"))["results"]
    rents, wages = (await get(f"/api/archive/citations?ref={report['ref']}"))["citations"]
    assert (rents["sourceId"], rents["confidence"]) == (report["ref"], 1.0)
    assert rents["context"] == "Rents rose by 4 %. [1]"
    assert [place["form"] for place in rents["places"]] == ["marker", "entry"]
    assert (wages["targetUrl"], wages["targetId"]) == ("https://a.org/wages", None)
    page = rents["targetId"]
    citing = await get(f"/api/archive/citations?ref={page}&direction=cited-by")
    assert [each["sourceId"] for each in citing["citations"]] == [report["ref"]]
    about = await get("/api/archive/citations?query=wages")
    assert [each["targetUrl"] for each in about["citations"]] == ["https://a.org/wages"]
    assert about["citations"][0]["context"] == "Wages [did not](https://a.org/wages)."
    related = await get(f"/api/graph/{page}?relation=cites")
    assert [node["id"] for node in related["nodes"]] == [page, report["ref"]]

    assert (await index(client))["new"] == 0
    gone = await client.delete("/api/archives/housing", headers=HEADERS)
    assert await gone.json() == {"deleted": "housing"}
    assert await archives(client) == []
    assert (await get("/api/search/reports?query=rents&format=json"))["total"] == 1


async def test_what_is_wrong_with_an_archive_is_counted_and_in_the_ledger(
    client: Client, get: Get, folders: dict[str, str], tmp_path: Path
) -> None:
    research = Path(folders["researchPath"])
    (research / "bad.json").write_text("{no json")
    (research / "dated.md").write_text("# Dated\n\nDate: 2024-13-45\n\nText.")
    (tmp_path / "outside.md").write_text("# Outside")
    (research / "leaves.md").symlink_to(tmp_path / "outside.md")
    (research / "again").symlink_to(research)
    (Path(folders["urlContentPath"]) / "nameless.txt").write_text("Nobody knows.")
    run = await index(client, **folders)
    counts = {name: run[name] for name in ("new", "failed", "files", "left_out", "unreadable")}
    assert counts == {"new": 3, "failed": 2, "files": 7, "left_out": 2, "unreadable": 2}
    entries = (await get("/api/ledger?limit=100"))["entries"]
    said = {each["item"]: (each["outcome"], each["reason"]) for each in entries}
    assert said["bad.json"][0] == said["nameless.txt"][0] == "failed"
    assert said["dated.md"] == ("taken", "'2024-13-45' is not a date; the time of the file is used")
    assert said["leaves.md"][0] == said["again"][0] == "left"
    assert (await get("/api/search/reports?query=outside&format=json"))["total"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "researchPath"),
        ({"researchPath": "relative"}, "researchPath"),
        ({"researchPath": "/nowhere/at/all"}, "researchPath"),
        ({"urlContentPath": "/nowhere/at/all"}, "urlContentPath"),
        ({"researchPath": "/", "schedule": "daily"}, "schedule"),
        ({"researchPath": "/", "urlContentPath": "/"}, "urlContentPath"),
        ({"name": "a/b"}, "name"),
    ],
)
async def test_a_wrong_field_is_named(client: Client, body: dict[str, str], field: str) -> None:
    reply = await client.post("/api/archive/index", json=body, headers=HEADERS)
    problem = await reply.json()
    assert reply.status == 422
    assert problem["errors"][0]["pointer"].strip("/") == field, problem


async def test_citations_need_a_record_or_words(client: Client) -> None:
    reply = await client.get("/api/archive/citations")
    assert (reply.status, (await reply.json())["errors"][0].get("parameter")) == (422, "ref")
    assert (await client.get("/api/archive/citations?ref=report:99")).status == 404
    assert (await client.delete("/api/archives/none", headers=HEADERS)).status == 404

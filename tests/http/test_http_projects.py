"""Projects over HTTP: two of one folder name are told apart, and which is meant is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from http_worker import TOKEN, Client, lifecycle_of

from drafts import draft
from mem_search.projects import identify
from runtimes import fill

OWNER = {"Authorization": f"Bearer {TOKEN}"}
WORK, PLAY = "api (work/api)", "api (play/api)"


async def told(client: Client, cwd: Path) -> str:
    body = {"hook_event_name": "SessionStart", "cwd": str(cwd), "session_id": "s", "prompt": ""}
    reply = await client.post("/api/hooks", json=body, headers=OWNER)
    return str((await reply.json())["context"])


async def asked(client: Client, path: str, status: int = 200, **params: str) -> Any:
    reply = await client.get(path, params=params)
    assert reply.status == status, await reply.text()
    return await reply.json()


async def changed(client: Client, path: str, status: int = 200, **body: str) -> Any:
    reply = await client.post(f"/api/projects/{path}", json=body, headers=OWNER)
    assert reply.status == status, await reply.text()
    return await reply.json()


@pytest.fixture
async def two(empty: Client, tmp_path: Path) -> Client:
    """A session of each of two folders ``api``."""
    runtime = lifecycle_of(empty).runtime
    for number, name in enumerate(("work", "play")):
        git = tmp_path / name / "api" / ".git"
        (git / "objects").mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text(f'[remote "origin"]\nurl = https://example.org/{name}/api\n')
        place = identify(tmp_path / name / "api").place
        made = draft(
            name, f"The lamp of {name} burns at night.", kind="session_summary", project="api",
            session=name, title=f"Lamp of {name}", created_at=number + 1, place=place,
            metadata={"request": f"Lamp of {name}"},
        )  # fmt: skip
        await fill(runtime, made)
    return empty


async def test_a_briefing_of_one_has_nothing_of_the_other(two: Client, tmp_path: Path) -> None:
    work, play = [await told(two, tmp_path / name / "api") for name in ("work", "play")]
    assert ("Lamp of work" in work, "Lamp of play" in work) == (True, False)
    assert ("Lamp of work" in play, "Lamp of play" in play) == (False, True)
    shown = await asked(two, "/api/context/preview", project="api", cwd=str(tmp_path / "play/api"))
    assert "Lamp of play" in shown["context"]
    assert "Lamp of work" not in shown["context"]


async def test_a_repository_that_was_moved_is_known_before_it_is_read_again(
    two: Client, tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere"
    (tmp_path / "work" / "api").rename(moved)
    place = identify(moved).place
    assert place is not None
    assert place.marks
    where = {"cwd": place.directory, "checkout": place.checkout, "root": place.root}
    told = await asked(
        two, "/api/context/preview", project=place.name, marks=",".join(place.marks), **where
    )
    assert "Lamp of work" in told["context"]
    assert "Lamp of play" not in told["context"]


async def test_a_name_of_two_finds_both_and_says_so(two: Client) -> None:
    found = await asked(two, "/api/search", query="lamp project:api", format="json")
    assert f"api is the folder of 2 projects: {PLAY}, {WORK}" in str(found)
    listed = await asked(two, "/api/projects")
    assert {each["name"] for each in listed["projects"]} == {WORK, PLAY}
    assert all(each["path"].endswith("/api") for each in listed["projects"])


async def test_what_is_of_one_project_asks_which(two: Client) -> None:
    refused = await asked(two, "/api/context/preview", 422, project="api")
    assert f'"{PLAY}", "{WORK}"; name one' in refused["detail"]
    body = {"project": "api", "count_only": True}
    reply = await two.post("/api/forget", json=body, headers=OWNER)
    assert reply.status == 422
    assert "several projects" in await reply.text()


async def test_merging_and_renaming_are_taken_back(two: Client) -> None:
    done = await changed(two, "merge", project=PLAY, into=WORK)
    assert (done["after"], done["records"], done["undone"]) == (WORK, 1, False)
    assert [each["records"] for each in (await asked(two, "/api/projects"))["projects"]] == [2]
    undone = await changed(two, "undo")
    assert (undone["before"], undone["undone"]) == (PLAY, True)
    await changed(two, "rename", project=PLAY, name="lighthouse")
    names = {each["name"] for each in (await asked(two, "/api/projects"))["projects"]}
    assert names == {WORK, "lighthouse"}
    await changed(two, "rename", 409, project="lighthouse", name=WORK)
    await changed(two, "merge", 404, project="never seen", into=WORK)
    await changed(two, "undo")
    await changed(two, "undo", 404)


async def test_a_project_is_called_in_either_case_and_form(two: Client) -> None:
    await fill(lifecycle_of(two).runtime, draft("n", "A note.", project="F\u00e4hre"))
    for called in ("Fa\u0308hre", "F\u00c4HRE"):
        assert (await changed(two, "rename", project=called, name="Boot"))["before"] == "F\u00e4hre"
        await changed(two, "undo")
        refused = await changed(two, "rename", 409, project=WORK, name=called)
        assert "there is a project" in str(refused)

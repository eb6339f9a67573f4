"""What became of a path: every state of it in one sentence."""

from __future__ import annotations

import asyncio
import shlex
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from http_worker import Client, lifecycle_of
from people import join

import agent_sessions
import shared_sessions
from chosen_store import in_a_file
from mem_search.errors import SourceError
from mem_search.extractors import ocr
from mem_search.model import Location
from ocr_programs import install_nothing
from patience import PATIENCE
from scanned_pages import scanned

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "old").mkdir(parents=True)
    (folder / "lamp.txt").write_text("It burns oil.")
    (folder / "copy.md").write_text("It burns oil.")
    (folder / "key.txt").write_text(f"The key is {SECRET} and no other.")
    (folder / "blank.txt").write_text("")
    (folder / "half.pdf").write_bytes(b"%PDF-1.4 half of it")
    (folder / "draft.tmp").write_text("x")
    (folder / "old" / "pier.txt").write_text("It is long.")
    (folder / ".memsearchignore").write_text("*.tmp\nold/\n")
    return folder


async def ask(client: Client, path: Path | str, status: int = 200) -> Any:
    reply = await client.get("/api/why", params={"path": str(path)})
    assert reply.status == status, await reply.text()
    return await reply.json()


async def test_a_name_is_found_however_its_letters_are_composed(
    empty: Client, tmp_path: Path
) -> None:
    on_disk = tmp_path / "Fa\u0308hre.txt"
    on_disk.write_text("It leaves at noon.")
    await lifecycle_of(empty).runtime.ingest.reader.read(Location("files", str(on_disk)))
    assert (await ask(empty, tmp_path / "Fähre.txt"))["state"] == "stored"


async def test_a_file_with_a_secret_in_its_name_is_found_by_it(
    empty: Client, tmp_path: Path
) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / f"{SECRET}.txt").write_text("It burns oil.")
    (tmp_path / "kept" / f"{SECRET}.eml").write_text("Message-ID: <1@x>\nSubject: Lamp\n\nOil.\n")
    reader = lifecycle_of(empty).runtime.ingest.reader
    for source in ("files", "mail"):
        await reader.read(Location(source, str(tmp_path / "kept")))
    for end in ("txt", "eml"):
        told = await ask(empty, tmp_path / "kept" / f"{SECRET}.{end}")
        assert (told["state"], SECRET in told["sentence"]) == ("stored", False), told
        assert "changed" not in told["sentence"]


async def test_a_path_in_a_command_is_quoted_so_that_it_can_be_pasted(
    empty: Client, tmp_path: Path
) -> None:
    file = tmp_path / "old lamps; $HOME.txt"
    sentence = (await ask(empty, file))["sentence"]
    assert shlex.split(sentence.partition("to add it: ")[2]) == ["mem-search", "add", str(file)]


async def test_every_state_has_its_sentence(empty: Client, folder: Path) -> None:
    reader = lifecycle_of(empty).runtime.ingest.reader
    assert (await ask(empty, folder))["state"] == "unseen"
    assert "was never seen" in (await ask(empty, folder / "lamp.txt"))["sentence"]
    await reader.read(Location("files", str(folder)))

    lamp = await ask(empty, folder / "lamp.txt")
    assert (lamp["state"], lamp["source"]) == ("stored", "files")
    opened = await (await empty.get(f"/api/records/{lamp['record']}")).json()
    assert opened["text"] == "It burns oil."
    assert f"is stored as {lamp['record']}: 13 characters in 1 passage" in lamp["sentence"]
    assert f"the same content as {folder}/copy.md" in lamp["sentence"]
    assert "1 secret replaced by markers" in (await ask(empty, folder / "key.txt"))["sentence"]
    (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n 2")
    await reader.read(Location("files", str(folder)))
    assert "same content" not in (await ask(empty, folder / "a.png"))["sentence"]
    (folder / "a.png").unlink()
    (folder / "b.png").unlink()
    await reader.read(Location("files", str(folder)))
    for name, state, said in (
        ("blank.txt", "left", "was left out: it is empty"),
        ("half.pdf", "failed", "could not be read: it is damaged or cut off"),
        (".memsearchignore", "left", "says what is left out of"),
        ("draft.tmp", "left", "was left out: it is excluded by .memsearchignore"),
        ("old/pier.txt", "unseen", f"is in {folder}/old, which was left out: it is excluded"),
        ("new.txt", "unseen", f"was not there when {folder} was last read"),
    ):
        told = await ask(empty, folder / name)
        assert said in told["sentence"], told
        assert told["state"] == (state if name != "old/pier.txt" else "left")
    (folder / "in" / "deep").mkdir(parents=True)
    (folder / "in" / "deep" / "sail.txt").write_text("It is red.")
    (folder / "in" / "none.txt").write_text("")
    await reader.read(Location("files", str(folder)))
    part = await ask(empty, folder / "in")
    assert f"is read as a part of {folder}: 1 left by files, 1 taken by files" in part["sentence"]
    assert (await ask(empty, folder / "in" / "deep"))["state"] == "read"
    left = await (await empty.get("/api/ledger?outcome=left&item=none")).json()
    assert [entry["item"] for entry in left["entries"]] == ["in/none.txt"]
    assert (await empty.get("/api/ledger?outcome=gone")).status == 422
    whole = await ask(empty, folder)
    assert (whole["state"], "1 failed, 4 left, 4 taken" in whole["sentence"]) == ("read", True)
    assert (await ask(empty, folder.parent))["state"] == "unseen"


async def test_a_folder_that_several_sources_read(empty: Client, folder: Path) -> None:
    (folder / "marks.html").write_text(
        '<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p><DT><A HREF="https://a.example">A</A></DL>'
    )
    mail = "From ada Mon Jan  1 00:00:00 2024\nFrom: ada@x\nSubject: {0}\n\nOil {0}.\n\n"
    letters = "".join(mail.format(each) for each in "ab")
    (folder / "inbox").write_text(letters)
    (folder / "c.eml").write_text(mail.partition("\n")[2].format("c"))
    reader = lifecycle_of(empty).runtime.ingest.reader
    for source in ("files", "bookmarks", "mail"):
        await reader.read(Location(source, str(folder)))
    whole = (await ask(empty, folder))["sentence"]
    assert "was read by the sources bookmarks (1 taken), files (" in whole
    assert ", 2 taken) (at " in whole.partition(" and mail (")[2]
    mailbox = await ask(empty, folder / "inbox")
    assert (mailbox["state"], mailbox["source"]) == ("stored", "mail")
    assert "inbox gave 2 records (source mail" in mailbox["sentence"]
    for name in ("inbox", "c.eml"):
        (folder / name).unlink()
        gone = (await ask(empty, folder / name))["sentence"]
        assert "The file is gone; its records stay until you forget them" in gone
    assert (await ask(empty, folder / "marks.html"))["source"] == "bookmarks"
    assert "was not there when" in (await ask(empty, folder / "later.txt"))["sentence"]


async def test_a_file_that_changed_or_went_says_so(empty: Client, folder: Path) -> None:
    reader = lifecycle_of(empty).runtime.ingest.reader
    await reader.read(Location("files", str(folder)))
    (folder / "lamp.txt").write_text("It is out, for good.")
    told = await ask(empty, folder / "lamp.txt")
    assert "changed since then" in told["sentence"]
    (folder / "lamp.txt").unlink()
    await reader.read(Location("files", str(folder)))
    told = await ask(empty, folder / "lamp.txt")
    assert (told["state"], "removed from the store" in told["sentence"]) == ("deleted", True)


async def test_a_file_that_no_source_reads_is_not_promised_to_be_read(
    empty: Client, tmp_path: Path
) -> None:
    root = agent_sessions.codex(tmp_path)
    (root / "notes.md").write_text("Nobody reads this here.")
    await lifecycle_of(empty).runtime.ingest.reader.read(Location("codex", str(root)))
    (root / "later.md").write_text("Nor this, although it is newer.")
    for name in ("notes.md", "later.md"):
        told = await ask(empty, root / name)
        assert told["state"] == "left"
        assert f"no source that reads {root} reads such a file (codex)" in told["sentence"]
        assert "read again" not in told["sentence"]
        assert told["sentence"].endswith(f"mem-search add {root / name}")
    missing = await ask(empty, root / "gone.md")
    assert (missing["state"], "was not there when" in missing["sentence"]) == ("unseen", True)
    file = root / "2026" / "rollout-2026-02-02T00-00-00-new.jsonl"
    file.write_text("{}\n")
    assert (await ask(empty, file))["state"] == "unseen", "the next reading takes it"


@pytest.mark.parametrize("form", ["kiro file", "kiro folder", "antigravity"])
async def test_a_file_that_the_ledger_calls_by_its_session_is_read(
    form: str, empty: Client, tmp_path: Path
) -> None:
    made = shared_sessions.Made(shared_sessions.PARENT, shared_sessions.TURNS)
    location = Location(*shared_sessions.write(form, tmp_path / "agent", made))
    (file,) = (tmp_path / "agent").rglob("*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], b"{broken\n", *lines[1:]]))
    await lifecycle_of(empty).runtime.ingest.reader.read(location)
    told = await ask(empty, file)
    assert f"of the session {made.id}, which gave " in told["sentence"]
    assert "gave 0" not in told["sentence"]
    assert "1 part of it failed: message 2 cannot be read" in told["sentence"]
    assert told["state"] == "stored"


async def test_why_tells_a_link_and_a_folder_from_a_file_that_is_not_read(
    empty: Client, tmp_path: Path
) -> None:
    made = shared_sessions.Made(shared_sessions.PARENT, shared_sessions.TURNS)
    location = Location(*shared_sessions.write("qwen", tmp_path / "agent", made))
    (file,) = (tmp_path / "agent").rglob("*.jsonl")
    folder, link = file.with_name("019a.jsonl"), file.with_name("loop")
    folder.mkdir()
    link.symlink_to(file.parent)
    await lifecycle_of(empty).runtime.ingest.reader.read(location)
    for path, kind, step in (
        (folder, "it is a folder", f"mem-search add {folder}"),
        (link, "it is a link", f"mem-search why {file.parent}"),
    ):
        told = await ask(empty, path)
        assert told["state"] == "left"
        assert kind in told["reason"]
        assert told["sentence"].endswith(step)


async def test_a_place_that_could_not_be_read_is_not_called_read(
    empty: Client, tmp_path: Path
) -> None:
    path = tmp_path / "opencode.db"
    path.touch()
    with pytest.raises(SourceError, match="it is empty"):
        await lifecycle_of(empty).runtime.ingest.reader.read(Location("opencode", str(path)))
    told = await ask(empty, path)
    assert (told["state"], "it is empty" in told["sentence"]) == ("failed", True), told


async def test_what_a_reader_did_not_read_is_told(
    empty: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_nothing(tmp_path, monkeypatch)
    path = tmp_path / "mixed.pdf"
    path.write_bytes(scanned(3, text="Fog.", texts={1: "The fog horn of the north pier"}))
    await lifecycle_of(empty).runtime.ingest.reader.read(Location("files", str(path)))
    told = await ask(empty, path)
    said = f"pages 1 and 3 are pictures and not read; {ocr.ADVICE}"
    assert (told["state"], said in told["sentence"], told["reason"]) == ("stored", True, said)
    record = await (await empty.get(f"/api/records/{told['record']}")).json()
    assert record["metadata"]["unread"] == [said]


async def test_lines_that_were_not_read_are_told_of_their_file(
    empty: Client, tmp_path: Path
) -> None:
    root = agent_sessions.codex(tmp_path)
    (file,) = root.rglob("*.jsonl")
    file.write_text(f"{file.read_text()}{{broken\n")
    await lifecycle_of(empty).runtime.ingest.reader.read(Location("codex", str(root)))
    sentence = (await ask(empty, file))["sentence"]
    assert "gave 3 records; 1 part of it failed: line " in sentence


async def test_a_single_file_is_known_by_its_own_path(empty: Client, folder: Path) -> None:
    reader = lifecycle_of(empty).runtime.ingest.reader
    await reader.read(Location("files", str(folder / "lamp.txt")))
    assert (await ask(empty, folder / "lamp.txt"))["state"] == "stored"
    assert (await ask(empty, folder / "copy.md"))["state"] == "unseen"


async def test_what_waits_is_named_with_its_job(empty: Client, folder: Path) -> None:
    runtime = lifecycle_of(empty).runtime
    await runtime.store.jobs.create("waiting", "sync", {"source": "files", "path": str(folder)})
    told = await ask(empty, folder / "lamp.txt")
    assert (told["state"], "waits in the job waiting" in told["sentence"]) == ("waiting", True)


@in_a_file("its pages are limited")
async def test_a_job_whose_end_could_not_be_stored_does_not_run(
    empty: Client, folder: Path
) -> None:
    runtime = lifecycle_of(empty).runtime

    def fill(connection: sqlite3.Connection) -> None:
        (pages,) = connection.execute("pragma page_count").fetchone()
        connection.execute(f"pragma max_page_count = {pages + 1000}")
        connection.execute("create table ballast(content)")
        for name, at in (
            ("record", "insert on records"),
            ("end", "update of state on jobs when new.state != 'running'"),
        ):
            connection.execute(
                f"create trigger {name}_fills before {at}"
                " begin insert into ballast values(zeroblob(100000000)); end"
            )

    await runtime.store.database.write(fill)
    job = await runtime.ingest.jobs.submit("sync", {"source": "files", "path": str(folder)})
    async with asyncio.timeout(PATIENCE):
        while (await runtime.ingest.jobs.get(job)).state != "failed":  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    told = await ask(empty, folder / "lamp.txt")
    assert f"was not reached: the job {job} stopped: " in told["sentence"]
    assert "the disk is full" in told["reason"]


async def test_a_path_is_absolute(empty: Client) -> None:
    problem = await ask(empty, "lamp.txt", 422)
    assert [fault["parameter"] for fault in problem["errors"]] == ["path"]


async def test_a_reading_that_stopped_is_told_of_what_it_did_not_reach(
    empty: Client, folder: Path
) -> None:
    ingest, location = lifecycle_of(empty).runtime.store.ingest, Location("files", str(folder))
    await ingest.note_error(location, "the disk is full", followed=True)
    told = await ask(empty, folder / "lamp.txt")
    assert (told["state"], told["reason"]) == ("waiting", "the disk is full")
    assert f"the reading of {folder} stopped: the disk is full" in told["sentence"]


async def test_a_user_does_not_learn_which_folders_there_are(empty: Client, folder: Path) -> None:
    ada = await join(empty, "ada")
    said = []
    for place in (folder, folder / "nowhere"):
        path = place / ".memsearchignore"
        reply = await empty.get("/api/why", params={"path": str(path)}, headers=ada.headers)
        said.append((await reply.json())["sentence"].replace(str(path), "PATH"))
    assert said[0] == said[1]
